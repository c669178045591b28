/*
 * Walking a hierarchy in the store.
 *
 *     order:  [root]  - [a] - [a/x] - [a/y] - [b] - [c]      spots, in pre-order
 *     state:  visited   known  asked   asked  waits  waits
 *
 * A few spots ahead of the first one are asked for at once. The first spot is visited as soon as it
 * is known and, if it is a group, its children stand behind it. So visits are in order, whatever
 * order the store answers in. Of a group with many children a page of them stands there, and behind
 * it a spot for the rest, which is listed when it is the first. So memory is bounded by a page for
 * each group on the way.
 */
#include "server/data/walk.h"

#include <assert.h>
#include <string.h>

#include "core/store/path.h"
#include "server/data/key_list.h"
#include "server/runtime/server.h"

#define AHEAD_MAX       64   /* spots asked or known, and not visited yet */
#define PAGE_ENTRIES    2048 /* of a group's children */
#define VISITS_PER_TURN 256  /* then other requests have their turn */

enum spot_state {
    SPOT_WAITS, /* in the queue */
    SPOT_ASKED, /* its node is wanted, or its children are being listed */
    SPOT_KNOWN,
    SPOT_GONE, /* there is no such node */
};

/** One place that is, or may be, a node. */
struct spot {
    struct zd_list order; /* of walk->order */
    struct zd_list queue; /* of walk->queue, while it waits */
    enum spot_state state;
    struct zd_node *node; /* a reference, once it is known; NULL when it could not be read */
    struct zd_error *err; /* owned; then why */
    uint64_t depth;
    struct task *rest; /* the listing of a group that has more children; NULL: a node */
    bool is_silent;    /* not after want->after: only on the way */
    char path[];
};

/** One question under way. Outlives the walk when the store cannot be stopped. */
struct task {
    struct zd_list link; /* of walk->tasks */
    struct zd_walk *walk;
    struct spot *spot;
    struct zd_node_want want;
    struct zd_key_list list; /* a page of the children */
    struct zd_list *behind;  /* the last child found so far, or the spot: the next goes behind it */
};

struct zd_walk {
    struct zd_machine machine;
    struct zd_walk_want *want;
    struct zd_dataset *dataset; /* a reference */
    char *after;                /* owned, or NULL */
    struct zd_list order;
    struct zd_list queue;
    struct zd_list tasks;
    uint32_t n_asked;
    uint32_t n_known;  /* and not visited yet */
    uint32_t n_visits; /* that are left for this turn */
    bool has_ended;    /* want->wait says how */
    bool rests;        /* until zd_walk_go_on */
    bool is_over;      /* and its owner knows: later answers change nothing */
    uv_idle_t idle;    /* gives other requests their turn; the memory lives until it is closed */
    bool is_resting;
};

static void spot_free(struct spot *spot)
{
    zd_list_remove(&spot->order);
    zd_list_remove(&spot->queue);
    zd_node_unref(spot->node);
    zd_free(spot->err);
    zd_free(spot);
}

static void task_free(struct task *task)
{
    zd_list_remove(&task->link);
    zd_catalog_release(&task->want);
    zd_key_list_release(&task->list);
    zd_free(task);
}

/* A new spot after another; NULL without memory. */
static struct spot *spot_new(struct zd_list *behind, const char *path, uint64_t depth)
{
    const size_t len = strlen(path);
    struct spot *spot = zd_alloc_zero(1, sizeof *spot + len + 1);
    if (spot != NULL) {
        memcpy(spot->path, path, len + 1);
        spot->depth = depth;
        zd_list_insert_after(behind, &spot->order);
    }
    return spot;
}

static void end(struct zd_walk *walk, enum zd_status status, const struct zd_error *err)
{
    if (!walk->has_ended) {
        walk->has_ended = true;
        walk->want->rests = false;
        zd_wait_answer(&walk->want->wait, status, err);
    }
}

static void end_without_memory(struct zd_walk *walk)
{
    struct zd_error err = {0};
    const enum zd_status status = zd_fail(&err, ZD_NO_MEMORY, "no memory for a listing");
    end(walk, status, &err);
}

static void go_on(struct zd_walk *walk)
{
    if (!walk->is_resting && !walk->is_over && !walk->rests) {
        walk->n_visits = VISITS_PER_TURN;
        zd_machine_go_on(&walk->machine);
    }
}

/* Begins to ask about a spot; NULL without memory. */
static struct task *task_new(struct zd_walk *walk, struct spot *spot)
{
    struct task *task = zd_alloc_zero(1, sizeof *task);
    if (task == NULL) {
        end_without_memory(walk);
        return NULL;
    }
    task->walk = walk;
    task->spot = spot;
    zd_list_push_back(&walk->tasks, &task->link);
    zd_list_remove(&spot->queue);
    spot->state = SPOT_ASKED;
    walk->n_asked++;
    return task;
}

static void task_end(struct task *task, enum spot_state state)
{
    assert(task->spot->state == SPOT_ASKED);
    task->spot->state = state;
    task->walk->n_asked--;
    task->walk->n_known++;
    task_free(task);
}

/* One entry of a listing: a new spot, when it may be a node and lies on the way. */
static ZD_RESULT take_entry(
    struct task *task, const struct zd_store_entry *entry, struct zd_list **queue_behind)
{
    struct zd_walk *walk = task->walk;
    const struct spot *parent = task->spot;
    const struct zd_dialect *dialect = parent->node->meta->dialect;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (parent->path[0] != '\0') {
        ZD_TRY(zd_text_addf(&path, "%s/", parent->path));
    }
    const enum zd_status status =
        dialect->child_name(zd_span_of(entry->name), entry->is_prefix, &path);
    if (status == ZD_NOT_FOUND) {
        return ZD_OK;
    }
    ZD_TRY(status);
    const bool is_after = walk->after == NULL || zd_path_compare(path.at, walk->after) > 0;
    const bool is_on_the_way =
        !is_after && (strcmp(path.at, walk->after) == 0 || zd_path_is_below(walk->after, path.at));
    if (!is_after && !is_on_the_way) {
        return ZD_OK;
    }
    struct spot *spot = spot_new(task->behind, path.at, parent->depth + 1);
    if (spot == NULL) {
        return ZD_NO_MEMORY;
    }
    spot->is_silent = !is_after;
    task->behind = &spot->order;
    /* Children go before whatever waits: they are visited first. */
    zd_list_insert_after(*queue_behind, &spot->queue);
    *queue_behind = &spot->queue;
    return ZD_OK;
}

/* A page of a group's children has come: the task is over, or goes on from a spot behind them. */
static ZD_RESULT take_entries(struct task *task, const struct zd_store_list *list)
{
    struct zd_walk *walk = task->walk;
    struct spot *group = task->spot;
    struct zd_list *queue_behind = &walk->queue;
    for (size_t i = 0; i < list->n_entries; i++) {
        const enum zd_status status = take_entry(task, &list->entry[i], &queue_behind);
        /* A key that is too long can be no node of this server. */
        if (status != ZD_OK && status != ZD_TOO_LARGE) {
            return status;
        }
    }
    if (!list->has_more || list->n_entries == 0) {
        return ZD_OK;
    }
    struct spot *spot = spot_new(task->behind, group->path, group->depth);
    if (spot == NULL) {
        return ZD_NO_MEMORY;
    }
    zd_list_insert_after(queue_behind, &spot->queue);
    spot->node = zd_node_ref(group->node);
    spot->rest = task;
    return ZD_OK;
}

static bool is_first(const struct zd_walk *walk, const struct spot *spot)
{
    return walk->order.next == &spot->order;
}

/* A failure ahead is none of the nodes before it: it is asked again when it is the first. */
static void put_back(struct task *task)
{
    task->spot->state = SPOT_WAITS;
    zd_node_unref(ZD_TAKE(task->spot->node));
    task->walk->n_asked--;
    task_free(task);
}

static void take_page(struct task *task)
{
    struct zd_walk *walk = task->walk;
    struct spot *spot = task->spot;
    const struct zd_wait *wait = &task->list.wait;
    const bool has_failed = wait->status != ZD_OK && wait->status != ZD_NOT_FOUND;
    if (has_failed && !is_first(walk, spot)) {
        put_back(task);
        return;
    }
    if (has_failed) {
        end(walk, wait->status, &wait->err);
        return;
    }
    if (wait->status == ZD_OK && take_entries(task, task->list.list) != ZD_OK) {
        end_without_memory(walk);
        return;
    }
    struct spot *behind = ZD_CONTAINER(task->behind->next, struct spot, order);
    const bool goes_on = task->behind->next != &walk->order && behind->rest == task;
    spot->state = spot->rest == NULL ? SPOT_KNOWN : SPOT_GONE;
    walk->n_asked--;
    walk->n_known++;
    if (goes_on) {
        task->spot = behind;
    } else {
        task_free(task);
    }
}

static void listed(struct zd_wait *wait)
{
    struct task *task = ZD_CONTAINER(wait, struct task, list.wait);
    struct zd_walk *walk = task->walk;
    take_page(task);
    go_on(walk);
}

/* Asks for the first page of children. */
static void list_children(struct task *task)
{
    const struct zd_node *node = task->spot->node;
    ZD_SCOPED_TEXT(prefix, ZD_KEY_BYTES_MAX + 1);
    task->behind = &task->spot->order;
    task->list = (struct zd_key_list){.wait.done = listed};
    if (node->meta->dialect->children_prefix(task->spot->path, &prefix) != ZD_OK ||
        zd_key_list_want(node->dataset, prefix.at, PAGE_ENTRIES, &task->list) == ZD_NEXT) {
        end_without_memory(task->walk);
    }
}

/* Asks for the page behind the last one. */
static void list_rest(struct spot *spot)
{
    struct task *task = spot->rest;
    zd_list_remove(&spot->queue);
    spot->state = SPOT_ASKED;
    task->walk->n_asked++;
    task->behind = &spot->order;
    zd_key_list_next(&task->list);
}

static bool has_children(const struct zd_walk *walk, const struct spot *spot)
{
    const struct zd_meta *meta = spot->node->meta;
    /* A refused group is not interpreted, and arrays have no children. */
    return meta->type == ZD_NODE_GROUP && !zd_meta_is_refused(meta) &&
           spot->depth < walk->want->depth_max;
}

/* The node of a spot is there: a group goes on with its children. Takes over the task. */
static void take_node(struct task *task)
{
    if (has_children(task->walk, task->spot)) {
        list_children(task);
    } else {
        task_end(task, SPOT_KNOWN);
    }
}

/* The catalog has answered. Takes over the task. */
static void take_want(struct task *task)
{
    struct spot *spot = task->spot;
    const struct zd_wait *wait = &task->want.wait;
    if (wait->status == ZD_OK) {
        spot->node = ZD_TAKE(task->want.node);
        take_node(task);
        return;
    }
    if (wait->status != ZD_NOT_FOUND) {
        /* One node that cannot be read must not hide all others. */
        spot->err = zd_alloc(sizeof *spot->err);
        if (spot->err == NULL) {
            end_without_memory(task->walk);
            return;
        }
        *spot->err = wait->err;
    }
    task_end(task, wait->status == ZD_NOT_FOUND ? SPOT_GONE : SPOT_KNOWN);
}

static void wanted(struct zd_wait *wait)
{
    struct task *task = ZD_CONTAINER(wait, struct task, want.wait);
    struct zd_walk *walk = task->walk;
    take_want(task);
    go_on(walk);
}

static void ask(struct zd_walk *walk, struct spot *spot)
{
    if (spot->rest != NULL) {
        list_rest(spot);
        return;
    }
    struct task *task = task_new(walk, spot);
    if (task == NULL) {
        return;
    }
    task->want.wait.done = wanted;
    const enum zd_next next = walk->want->is_fresh
                                  ? zd_catalog_want_fresh(walk->dataset, spot->path, &task->want)
                                  : zd_catalog_want(walk->dataset, spot->path, &task->want);
    if (next == ZD_NEXT) {
        take_want(task);
    }
}

/* Asks the first spot always, and others as far as the look-ahead goes. */
static void ask_ahead(struct zd_walk *walk)
{
    if (walk->has_ended || zd_list_is_empty(&walk->order)) {
        return;
    }
    struct spot *first = ZD_CONTAINER(walk->order.next, struct spot, order);
    if (first->state == SPOT_WAITS) {
        ask(walk, first);
    }
    while (!walk->has_ended && !zd_list_is_empty(&walk->queue) &&
           walk->n_asked + walk->n_known < AHEAD_MAX) {
        struct spot *next = ZD_CONTAINER(walk->queue.next, struct spot, queue);
        if (next->rest != NULL) {
            return; /* what is behind it would wait for it */
        }
        ask(walk, next);
    }
}

/* Visits the known spots at the front; false when there was none. */
static bool visit(struct zd_walk *walk)
{
    bool has_visited = false;
    while (!walk->has_ended && !zd_list_is_empty(&walk->order) && walk->n_visits > 0 &&
           !walk->want->rests) {
        struct spot *spot = ZD_CONTAINER(walk->order.next, struct spot, order);
        if (spot->state != SPOT_KNOWN && spot->state != SPOT_GONE) {
            break;
        }
        has_visited = true;
        walk->n_visits--;
        walk->n_known--;
        const struct zd_walk_node found = {
            .path = spot->path,
            .depth = spot->depth,
            .node = spot->node,
            .err = spot->err,
        };
        if (spot->state == SPOT_KNOWN && !spot->is_silent &&
            !walk->want->visit(walk->want, &found)) {
            end(walk, ZD_OK, NULL);
        }
        spot_free(spot);
        if (zd_list_is_empty(&walk->order)) {
            end(walk, ZD_OK, NULL);
        }
    }
    return has_visited;
}

static void rested(uv_idle_t *idle)
{
    struct zd_walk *walk = ZD_CONTAINER(idle, struct zd_walk, idle);
    uv_idle_stop(idle);
    walk->is_resting = false;
    go_on(walk);
}

static enum zd_next step_visit(struct zd_machine *machine)
{
    struct zd_walk *walk = ZD_CONTAINER(machine, struct zd_walk, machine);
    ask_ahead(walk);
    const bool has_visited = visit(walk);
    if (walk->has_ended) {
        walk->is_over = true;
        return ZD_DONE;
    }
    if (walk->want->rests) {
        walk->rests = true;
        zd_wait_answer(&walk->want->wait, ZD_OK, NULL);
        return ZD_DONE;
    }
    if (walk->n_visits == 0) {
        walk->is_resting = true;
        uv_idle_start(&walk->idle, rested);
        return ZD_WAIT;
    }
    return has_visited ? ZD_NEXT : ZD_WAIT;
}

/* The walk with its first spot; NULL without memory. */
static struct zd_walk *new_walk(struct zd_walk_want *want)
{
    const struct zd_node *start = want->start;
    struct zd_walk *walk = zd_alloc_zero(1, sizeof *walk);
    if (walk == NULL) {
        return NULL;
    }
    want->walk = walk;
    walk->want = want;
    walk->machine = (struct zd_machine){.step = step_visit, .wait = &want->wait};
    walk->dataset = zd_dataset_ref(start->dataset);
    walk->n_visits = VISITS_PER_TURN;
    zd_list_init(&walk->order);
    zd_list_init(&walk->queue);
    zd_list_init(&walk->tasks);
    uv_idle_init(start->dataset->server->loop, &walk->idle);
    struct spot *spot = spot_new(&walk->order, start->path, 0);
    walk->after = want->after == NULL ? NULL : zd_strdup(want->after);
    if (spot == NULL || (want->after != NULL && walk->after == NULL)) {
        zd_walk_release(want);
        return NULL;
    }
    spot->node = zd_node_ref(want->start);
    spot->is_silent = walk->after != NULL && zd_path_compare(spot->path, walk->after) <= 0;
    return walk;
}

enum zd_next zd_walk_want(struct zd_walk_want *want)
{
    struct zd_walk *walk = new_walk(want);
    if (walk == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for a listing");
        return ZD_NEXT;
    }
    struct task *task = task_new(walk, ZD_CONTAINER(walk->order.next, struct spot, order));
    if (task != NULL) {
        take_node(task);
    }
    return zd_machine_call(&walk->machine);
}

enum zd_next zd_walk_go_on(struct zd_walk_want *want)
{
    struct zd_walk *walk = want->walk;
    want->rests = false;
    walk->rests = false;
    walk->n_visits = VISITS_PER_TURN;
    return zd_machine_call(&walk->machine);
}

static void closed(uv_handle_t *handle)
{
    zd_free(ZD_CONTAINER(handle, struct zd_walk, idle));
}

void zd_walk_release(struct zd_walk_want *want)
{
    struct zd_walk *walk = ZD_TAKE(want->walk);
    if (walk == NULL) {
        return;
    }
    while (!zd_list_is_empty(&walk->tasks)) {
        task_free(ZD_CONTAINER(walk->tasks.next, struct task, link));
    }
    while (!zd_list_is_empty(&walk->order)) {
        spot_free(ZD_CONTAINER(walk->order.next, struct spot, order));
    }
    zd_dataset_unref(walk->dataset);
    zd_free(walk->after);
    uv_close((uv_handle_t *)&walk->idle, closed);
}
