/* The staged form of an edit: one of many objects that change as a whole or not at all. */
#include <assert.h>

#include "server/write/edit_run.h"

enum zd_next zd_edit_lock(struct zd_node *node, struct zd_edit_want *want)
{
    struct zd_edit_object_name name;
    want->load = NULL;
    want->wait.status = zd_edit_name_object(node, want->edit, &name, &want->wait.err);
    if (want->wait.status != ZD_OK) {
        return ZD_NEXT;
    }
    struct zd_edit_run *run = zd_edit_run_new(node->dataset, name.key);
    struct zd_edit_load *load = run == NULL ? NULL : zd_edit_load_new(node, want);
    if (run != NULL) {
        run->is_staged = true;
    }
    if (load == NULL) {
        if (run != NULL) {
            zd_edit_run_free(run);
        }
        return zd_edit_no_memory(want);
    }
    load->run = run;
    zd_list_push_back(&run->batch, &load->link);
    return zd_edit_run_begin(run, want);
}

bool zd_edit_is_locked(const struct zd_edit_want *want)
{
    return want->load != NULL && want->load->run->is_staged && want->load->run->lock.is_held;
}

enum zd_next zd_edit_stage(struct zd_edit_want *want)
{
    struct zd_edit_run *run = want->load->run;
    assert(run->is_staged && !run->is_committing);
    run->step = zd_edit_run_batch;
    return zd_edit_run_begin(run, want);
}

enum zd_next zd_edit_commit(struct zd_edit_want *want)
{
    struct zd_edit_run *run = want->load->run;
    assert(run->is_staged && !run->is_committing);
    run->is_committing = true;
    run->step = zd_edit_run_commit;
    return zd_edit_run_begin(run, want);
}

/* ---- what was there before ---- */

static enum zd_next step_kept(struct zd_edit_run *run)
{
    const struct zd_wait *wait = &run->write.wait;
    if (run->write.kind == ZD_WRITE_SETTLE) {
        zd_lock_release(&run->lock);
    }
    return zd_edit_run_report(run, wait->status, &wait->err);
}

/* What was there before goes, or comes back. A store that could not sync what it has changed takes
 * no writes any more: that commit's failure is the undoing's as well. */
static enum zd_next step_end(struct zd_edit_run *run)
{
    run->step = step_kept;
    return run->write.is_unsynced ? ZD_NEXT
                                  : zd_store_write_want(run->dataset, run->key, &run->write);
}

static enum zd_next end_keeping(struct zd_edit_want *want, enum zd_store_write_kind kind)
{
    struct zd_edit_run *run = want->load->run;
    assert(run->is_staged && run->is_committing);
    run->write.kind = kind;
    zd_edit_first(&run->batch)->edit->status = ZD_OK; /* of the edit itself, and told before */
    run->step = step_end;
    return zd_edit_run_begin(run, want);
}

enum zd_next zd_edit_settle(struct zd_edit_want *want)
{
    return end_keeping(want, ZD_WRITE_SETTLE);
}

enum zd_next zd_edit_undo(struct zd_edit_want *want)
{
    return end_keeping(want, ZD_WRITE_UNDO);
}

const char *zd_edit_key(const struct zd_edit_want *want)
{
    return want->load->run->key;
}

/* Nobody wants the staged form any more. One that a worker has, or that is being committed, ends by
 * itself. */
void zd_edit_leave_staged(struct zd_edit_run *run)
{
    if (zd_edit_first(&run->batch)->is_told || !(run->is_working || run->is_committing)) {
        zd_edit_run_free(run);
    }
}
