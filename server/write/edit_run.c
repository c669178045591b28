/* The steps that change a stored object. */
#include "server/write/edit_run.h"

#include <string.h>

#include "core/array/rewrite_cost.h"
#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/data/events.h"
#include "server/data/object_cache.h"
#include "server/runtime/server.h"

#define PAUSE_MS          2 /* about, before the first repetition; twice as long before the next */
#define PAUSE_DOUBLES_MAX 5
#define COPY_BYTES_PER_NS 4

static enum zd_next step_lock(struct zd_edit_run *run);
static enum zd_next step_read(struct zd_edit_run *run);
static enum zd_next step_work(struct zd_edit_run *run);
static enum zd_next step_write(struct zd_edit_run *run);
static enum zd_next step_commit(struct zd_edit_run *run);

/* ---- memory ---- */

void zd_edit_run_free_load(struct zd_edit_load *load)
{
    if (load == NULL) {
        return;
    }
    if (load->want == NULL) {
        zd_rewrite_edit_free(load->edit);
    } else {
        load->want->load = NULL;
    }
    zd_node_unref(load->node);
    zd_free(load);
}

void zd_edit_run_free_work(struct zd_edit_run *run)
{
    if (run->work != NULL) {
        zd_lock_release(&run->work->lock);
        zd_range_read_release(&run->work->read);
        zd_free(ZD_TAKE(run->work));
    }
}

static bool has_work_memory(struct zd_edit_run *run)
{
    if (run->work == NULL) {
        run->work = zd_alloc_zero(1, sizeof *run->work);
        if (run->work == NULL) {
            return false;
        }
        run->work->run = run;
    }
    return true;
}

/* ---- the ends ---- */

/* The outcome for one edit: the run may have succeeded where the edit has failed. */
static void answer(const struct zd_edit_run *run, struct zd_edit_load *load, enum zd_status status,
    const struct zd_error *err)
{
    struct zd_edit_want *want = load->want;
    load->is_answered = true;
    const bool is_own = status == ZD_OK && load->edit->status != ZD_OK;
    want->stat = run->stat;
    zd_wait_answer(
        &want->wait, is_own ? load->edit->status : status, is_own ? load->edit->err : err);
    if (want->wait.status == ZD_CORRUPT) {
        zd_object_key_in_error(&want->wait.err, "chunk", run->key);
    }
}

/* A staged edit has come to a stop. */
static enum zd_next report(
    struct zd_edit_run *run, enum zd_status status, const struct zd_error *err)
{
    struct zd_edit_load *load = zd_edit_run_first(&run->batch);
    if (load->want != NULL) {
        answer(run, load, status, err);
    }
    zd_edit_run_free_work(run);
    return ZD_DONE;
}

static void end_load(struct zd_edit_run *run, struct zd_edit_load *load, enum zd_status status,
    const struct zd_error *err)
{
    struct zd_edit_want *want = load->want;
    zd_list_remove(&load->link);
    if (want != NULL) {
        answer(run, load, status, err);
    }
    zd_edit_run_free_load(load);
    if (want != NULL && want != run->caller) {
        want->wait.done(&want->wait);
    }
}

/* Let other writers have the object, then make the edits that have arrived meanwhile. */
static enum zd_next step_again(struct zd_edit_run *run)
{
    zd_lock_release_kept(&run->lock);
    zd_edit_run_free_work(run);
    zd_buf_unref(ZD_TAKE(run->rewrite.bytes));
    run->n_tries = 0;
    run->step = step_lock;
    return zd_list_is_empty(&run->waiting) ? ZD_DONE : ZD_NEXT;
}

/* The outcome of the whole batch. */
static enum zd_next settle(
    struct zd_edit_run *run, enum zd_status status, const struct zd_error *err)
{
    if (run->is_staged) {
        return report(run, status, err);
    }
    for (struct zd_edit_load *load; (load = zd_edit_run_first(&run->batch)) != NULL;) {
        end_load(run, load, status, err);
    }
    return step_again(run);
}

static enum zd_next settle_without_memory(struct zd_edit_run *run)
{
    struct zd_error err = {0};
    const enum zd_status status = zd_fail(&err, ZD_NO_MEMORY, "no memory to change a chunk");
    return settle(run, status, &err);
}

/* ---- the steps ---- */

/* A conditional or dry edit can only be the first of a batch; and all of a batch were made for the
 * same state of the array. */
static bool joins(const struct zd_edit_load *load, const struct zd_edit_load *first)
{
    return load->condition == ZD_CONDITION_NONE && !load->is_dry && !first->is_dry &&
           load->node->tag == first->node->tag;
}

static void take_batch(struct zd_edit_run *run)
{
    for (uint32_t n = 0; n < ZD_EDIT_TOGETHER_MAX; n++) {
        struct zd_edit_load *load = zd_edit_run_first(&run->waiting);
        if (load == NULL || (n > 0 && !joins(load, zd_edit_run_first(&run->batch)))) {
            return;
        }
        zd_list_remove(&load->link);
        zd_list_push_back(&run->batch, &load->link);
        load->has_begun = true;
        if (run->n_alone > 0) {
            run->n_alone--;
            return;
        }
    }
}

static bool needs_read(const struct zd_edit_run *run)
{
    const struct zd_edit_load *first = zd_edit_run_first(&run->batch);
    const bool is_alone = first->link.next == &run->batch;
    return !is_alone || first->is_dry ||
           !zd_rewrite_edit_is_whole(first->node->layout, first->edit);
}

static enum zd_next step_batch(struct zd_edit_run *run)
{
    run->stat = (struct zd_stat){0};
    run->rewrite = (struct zd_rewrite){.old_is_unknown = !needs_read(run)};
    run->step = run->rewrite.old_is_unknown ? step_work : step_read;
    return ZD_NEXT;
}

static enum zd_next step_locked(struct zd_edit_run *run)
{
    struct zd_lock_want *lock = &run->work->lock;
    const struct zd_wait *wait = &lock->wait;
    if (!run->is_staged) {
        take_batch(run);
        if (zd_list_is_empty(&run->batch)) {
            return step_again(run); /* all were released */
        }
    }
    if (wait->status != ZD_OK) {
        return settle(run, wait->status, &wait->err);
    }
    zd_lock_keep(lock, &run->lock);
    return run->is_staged ? report(run, ZD_OK, NULL) : step_batch(run);
}

static enum zd_next lock_without_memory(struct zd_edit_run *run)
{
    if (!run->is_staged) {
        take_batch(run);
    }
    return settle_without_memory(run);
}

static enum zd_next step_lock(struct zd_edit_run *run)
{
    if (!has_work_memory(run)) {
        return lock_without_memory(run);
    }
    run->work->lock = (struct zd_lock_want){.wait = zd_machine_wait(&run->machine)};
    run->step = step_locked;
    return zd_lock_want(run->dataset, ZD_LOCK_OBJECT, run->key, &run->work->lock);
}

/* Whether the stored object meets the condition of the first edit; no other has one. */
static bool condition_holds(const struct zd_edit_run *run)
{
    const struct zd_edit_load *first = zd_edit_run_first(&run->batch);
    switch (first->condition) {
    case ZD_CONDITION_NONE:
        break;
    case ZD_CONDITION_ABSENT:
        return run->work->read.wait.status == ZD_NOT_FOUND;
    case ZD_CONDITION_GENERATION:
        return run->work->read.wait.status == ZD_OK &&
               zd_generation_equal(run->stat.generation, first->generation);
    }
    return true;
}

/* The edit with the condition fails; the others go on without it. */
static enum zd_next lose_condition(struct zd_edit_run *run)
{
    struct zd_error err = {0};
    const enum zd_status status =
        zd_fail(&err, ZD_PRECONDITION, "chunk %s was replaced by another writer", run->key);
    if (run->is_staged) {
        return report(run, status, &err);
    }
    end_load(run, zd_edit_run_first(&run->batch), status, &err);
    return zd_list_is_empty(&run->batch) ? step_again(run) : ZD_NEXT;
}

static enum zd_next step_have(struct zd_edit_run *run)
{
    const struct zd_wait *wait = &run->work->read.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return settle(run, wait->status, &wait->err);
    }
    run->stat = wait->status == ZD_OK ? run->work->read.stat : (struct zd_stat){0};
    run->step = step_work;
    return condition_holds(run) ? ZD_NEXT : lose_condition(run);
}

/* Read past the caches: another process may have written. Of a chunk that is longer than any of its
 * array, one byte too many shows that it is corrupt. */
static enum zd_next step_read(struct zd_edit_run *run)
{
    const struct zd_layout *layout = zd_edit_run_first(&run->batch)->node->layout;
    const uint64_t bytes_max =
        zd_rewrite_object_max(layout, run->dataset->server->config->settings.limits_object_bytes);
    if (!has_work_memory(run)) {
        return settle_without_memory(run);
    }
    struct zd_range_want *read = &run->work->read;
    *read = (struct zd_range_want){
        .wait = zd_machine_wait(&run->machine), .range.kind = ZD_RANGE_WHOLE};
    if (layout->n_levels == 1) {
        read->range = (struct zd_range){.kind = ZD_RANGE_FROM_TO, .len = bytes_max + 1};
    } else {
        read->bytes_max = bytes_max;
    }
    run->step = step_have;
    return zd_range_read_want(run->dataset, run->key, read);
}

static void work(struct zd_job *job)
{
    struct zd_edit_work *own = ZD_CONTAINER(job, struct zd_edit_work, job);
    own->run->status = zd_rewrite(&own->run->rewrite, &own->err);
}

static uint64_t cost_ns(const struct zd_edit_run *run)
{
    const struct zd_rewrite *rewrite = &run->rewrite;
    uint64_t ns = rewrite->old == NULL ? 0 : rewrite->old->len / COPY_BYTES_PER_NS;
    for (uint32_t i = 0; i < rewrite->n_edits; i++) {
        if (ckd_add(&ns, ns, zd_rewrite_cost_ns(rewrite->layout, rewrite->edit[i]))) {
            return UINT64_MAX;
        }
    }
    return ns;
}

/* A single edit can make the whole batch fail: each may succeed alone. */
static bool has_failed_together(const struct zd_edit_run *run)
{
    return (run->status == ZD_TOO_LARGE || run->status == ZD_NO_MEMORY) &&
           zd_edit_run_first(&run->batch)->link.next != &run->batch;
}

static enum zd_next take_apart(struct zd_edit_run *run)
{
    struct zd_list *const first = run->batch.next;
    while (run->batch.prev != first) {
        struct zd_list *last = run->batch.prev;
        ZD_CONTAINER(last, struct zd_edit_load, link)->has_begun = false;
        zd_list_remove(last);
        zd_list_push_front(&run->waiting, last);
        run->n_alone++;
    }
    return step_batch(run);
}

static struct zd_edit_load *first_withdrawn(const struct zd_edit_run *run)
{
    for (struct zd_list *link = run->batch.next; link != &run->batch; link = link->next) {
        struct zd_edit_load *load = ZD_CONTAINER(link, struct zd_edit_load, link);
        if (load->is_withdrawn || load->want == NULL) {
            return load;
        }
    }
    return NULL;
}

/* Some of the edits were withdrawn: the others are made without them. */
static bool drops_withdrawn(struct zd_edit_run *run)
{
    struct zd_error err = {0};
    bool has_dropped = false;
    for (struct zd_edit_load *load; (load = first_withdrawn(run)) != NULL; has_dropped = true) {
        const enum zd_status status = zd_fail(&err, ZD_CANCELLED,
            "the change was cancelled: the client disconnected, or the time limit passed");
        end_load(run, load, status, &err);
    }
    return has_dropped;
}

static void note_storing(struct zd_edit_run *run, bool is_storing)
{
    for (struct zd_list *link = run->batch.next; link != &run->batch; link = link->next) {
        ZD_CONTAINER(link, struct zd_edit_load, link)->is_storing = is_storing;
    }
}

static enum zd_next step_worked(struct zd_edit_run *run)
{
    run->is_working = false;
    zd_range_read_release(&run->work->read);
    run->rewrite.old = NULL;
    if (run->is_staged && !run->is_committing && zd_edit_run_first(&run->batch)->want == NULL) {
        return ZD_DONE;
    }
    if (!run->is_staged && drops_withdrawn(run)) {
        zd_buf_unref(ZD_TAKE(run->rewrite.bytes));
        return zd_list_is_empty(&run->batch) ? step_again(run) : step_batch(run);
    }
    if (run->status != ZD_OK) {
        return has_failed_together(run) ? take_apart(run)
                                        : settle(run, run->status, &run->work->err);
    }
    if (!run->rewrite.is_changed || zd_edit_run_first(&run->batch)->is_dry) {
        zd_buf_unref(ZD_TAKE(run->rewrite.bytes)); /* a dry one stays locked for long */
        return settle(run, ZD_OK, NULL);
    }
    run->step = step_write;
    return ZD_NEXT;
}

static void set_rewrite(struct zd_edit_run *run)
{
    const struct zd_dataset *dataset = run->dataset;
    const struct zd_edit_load *first = zd_edit_run_first(&run->batch);
    const bool skips_empty = first->node->meta->view.skips_empty;
    zd_buf_unref(run->rewrite.bytes);
    run->rewrite = (struct zd_rewrite){
        .layout = first->node->layout,
        .old = run->work->read.bytes,
        .old_is_unknown = run->rewrite.old_is_unknown,
        .write_empty = dataset->config.write_empty_chunks && !skips_empty,
        .bytes_max = dataset->server->config->settings.limits_object_bytes,
        .edit = run->edit,
    };
    for (struct zd_list *link = run->batch.next; link != &run->batch; link = link->next) {
        run->edit[run->rewrite.n_edits++] = ZD_CONTAINER(link, struct zd_edit_load, link)->edit;
    }
    run->work->err = (struct zd_error){0};
}

static enum zd_next step_work(struct zd_edit_run *run)
{
    struct zd_server *server = run->dataset->server;
    if (!has_work_memory(run)) {
        return settle_without_memory(run);
    }
    set_rewrite(run);
    run->step = step_worked;
    run->work->job = (struct zd_job){
        .work = work,
        .wait = zd_machine_wait(&run->machine),
        .owner = zd_edit_run_first(&run->batch)->owner,
    };
    const enum zd_next next = zd_workers_run(&server->workers, &run->work->job, cost_ns(run));
    run->is_working = next == ZD_WAIT;
    return next;
}

static void on_timer(uv_timer_t *timer)
{
    zd_machine_go_on(&ZD_CONTAINER(timer, struct zd_edit_run, timer)->machine);
}

/* A random pause, so that two processes do not collide again and again. */
static enum zd_next step_pause(struct zd_edit_run *run)
{
    const uint64_t n_doubles = zd_min_u64(run->n_tries, PAUSE_DOUBLES_MAX);
    const uint64_t span_ms = (uint64_t)PAUSE_MS << n_doubles;
    if (!run->has_timer && uv_timer_init(run->dataset->server->loop, &run->timer) == 0) {
        run->has_timer = true;
    }
    run->step = step_read;
    run->rewrite.old_is_unknown = false;
    uv_timer_start(&run->timer, on_timer, uv_hrtime() % span_ms, 0);
    return ZD_WAIT;
}

/* Another process has written since it was read. */
static enum zd_next step_beaten(struct zd_edit_run *run)
{
    const struct zd_edit_load *first = zd_edit_run_first(&run->batch);
    note_storing(run, false);
    run->step = step_pause;
    if (first->condition != ZD_CONDITION_NONE || first->drops_elements) {
        return lose_condition(run);
    }
    if (++run->n_tries < ZD_TRIES_MAX) {
        return ZD_NEXT;
    }
    struct zd_error err = {0};
    const enum zd_status status = zd_fail(&err, ZD_STORE,
        "chunk %s: gave up after %d attempts: other writers kept replacing it", run->key,
        ZD_TRIES_MAX);
    return settle(run, status, &err);
}

/* The caller sends the events of staged edits, for all objects at once, unless it has left. */
static void report_event(struct zd_edit_run *run, enum zd_chunks_change change)
{
    uint64_t index[ZD_RANK_MAX];
    const struct zd_edit_load *first = zd_edit_run_first(&run->batch);
    const struct zd_node *node = first->node;
    if (run->is_staged && first->want != NULL) {
        return;
    }
    zd_rewrite_edit_object(node->layout, first->edit, index);
    zd_events_chunks(run->dataset->events, node->path, node->meta->grid.rank, index, 1, change);
}

static enum zd_next step_written(struct zd_edit_run *run)
{
    const struct zd_wait *wait = &run->write.wait;
    if (run->write.kind == ZD_WRITE_STAGE) {
        return run->is_committing && wait->status == ZD_OK ? step_commit(run)
                                                           : report(run, wait->status, &wait->err);
    }
    if (wait->status == ZD_PRECONDITION) {
        return step_beaten(run);
    }
    const bool is_erased = run->write.kind == ZD_WRITE_ERASE;
    const bool was_absent = is_erased && wait->status == ZD_NOT_FOUND;
    if (was_absent) {
        zd_rewrite_was_absent(&run->rewrite);
    }
    if (wait->status != ZD_OK && !was_absent) {
        return settle(run, wait->status, &wait->err);
    }
    run->stat = is_erased ? (struct zd_stat){0} : run->write.stat;
    if (!was_absent) {
        report_event(run, is_erased ? ZD_CHUNKS_ERASED : ZD_CHUNKS_WRITTEN);
    }
    return settle(run, ZD_OK, NULL);
}

/* Replace only the object that was read, else only the one that the client has seen. */
static void set_condition(struct zd_edit_run *run)
{
    const struct zd_edit_load *first = zd_edit_run_first(&run->batch);
    const struct zd_generation absent = {0};
    if (run->rewrite.old_is_unknown) {
        run->write.condition = first->condition;
        run->write.generation = first->generation;
        return;
    }
    run->write.condition = zd_generation_equal(run->stat.generation, absent)
                               ? ZD_CONDITION_ABSENT
                               : ZD_CONDITION_GENERATION;
    run->write.generation = run->stat.generation;
}

static enum zd_next step_write(struct zd_edit_run *run)
{
    struct zd_buf *bytes = run->rewrite.bytes;
    const bool is_to_stage = run->is_staged && !run->is_committing;
    if (bytes == NULL && is_to_stage) {
        return report(run, ZD_OK, NULL); /* only the commit can fail */
    }
    run->write = (struct zd_store_write_want){
        .wait = zd_machine_wait(&run->machine),
        .kind = run->is_staged ? ZD_WRITE_STAGE : ZD_WRITE_PUT,
        .bytes = bytes,
        .keeps_old = run->is_staged,
    };
    if (bytes == NULL) {
        run->write.kind = ZD_WRITE_ERASE;
    }
    set_condition(run);
    note_storing(run, true);
    run->step = step_written;
    const enum zd_next next = zd_store_write_want(run->dataset, run->key, &run->write);
    zd_buf_unref(ZD_TAKE(run->rewrite.bytes)); /* the write has a reference */
    return next;
}

static enum zd_next step_commit(struct zd_edit_run *run)
{
    if (!run->rewrite.is_changed || zd_edit_run_first(&run->batch)->is_dry) {
        return settle(run, ZD_OK, NULL);
    }
    if (run->write.staged == NULL) {
        return step_write(run);
    }
    run->write.kind = ZD_WRITE_COMMIT;
    set_condition(run);
    run->step = step_written;
    return zd_store_write_want(run->dataset, run->key, &run->write);
}

/* ---- what was stored before ---- */

static enum zd_next step_kept(struct zd_edit_run *run)
{
    const struct zd_wait *wait = &run->write.wait;
    if (run->write.kind == ZD_WRITE_SETTLE) {
        zd_lock_release_kept(&run->lock);
    }
    return report(run, wait->status, &wait->err);
}

/* A store that could not sync a change takes no more writes: the undo fails as the commit did. */
static enum zd_next step_keep(struct zd_edit_run *run)
{
    run->step = step_kept;
    return run->write.is_unsynced ? ZD_NEXT
                                  : zd_store_write_want(run->dataset, run->key, &run->write);
}

enum zd_next zd_edit_run_step(struct zd_machine *machine)
{
    struct zd_edit_run *run = ZD_CONTAINER(machine, struct zd_edit_run, machine);
    return run->step(run);
}

void zd_edit_run_begin_phase(struct zd_edit_load *load, enum zd_edit_phase phase)
{
    struct zd_edit_run *run = load->run;
    load->is_answered = false;
    switch (phase) {
    case ZD_EDIT_LOCK:
    case ZD_EDIT_PHASES:
        run->step = step_lock;
        break;
    case ZD_EDIT_STAGE:
        run->step = step_batch;
        break;
    case ZD_EDIT_COMMIT:
        run->is_committing = true;
        run->step = step_commit;
        break;
    case ZD_EDIT_SETTLE:
    case ZD_EDIT_UNDO:
        run->write.kind = phase == ZD_EDIT_SETTLE ? ZD_WRITE_SETTLE : ZD_WRITE_UNDO;
        run->step = step_keep;
        load->edit->status = ZD_OK; /* its own outcome was answered before */
        break;
    }
}
