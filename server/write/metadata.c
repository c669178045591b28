/* Changing the documents of a hierarchy: which step follows which; from the ask to the answer. */
#include "server/write/metadata.h"

#include <assert.h>
#include <string.h>

#include "server/data/datasets.h"
#include "server/write/change.h"

/* ---- the table ---- */

enum state {
    ANY, /* for outcomes that a state does not name */
    PATH,
    COLLECT,
    READ_BELOW,
    METADATA,
    FIND,
    READ,
    FIND_AGAIN,
    BOUNDS,
    JUDGE,
    LOCK_TREE,
    LEVELS,
    LOOK,
    RELIST,
    STAGE,
    COMMIT,
    ERASE_OWN,
    ERASE_BELOW,
    KEEP,
    ERASE_ORPHANS,
    RELOCK,
    GIVE_BACK,
    RESTORE_BELOW,
    RESTORE_OWN,
    ERASE_REST,
    AGAIN,
    FAIL,
    DROP,
    UNDO,
    UNDO_LAST,
    UNDO_BELOW,
    UNDO_END,
    FINISH,
};

#define ROW(begin, end, ...)                                                                       \
    {                                                                                              \
        begin, end,                                                                                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define TO(outcome, state) [ZD_CHANGE_##outcome] = (state)

/* Locks, what is stored, what is to be stored, commit, and what is erased afterwards; then the ways
 * back. Names without a prefix are outcomes and states. */
static const struct zd_change_row table[] = {
    [ANY] = ROW(NULL, NULL, TO(AGAIN, AGAIN), TO(FAILED, FAIL)),
    [PATH] =
        ROW(zd_change_lock_path, zd_change_lock_path_end, TO(NEXT, METADATA), TO(TREE, COLLECT)),
    [COLLECT] = ROW(zd_change_subtree_collect, zd_change_subtree_collect_end, TO(NEXT, READ_BELOW)),
    [READ_BELOW] = ROW(zd_change_subtree_read, zd_change_subtree_read_end, TO(MORE, READ_BELOW),
        TO(NEXT, METADATA)),
    [METADATA] = ROW(zd_change_lock_metadata, zd_change_lock_metadata_end, TO(NEXT, FIND)),
    [FIND] = ROW(zd_change_find_nodes, zd_change_find_nodes_end, TO(NEXT, READ)),
    [READ] = ROW(zd_change_find_documents, zd_change_find_documents_end, TO(NEXT, BOUNDS),
        TO(LISTINGS, FIND_AGAIN)),
    [FIND_AGAIN] =
        ROW(zd_change_find_again, zd_change_find_again_end, TO(NEXT, RELIST), TO(DONE, RELIST)),
    [BOUNDS] = ROW(zd_change_bounds, NULL, TO(NEXT, JUDGE), TO(DONE, FINISH)),
    [JUDGE] = ROW(zd_change_judge, zd_change_judge_end, TO(NEXT, LEVELS), TO(TREE, LOCK_TREE)),
    [LOCK_TREE] = ROW(zd_change_lock_tree, zd_change_lock_path_end, TO(NEXT, METADATA)),
    [LEVELS] = ROW(zd_change_levels, zd_change_levels_end, TO(NEXT, LOOK)),
    [LOOK] = ROW(zd_change_look, zd_change_look_end, TO(NEXT, RELIST)),
    [RELIST] = ROW(zd_change_relist, zd_change_relist_end, TO(NEXT, STAGE), TO(DONE, FINISH)),
    [STAGE] = ROW(zd_change_store, zd_change_store_end, TO(NEXT, COMMIT), TO(ERASE, ERASE_OWN)),
    [COMMIT] = ROW(zd_change_store_commit, zd_change_store_commit_end, TO(NEXT, COMMIT),
        TO(DONE, ERASE_REST), TO(ERASE, ERASE_OWN), TO(GIVE_BACK, GIVE_BACK)),
    [ERASE_OWN] = ROW(zd_change_erase_own, zd_change_erase_own_end, TO(NEXT, ERASE_BELOW),
        TO(ORPHANS, ERASE_ORPHANS), TO(FAILED, RESTORE_OWN)),
    [ERASE_BELOW] = ROW(zd_change_subtree_erase, zd_change_subtree_erase_end, TO(MORE, ERASE_BELOW),
        TO(NEXT, KEEP), TO(DONE, KEEP), TO(FAILED, RESTORE_BELOW)),
    [KEEP] = ROW(zd_change_erase_keep, NULL, TO(NEXT, COMMIT), TO(FAILED, RESTORE_BELOW)),
    [ERASE_ORPHANS] = ROW(zd_change_erase_orphans, zd_change_erase_orphans_end, TO(NEXT, RELOCK)),
    [RELOCK] = ROW(zd_change_lock_metadata, zd_change_erase_relock_end, TO(NEXT, COMMIT),
        TO(GIVE_BACK, GIVE_BACK)),
    [GIVE_BACK] = ROW(zd_change_erase_give_back, NULL, TO(NEXT, RESTORE_OWN), TO(LISTINGS, DROP),
        TO(DONE, FINISH)),
    [RESTORE_BELOW] = ROW(zd_change_subtree_restore, zd_change_subtree_restore_end,
        TO(MORE, RESTORE_BELOW), TO(NEXT, RESTORE_OWN)),
    [RESTORE_OWN] = ROW(
        zd_change_erase_restore, zd_change_erase_restore_end, TO(LISTINGS, DROP), TO(DONE, FINISH)),
    [ERASE_REST] =
        ROW(zd_change_erase_rest, zd_change_erase_rest_end, TO(NEXT, FINISH), TO(DONE, FINISH)),
    [AGAIN] = ROW(zd_change_run_again, NULL, TO(NEXT, FIND), TO(TREE, COLLECT)),
    [FAIL] = ROW(zd_change_run_fail, NULL, TO(LISTINGS, DROP), TO(UNDO, UNDO), TO(NEXT, ERASE_REST),
        TO(DONE, FINISH)),
    [DROP] = ROW(zd_change_run_drop, NULL, TO(NEXT, FIND)),
    [UNDO] = ROW(zd_change_undo_look, zd_change_undo_look_end, TO(MORE, UNDO), TO(NEXT, UNDO_LAST),
        TO(DONE, UNDO_BELOW)),
    [UNDO_LAST] = ROW(zd_change_undo_last, zd_change_undo_last_end, TO(NEXT, UNDO)),
    [UNDO_BELOW] = ROW(zd_change_subtree_restore, zd_change_subtree_restore_end,
        TO(MORE, UNDO_BELOW), TO(NEXT, UNDO_END)),
    [UNDO_END] = ROW(zd_change_undo_end, NULL, TO(LISTINGS, DROP), TO(DONE, FINISH)),
    [FINISH] = ROW(zd_change_run_finish, NULL, 0),
};

/* ---- the answer ---- */

static void free_change(struct zd_change *change)
{
    zd_change_run_forget(change);
    zd_change_run_forget_meta(change);
    zd_change_undo_forget(change);
    for (size_t i = 0; i < change->n_places; i++) {
        zd_free(change->place[i].path);
    }
    zd_free(change->place);
    zd_json_unref(change->new_group);
    zd_meta_unref(change->now);
    zd_free(change->erased_index);
    zd_change_subtree_free(change->subtree);
    zd_buf_unref(change->ask.bytes);
    zd_json_unref((struct zd_json *)(uintptr_t)change->ask.json);
    zd_node_unref(change->ask.expected);
    zd_free(change->written);
    zd_free(change->key);
    zd_free(change->path);
    zd_dataset_unref(change->dataset);
    zd_free(change);
}

static void give(struct zd_change *change)
{
    struct zd_metadata_want *want = change->want;
    const enum zd_status status = change->err.status;
    if (want == NULL) {
        return;
    }
    want->load = NULL;
    want->code = change->code;
    want->meta = ZD_TAKE(change->meta);
    want->node = status == ZD_OK ? ZD_TAKE(change->made) : NULL;
    want->stat = change->stat;
    want->has_made = change->has_made;
    want->is_stored = change->phase != ZD_CHANGE_DOCUMENTS && change->verdict < ZD_VERDICT_FAILED;
    zd_wait_answer(&want->wait, status, status == ZD_OK ? NULL : &change->err);
}

static void end(struct zd_machine *machine)
{
    struct zd_change *change = ZD_CONTAINER(machine, struct zd_change, machine);
    struct zd_metadata_want *want = change->want;
    give(change);
    free_change(change);
    if (want != NULL) {
        want->wait.done(&want->wait);
    }
}

/* ---- the ask ---- */

/* The root, and every path down to the node. */
static enum zd_status make_places(struct zd_change *change)
{
    size_t n = change->path[0] == '\0' ? 1 : 2;
    for (const char *at = change->path; *at != '\0'; at++) {
        n += *at == '/' ? 1 : 0;
    }
    change->place = zd_alloc_zero(n, sizeof *change->place);
    if (change->place == NULL) {
        return ZD_NO_MEMORY;
    }
    size_t len = 0;
    for (change->n_places = 0; change->n_places < n; change->n_places++) {
        struct zd_change_place *place = &change->place[change->n_places];
        if (change->n_places > 0) {
            len += len == 0 ? 0 : 1;
            len += strcspn(change->path + len, "/");
        }
        place->change = change;
        place->path = zd_strndup(change->path, len);
        if (place->path == NULL) {
            return ZD_NO_MEMORY;
        }
        for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
            place->document[i].place = place;
            place->document[i].number = i;
        }
    }
    return ZD_OK;
}

/* The path asked for, or the path of the node whose document the key is. */
static enum zd_status take_place(struct zd_change *change, const char *place)
{
    const enum zd_metadata_kind kind = change->ask.kind;
    if (kind != ZD_METADATA_PUT_KEY && kind != ZD_METADATA_ERASE_KEY) {
        change->path = zd_strdup(place);
        return change->path == NULL ? ZD_NO_MEMORY : make_places(change);
    }
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    const enum zd_status status = zd_dialect_node_path(place, &path);
    assert(status != ZD_NOT_FOUND);
    ZD_TRY(status);
    change->key = zd_strdup(place);
    change->path = zd_strdup(path.at);
    return change->key == NULL || change->path == NULL ? ZD_NO_MEMORY : make_places(change);
}

static enum zd_status take_written(struct zd_change *change, const struct zd_written *written)
{
    if (written == NULL) {
        return ZD_OK;
    }
    change->written = zd_alloc(sizeof *written);
    change->ask.written = change->written;
    if (change->written == NULL) {
        return ZD_NO_MEMORY;
    }
    *change->written = *written;
    return ZD_OK;
}

static struct zd_change *new_change(struct zd_dataset *dataset, const struct zd_metadata_ask *ask)
{
    struct zd_change *change = zd_alloc_zero(1, sizeof *change);
    if (change == NULL) {
        return NULL;
    }
    change->dataset = zd_dataset_ref(dataset);
    zd_list_init(&change->undo.old);
    change->ask = *ask;
    change->ask.place = NULL;
    change->ask.bytes = ask->bytes == NULL ? NULL : zd_buf_ref(ask->bytes);
    change->ask.json = ask->json == NULL ? NULL : zd_json_ref(ask->json);
    change->ask.expected = ask->expected == NULL ? NULL : zd_node_ref(ask->expected);
    if (take_place(change, ask->place) != ZD_OK || take_written(change, ask->written) != ZD_OK) {
        free_change(change);
        return NULL;
    }
    return change;
}

enum zd_next zd_metadata_want(
    struct zd_dataset *dataset, const struct zd_metadata_ask *ask, struct zd_metadata_want *want)
{
    struct zd_change *change = new_change(dataset, ask);
    if (change == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to change a node");
        return ZD_NEXT;
    }
    change->want = want;
    want->load = change;
    zd_change_run_init(change, table, end);
    if (zd_machine_begin(&change->machine) == ZD_WAIT) {
        return ZD_WAIT;
    }
    give(change);
    free_change(change);
    return ZD_NEXT;
}

void zd_metadata_release(struct zd_metadata_want *want)
{
    struct zd_change *change = want->load;
    if (change != NULL) {
        change->want = NULL;
        want->load = NULL;
    }
    zd_meta_unref(ZD_TAKE(want->meta));
    zd_node_unref(ZD_TAKE(want->node));
}
