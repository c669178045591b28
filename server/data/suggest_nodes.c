/* Nodes whose names are nearest to that of one that is not there.
 *
 *     "" -> "solar" -> "solar/iradiance" is missing: list "solar", compare, look the nearest up
 */
#include "server/data/suggest_nodes.h"

#include <string.h>

#include "core/base/num.h"
#include "core/store/contract/path.h"
#include "server/runtime/server.h"

#define GROUPS_MAX  16   /* on the way: nodes that are deeper get no suggestions */
#define ENTRIES_MAX 1024 /* of the group, that are compared */
#define VISITS_MAX  4096 /* of its entries, keys included */
#define TURN_MS     50   /* one look-up in this time ... */
#define TURNS_MAX   16   /* ... and so many at once after a pause */

/* Missing names cost others no more than that, however many are asked for. */
static bool takes_turn(struct zd_server *server)
{
    const uint64_t now_ms = uv_now(server->loop);
    const uint64_t pause_ms = zd_min_u64(now_ms, (uint64_t)TURNS_MAX * TURN_MS);
    const uint64_t next_ms = zd_max_u64(server->near_nodes_ms, now_ms - pause_ms) + TURN_MS;
    if (next_ms > now_ms) {
        return false;
    }
    server->near_nodes_ms = next_ms;
    return true;
}

/* ---- the nearest names ---- */

static ZD_RESULT add_path(
    const struct zd_node *group, const struct zd_store_entry *entry, struct zd_text *path)
{
    if (group->path[0] != '\0') {
        ZD_TRY(zd_text_addf(path, "%s/", group->path));
    }
    return group->meta->dialect->child_name(zd_span_of(entry->name), entry->is_prefix, path);
}

/* Skip entries of a group that are no nodes. */
static void take_candidate(struct zd_suggest_nodes *near)
{
    const uint32_t i = near->n_asked - 1;
    if (near->want.wait.status == ZD_OK) {
        zd_suggest_add(&near->nearest, near->candidate[i], near->found.distance[i]);
    }
    zd_catalog_release(&near->want);
}

static enum zd_next step_candidates(struct zd_suggest_nodes *near)
{
    if (near->n_asked > 0) {
        take_candidate(near);
    }
    if (near->n_asked == ZD_SUGGEST_NODES_MAX || near->n_asked == near->found.n) {
        return ZD_DONE;
    }
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    const struct zd_store_entry entry = {
        .name = (char *)near->found.name[near->n_asked], .is_prefix = true};
    char *candidate = add_path(near->group, &entry, &path) == ZD_OK ? zd_strdup(path.at) : NULL;
    if (candidate == NULL) {
        return ZD_DONE;
    }
    near->candidate[near->n_asked++] = candidate;
    near->want = (struct zd_node_want){.wait = zd_machine_wait(&near->machine)};
    return zd_catalog_want(near->dataset, candidate, &near->want);
}

static enum zd_next step_listed(struct zd_suggest_nodes *near)
{
    const struct zd_store_list *list = near->list.list;
    char missing[ZD_KEY_BYTES_MAX + 1];
    if (near->list.wait.status != ZD_OK) {
        return ZD_DONE;
    }
    (void)zd_path_cut(near->path, near->len, missing);
    for (size_t i = 0; i < list->n_entries; i++) {
        ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
        const struct zd_store_entry *entry = &list->entry[i];
        if (add_path(near->group, entry, &path) == ZD_OK) {
            entry->name[strlen(zd_path_last(path.at))] = '\0'; /* an entry begins with the name */
            zd_suggest_add_typed(&near->found, zd_path_last(missing), entry->name);
        }
    }
    near->step = step_candidates;
    return ZD_NEXT;
}

static enum zd_next list(struct zd_suggest_nodes *near)
{
    const struct zd_node *group = near->group;
    ZD_SCOPED_TEXT(prefix, ZD_KEY_BYTES_MAX + 1);
    if (group == NULL || group->meta->dialect->children_prefix(group->path, &prefix) != ZD_OK) {
        return ZD_DONE;
    }
    near->step = step_listed;
    near->list =
        (struct zd_key_list){.wait = zd_machine_wait(&near->machine), .visits_max = VISITS_MAX};
    return zd_key_list_want(near->dataset, prefix.at, ENTRIES_MAX, &near->list);
}

/* ---- the last group that is there ---- */

static enum zd_next look(struct zd_suggest_nodes *near)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    near->want = (struct zd_node_want){.wait = zd_machine_wait(&near->machine)};
    return zd_catalog_want(near->dataset, zd_path_cut(near->path, near->len, path), &near->want);
}

static enum zd_next step_group(struct zd_suggest_nodes *near)
{
    const char *path = near->path;
    struct zd_node *node = near->want.node;
    if (near->want.wait.status == ZD_NOT_FOUND) {
        return list(near);
    }
    const bool is_group =
        node != NULL && node->meta->type == ZD_NODE_GROUP && !zd_meta_is_refused(node->meta);
    if (!is_group || path[near->len] == '\0' || ++near->n_groups > GROUPS_MAX) {
        return ZD_DONE;
    }
    zd_node_unref(near->group);
    near->group = ZD_TAKE(near->want.node);
    near->len += path[near->len] == '/' ? 1 : 0;
    near->len += strcspn(path + near->len, "/");
    return look(near);
}

static enum zd_next step(struct zd_machine *machine)
{
    struct zd_suggest_nodes *near = ZD_CONTAINER(machine, struct zd_suggest_nodes, machine);
    return near->step(near);
}

enum zd_next zd_suggest_nodes_want(
    struct zd_suggest_nodes *near, struct zd_dataset *dataset, const char *path)
{
    near->machine = (struct zd_machine){.step = step, .wait = &near->wait};
    near->step = step_group;
    near->dataset = dataset;
    near->path = path;
    if (path[0] == '\0' || strlen(path) > ZD_KEY_BYTES_MAX || !takes_turn(dataset->server)) {
        return ZD_NEXT;
    }
    const enum zd_next next = look(near);
    return next == ZD_NEXT ? zd_machine_call(&near->machine) : next;
}

void zd_suggest_nodes_release(struct zd_suggest_nodes *near)
{
    zd_catalog_release(&near->want);
    zd_key_list_release(&near->list);
    zd_node_unref(ZD_TAKE(near->group));
    for (uint32_t i = 0; i < near->n_asked; i++) {
        zd_free(ZD_TAKE(near->candidate[i]));
    }
    near->n_asked = 0;
}
