/* The arrays through which a group can be sliced: looked up, and one of them chosen. */
#include "server/data/multiscale.h"

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/runtime/server.h"

enum zd_status zd_multiscale_add_path(const char *group, const char *level, struct zd_text *path)
{
    if (group[0] != '\0') {
        zd_text_add(path, group);
        zd_text_add_char(path, '/');
    }
    return zd_text_add(path, level);
}

static void take(struct zd_multiscale *scales)
{
    struct zd_node *node = ZD_TAKE(scales->want.node);
    const struct zd_wait *wait = &scales->want.wait;
    struct zd_hash hash = {.value = scales->tag};
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND && scales->status == ZD_OK) {
        scales->status = wait->status;
        scales->err = wait->err;
    }
    if (node != NULL) {
        scales->checked_ms = zd_min_u64(scales->checked_ms, node->checked_ms);
    }
    zd_hash_add_u64(&hash, node == NULL ? 0 : node->tag);
    scales->tag = hash.value;
    scales->node[scales->n_asked++] = node;
}

static enum zd_next ask(struct zd_multiscale *scales);

static void arrived(struct zd_wait *wait)
{
    struct zd_multiscale *scales = ZD_CONTAINER(wait, struct zd_multiscale, want.wait);
    take(scales);
    if (ask(scales) == ZD_NEXT) {
        scales->done(scales->context);
    }
}

static enum zd_next want_node(struct zd_multiscale *scales, const char *path)
{
    return scales->is_fresh ? zd_catalog_want_fresh(scales->dataset, path, &scales->want)
                            : zd_catalog_want(scales->dataset, path, &scales->want);
}

static enum zd_next ask(struct zd_multiscale *scales)
{
    while (scales->n_asked < scales->n) {
        const char *level = scales->meta->view.level[scales->n_asked];
        ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
        scales->want.wait = (struct zd_wait){.done = arrived, .status = ZD_NOT_FOUND};
        /* No store has a key that is longer. */
        if (zd_multiscale_add_path(scales->group, level, &path) == ZD_OK &&
            want_node(scales, path.at) == ZD_WAIT) {
            return ZD_WAIT;
        }
        take(scales);
    }
    return ZD_NEXT;
}

static enum zd_next begin(struct zd_multiscale *scales)
{
    const uint32_t n = scales->meta->view.n_levels;
    scales->checked_ms = uv_now(scales->dataset->server->loop);
    scales->node = (struct zd_node **)zd_alloc_zero(n, sizeof *scales->node);
    if (scales->node == NULL) {
        scales->status = zd_fail(&scales->err, ZD_NO_MEMORY, "no memory for a group's levels");
        return ZD_NEXT;
    }
    scales->n = n;
    return ask(scales);
}

enum zd_next zd_multiscale_want(
    struct zd_multiscale *scales, struct zd_node *group, void (*done)(void *context), void *context)
{
    zd_multiscale_release(scales);
    *scales = (struct zd_multiscale){
        .dataset = group->dataset,
        .group = group->path,
        .meta = zd_meta_ref(group->meta),
        .done = done,
        .context = context,
    };
    return begin(scales);
}

enum zd_next zd_multiscale_want_fresh(struct zd_multiscale *scales, struct zd_dataset *dataset,
    const char *group, struct zd_meta *meta, void (*done)(void *context), void *context)
{
    zd_multiscale_release(scales);
    *scales = (struct zd_multiscale){
        .dataset = dataset,
        .group = group,
        .meta = zd_meta_ref(meta),
        .is_fresh = true,
        .done = done,
        .context = context,
    };
    return begin(scales);
}

void zd_multiscale_release(struct zd_multiscale *scales)
{
    zd_wait_cancel(&scales->want.wait);
    zd_node_unref(scales->want.node);
    for (uint32_t i = 0; i < scales->n; i++) {
        zd_node_unref(scales->node[i]);
    }
    zd_free((void *)scales->node);
    zd_meta_unref(scales->meta);
    *scales = (struct zd_multiscale){0};
}

void zd_multiscale_judge(
    const struct zd_multiscale *scales, enum zd_severity severity, struct zd_faults *faults)
{
    const struct zd_view *view = &scales->meta->view;
    for (uint32_t i = 0; i < scales->n; i++) {
        const struct zd_node *node = scales->node[i];
        if (node != NULL && node->meta->type == ZD_NODE_ARRAY) {
            continue;
        }
        const struct zd_pointer at = zd_pointer_element(view->level_at, i);
        zd_faults_add(faults, severity, node == NULL ? "missing_array" : "not_an_array",
            view->level[i], &at, "the path of an array", view->level[i],
            node == NULL ? "there is no node at \"%s\"" : "the node at \"%s\" is no array",
            view->level[i]);
    }
}
