/* Changing documents: the arrays that a group lists as its levels must be there
 * (example.multiscale-arrays). */
#include "server/write/change.h"

/* What a change leaves as it is stored is not judged again: an array may have gone since. */
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

static void levels_found(struct zd_wait *wait)
{
    zd_change_go_on(wait->context);
}

enum zd_next zd_change_find_levels(struct zd_change *change)
{
    if (change->meta == NULL || !zd_multiscale_has(change->meta) || !is_listed_anew(change)) {
        return ZD_NEXT;
    }
    change->scales.wait = (struct zd_wait){.done = levels_found, .context = change};
    return zd_multiscale_want_fresh(&change->scales, change->dataset, change->path, change->meta);
}

enum zd_status zd_change_judge_levels(struct zd_change *change)
{
    const struct zd_multiscale *scales = &change->scales;
    if (scales->wait.status != ZD_OK) {
        change->err = scales->wait.err;
        return scales->wait.status;
    }
    if (scales->n > 0) {
        zd_multiscale_judge(scales, ZD_FAULT_INVALID, &change->meta->faults);
    }
    zd_multiscale_release(&change->scales);
    return ZD_OK;
}
