/* What the extensions of an array must say before elements are stored. */
#include "server/widen.h"

#include <assert.h>

#define TRIES_MAX 16 /* while others change the document, too */

static enum zd_next look_at_document(struct zd_widen_want *want);

static void answer(struct zd_widen_want *want, enum zd_status status, const struct zd_error *err)
{
    want->is_under_way = false;
    zd_wait_answer(&want->wait, status, err);
}

static void go_on(struct zd_widen_want *want, enum zd_next next)
{
    if (next == ZD_NEXT) {
        want->wait.done(&want->wait);
    }
}

/* The array as it stands now. */
static enum zd_next take_fresh(struct zd_widen_want *want)
{
    const struct zd_wait *wait = &want->found.wait;
    struct zd_error err = {0};
    if (wait->status != ZD_OK) {
        answer(want, wait->status, &wait->err);
        return ZD_NEXT;
    }
    zd_node_unref(want->node);
    want->node = ZD_TAKE(want->found.node);
    if (want->node->layout == NULL) {
        err.status = zd_fail(&err, ZD_NOT_FOUND, "'%.256s' is no array any more", want->node->path);
        answer(want, err.status, &err);
        return ZD_NEXT;
    }
    return look_at_document(want);
}

static void fresh_arrived(struct zd_wait *wait)
{
    struct zd_widen_want *want = ZD_CONTAINER(wait, struct zd_widen_want, found.wait);
    go_on(want, take_fresh(want));
}

static enum zd_next take_change(struct zd_widen_want *want)
{
    const struct zd_wait *wait = &want->change.wait;
    if (wait->status != ZD_OK && wait->status != ZD_PRECONDITION) {
        answer(want, wait->status, &wait->err);
        zd_metadata_release(&want->change);
        return ZD_NEXT;
    }
    zd_metadata_release(&want->change);
    want->found = (struct zd_node_want){.wait.done = fresh_arrived};
    const enum zd_next next =
        zd_catalog_want_fresh(want->node->dataset, want->node->path, &want->found);
    return next == ZD_NEXT ? take_fresh(want) : ZD_WAIT;
}

static void change_arrived(struct zd_wait *wait)
{
    struct zd_widen_want *want = ZD_CONTAINER(wait, struct zd_widen_want, change.wait);
    go_on(want, take_change(want));
}

static enum zd_next change_document(struct zd_widen_want *want, struct zd_json *extensions)
{
    struct zd_error err = {0};
    ZD_AUTO(zd_json) patch = zd_json_new_object();
    if (patch == NULL || zd_json_set(patch, "extensions", zd_json_ref(extensions)) != ZD_OK) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory for the extensions of an array");
        answer(want, err.status, &err);
        return ZD_NEXT;
    }
    if (++want->n_tries > TRIES_MAX) {
        err.status = zd_fail(&err, ZD_STORE,
            "'%.256s': its document was changed by others, %d times in a row", want->node->path,
            TRIES_MAX);
        answer(want, err.status, &err);
        return ZD_NEXT;
    }
    const struct zd_metadata_ask ask = {
        .kind = ZD_METADATA_PATCH,
        .place = want->node->path,
        .json = patch,
        .expected = want->node,
        .has_lock = true,
    };
    want->change = (struct zd_metadata_want){.wait.done = change_arrived};
    const enum zd_next next = zd_metadata_want(want->node->dataset, &ask, &want->change);
    return next == ZD_NEXT ? take_change(want) : ZD_WAIT;
}

static enum zd_next look_at_document(struct zd_widen_want *want)
{
    struct zd_error err = {0};
    ZD_AUTO(zd_json) extensions = NULL;
    const enum zd_status status =
        zd_written_before(want->written, want->node->meta, &extensions, &err);
    if (status != ZD_OK || extensions == NULL) {
        answer(want, status, &err);
        return ZD_NEXT;
    }
    return change_document(want, extensions);
}

enum zd_next zd_widen_want(struct zd_widen_want *want)
{
    want->n_tries = 0;
    want->is_under_way = true;
    return look_at_document(want);
}

void zd_widen_release(struct zd_widen_want *want)
{
    assert(!want->is_under_way);
    zd_node_unref(ZD_TAKE(want->node));
}
