/* Changing documents: widen an array's declared bounds before elements are stored, judged by the
 * document found under the lock. */
#include <string.h>

#include "server/write/change.h"

static bool is_array_of(const struct zd_meta *meta, const struct zd_dtype *dtype)
{
    return zd_meta_is_array(meta) && strcmp(meta->dtype.name, dtype->name) == 0;
}

/* The members that change. @param ret_members owned; NULL: the document is right */
static enum zd_status widen(struct zd_change *change, struct zd_json **ret_members)
{
    struct zd_error *err = &change->err;
    ZD_AUTO(zd_json) extensions = NULL;
    *ret_members = NULL;
    if (!is_array_of(change->before, &change->written->summary.dtype)) {
        return zd_fail(err, ZD_NOT_FOUND,
            "'%.256s' is no longer an array, or has another data type", change->path);
    }
    ZD_TRY(zd_written_before(change->written, change->before, &extensions, err));
    if (extensions == NULL) {
        return ZD_OK;
    }
    ZD_AUTO(zd_json) members = zd_json_new_object();
    if (members == NULL || zd_json_set(members, "extensions", zd_json_ref(extensions)) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the extensions of an array");
    }
    *ret_members = ZD_TAKE(members);
    return ZD_OK;
}

enum zd_change_outcome zd_change_bounds(struct zd_change *change)
{
    struct zd_json *members = NULL;
    if (change->written == NULL) {
        return ZD_CHANGE_NEXT;
    }
    const enum zd_change_outcome outcome = zd_change_outcome_of(change, widen(change, &members));
    zd_json_unref((struct zd_json *)(uintptr_t)change->ask.json); /* of the last try */
    change->ask.json = members;
    return outcome == ZD_CHANGE_NEXT && members == NULL ? ZD_CHANGE_DONE : outcome;
}
