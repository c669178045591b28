/* The groups above a node, and what their extensions say of it. */
#include "server/data/parent_groups.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/path_order.h"
#include "server/runtime/server.h"

bool zd_parent_groups_says_something(const struct zd_meta *meta)
{
    for (uint32_t i = 0; !zd_meta_is_refused(meta) && i < meta->applied.n; i++) {
        if (meta->applied.item[i].extension->listing != NULL) {
            return true;
        }
    }
    return false;
}

/* Where the path stands, or would. */
static size_t place_of(const struct zd_parent_groups *above, const char *path)
{
    size_t first = 0;
    size_t end = above->n;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (zd_path_compare(above->group[middle].path, path) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static const struct zd_meta *find(const struct zd_parent_groups *above, const char *path)
{
    const size_t place = place_of(above, path);
    const bool is_there = place < above->n && strcmp(above->group[place].path, path) == 0;
    return is_there ? above->group[place].meta : NULL;
}

enum zd_status zd_parent_groups_add(
    struct zd_parent_groups *above, const char *path, struct zd_meta *meta)
{
    if (!zd_parent_groups_says_something(meta) || find(above, path) != NULL) {
        return ZD_OK;
    }
    ZD_AUTO_TEXT copy = zd_strdup(path);
    struct zd_parent_groups_group *grown = zd_realloc(above->group, (above->n + 1) * sizeof *grown);
    above->group = grown == NULL ? above->group : grown;
    if (copy == NULL || grown == NULL) {
        return ZD_NO_MEMORY;
    }
    const size_t place = place_of(above, path);
    memmove(grown + place + 1, grown + place, (above->n - place) * sizeof *grown);
    grown[place] =
        (struct zd_parent_groups_group){.path = ZD_TAKE(copy), .meta = zd_meta_ref(meta)};
    above->n++;
    return ZD_OK;
}

void zd_parent_groups_done(struct zd_parent_groups *above)
{
    for (size_t i = 0; i < above->n; i++) {
        zd_free(above->group[i].path);
        zd_meta_unref(above->group[i].meta);
    }
    zd_free(above->group);
    *above = (struct zd_parent_groups){0};
}

/* The length of the path of the group that holds the node at path[0 .. len). */
static size_t parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/') {
        len--;
    }
    return len == 0 ? 0 : len - 1;
}

struct zd_listing zd_parent_groups_listing(const struct zd_parent_groups *above, const char *path)
{
    struct zd_listing listing = {0};
    char group[ZD_KEY_BYTES_MAX + 1];
    const size_t path_len = strlen(path);
    if (above->n == 0 || path_len > ZD_KEY_BYTES_MAX) {
        return listing;
    }
    memcpy(group, path, path_len + 1);
    for (size_t len = path_len; len > 0;) {
        len = parent_len(path, len);
        group[len] = '\0';
        const struct zd_meta *meta = find(above, group);
        if (meta != NULL) {
            zd_applied_listing(&meta->applied, path + len + (len == 0 ? 0 : 1), &listing);
        }
    }
    return listing;
}

static void take(struct zd_parent_groups_look *look)
{
    struct zd_node *node = look->want.node;
    if (look->want.wait.status == ZD_NOT_FOUND) {
        return; /* an implicit group says nothing */
    }
    if (look->want.wait.status != ZD_OK ||
        zd_parent_groups_add(&look->above, node->path, node->meta) != ZD_OK) {
        look->checked_ms = 0;
    } else {
        look->checked_ms = zd_min_u64(look->checked_ms, node->checked_ms);
        if (zd_parent_groups_says_something(node->meta)) {
            struct zd_hash hash = {.value = look->above.tag};
            zd_hash_add_u64(&hash, node->tag);
            look->above.tag = hash.value;
        }
    }
    zd_node_unref(ZD_TAKE(look->want.node));
}

static enum zd_next ask(struct zd_parent_groups_look *look);

static void arrived(struct zd_wait *wait)
{
    struct zd_parent_groups_look *look =
        ZD_CONTAINER(wait, struct zd_parent_groups_look, want.wait);
    take(look);
    if (ask(look) == ZD_NEXT) {
        look->done(look->context);
    }
}

/* From the nearest to the root: most are in the cache, so one after the other. */
static enum zd_next ask(struct zd_parent_groups_look *look)
{
    char group[ZD_KEY_BYTES_MAX + 1];
    while (look->len > 0) {
        look->len = parent_len(look->path, look->len);
        memcpy(group, look->path, look->len);
        group[look->len] = '\0';
        look->want.wait = (struct zd_wait){.done = arrived};
        if (zd_catalog_want(look->dataset, group, &look->want) == ZD_WAIT) {
            return ZD_WAIT;
        }
        take(look);
    }
    return ZD_NEXT;
}

enum zd_next zd_parent_groups_want(struct zd_parent_groups_look *look, struct zd_dataset *dataset,
    const char *path, void (*done)(void *context), void *context)
{
    zd_parent_groups_release(look);
    look->dataset = dataset;
    look->path = path;
    look->len = strlen(path) > ZD_KEY_BYTES_MAX ? 0 : strlen(path);
    look->checked_ms = uv_now(dataset->server->loop);
    look->done = done;
    look->context = context;
    return ask(look);
}

void zd_parent_groups_release(struct zd_parent_groups_look *look)
{
    zd_wait_cancel(&look->want.wait);
    zd_node_unref(ZD_TAKE(look->want.node));
    zd_parent_groups_done(&look->above);
}
