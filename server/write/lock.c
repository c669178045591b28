/* Locks between the writers of one server: first come, first served.
 *
 *     place "p" path a    held CHUNKS, held CHUNKS, NODE waits, CHUNKS waits    in order of arrival
 *     place "p" path a/b  held APPEND
 *     place "o" key a/c/0 held, waits, waits
 *     trees               TREE of "" waits: for all earlier wants, before all later ones
 *
 * A want is granted when no earlier want at its place conflicts with it. A TREE conflicts at other
 * places too; trees are few, so a list of their own holds them, which every want checks. */
#include "server/write/lock.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/text.h"
#include "core/dialect/dialect.h"
#include "server/runtime/server.h"

/* The claims of one path, of one key, or of the metadata of one dataset. */
struct zd_lock_place {
    struct zd_map_entry map; /* key: dataset id, kind, path */
    struct zd_locks *locks;
    char *path;            /* in the key */
    struct zd_list claims; /* in the order of arrival */
    uint32_t n_waiting;
    uint64_t round; /* the last one that visited it */
};

enum {
    KIND_PATH = 'p',
    KIND_METADATA = 'm',
    KIND_OBJECT = 'o',
};

#define BIT(mode) (1U << (mode))
#define SHARED    (BIT(ZD_LOCK_CHUNKS) | BIT(ZD_LOCK_APPEND))

/* What a mode locks, and the modes of earlier wants at the same place that exclude it. */
static const struct {
    uint8_t kind;
    uint32_t excluded_by;
} modes[] = {
    [ZD_LOCK_CHUNKS] = {KIND_PATH, ~SHARED},
    [ZD_LOCK_APPEND] = {KIND_PATH, ~BIT(ZD_LOCK_CHUNKS)},
    [ZD_LOCK_NODE] = {KIND_PATH, UINT32_MAX},
    [ZD_LOCK_TREE] = {KIND_PATH, UINT32_MAX},
    [ZD_LOCK_METADATA] = {KIND_METADATA, UINT32_MAX},
    [ZD_LOCK_OBJECT] = {KIND_OBJECT, UINT32_MAX},
};

#define SHARE_OF_REQUEST 2 /* a request learns that it has waited too long before it is over */

#define KEY_HEAD_BYTES (sizeof(uint32_t) + 1) /* dataset id, kind */

static bool is_path(const struct zd_lock_claim *claim)
{
    return modes[claim->mode].kind == KIND_PATH;
}

/* ---- conflicts ---- */

static uint32_t dataset_of(const struct zd_lock_place *place)
{
    return zd_load_u32(place->map.key.ptr);
}

/* Whether b's path is a's, or below it. */
static bool covers(const struct zd_lock_place *a, const struct zd_lock_place *b)
{
    const size_t len = strlen(a->path);
    if (dataset_of(a) != dataset_of(b)) {
        return false;
    }
    return len == 0 ||
           (strncmp(a->path, b->path, len) == 0 && (b->path[len] == '/' || b->path[len] == '\0'));
}

/* Whether an earlier TREE, held or waiting, contains the claim's path. */
static bool is_in_tree(const struct zd_locks *locks, const struct zd_lock_claim *claim)
{
    for (struct zd_list *at = locks->trees.next; at != &locks->trees; at = at->next) {
        const struct zd_lock_claim *tree = ZD_CONTAINER(at, struct zd_lock_claim, among_trees);
        if (tree->number >= claim->number) {
            break;
        }
        if (covers(tree->place, claim->place)) {
            return true;
        }
    }
    return false;
}

/* Whether an earlier claim locks a path in this tree. */
static bool has_earlier_in(const struct zd_locks *locks, const struct zd_lock_claim *tree)
{
    for (struct zd_list *at = locks->paths.next; at != &tree->among_paths; at = at->next) {
        const struct zd_lock_claim *other = ZD_CONTAINER(at, struct zd_lock_claim, among_paths);
        if (covers(tree->place, other->place)) {
            return true;
        }
    }
    return false;
}

static bool has_conflict(const struct zd_locks *locks, const struct zd_lock_claim *claim)
{
    return is_path(claim) && (is_in_tree(locks, claim) ||
                                 (claim->mode == ZD_LOCK_TREE && has_earlier_in(locks, claim)));
}

/* ---- patience ---- */

static void on_patience(uv_timer_t *timer);

/* All wait equally long: the first one is due first. */
static void arm(struct zd_locks *locks)
{
    if (zd_list_is_empty(&locks->waiting)) {
        uv_timer_stop(&locks->patience);
        return;
    }
    const struct zd_lock_claim *first =
        ZD_CONTAINER(locks->waiting.next, struct zd_lock_claim, among_waiting);
    const uint64_t now_ms = uv_now(locks->patience.loop);
    uv_timer_start(
        &locks->patience, on_patience, first->until_ms - zd_min_u64(now_ms, first->until_ms), 0);
}

/* Documents are stored under METADATA, without waiting for clients: what has begun is not given up
 * there. */
static void begin_waiting(struct zd_locks *locks, struct zd_lock_claim *claim)
{
    if (claim->mode != ZD_LOCK_METADATA) {
        claim->until_ms = uv_now(locks->patience.loop) + locks->wait_ms;
        zd_list_push_back(&locks->waiting, &claim->among_waiting);
        arm(locks);
    }
}

static void give_up(struct zd_locks *locks, struct zd_lock_claim *claim)
{
    const struct zd_lock_place *place = claim->place;
    struct zd_wait *wait = ZD_TAKE(claim->wait);
    zd_list_remove(&claim->among_waiting);
    if (place == NULL) {
        return; /* it does not wait: never */
    }
    wait->status = zd_fail(&wait->err, ZD_AGAIN,
        "\"%.256s\" is busy: others have been changing it for %llu ms", place->path,
        (unsigned long long)locks->wait_ms);
    zd_list_remove(&wait->link);
    zd_lock_release_kept(claim);
    wait->done(wait);
}

static void on_patience(uv_timer_t *timer)
{
    struct zd_locks *locks = timer->data;
    const uint64_t now_ms = uv_now(timer->loop);
    while (!zd_list_is_empty(&locks->waiting)) {
        struct zd_lock_claim *first =
            ZD_CONTAINER(locks->waiting.next, struct zd_lock_claim, among_waiting);
        if (first->until_ms > now_ms) {
            break;
        }
        give_up(locks, first);
    }
    arm(locks);
}

/* ---- grants ---- */

static void on_turn(uv_idle_t *idle)
{
    struct zd_locks *locks = idle->data;
    struct zd_list *link = zd_list_pop_front(&locks->granted);
    if (link == NULL) {
        uv_idle_stop(idle);
        return;
    }
    struct zd_wait *wait = ZD_CONTAINER(link, struct zd_wait, link);
    zd_wait_answer(wait, ZD_OK, NULL);
    wait->done(wait);
}

static void grant(struct zd_lock_claim *claim)
{
    struct zd_locks *locks = claim->place->locks;
    claim->is_held = true;
    claim->place->n_waiting--;
    zd_list_remove(&claim->among_waiting);
    zd_list_push_back(&locks->granted, &ZD_TAKE(claim->wait)->link);
    uv_idle_start(&locks->next_turn, on_turn);
}

static void grant_waiters(struct zd_lock_place *place)
{
    uint32_t earlier = 0; /* the modes of earlier claims */
    struct zd_list *at = place->claims.next;
    for (; at != &place->claims && place->n_waiting > 0 && (earlier & ~SHARED) == 0;
        at = at->next) {
        struct zd_lock_claim *claim = ZD_CONTAINER(at, struct zd_lock_claim, at_place);
        if (!claim->is_held && (modes[claim->mode].excluded_by & earlier) == 0 &&
            !has_conflict(place->locks, claim)) {
            grant(claim);
        }
        earlier |= BIT(claim->mode);
    }
}

/* At every path: a released lock may have kept a TREE of another place waiting. */
static void grant_waiters_of_paths(struct zd_locks *locks)
{
    locks->last_round++;
    for (struct zd_list *at = locks->paths.next; at != &locks->paths; at = at->next) {
        const struct zd_lock_claim *claim = ZD_CONTAINER(at, struct zd_lock_claim, among_paths);
        if (!claim->is_held && claim->place->round != locks->last_round) {
            claim->place->round = locks->last_round;
            grant_waiters(claim->place);
        }
    }
}

/* ---- places ---- */

static void free_place(struct zd_lock_place *place)
{
    zd_map_remove(&place->locks->places, &place->map);
    zd_free(place);
}

/* One allocation holds the place, its key and a NUL. NULL: no memory. */
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
    zd_list_init(&place->claims);
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
    const uint8_t kind = modes[mode].kind;
    const size_t len = kind == KIND_METADATA ? 0 : strnlen(path, ZD_KEY_BYTES_MAX);
    zd_store_u32(memory, dataset->id);
    memory[sizeof(uint32_t)] = kind;
    memcpy(memory + KEY_HEAD_BYTES, path, len);
    const struct zd_span key = {.ptr = memory, .len = KEY_HEAD_BYTES + len};
    struct zd_map_entry *found = zd_map_find(&locks->places, key);
    return found == NULL ? new_place(locks, key) : ZD_CONTAINER(found, struct zd_lock_place, map);
}

/* ---- the calls ---- */

void zd_lock_init(struct zd_server *server)
{
    struct zd_locks *locks = server->locks;
    *locks = (struct zd_locks){0};
    zd_map_init(&locks->places);
    zd_list_init(&locks->paths);
    zd_list_init(&locks->trees);
    zd_list_init(&locks->granted);
    uv_idle_init(server->loop, &locks->next_turn);
    locks->next_turn.data = locks;
    zd_list_init(&locks->waiting);
    uv_timer_init(server->loop, &locks->patience);
    locks->patience.data = locks;
    uv_unref((uv_handle_t *)&locks->patience);
    const struct zd_settings *settings = &server->config->settings;
    locks->wait_ms =
        zd_min_u64(settings->limits_lock_ms, settings->http_request_ms / SHARE_OF_REQUEST);
}

void zd_lock_close(struct zd_server *server)
{
    struct zd_locks *locks = server->locks;
    uv_close((uv_handle_t *)&locks->next_turn, NULL);
    uv_close((uv_handle_t *)&locks->patience, NULL);
    zd_map_done(&locks->places);
}

enum zd_next zd_lock_want(
    struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path, struct zd_lock_want *want)
{
    struct zd_lock_place *place = find_place(dataset, mode, path);
    struct zd_lock_claim *claim = &want->claim;
    if (place == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for a lock");
        return ZD_NEXT;
    }
    struct zd_locks *locks = place->locks;
    claim->wait = &want->wait;
    claim->mode = mode;
    claim->place = place;
    claim->number = ++locks->last_number;
    claim->is_held = false;
    zd_list_push_back(&place->claims, &claim->at_place);
    place->n_waiting++;
    if (is_path(claim)) {
        zd_list_push_back(&locks->paths, &claim->among_paths);
    }
    if (mode == ZD_LOCK_TREE) {
        zd_list_push_back(&locks->trees, &claim->among_trees);
    }
    grant_waiters(place);
    if (!claim->is_held) {
        begin_waiting(locks, claim);
        return ZD_WAIT;
    }
    zd_list_remove(&want->wait.link);
    zd_wait_answer(&want->wait, ZD_OK, NULL);
    return ZD_NEXT;
}

void zd_lock_release(struct zd_lock_want *want)
{
    zd_list_remove(&want->wait.link); /* granted, and not told yet */
    zd_lock_release_kept(&want->claim);
}

void zd_lock_keep(struct zd_lock_want *want, struct zd_lock_claim *to)
{
    struct zd_lock_claim *claim = &want->claim;
    assert(claim->is_held && claim->mode == ZD_LOCK_OBJECT);
    *to = (struct zd_lock_claim){
        .mode = claim->mode, .place = claim->place, .number = claim->number, .is_held = true};
    zd_list_insert_after(&claim->at_place, &to->at_place);
    zd_list_remove(&claim->at_place);
    *claim = (struct zd_lock_claim){0};
}

void zd_lock_release_kept(struct zd_lock_claim *claim)
{
    struct zd_lock_place *place = claim->place;
    if (place == NULL) {
        return;
    }
    struct zd_locks *locks = place->locks;
    const bool has_trees = !zd_list_is_empty(&locks->trees);
    place->n_waiting -= claim->is_held ? 0 : 1;
    zd_list_remove(&claim->at_place);
    zd_list_remove(&claim->among_paths);
    zd_list_remove(&claim->among_trees);
    zd_list_remove(&claim->among_waiting);
    claim->wait = NULL;
    claim->place = NULL;
    claim->is_held = false;
    if (zd_list_is_empty(&place->claims)) {
        free_place(place);
    } else {
        grant_waiters(place);
    }
    if (has_trees && is_path(claim)) {
        grant_waiters_of_paths(locks);
    }
}

/* ---- the node under its lock ---- */

static enum zd_next step_found(struct zd_node_lock *lock)
{
    zd_wait_answer(&lock->wait, lock->found.wait.status, &lock->found.wait.err);
    lock->node = ZD_TAKE(lock->found.node);
    return ZD_DONE;
}

static enum zd_next step_locked(struct zd_node_lock *lock)
{
    if (lock->lock.wait.status != ZD_OK) {
        zd_wait_answer(&lock->wait, lock->lock.wait.status, &lock->lock.wait.err);
        return ZD_DONE;
    }
    lock->step = step_found;
    lock->found = (struct zd_node_want){.wait = zd_machine_wait(&lock->machine)};
    return zd_catalog_want_fresh(lock->dataset, lock->path, &lock->found);
}

static enum zd_next step_node(struct zd_machine *machine)
{
    struct zd_node_lock *lock = ZD_CONTAINER(machine, struct zd_node_lock, machine);
    return lock->step(lock);
}

enum zd_next zd_lock_want_node(
    struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path, struct zd_node_lock *want)
{
    want->machine = (struct zd_machine){.step = step_node, .wait = &want->wait};
    want->step = step_locked;
    want->dataset = dataset;
    want->path = path;
    want->lock.wait = zd_machine_wait(&want->machine);
    if (zd_lock_want(dataset, mode, path, &want->lock) == ZD_WAIT) {
        return ZD_WAIT;
    }
    return zd_machine_call(&want->machine);
}

void zd_lock_release_node(struct zd_node_lock *want)
{
    zd_catalog_release(&want->found);
    zd_node_unref(ZD_TAKE(want->node));
    zd_lock_release(&want->lock);
}

/* ---- what a stored key means ---- */

static enum zd_next end_with(
    struct zd_key_lock *lock, enum zd_status status, const struct zd_error *err)
{
    zd_wait_answer(&lock->wait, status, err);
    return ZD_DONE;
}

static enum zd_next fail_without_memory(struct zd_key_lock *lock)
{
    struct zd_error err = {0};
    return end_with(lock, zd_fail(&err, ZD_NO_MEMORY, "no memory for a key"), &err);
}

static enum zd_next lock_path(struct zd_key_lock *lock);

static enum zd_next mean(struct zd_key_lock *lock, enum zd_key_meaning meaning)
{
    lock->meaning = meaning;
    return lock->wants_lock ? lock_path(lock) : end_with(lock, ZD_OK, NULL);
}

static enum zd_next judge_array(struct zd_key_lock *lock, const char *rest)
{
    const struct zd_node *node = lock->ancestor.node;
    lock->node = ZD_TAKE(lock->ancestor.node);
    lock->rest = rest;
    if (node->layout == NULL) {
        return mean(lock, ZD_KEY_UNKNOWN);
    }
    switch (node->meta->dialect->chunk_index(node->meta, rest, lock->index)) {
    case ZD_OK:
        return mean(lock, ZD_KEY_CHUNK);
    case ZD_OUT_OF_BOUNDS:
        return mean(lock, ZD_KEY_OUTSIDE);
    default:
        return mean(lock, ZD_KEY_PLAIN);
    }
}

static enum zd_next step_look(struct zd_key_lock *lock);

static enum zd_next step_ancestor(struct zd_key_lock *lock)
{
    const struct zd_wait *wait = &lock->ancestor.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return end_with(lock, wait->status, &wait->err);
    }
    const char *rest = lock->key + lock->at_bytes + (lock->at_bytes > 0 ? 1 : 0);
    if (wait->status == ZD_OK && zd_meta_is_array(lock->ancestor.node->meta)) {
        return judge_array(lock, rest);
    }
    zd_node_unref(ZD_TAKE(lock->ancestor.node));
    const char *slash = strchr(rest, '/');
    if (slash == NULL) {
        return mean(lock, ZD_KEY_PLAIN);
    }
    lock->at_bytes = (size_t)(slash - lock->key);
    return step_look(lock);
}

/* From the root on: groups are in the cache, and below an array there are no nodes. */
static enum zd_next step_look(struct zd_key_lock *lock)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (zd_text_add_bytes(&path, lock->key, lock->at_bytes) != ZD_OK) {
        return fail_without_memory(lock);
    }
    const bool is_locked = lock->locked != NULL && strcmp(lock->locked, path.at) == 0;
    lock->ancestor = (struct zd_node_want){.wait = zd_machine_wait(&lock->machine)};
    lock->step = step_ancestor;
    return is_locked ? zd_catalog_want_fresh(lock->dataset, path.at, &lock->ancestor)
                     : zd_catalog_want(lock->dataset, path.at, &lock->ancestor);
}

static enum zd_next step_find(struct zd_key_lock *lock)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    zd_node_unref(ZD_TAKE(lock->node));
    const enum zd_status status = zd_dialect_node_path(lock->key, &path);
    if (status == ZD_NO_MEMORY) {
        return fail_without_memory(lock); /* a document is judged before it is stored */
    }
    if (status == ZD_OK) {
        return mean(lock, ZD_KEY_DOCUMENT);
    }
    lock->at_bytes = 0;
    return step_look(lock);
}

/* ---- the lock of its path ---- */

static char *path_to_lock(const struct zd_key_lock *lock)
{
    const char *slash = strrchr(lock->key, '/');
    return lock->meaning == ZD_KEY_CHUNK
               ? zd_strdup(lock->node->path)
               : zd_strndup(lock->key, slash == NULL ? 0 : (size_t)(slash - lock->key));
}

static enum zd_next step_key_locked(struct zd_key_lock *lock)
{
    const struct zd_wait *wait = &lock->lock.wait;
    return wait->status == ZD_OK ? step_find(lock) : end_with(lock, wait->status, &wait->err);
}

static enum zd_next lock_path(struct zd_key_lock *lock)
{
    char *path = path_to_lock(lock);
    if (path == NULL) {
        return fail_without_memory(lock);
    }
    if (lock->locked != NULL && strcmp(lock->locked, path) == 0) {
        zd_free(path);
        return end_with(lock, ZD_OK, NULL);
    }
    zd_lock_release(&lock->lock);
    zd_free(lock->locked);
    lock->locked = path;
    if (++lock->n_tries == ZD_TRIES_MAX) {
        struct zd_error err = {0};
        return end_with(lock,
            zd_fail(&err, ZD_STORE,
                "%.200s: gave up after %d attempts: the array above it kept being created and "
                "deleted",
                lock->key, ZD_TRIES_MAX),
            &err);
    }
    lock->lock.wait = zd_machine_wait(&lock->machine);
    lock->step = step_key_locked;
    return zd_lock_want(lock->dataset, ZD_LOCK_CHUNKS, path, &lock->lock);
}

static enum zd_next step_key(struct zd_machine *machine)
{
    struct zd_key_lock *lock = ZD_CONTAINER(machine, struct zd_key_lock, machine);
    return lock->step(lock);
}

static enum zd_next begin(struct zd_key_lock *lock, enum zd_next (*first)(struct zd_key_lock *lock))
{
    lock->machine = (struct zd_machine){.step = step_key, .wait = &lock->wait};
    lock->step = first;
    return zd_machine_call(&lock->machine);
}

enum zd_next zd_lock_find_key(struct zd_key_lock *lock)
{
    lock->wants_lock = false;
    return begin(lock, step_find);
}

enum zd_next zd_lock_want_key(struct zd_key_lock *lock)
{
    lock->wants_lock = true;
    return begin(lock, lock_path);
}

void zd_lock_release_key(struct zd_key_lock *lock)
{
    zd_catalog_release(&lock->ancestor);
    zd_node_unref(ZD_TAKE(lock->node));
    zd_lock_release(&lock->lock);
    zd_free(ZD_TAKE(lock->locked));
}
