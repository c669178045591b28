/* The staged form of edits: one of many objects that change as a whole or not at all. */
#include "server/write/edit_staged.h"

#include <assert.h>

#include "server/write/edit_run.h"

/* The object of a released want is freed when it comes to a stop. */
static void end(struct zd_machine *machine)
{
    struct zd_edit_run *run = ZD_CONTAINER(machine, struct zd_edit_run, machine);
    struct zd_edit_want *want = zd_edit_run_first(&run->batch)->want;
    if (want == NULL) {
        zd_edit_run_free(run);
    } else {
        want->wait.done(&want->wait);
    }
}

static enum zd_next begin(struct zd_edit_want *want, enum zd_next (*step)(struct zd_edit_run *run))
{
    struct zd_edit_run *run = want->load->run;
    assert(run->is_staged);
    want->load->is_answered = false;
    run->step = step;
    return zd_machine_call(&run->machine);
}

enum zd_next zd_edit_staged_lock(struct zd_node *node, struct zd_edit_want *want)
{
    struct zd_edit_run_name name;
    want->load = NULL;
    want->wait.status = zd_edit_run_name_object(node, want->edit, &name, &want->wait.err);
    if (want->wait.status != ZD_OK) {
        return ZD_NEXT;
    }
    struct zd_edit_run *run = zd_edit_run_new(node->dataset, name.key);
    if (run == NULL) {
        return zd_edit_run_no_memory(want);
    }
    if (zd_edit_run_add(run, &run->batch, node, want) == NULL) {
        zd_edit_run_free(run);
        return zd_edit_run_no_memory(want);
    }
    run->is_staged = true;
    run->machine.end = end;
    return begin(want, run->step);
}

bool zd_edit_staged_is_locked(const struct zd_edit_want *want)
{
    return want->load != NULL && want->load->run->is_staged && want->load->run->lock.is_held;
}

enum zd_next zd_edit_staged_stage(struct zd_edit_want *want)
{
    return begin(want, zd_edit_run_batch);
}

enum zd_next zd_edit_staged_commit(struct zd_edit_want *want)
{
    assert(!want->load->run->is_committing);
    want->load->run->is_committing = true;
    return begin(want, zd_edit_run_commit);
}

/* ---- what was stored before ---- */

static enum zd_next step_kept(struct zd_edit_run *run)
{
    const struct zd_wait *wait = &run->write.wait;
    if (run->write.kind == ZD_WRITE_SETTLE) {
        zd_lock_release(&run->lock);
    }
    return zd_edit_run_report(run, wait->status, &wait->err);
}

/* A store that could not sync a change takes no more writes: that commit's failure is the undo's as
 * well. */
static enum zd_next step_end(struct zd_edit_run *run)
{
    run->step = step_kept;
    return run->write.is_unsynced ? ZD_NEXT
                                  : zd_store_write_want(run->dataset, run->key, &run->write);
}

static enum zd_next end_keeping(struct zd_edit_want *want, enum zd_store_write_kind kind)
{
    struct zd_edit_run *run = want->load->run;
    assert(run->is_committing);
    run->write.kind = kind;
    want->load->edit->status = ZD_OK; /* its own outcome was answered before */
    return begin(want, step_end);
}

enum zd_next zd_edit_staged_settle(struct zd_edit_want *want)
{
    return end_keeping(want, ZD_WRITE_SETTLE);
}

enum zd_next zd_edit_staged_undo(struct zd_edit_want *want)
{
    return end_keeping(want, ZD_WRITE_UNDO);
}

const char *zd_edit_staged_key(const struct zd_edit_want *want)
{
    return want->load->run->key;
}

/* One that a worker has, or that is being committed, ends by itself. */
void zd_edit_staged_leave(struct zd_edit_load *load)
{
    if (load->is_answered || !(load->run->is_working || load->run->is_committing)) {
        zd_edit_run_free(load->run);
    }
}
