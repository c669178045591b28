/* The lock of a node's path, and the node as it is under that lock. */
#include "server/write/node_lock.h"

#include "core/base/own.h"

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

static enum zd_next step(struct zd_machine *machine)
{
    struct zd_node_lock *lock = ZD_CONTAINER(machine, struct zd_node_lock, machine);
    return lock->step(lock);
}

static void end(struct zd_machine *machine)
{
    struct zd_node_lock *lock = ZD_CONTAINER(machine, struct zd_node_lock, machine);
    lock->wait.done(&lock->wait);
}

enum zd_next zd_node_lock_want(
    struct zd_dataset *dataset, enum zd_lock_mode mode, const char *path, struct zd_node_lock *want)
{
    want->machine = (struct zd_machine){.step = step, .end = end};
    want->step = step_locked;
    want->dataset = dataset;
    want->path = path;
    want->lock.wait = zd_machine_wait(&want->machine);
    if (zd_lock_want(dataset, mode, path, &want->lock) == ZD_WAIT) {
        return ZD_WAIT;
    }
    return zd_machine_call(&want->machine);
}

void zd_node_lock_release(struct zd_node_lock *want)
{
    zd_wait_cancel(&want->found.wait);
    zd_node_unref(ZD_TAKE(want->node));
    zd_lock_release(&want->lock);
}
