/* Changing documents: the arrays that a group lists as its levels must exist
 * (example.multiscale-arrays). */
#include "server/write/change.h"

/* Levels that the change does not touch are not judged: an array may have been erased since. */
static bool is_listed_anew(const struct zd_change *change)
{
    switch (change->ask.kind) {
    case ZD_METADATA_PUT:
    case ZD_METADATA_PUT_KEY:
        return true;
    case ZD_METADATA_PATCH:
        return zd_json_member(change->ask.json, "extensions") != NULL;
    case ZD_METADATA_ERASE:
    case ZD_METADATA_ERASE_KEY:
    case ZD_METADATA_CONSOLIDATE:
        break;
    }
    return false;
}

enum zd_change_outcome zd_change_levels(struct zd_change *change)
{
    if (change->meta != NULL && zd_multiscale_has(change->meta) && is_listed_anew(change)) {
        change->multiscale.wait = zd_gather_wait(&change->gather);
        zd_gather_add(&change->gather, zd_multiscale_want_fresh(&change->multiscale,
                                           change->dataset, change->path, change->meta));
    }
    return ZD_CHANGE_NEXT;
}

/* A level that is no array is a fault of the document. */
enum zd_change_outcome zd_change_levels_end(struct zd_change *change)
{
    const struct zd_multiscale *multiscale = &change->multiscale;
    if (multiscale->wait.status != ZD_OK) {
        return zd_change_outcome_of_wait(change, &multiscale->wait);
    }
    if (multiscale->n > 0) {
        zd_multiscale_judge(multiscale, ZD_FAULT_INVALID, &change->meta->faults);
    }
    zd_multiscale_release(&change->multiscale);
    return change->meta != NULL && !zd_change_judge_is_accepted(change, change->meta)
               ? zd_change_judge_refuse(change)
               : ZD_CHANGE_NEXT;
}
