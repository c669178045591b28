/*
 * Walking a hierarchy in the store.
 *
 *     order:  [root]  - [a] - [a/x] - [a/y] - [b] - [c]      spots, in pre-order
 *     state:  visited   known  asked   asked  waits  waits
 *
 * A few spots ahead of the first one are asked for at once: one more for each small node that was
 * met, and after a large one as many as such nodes fit; what does not fit is put back. The first
 * spot is visited as soon as it is known and, if it is a group, its children stand behind it. So
 * visits are in order, whatever order the store answers in. Of a group with many children a page of
 * them stands there, and behind it a spot for the rest, which is listed when it is the first. So
 * memory is bounded by a page for each group on the way.
 */
#include "server/data/walk.h"

#include <assert.h>
#include <string.h>

#include "core/store/contract/path.h"
#include "server/data/ahead.h"
#include "server/data/key_list.h"
#include "server/runtime/server.h"

#define PAGE_ENTRIES 2048 /* of a group's children */
#define LONG_ENTRIES 4096 /* of a group: where it has so many, the walk is a long one */

enum spot_state {
    SPOT_WAITS, /* in the queue */
    SPOT_ASKED, /* its node is wanted, or its children are being listed */
    SPOT_KNOWN,
    SPOT_GONE, /* there is no such node */
};

/** A place that is, or may be, a node. */
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

/** A question under way. It outlives the walk when the store cannot be stopped. */
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
    struct zd_ahead ahead; /* the first one included */
    uint64_t n_places;     /* that were met below the start */
    bool has_told;         /* that it is a long one */
    bool has_ended;        /* want->wait says how */
    bool was_refused;      /* the first spot, for want of memory */
    bool rests;            /* until zd_walk_go_on */
    bool is_over;          /* and its owner knows: later answers change nothing */
    struct zd_wait turn;   /* while others have theirs */
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
    walk->ahead.n_asked++;
    return task;
}

static uint64_t bytes_of(const struct spot *spot)
{
    return spot->node == NULL ? 0 : spot->node->tree_bytes;
}

/* The answer about a spot is there; it may be that there is no node. */
static void know(struct zd_walk *walk, struct spot *spot, enum spot_state state)
{
    spot->state = state;
    zd_ahead_know(&walk->ahead, bytes_of(spot));
}

static void task_end(struct task *task, enum spot_state state)
{
    assert(task->spot->state == SPOT_ASKED);
    know(task->walk, task->spot, state);
    task_free(task);
}

/* Behind which spot a child goes. Names that a dialect makes of keys may come in another order than
 * these, and twice. @param is_there set when there is one of that path */
static struct zd_list *find_place(const struct task *task, const char *path, bool *is_there)
{
    struct zd_list *behind = task->behind;
    while (behind != &task->spot->order) {
        const int order = strcmp(ZD_CONTAINER(behind, struct spot, order)->path, path);
        if (order <= 0) {
            *is_there = order == 0;
            break;
        }
        behind = behind->prev;
    }
    return behind;
}

/* An entry of a listing becomes a new spot if it may be a node and lies on the way. */
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
    bool is_there = false;
    struct zd_list *behind = find_place(task, path.at, &is_there);
    struct spot *spot = is_there ? NULL : spot_new(behind, path.at, parent->depth + 1);
    if (spot == NULL) {
        return is_there ? ZD_OK : ZD_NO_MEMORY;
    }
    walk->n_places++;
    spot->is_silent = !is_after;
    task->behind = behind == task->behind ? &spot->order : task->behind;
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
    task->walk->ahead.n_asked--;
    task_free(task);
}

static void take_page(struct task *task)
{
    struct zd_walk *walk = task->walk;
    struct spot *spot = task->spot;
    const struct zd_wait *wait = &task->list.wait;
    if (wait->status == ZD_OK && zd_store_list_is_cut(task->list.list)) {
        walk->want->is_long = true;
        put_back(task);
        return;
    }
    const bool has_failed = wait->status != ZD_OK && wait->status != ZD_NOT_FOUND;
    if (has_failed && !is_first(walk, spot)) {
        put_back(task);
        return;
    }
    if (has_failed) {
        end(walk, wait->status, &wait->err);
        return;
    }
    if (wait->status == ZD_NOT_FOUND && task->list.list->is_incomplete) {
        walk->want->is_incomplete = true;
    }
    if (wait->status == ZD_OK && take_entries(task, task->list.list) != ZD_OK) {
        end_without_memory(walk);
        return;
    }
    struct spot *behind = ZD_CONTAINER(task->behind->next, struct spot, order);
    const bool goes_on = task->behind->next != &walk->order && behind->rest == task;
    know(walk, spot, spot->rest == NULL ? SPOT_KNOWN : SPOT_GONE);
    if (goes_on) {
        task->spot = behind;
    } else {
        task_free(task);
    }
}

/* Whether its owner wants to know that there are many places. */
static bool may_tell(const struct zd_walk *walk)
{
    return walk->want->n_long > 0 && !walk->want->is_long;
}

static void listed(struct zd_wait *wait)
{
    struct task *task = ZD_CONTAINER(wait, struct task, list.wait);
    struct zd_walk *walk = task->walk;
    take_page(task);
    if (may_tell(walk) && walk->n_places > walk->want->n_long) {
        walk->want->is_long = true;
    }
    go_on(walk);
}

/* Asks for the first page of children: of a large group only whether it is one, while that is not
 * known. */
static void list_children(struct task *task)
{
    const struct zd_node *node = task->spot->node;
    ZD_SCOPED_TEXT(prefix, ZD_KEY_BYTES_MAX + 1);
    task->behind = &task->spot->order;
    task->list = (struct zd_key_list){
        .wait.done = listed, .visits_max = may_tell(task->walk) ? LONG_ENTRIES : 0};
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
    task->walk->ahead.n_asked++;
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

/* A node that cannot be read must not hide the others. */
static void take_failure(struct task *task)
{
    struct spot *spot = task->spot;
    spot->err = zd_alloc(sizeof *spot->err);
    if (spot->err == NULL) {
        end_without_memory(task->walk);
        return;
    }
    *spot->err = task->want.wait.err;
    task_end(task, SPOT_KNOWN);
}

static void take_found(struct task *task)
{
    struct zd_walk *walk = task->walk;
    struct zd_node *node = task->want.node;
    zd_ahead_learn(&walk->ahead, node->tree_bytes);
    if (!is_first(walk, task->spot) && !zd_ahead_has_room(&walk->ahead, node->tree_bytes)) {
        put_back(task);
        return;
    }
    walk->was_refused = walk->was_refused && !is_first(walk, task->spot);
    task->spot->node = ZD_TAKE(task->want.node);
    take_node(task);
}

static struct zd_deferred *later_of(const struct zd_walk *walk)
{
    return &walk->dataset->server->later;
}

static void rested(struct zd_wait *turn)
{
    struct zd_walk *walk = ZD_CONTAINER(turn, struct zd_walk, turn);
    walk->is_resting = false;
    go_on(walk);
}

static void rest(struct zd_walk *walk)
{
    if (!walk->is_resting) {
        walk->is_resting = true;
        zd_deferred_want(later_of(walk), &walk->turn);
    }
}

/* Room for the first spot: what is known ahead is asked again later, but groups, whose children are
 * there. @return whether there was any */
static bool give_back_ahead(struct zd_walk *walk)
{
    const uint32_t n_known = walk->ahead.n_known;
    walk->ahead.n_max = 1;
    for (struct zd_list *at = walk->order.next; at != &walk->order; at = at->next) {
        struct spot *spot = ZD_CONTAINER(at, struct spot, order);
        if (spot->state == SPOT_KNOWN && spot->node != NULL && !has_children(walk, spot)) {
            zd_ahead_forget(&walk->ahead, bytes_of(spot));
            zd_node_unref(ZD_TAKE(spot->node));
            spot->state = SPOT_WAITS;
        }
    }
    return walk->ahead.n_known < n_known;
}

/* There is no room for the node. The first one is asked again in another turn, when what was ahead
 * of it is gone, and the load before it; an admitted walk is refused only as somebody else, whom it
 * has joined. */
static void take_refusal(struct task *task)
{
    struct zd_walk *walk = task->walk;
    if (!is_first(walk, task->spot)) {
        put_back(task);
        return;
    }
    const bool has_room = give_back_ahead(walk) || walk->ahead.n_asked > 1 || !walk->was_refused;
    if (!has_room && !walk->want->is_admitted) {
        end(walk, ZD_AGAIN, &task->want.wait.err);
        return;
    }
    walk->was_refused = true;
    put_back(task);
    rest(walk);
}

/* The catalog has answered. Takes over the task. */
static void take_want(struct task *task)
{
    switch (task->want.wait.status) {
    case ZD_OK:
        take_found(task);
        return;
    case ZD_NOT_FOUND:
        task_end(task, SPOT_GONE);
        return;
    case ZD_AGAIN:
        take_refusal(task);
        return;
    default:
        take_failure(task);
        return;
    }
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
    task->want.is_admitted = walk->want->is_admitted;
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
    while (!walk->has_ended && !walk->is_resting && !zd_list_is_empty(&walk->queue) &&
           zd_ahead_may_ask(&walk->ahead)) {
        struct spot *next = ZD_CONTAINER(walk->queue.next, struct spot, queue);
        if (next->rest != NULL) {
            return; /* what is behind it would wait for it */
        }
        ask(walk, next);
    }
}

/* Visits the known spots at the front, as far as others leave it time; false when there was none.
 */
static bool visit(struct zd_walk *walk)
{
    bool has_visited = false;
    while (!walk->has_ended && !zd_list_is_empty(&walk->order) && !walk->want->rests) {
        struct spot *spot = ZD_CONTAINER(walk->order.next, struct spot, order);
        if (spot->state != SPOT_KNOWN && spot->state != SPOT_GONE) {
            break;
        }
        if (!zd_deferred_take_piece(later_of(walk))) {
            rest(walk);
            break;
        }
        has_visited = true;
        zd_ahead_forget(&walk->ahead, bytes_of(spot));
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

static enum zd_next step_visit(struct zd_machine *machine)
{
    struct zd_walk *walk = ZD_CONTAINER(machine, struct zd_walk, machine);
    bool has_visited = false;
    if (walk->want->is_long && !walk->has_told && !walk->has_ended) {
        walk->has_told = true;
        walk->want->rests = true;
    } else {
        ask_ahead(walk);
        has_visited = visit(walk);
    }
    if (walk->has_ended) {
        walk->is_over = true;
        return ZD_DONE;
    }
    if (walk->want->rests) {
        walk->rests = true;
        zd_wait_answer(&walk->want->wait, ZD_OK, NULL);
        return ZD_DONE;
    }
    return has_visited && !walk->is_resting ? ZD_NEXT : ZD_WAIT;
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
    walk->turn.done = rested;
    zd_ahead_init(&walk->ahead);
    zd_list_init(&walk->order);
    zd_list_init(&walk->queue);
    zd_list_init(&walk->tasks);
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
    return zd_machine_call(&walk->machine);
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
    zd_wait_cancel(&walk->turn);
    zd_dataset_unref(walk->dataset);
    zd_free(walk->after);
    zd_free(walk);
}
