/* Locks of one server's writers among each other: first come, first served.
 *
 *     place "p" path a    held CHUNKS, held CHUNKS, NODE waits, CHUNKS waits       in their order
 *     place "p" path a/b  held APPEND
 *     place "o" key a/c/0 held, waits, waits
 *     trees               TREE of "" waits: behind those who came before, before all who come later
 *
 * At a place a want is held when none of those before it disturbs it. Those of trees disturb at
 * other places too: there are few of them, so they are in a list of their own that each looks
 * through. */
#include "server/write/lock.h"

#include <string.h>

#include "core/base/num.h"
#include "server/runtime/server.h"

/* What is locked under one name. */
struct zd_lock_place {
    struct zd_map_entry map; /* key: dataset id, kind, path */
    struct zd_locks *locks;
    char *path;           /* in the key */
    struct zd_list wants; /* in the order of arrival */
    uint32_t n_waiting;
    uint64_t round; /* the last one in which it was looked through */
};

enum kind {
    KIND_PATH = 'p',
    KIND_METADATA = 'm',
    KIND_OBJECT = 'o',
};

#define KEY_HEAD_BYTES (sizeof(uint32_t) + 1) /* dataset id, kind */

static enum kind kind_of(enum zd_lock_mode mode)
{
    switch (mode) {
    case ZD_LOCK_CHUNKS:
    case ZD_LOCK_APPEND:
    case ZD_LOCK_NODE:
    case ZD_LOCK_TREE:
        return KIND_PATH;
    case ZD_LOCK_METADATA:
        return KIND_METADATA;
    case ZD_LOCK_OBJECT:
        break;
    }
    return KIND_OBJECT;
}

static bool is_path(const struct zd_lock_want *want)
{
    return kind_of(want->mode) == KIND_PATH;
}

/* ---- who disturbs whom ---- */

static uint32_t dataset_of(const struct zd_lock_place *place)
{
    return zd_load_u32(place->map.key.ptr);
}

/* Whether the path of b is that of a, or below it. */
static bool covers(const struct zd_lock_place *a, const struct zd_lock_place *b)
{
    const size_t len = strlen(a->path);
    if (dataset_of(a) != dataset_of(b)) {
        return false;
    }
    return len == 0 ||
           (strncmp(a->path, b->path, len) == 0 && (b->path[len] == '/' || b->path[len] == '\0'));
}

/* Whether somebody who came before has, or waits for, all of a tree that the want is in. */
static bool is_in_tree(const struct zd_locks *locks, const struct zd_lock_want *want)
{
    for (struct zd_list *at = locks->trees.next; at != &locks->trees; at = at->next) {
        const struct zd_lock_want *tree = ZD_CONTAINER(at, struct zd_lock_want, among_trees);
        if (tree->number >= want->number) {
            break;
        }
        if (covers(tree->place, want->place)) {
            return true;
        }
    }
    return false;
}

/* Whether somebody who came before locks a path in this tree. */
static bool has_others_in(const struct zd_locks *locks, const struct zd_lock_want *tree)
{
    for (struct zd_list *at = locks->paths.next; at != &tree->among_paths; at = at->next) {
        const struct zd_lock_want *other = ZD_CONTAINER(at, struct zd_lock_want, among_paths);
        if (covers(tree->place, other->place)) {
            return true;
        }
    }
    return false;
}

static bool is_disturbed(const struct zd_locks *locks, const struct zd_lock_want *want)
{
    return is_path(want) &&
           (is_in_tree(locks, want) || (want->mode == ZD_LOCK_TREE && has_others_in(locks, want)));
}

/* Who was met on the way through a place. */
struct met {
    bool chunks;
    bool append;
    bool alone; /* somebody nobody can be beside */
};

static bool goes_beside(enum zd_lock_mode mode, const struct met *met)
{
    switch (mode) {
    case ZD_LOCK_CHUNKS:
        return !met->alone;
    case ZD_LOCK_APPEND:
        return !met->alone && !met->append;
    case ZD_LOCK_NODE:
    case ZD_LOCK_TREE:
    case ZD_LOCK_METADATA:
    case ZD_LOCK_OBJECT:
        break;
    }
    return !met->alone && !met->append && !met->chunks;
}

static void meet(enum zd_lock_mode mode, struct met *met)
{
    met->chunks = met->chunks || mode == ZD_LOCK_CHUNKS;
    met->append = met->append || mode == ZD_LOCK_APPEND;
    met->alone = met->alone || (mode != ZD_LOCK_CHUNKS && mode != ZD_LOCK_APPEND);
}

/* ---- who may go on ---- */

static void on_turn(uv_idle_t *idle)
{
    struct zd_locks *locks = idle->data;
    struct zd_list *link = zd_list_pop_front(&locks->told);
    if (link == NULL) {
        uv_idle_stop(idle);
        return;
    }
    struct zd_wait *wait = ZD_CONTAINER(link, struct zd_wait, link);
    zd_wait_answer(wait, ZD_OK, NULL);
    wait->done(wait);
}

static void hold(struct zd_lock_want *want)
{
    struct zd_locks *locks = want->place->locks;
    want->is_held = true;
    want->place->n_waiting--;
    zd_list_push_back(&locks->told, &want->wait.link);
    uv_idle_start(&locks->next_turn, on_turn);
}

/* Everybody at a place whom nobody before disturbs any more holds it. */
static void look_through(struct zd_lock_place *place)
{
    struct met met = {0};
    struct zd_list *at = place->wants.next;
    for (; at != &place->wants && place->n_waiting > 0 && !met.alone; at = at->next) {
        struct zd_lock_want *want = ZD_CONTAINER(at, struct zd_lock_want, at_place);
        if (!want->is_held && goes_beside(want->mode, &met) && !is_disturbed(place->locks, want)) {
            hold(want);
        }
        meet(want->mode, &met);
    }
}

/* Wherever somebody waits for a path: trees are waited for at other places. */
static void look_through_paths(struct zd_locks *locks)
{
    locks->last_round++;
    for (struct zd_list *at = locks->paths.next; at != &locks->paths; at = at->next) {
        const struct zd_lock_want *want = ZD_CONTAINER(at, struct zd_lock_want, among_paths);
        if (!want->is_held && want->place->round != locks->last_round) {
            want->place->round = locks->last_round;
            look_through(want->place);
        }
    }
}

/* ---- places ---- */

static void free_place(struct zd_lock_place *place)
{
    zd_map_remove(&place->locks->places, &place->map);
    zd_free(place);
}

/* The place, its key and the NUL behind it are one piece of memory. NULL without any. */
static struct zd_lock_place *new_place(struct zd_locks *locks, struct zd_span key)
{
    struct zd_lock_place *place = zd_alloc_zero(1, sizeof *place + key.len + 1);
    if (place == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(place + 1);
    memcpy(own_key, key.ptr, key.len);
    place->locks = locks;
    place->path = (char *)own_key + KEY_HEAD_BYTES;
    place->map.key = (struct zd_span){.ptr = own_key, .len = key.len};
    zd_list_init(&place->wants);
    if (zd_map_put(&locks->places, &place->map) != ZD_OK) {
        zd_free(place);
        return NULL;
    }
    return place;
}

static struct zd_lock_place *find_place(
    struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path)
{
    struct zd_locks *locks = dataset->server->locks;
    uint8_t memory[KEY_HEAD_BYTES + ZD_KEY_BYTES_MAX];
    const enum kind kind = kind_of(mode);
    const size_t len = kind == KIND_METADATA ? 0 : strnlen(path, ZD_KEY_BYTES_MAX);
    zd_store_u32(memory, dataset->id);
    memory[sizeof(uint32_t)] = (uint8_t)kind;
    memcpy(memory + KEY_HEAD_BYTES, path, len);
    const struct zd_span key = {.ptr = memory, .len = KEY_HEAD_BYTES + len};
    struct zd_map_entry *found = zd_map_find(&locks->places, key);
    return found == NULL ? new_place(locks, key) : ZD_CONTAINER(found, struct zd_lock_place, map);
}

/* ---- the whole ---- */

void zd_locks_init(struct zd_server *server)
{
    struct zd_locks *locks = server->locks;
    *locks = (struct zd_locks){0};
    zd_map_init(&locks->places);
    zd_list_init(&locks->paths);
    zd_list_init(&locks->trees);
    zd_list_init(&locks->told);
    uv_idle_init(server->loop, &locks->next_turn);
    locks->next_turn.data = locks;
}

void zd_locks_close(struct zd_server *server)
{
    struct zd_locks *locks = server->locks;
    uv_close((uv_handle_t *)&locks->next_turn, NULL);
    zd_map_done(&locks->places);
}

enum zd_next zd_lock_want(
    struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path, struct zd_lock_want *want)
{
    struct zd_lock_place *place = find_place(dataset, mode, path);
    if (place == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for a lock");
        return ZD_NEXT;
    }
    struct zd_locks *locks = place->locks;
    want->mode = mode;
    want->place = place;
    want->number = ++locks->last_number;
    want->is_held = false;
    zd_list_push_back(&place->wants, &want->at_place);
    place->n_waiting++;
    if (is_path(want)) {
        zd_list_push_back(&locks->paths, &want->among_paths);
    }
    if (mode == ZD_LOCK_TREE) {
        zd_list_push_back(&locks->trees, &want->among_trees);
    }
    look_through(place);
    if (!want->is_held) {
        return ZD_WAIT;
    }
    zd_list_remove(&want->wait.link);
    zd_wait_answer(&want->wait, ZD_OK, NULL);
    return ZD_NEXT;
}

void zd_lock_release(struct zd_lock_want *want)
{
    struct zd_lock_place *place = want->place;
    if (place == NULL) {
        return;
    }
    struct zd_locks *locks = place->locks;
    const bool has_trees = !zd_list_is_empty(&locks->trees);
    place->n_waiting -= want->is_held ? 0 : 1;
    zd_list_remove(&want->wait.link);
    zd_list_remove(&want->at_place);
    zd_list_remove(&want->among_paths);
    zd_list_remove(&want->among_trees);
    want->place = NULL;
    want->is_held = false;
    if (zd_list_is_empty(&place->wants)) {
        free_place(place);
    } else {
        look_through(place);
    }
    if (has_trees && is_path(want)) {
        look_through_paths(locks);
    }
}
