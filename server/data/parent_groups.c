/* The groups above a node, and what their extensions say about it. */
#include "server/data/parent_groups.h"

#include <string.h>

#include "core/base/emit.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/num.h"
#include "core/store/contract/path.h"
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
static size_t place_of(const struct zd_parent_groups *groups, const char *path)
{
    size_t first = 0;
    size_t end = groups->n;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (zd_path_compare(groups->group[middle].path, path) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static const struct zd_meta *find(const struct zd_parent_groups *groups, const char *path)
{
    const size_t place = place_of(groups, path);
    const bool is_there = place < groups->n && strcmp(groups->group[place].path, path) == 0;
    return is_there ? groups->group[place].meta : NULL;
}

enum zd_status zd_parent_groups_add(
    struct zd_parent_groups *groups, const char *path, struct zd_meta *meta)
{
    if (!zd_parent_groups_says_something(meta) || find(groups, path) != NULL) {
        return ZD_OK;
    }
    ZD_AUTO_TEXT copy = zd_strdup(path);
    struct zd_parent_groups_group *grown =
        zd_realloc(groups->group, (groups->n + 1) * sizeof *grown);
    groups->group = grown == NULL ? groups->group : grown;
    if (copy == NULL || grown == NULL) {
        return ZD_NO_MEMORY;
    }
    const size_t place = place_of(groups, path);
    memmove(grown + place + 1, grown + place, (groups->n - place) * sizeof *grown);
    grown[place] =
        (struct zd_parent_groups_group){.path = ZD_TAKE(copy), .meta = zd_meta_ref(meta)};
    groups->n++;
    return ZD_OK;
}

static void group_done(struct zd_parent_groups_group *group)
{
    zd_free(group->path);
    zd_meta_unref(group->meta);
}

void zd_parent_groups_keep(struct zd_parent_groups *groups, const char *path)
{
    size_t n = 0;
    for (size_t i = 0; i < groups->n; i++) {
        struct zd_parent_groups_group *group = &groups->group[i];
        if (strcmp(path, group->path) == 0 || zd_path_is_below(path, group->path)) {
            groups->group[n++] = *group;
        } else {
            group_done(group);
        }
    }
    groups->n = n;
}

void zd_parent_groups_done(struct zd_parent_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        group_done(&groups->group[i]);
    }
    zd_free(groups->group);
    *groups = (struct zd_parent_groups){0};
}

struct zd_listing zd_parent_groups_listing(const struct zd_parent_groups *groups, const char *path)
{
    struct zd_listing listing = {0};
    char group[ZD_KEY_BYTES_MAX + 1];
    const size_t path_len = strlen(path);
    if (groups->n == 0 || path_len > ZD_KEY_BYTES_MAX) {
        return listing;
    }
    (void)zd_path_cut(path, path_len, group);
    for (size_t len = path_len; len > 0;) {
        len = zd_path_parent_len(group);
        const struct zd_meta *meta = find(groups, zd_path_cut(group, len, group));
        if (meta != NULL) {
            zd_applied_listing(&meta->applied, path + len + (len == 0 ? 0 : 1), &listing);
        }
    }
    return listing;
}

/* A group's part of tags: what it says of others. The generation of its document may tell of
 * changes of nodes that its consolidated metadata lists. */
static uint64_t tag_of(const struct zd_node *node)
{
    struct zd_hash hash = {0};
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, node->dataset->server->config->settings.limits_tree_bytes);
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, zd_json_member(node->meta->document, "extensions"));
    zd_hash_add(&hash, zd_text_span(&text));
    return hash.value;
}

static void take(struct zd_parent_groups_want *want)
{
    struct zd_node *node = want->node.node;
    if (want->node.wait.status == ZD_NOT_FOUND) {
        return; /* an implicit group says nothing */
    }
    if (want->node.wait.status != ZD_OK ||
        zd_parent_groups_add(&want->groups, node->path, node->meta) != ZD_OK) {
        want->checked_ms = 0;
    } else {
        want->checked_ms = zd_min_u64(want->checked_ms, node->checked_ms);
        if (zd_parent_groups_says_something(node->meta)) {
            struct zd_hash hash = {.value = want->groups.tag};
            zd_hash_add_u64(&hash, tag_of(node));
            want->groups.tag = hash.value;
        }
    }
    zd_node_unref(ZD_TAKE(want->node.node));
}

/* Takes one group and asks for the next, from the nearest to the root: most are in the cache, so
 * one after the other. */
static enum zd_next step(struct zd_machine *machine)
{
    struct zd_parent_groups_want *want =
        ZD_CONTAINER(machine, struct zd_parent_groups_want, machine);
    char group[ZD_KEY_BYTES_MAX + 1];
    if (want->is_asking) {
        take(want);
    }
    want->is_asking = false;
    if (want->len == 0) {
        return ZD_DONE;
    }
    want->len = zd_path_parent_len(zd_path_cut(want->path, want->len, group));
    if (!zd_reader_may(&want->reader, zd_path_cut(group, want->len, group))) {
        return ZD_NEXT;
    }
    want->is_asking = true;
    want->node.wait = zd_machine_wait(machine);
    return zd_catalog_want(want->dataset, group, &want->node);
}

enum zd_next zd_parent_groups_want(
    struct zd_dataset *dataset, const char *path, struct zd_parent_groups_want *want)
{
    zd_parent_groups_release(want);
    want->dataset = dataset;
    want->path = path;
    want->len = strlen(path) > ZD_KEY_BYTES_MAX ? 0 : strlen(path);
    want->checked_ms = uv_now(dataset->server->loop);
    want->wait.status = ZD_OK;
    want->is_asking = false;
    want->machine = (struct zd_machine){.step = step, .wait = &want->wait};
    return zd_machine_call(&want->machine);
}

void zd_parent_groups_release(struct zd_parent_groups_want *want)
{
    zd_catalog_release(&want->node);
    zd_parent_groups_done(&want->groups);
}
