/* Reads of a remote store: those of one turn of the loop are sorted and merged, equal ones joined,
 * late ones asked a second time. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/contract/store_impl.h"
#include "core/store/remote/range_merge.h"
#include "core/store/remote/remote_plan.h"
#include "core/store/remote/retry.h"

#define OVER_PERCENT     10                  /* read for nothing, of what is wanted */
#define MERGED_BYTES_MAX (UINT64_C(4) << 20) /* of one read for several */
#define MERGED_ALL_MAX                                                                             \
    (UINT64_C(32) << 20) /* of all of them under way, of all stores: they are held twice */
#define ATTEMPTS 2       /* at once: the second one is the hedge */

struct fetch;

/* A read of the inner store. */
struct attempt {
    struct zd_store_read read;
    struct zd_endpoint_read timed;
    struct fetch *fetch;
    uint64_t began_ms;
    bool runs;
};

/* A fetch shared by all reads that want the same bytes. */
struct fetch {
    struct zd_remote_plan_work work; /* first member */
    struct zd_retry trial;
    struct zd_remote_plan *plan;
    struct zd_list link;    /* in plan->under_way while others may join */
    struct zd_list waiters; /* zd_store_read.op.link */
    struct attempt *attempt[ATTEMPTS];
    struct attempt *final; /* whose answer it is, while the other one is cancelled */
    struct zd_timer late;
    uint64_t asked_ms;
    uint64_t merged_bytes;
    uint64_t n_changes; /* of the key, when it was asked */
    uint64_t turn;      /* plan->n_turns: what was asked before its end may join */
    bool is_unwanted;
};

static struct zd_store_read *read_of(struct zd_list *link)
{
    return ZD_CONTAINER(link, struct zd_store_read, op.link);
}

static struct zd_list *part_of(struct zd_remote_plan *plan, const char *key)
{
    return &plan->under_way[zd_hash_of(zd_span_of(key), 0) % ZD_REMOTE_PLAN_PARTS];
}

static struct zd_store_read *inputs_of(const struct fetch *fetch)
{
    return &fetch->attempt[0]->read;
}

/* ---- the end ---- */

static void free_fetch(struct fetch *fetch)
{
    for (size_t i = 0; i < ATTEMPTS; i++) {
        if (fetch->attempt[i] != NULL) {
            zd_buf_unref(fetch->attempt[i]->read.bytes);
            zd_free(fetch->attempt[i]);
        }
    }
    zd_free(fetch);
}

static bool ranges_equal(const struct zd_range *a, const struct zd_range *b)
{
    return a->kind == b->kind &&
           (a->kind == ZD_RANGE_WHOLE || (a->first == b->first && a->len == b->len));
}

/* The bytes of one of those for whom it was read; NULL without memory. */
static struct zd_buf *share(const struct zd_store_read *from, const struct zd_range *range)
{
    if (ranges_equal(&from->range, range)) {
        return zd_buf_ref(from->bytes);
    }
    const struct zd_span all = zd_buf_span(from->bytes);
    const size_t first = (size_t)zd_min_u64(range->first - from->range.first, all.len);
    const size_t len = (size_t)zd_min_u64(range->len, all.len - first);
    return zd_buf_copy((struct zd_span){.ptr = all.ptr + first, .len = len});
}

static void answer(struct zd_store_read *read, const struct zd_store_read *from)
{
    struct zd_store_op *op = &read->op;
    op->private_state = NULL;
    op->status = from->op.status;
    read->stat = from->stat;
    if (op->status == ZD_OK) {
        read->bytes = share(from, &read->range);
        if (read->bytes == NULL) {
            op->status = zd_fail(&op->err, ZD_NO_MEMORY, "%s: no memory", read->key);
        }
    } else {
        op->err = from->op.err;
        op->fault = from->op.fault;
    }
    op->done(op);
}

/* Everybody gets the same. The last one told may close the store. */
static void deliver(struct fetch *fetch, const struct zd_store_read *from)
{
    struct zd_remote_plan *plan = fetch->plan;
    zd_list_remove(&fetch->link);
    zd_timers_clear(&plan->endpoint->alarms, &fetch->late);
    plan->remote->merged_bytes -= fetch->merged_bytes;
    if (from->op.status == ZD_NOT_FOUND) {
        zd_remote_plan_learn_absent(plan, from->key, fetch->asked_ms, fetch->n_changes);
    }
    while (!zd_list_is_empty(&fetch->waiters)) {
        answer(read_of(zd_list_pop_front(&fetch->waiters)), from);
    }
    free_fetch(fetch);
}

static void refuse(struct zd_retry *trial)
{
    struct fetch *fetch = ZD_CONTAINER(trial, struct fetch, trial);
    struct zd_store_read *read = inputs_of(fetch);
    if (trial->n_attempts == 0) {
        read->op.status = zd_endpoint_refuse(trial->endpoint, &read->op.err);
        zd_store_count_event(&fetch->plan->store, ZD_STORE_PAUSED);
    }
    deliver(fetch, read);
}

/* ---- attempts ---- */

static struct attempt *other_of(const struct attempt *attempt)
{
    struct fetch *fetch = attempt->fetch;
    struct attempt *other = fetch->attempt[attempt == fetch->attempt[0]];
    return other != NULL && other->runs ? other : NULL;
}

static uint64_t bytes_of(const struct zd_store_read *read)
{
    return read->op.status == ZD_OK && read->bytes != NULL ? read->bytes->len : UINT64_MAX;
}

/* All attempts that were under way have ended, and this one counts. */
static void settle(struct attempt *attempt)
{
    struct fetch *fetch = attempt->fetch;
    const bool may_repeat = !fetch->is_unwanted && fetch->final == NULL;
    struct zd_store_op op = {.status = attempt->read.op.status, .fault = attempt->read.op.fault};
    if (zd_retry_again(&fetch->trial, &op, may_repeat)) {
        zd_store_count_event(&fetch->plan->store, ZD_STORE_RETRIED);
        return;
    }
    deliver(fetch, &attempt->read);
}

static void attempt_done(struct zd_store_op *op)
{
    struct attempt *attempt = ZD_CONTAINER(op, struct attempt, read.op);
    struct fetch *fetch = attempt->fetch;
    struct zd_endpoint *endpoint = fetch->plan->endpoint;
    struct attempt *other = other_of(attempt);
    attempt->runs = false;
    zd_endpoint_end(endpoint, &attempt->timed, bytes_of(&attempt->read));
    zd_timers_clear(&endpoint->alarms, &fetch->late);
    if (other == NULL) {
        settle(fetch->final == NULL ? attempt : fetch->final);
        return;
    }
    if (zd_retry_is_final(op)) {
        fetch->final = attempt;
        zd_list_remove(&fetch->link);
        zd_store_cancel(&other->read.op);
    }
    /* Free one of the two places; the other one is freed at the end. */
    zd_retry_report(endpoint, op, attempt->began_ms);
    zd_endpoint_give(endpoint);
}

static void begin_attempt(struct attempt *attempt)
{
    struct fetch *fetch = attempt->fetch;
    attempt->runs = true;
    attempt->began_ms = uv_now(fetch->plan->store.loop);
    attempt->timed.range = attempt->read.range;
    zd_endpoint_begin(fetch->plan->endpoint, &attempt->timed);
    zd_store_read(fetch->plan->store.inner, &attempt->read);
}

static struct attempt *new_attempt(struct fetch *fetch, const struct zd_store_read *like)
{
    struct attempt *attempt = zd_alloc_zero(1, sizeof *attempt);
    if (attempt != NULL) {
        attempt->fetch = fetch;
        attempt->read.op.done = attempt_done;
        attempt->read.range = like->range;
        attempt->read.bytes_max = like->bytes_max;
        attempt->read.unless_generation = like->unless_generation;
        attempt->read.only_generation = like->only_generation;
        memcpy(attempt->read.op.traceparent, like->op.traceparent, ZD_STORE_TRACE_BYTES);
        (void)snprintf(attempt->read.key, sizeof attempt->read.key, "%s", like->key);
    }
    return attempt;
}

/* Without a place for a second request it is considered again when the read has taken twice as
 * long. */
static void on_late(struct zd_timer *alarm)
{
    struct fetch *fetch = ZD_CONTAINER(alarm, struct fetch, late);
    struct zd_endpoint *endpoint = fetch->plan->endpoint;
    if (fetch->is_unwanted || zd_endpoint_is_slow(endpoint)) {
        return;
    }
    if (fetch->attempt[1] == NULL) {
        fetch->attempt[1] = new_attempt(fetch, inputs_of(fetch));
    }
    if (fetch->attempt[1] != NULL && zd_endpoint_take_hedge(endpoint)) {
        zd_store_count_event(&fetch->plan->store, ZD_STORE_HEDGED);
        begin_attempt(fetch->attempt[1]);
    } else {
        const uint64_t waited_ms = uv_now(fetch->plan->store.loop) - fetch->attempt[0]->began_ms;
        zd_timers_set(&endpoint->alarms, alarm, zd_max_u64(waited_ms, 1));
    }
}

static void start(struct zd_retry *trial)
{
    struct fetch *fetch = ZD_CONTAINER(trial, struct fetch, trial);
    const uint64_t late_ms = zd_endpoint_late_ms(trial->endpoint, &inputs_of(fetch)->range);
    fetch->asked_ms = trial->began_ms;
    fetch->n_changes = zd_remote_plan_changes(fetch->plan, inputs_of(fetch)->key);
    if (late_ms > 0) {
        zd_timers_set(&trial->endpoint->alarms, &fetch->late, late_ms);
    }
    begin_attempt(fetch->attempt[0]);
}

/* ---- readers that wait ---- */

static void cancel(struct zd_remote_plan_work *work, struct zd_store_op *op)
{
    struct fetch *fetch = ZD_CONTAINER(work, struct fetch, work);
    if (fetch->waiters.next == fetch->waiters.prev) { /* the last one */
        zd_list_remove(&fetch->link);
        fetch->is_unwanted = true;
        if (!zd_retry_stop(&fetch->trial)) {
            for (size_t i = 0; i < ATTEMPTS; i++) {
                if (fetch->attempt[i] != NULL && fetch->attempt[i]->runs) {
                    zd_store_cancel(&fetch->attempt[i]->read.op);
                }
            }
            return;
        }
        fetch->plan->remote->merged_bytes -= fetch->merged_bytes;
    }
    zd_list_remove(&op->link);
    op->private_state = NULL;
    op->status = zd_fail(&op->err, ZD_CANCELLED, "the read is no longer wanted");
    if (fetch->is_unwanted) {
        free_fetch(fetch);
    }
    zd_store_finish_later(op);
}

static void add_waiter(struct fetch *fetch, struct zd_store_read *read)
{
    read->op.private_state = &fetch->work;
    zd_list_push_back(&fetch->waiters, &read->op.link);
}

/* A range that may be read with others: how many bytes come is known. */
static bool is_bounded(const struct zd_store_read *read)
{
    uint64_t end;
    return read->range.kind == ZD_RANGE_FROM_TO && read->range.len <= read->bytes_max &&
           !ckd_add(&end, read->range.first, read->range.len);
}

static bool is_alike(const struct zd_store_read *a, const struct zd_store_read *b)
{
    return strcmp(a->key, b->key) == 0 &&
           zd_generation_equal(a->only_generation, b->only_generation) &&
           zd_generation_equal(a->unless_generation, b->unless_generation);
}

static bool covers(const struct zd_range *range, const struct zd_range *part)
{
    return part->first >= range->first && part->first - range->first <= range->len &&
           part->len <= range->len - (part->first - range->first);
}

static bool serves(const struct fetch *fetch, const struct zd_store_read *read)
{
    const struct zd_store_read *inputs = inputs_of(fetch);
    const uint64_t now_ms = uv_now(fetch->plan->store.loop);
    const bool is_recent = fetch->turn == fetch->plan->n_turns || fetch->trial.n_attempts == 0 ||
                           now_ms - fetch->asked_ms < fetch->plan->trusted_ms;
    if (!is_recent || !is_alike(inputs, read)) {
        return false;
    }
    if (is_bounded(read)) {
        return is_bounded(inputs) && covers(&inputs->range, &read->range);
    }
    return ranges_equal(&inputs->range, &read->range) && inputs->bytes_max == read->bytes_max;
}

static bool join(struct zd_remote_plan *plan, struct zd_store_read *read)
{
    const struct zd_list *head = part_of(plan, read->key);
    for (struct zd_list *at = head->next; at != head; at = at->next) {
        struct fetch *fetch = ZD_CONTAINER(at, struct fetch, link);
        if (serves(fetch, read)) {
            add_waiter(fetch, read);
            zd_store_count_event(&plan->store, ZD_STORE_JOINED);
            return true;
        }
    }
    return false;
}

static void end_without_memory(struct zd_store_read **read, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct zd_store_op *op = &read[i]->op;
        op->status = zd_fail(&op->err, ZD_NO_MEMORY, "%s: no memory", read[i]->key);
        op->done(op);
    }
}

/* Begin one read of the inner store for all these reads. */
static void begin_fetch(struct zd_remote_plan *plan, const struct zd_range *range,
    struct zd_store_read **read, size_t n)
{
    struct fetch *fetch = zd_alloc_zero(1, sizeof *fetch);
    struct attempt *first = fetch == NULL ? NULL : new_attempt(fetch, read[0]);
    if (first == NULL) {
        zd_free(fetch);
        end_without_memory(read, n);
        return;
    }
    fetch->work.cancel = cancel;
    fetch->plan = plan;
    fetch->turn = plan->n_turns;
    fetch->attempt[0] = first;
    fetch->late.ring = on_late;
    fetch->trial = (struct zd_retry){
        .endpoint = plan->endpoint,
        .start = start,
        .refuse = refuse,
        .seat = {.line = &plan->line, .owner = read[0]->op.owner},
    };
    zd_list_init(&fetch->waiters);
    for (size_t i = 0; i < n; i++) {
        add_waiter(fetch, read[i]);
    }
    if (!ranges_equal(range, &read[0]->range)) {
        first->read.range = *range;
        first->read.bytes_max = range->len;
        fetch->merged_bytes = range->len;
        plan->remote->merged_bytes += range->len;
    }
    zd_list_push_back(part_of(plan, read[0]->key), &fetch->link);
    if (zd_retry_begin(&fetch->trial) != ZD_OK) {
        refuse(&fetch->trial);
    }
}

/* ---- the end of a turn ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Alike ones beside each other, those that are bounded last and in the order of their ranges. */
static int compare(const void *a, const void *b)
{
    const struct zd_store_read *x = *(struct zd_store_read *const *)a;
    const struct zd_store_read *y = *(struct zd_store_read *const *)b;
    int order = strcmp(x->key, y->key);
    order = order != 0
                ? order
                : memcmp(&x->only_generation, &y->only_generation, sizeof x->only_generation);
    order = order != 0
                ? order
                : memcmp(&x->unless_generation, &y->unless_generation, sizeof x->unless_generation);
    order = order != 0 ? order : is_bounded(x) - is_bounded(y);
    order = order != 0 ? order : compare_u64(x->range.first, y->range.first);
    return order != 0 ? order : compare_u64(x->range.len, y->range.len);
}

/* Bounded ranges of one object, n of them: each piece that is read in one go. */
static void begin_merged(struct zd_remote_plan *plan, struct zd_store_read **read, size_t n,
    struct zd_byte_range *range, bool *next)
{
    const uint64_t taken = zd_min_u64(MERGED_ALL_MAX, plan->remote->merged_bytes);
    const struct zd_range_merge_limits limits = {
        .gap_max = zd_latency_gap(&plan->endpoint->latency),
        .bytes_max = zd_min_u64(MERGED_BYTES_MAX, MERGED_ALL_MAX - taken),
        .percent = OVER_PERCENT,
    };
    for (size_t i = 0; i < n; i++) {
        range[i] = (struct zd_byte_range){read[i]->range.first, read[i]->range.len};
    }
    if (zd_range_merge(range, n, &limits, next) != ZD_OK) {
        end_without_memory(read, n);
        return;
    }
    for (size_t first = 0, i = 0; i < n; i++) {
        struct zd_byte_range *whole = &range[first];
        const uint64_t end = zd_max_u64(whole->first + whole->len, range[i].first + range[i].len);
        whole->len = end - whole->first;
        if (!next[i]) {
            const struct zd_range merged = {ZD_RANGE_FROM_TO, whole->first, whole->len};
            begin_fetch(plan, &merged, &read[first], i + 1 - first);
            first = i + 1;
        }
    }
}

/* Reads that are alike, n of them, sorted. */
static void begin_alike(struct zd_remote_plan *plan, struct zd_store_read **read, size_t n,
    struct zd_byte_range *range, bool *next)
{
    size_t i = 0;
    for (; i < n && !is_bounded(read[i]); i++) {
        if (i == 0 || !join(plan, read[i])) {
            begin_fetch(plan, &read[i]->range, &read[i], 1);
        }
    }
    if (i < n) {
        begin_merged(plan, &read[i], n - i, range, next);
    }
}

static size_t count(const struct zd_list *pending)
{
    size_t n = 0;
    for (const struct zd_list *at = pending->next; at != pending; at = at->next) {
        n++;
    }
    return n;
}

/* Without memory to sort them. Whoever is told that one has failed may cancel the others. */
static void begin_each(struct zd_remote_plan *plan, struct zd_list *pending)
{
    for (struct zd_list *link; (link = zd_list_pop_front(pending)) != NULL;) {
        struct zd_store_read *one = read_of(link);
        begin_fetch(plan, &one->range, &one, 1);
    }
}

/* Nobody's `done` runs in here but where there is no memory or the endpoint is left alone; all
 * reads of the turn are in `read` by then, so that none is cancelled as a pending one. */
static void begin_all(struct zd_remote_plan *plan, struct zd_store_read **read, size_t n,
    struct zd_byte_range *range, bool *next)
{
    qsort((void *)read, n, sizeof(struct zd_store_read *), compare);
    for (size_t first = 0, i = 1; i <= n; i++) {
        if (i == n || !is_alike(read[first], read[i])) {
            begin_alike(plan, &read[first], i - first, range, next);
            first = i;
        }
    }
}

static void on_turn_ends(struct zd_timer *alarm)
{
    struct zd_remote_plan *plan = ZD_CONTAINER(alarm, struct zd_remote_plan, turn_ends);
    struct zd_list pending;
    zd_list_take_all(&plan->pending, &pending);
    const size_t n = count(&pending);
    plan->n_turns++;
    if (n == 1) {
        struct zd_store_read *only = read_of(zd_list_pop_front(&pending));
        begin_fetch(plan, &only->range, &only, 1);
        return;
    }
    struct zd_store_read **read =
        (struct zd_store_read **)zd_alloc(n * sizeof(struct zd_store_read *));
    struct zd_byte_range *range = zd_alloc(n * sizeof *range);
    bool *next = zd_alloc(n * sizeof *next);
    if (read == NULL || range == NULL || next == NULL) {
        begin_each(plan, &pending);
    } else {
        for (size_t i = 0; i < n; i++) {
            read[i] = read_of(zd_list_pop_front(&pending));
        }
        begin_all(plan, read, n, range, next);
    }
    zd_free((void *)read);
    zd_free(range);
    zd_free(next);
}

void zd_remote_plan_init_reads(struct zd_remote_plan *plan)
{
    plan->turn_ends.ring = on_turn_ends;
    zd_list_init(&plan->pending);
    for (size_t i = 0; i < ZD_REMOTE_PLAN_PARTS; i++) {
        zd_list_init(&plan->under_way[i]);
    }
}

void zd_remote_plan_read(struct zd_store *store, struct zd_store_read *read)
{
    struct zd_remote_plan *plan = zd_remote_plan_of(store);
    plan->n_turns++;
    if (zd_remote_plan_knows_absent(plan, read->key, &read->op)) {
        zd_store_finish_later(&read->op);
        return;
    }
    if (join(plan, read)) {
        return;
    }
    if (zd_list_is_empty(&plan->pending)) {
        zd_timers_set(&plan->endpoint->alarms, &plan->turn_ends, 0);
    }
    zd_list_push_back(&plan->pending, &read->op.link);
}

void zd_remote_plan_leave_reads(struct zd_remote_plan *plan, const char *key)
{
    struct zd_list *head = part_of(plan, key);
    for (struct zd_list *at = head->next; at != head;) {
        struct fetch *fetch = ZD_CONTAINER(at, struct fetch, link);
        at = at->next;
        if (strcmp(inputs_of(fetch)->key, key) == 0) {
            zd_list_remove(&fetch->link);
        }
    }
}
