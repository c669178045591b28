/* Locks between the writers of one server, who take turns.
 *
 *     place "p" path a    held CHUNKS, held CHUNKS, NODE waits, CHUNKS waits    in order of turns
 *     place "p" path a/b  held APPEND
 *     place "o" key a/c/0 held, waits, waits
 *     trees               TREE of "" waits: for all earlier wants, before all later ones
 *
 * A want is granted when no earlier want at its place conflicts with it. A TREE conflicts at other
 * places too; trees are few, so a list of their own holds them, which every want checks.
 *
 * A new want is the last one, or goes before the first waiting one that it conflicts with and whose
 * flow has had a turn before, behind what is held and behind its own flow:
 *
 *     queue of paths      held TREE "", TREE "" waits, [here: CHUNKS b,] TREE "" waits, TREE ""
 * waits
 *
 * The first that waits of its flow is passed by nobody, so each is granted in the end. */
#include "server/write/lock.h"

#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/base/own.h"
#include "server/runtime/server.h"

/* The claims of one path, of one key, or of the metadata of one dataset. */
struct zd_lock_place {
    struct zd_map_entry map; /* key: dataset id, kind, path */
    struct zd_locks *locks;
    char *path;            /* in the key */
    struct zd_list claims; /* in the order of turns */
    struct zd_list queue;  /* the same, of the metadata */
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

/* The kind of each mode, and the earlier modes at the same place that exclude it. */
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

#define FLOWS_MAX        64 /* that a new claim looks past; behind more it is the last one */
#define SHARE_OF_REQUEST 2  /* a request learns that it has waited too long before it is over */

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
    for (struct zd_list *at = locks->paths.next; at != &tree->in_queue; at = at->next) {
        const struct zd_lock_claim *other = ZD_CONTAINER(at, struct zd_lock_claim, in_queue);
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

/* Documents are stored under METADATA, without waiting for clients: what has begun is not given up
 * there. */
static void begin_waiting(struct zd_locks *locks, struct zd_lock_claim *claim)
{
    if (claim->mode != ZD_LOCK_METADATA) {
        zd_deadline_start(&locks->waiting, &claim->deadline);
    }
}

static void give_up(struct zd_deadline *deadline)
{
    struct zd_lock_claim *claim = ZD_CONTAINER(deadline, struct zd_lock_claim, deadline);
    const struct zd_lock_place *place = claim->place;
    struct zd_wait *wait = ZD_TAKE(claim->wait);
    wait->status = zd_fail(&wait->err, ZD_AGAIN,
        "\"%.256s\" is busy: other writers have been changing it for %llu ms", place->path,
        (unsigned long long)place->locks->waiting.after_ms);
    zd_list_remove(&wait->link);
    zd_lock_release_kept(claim);
    wait->done(wait);
}

/* ---- grants ---- */

static void end_waiting(struct zd_lock_claim *claim)
{
    claim->place->n_waiting--;
    claim->place->locks->n_waiting -= is_path(claim) ? 1 : 0;
    zd_deadline_stop(&claim->deadline);
}

static void grant(struct zd_lock_claim *claim)
{
    claim->is_held = true;
    end_waiting(claim);
    zd_deferred_want(claim->place->locks->later, ZD_TAKE(claim->wait));
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
        const struct zd_lock_claim *claim = ZD_CONTAINER(at, struct zd_lock_claim, in_queue);
        if (!claim->is_held && claim->place->round != locks->last_round) {
            claim->place->round = locks->last_round;
            grant_waiters(claim->place);
        }
    }
}

/* ---- turns ---- */

/* Whether no two may have these at the same time. */
static bool excludes(const struct zd_lock_claim *a, const struct zd_lock_claim *b)
{
    if (a->place == b->place) {
        return (modes[a->mode].excluded_by & BIT(b->mode)) != 0;
    }
    return (a->mode == ZD_LOCK_TREE && covers(a->place, b->place)) ||
           (b->mode == ZD_LOCK_TREE && covers(b->place, a->place));
}

static bool is_among(const uint64_t *flow, size_t n, uint64_t wanted)
{
    size_t i = 0;
    while (i < n && flow[i] != wanted) {
        i++;
    }
    return i < n;
}

/* Behind all that it cannot pass: what is held, and its own flow. */
static struct zd_list *first_place(struct zd_list *queue, const struct zd_lock_claim *claim)
{
    struct zd_list *place = queue->next;
    for (struct zd_list *at = queue->next; at != queue; at = at->next) {
        const struct zd_lock_claim *other = ZD_CONTAINER(at, struct zd_lock_claim, in_queue);
        if ((other->is_held || other->flow == claim->flow) && excludes(other, claim)) {
            place = at->next;
        }
    }
    return place;
}

/* The claim, or the end of the queue, that a new claim goes in front of. */
static struct zd_list *find_turn(struct zd_list *queue, const struct zd_lock_claim *claim)
{
    uint64_t flow[FLOWS_MAX];
    size_t n = 0;
    struct zd_list *at = first_place(queue, claim);
    for (; at != queue; at = at->next) {
        const struct zd_lock_claim *other = ZD_CONTAINER(at, struct zd_lock_claim, in_queue);
        if (!excludes(other, claim)) {
            continue;
        }
        if (is_among(flow, n, other->flow)) {
            return at;
        }
        if (n == FLOWS_MAX) {
            return queue;
        }
        flow[n++] = other->flow;
    }
    return at;
}

static void line_up_in(struct zd_list *queue, struct zd_lock_claim *claim, struct zd_list *before)
{
    struct zd_locks *locks = claim->place->locks;
    claim->number = ++locks->last_number;
    if (before != queue) {
        claim->number = ZD_CONTAINER(before, struct zd_lock_claim, in_queue)->number;
    }
    for (struct zd_list *at = before; at != queue; at = at->next) {
        ZD_CONTAINER(at, struct zd_lock_claim, in_queue)->number++;
    }
    zd_list_insert_after(before->prev, &claim->in_queue);
}

static void line_up_at_place(struct zd_lock_claim *claim)
{
    struct zd_list *claims = &claim->place->claims;
    struct zd_list *at = claims->prev;
    while (
        at != claims && ZD_CONTAINER(at, struct zd_lock_claim, at_place)->number > claim->number) {
        at = at->prev;
    }
    zd_list_insert_after(at, &claim->at_place);
}

static void line_up_among_trees(struct zd_locks *locks, struct zd_lock_claim *claim)
{
    struct zd_list *at = locks->trees.prev;
    while (at != &locks->trees &&
           ZD_CONTAINER(at, struct zd_lock_claim, among_trees)->number > claim->number) {
        at = at->prev;
    }
    zd_list_insert_after(at, &claim->among_trees);
}

static uint64_t flow_of(const struct zd_lock_claim *claim, uint64_t client)
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, client);
    if (is_path(claim)) {
        zd_hash_add(&hash, zd_span_of(claim->place->path));
    }
    return hash.value;
}

static void line_up(struct zd_locks *locks, struct zd_lock_claim *claim, uint64_t client)
{
    const bool has_path = is_path(claim);
    struct zd_list *queue = has_path ? &locks->paths : &claim->place->queue;
    if (claim->mode == ZD_LOCK_OBJECT) {
        claim->number = ++locks->last_number;
    } else {
        const bool is_waited_for = (has_path ? locks->n_waiting : claim->place->n_waiting) > 0;
        claim->flow = flow_of(claim, client);
        line_up_in(queue, claim, is_waited_for ? find_turn(queue, claim) : queue);
    }
    line_up_at_place(claim);
    if (claim->mode == ZD_LOCK_TREE) {
        line_up_among_trees(locks, claim);
    }
    claim->place->n_waiting++;
    locks->n_waiting += has_path ? 1 : 0;
}

/* ---- places ---- */

static void free_place(struct zd_lock_place *place)
{
    zd_map_remove(&place->locks->places, &place->map);
    zd_free(place);
}

/* A single allocation holds the place, its key and a NUL. NULL: no memory. */
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
    zd_list_init(&place->queue);
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
    locks->later = &server->later;
    const struct zd_settings *settings = &server->config->settings;
    zd_deadlines_init(&locks->waiting, server->loop,
        zd_min_u64(settings->limits_lock_ms, settings->http_request_ms / SHARE_OF_REQUEST),
        give_up);
}

void zd_lock_close(struct zd_server *server)
{
    struct zd_locks *locks = server->locks;
    zd_deadlines_close(&locks->waiting);
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
    claim->is_held = false;
    line_up(locks, claim, want->client);
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
    if (!claim->is_held) {
        end_waiting(claim);
    }
    zd_list_remove(&claim->at_place);
    zd_list_remove(&claim->in_queue);
    zd_list_remove(&claim->among_trees);
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
    want->lock.client = want->client;
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
