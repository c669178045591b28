/* A store whose n-th operation fails. */
#include "tests/support/store_fault.h"

#include <stdio.h>
#include <string.h>

#include "core/store/contract/store_impl.h"
#include "tests/support/check.h"

static const struct zd_store_ops *whole; /* the operations of the store that is wrapped */
static struct zd_store_ops broken;
static struct zd_store_fault fault;
static uint64_t n_operations;

/* Whether this one fails. */
static bool is_hit(void)
{
    return ++n_operations == fault.n;
}

static enum zd_status tell(struct zd_store_op *op)
{
    return zd_fail(&op->err, fault.status, "the test has this operation fail");
}

/* Whether it fails, in a later turn. */
static bool end_in_fault(struct zd_store_op *op)
{
    if (!is_hit()) {
        return false;
    }
    op->status = tell(op);
    zd_store_finish_later(op);
    return true;
}

static void fault_read(struct zd_store *store, struct zd_store_read *read)
{
    if (!end_in_fault(&read->op)) {
        whole->read(store, read);
    }
}

static void fault_status(struct zd_store *store, struct zd_store_status *status)
{
    if (!end_in_fault(&status->op)) {
        whole->status(store, status);
    }
}

static void fault_list(struct zd_store *store, struct zd_store_list *list)
{
    if (!end_in_fault(&list->op)) {
        whole->list(store, list);
    }
}

static void overtaken(struct zd_store_op *op)
{
    ck_assert_int_eq(op->status, ZD_OK);
}

/* Before the one who has committed is told. */
static void overtake(struct zd_store *store)
{
    static struct zd_store_write other;
    other = (struct zd_store_write){.op.done = overtaken, .bytes = fault.bytes};
    (void)snprintf(other.key, sizeof other.key, "%s", fault.overtaken);
    fault.overtaken = NULL;
    zd_store_write(store, &other);
}

static bool is_refused(const struct zd_store_write *write)
{
    return write->phase == ZD_PHASE_COMMIT && fault.refused != NULL &&
           strcmp(write->key, fault.refused) == 0;
}

/* Staged bytes are discarded with a commit that fails, as in every store. */
static void fault_write(struct zd_store *store, struct zd_store_write *write)
{
    if (!is_hit() && !is_refused(write)) {
        const bool is_overtaken = write->phase == ZD_PHASE_COMMIT && fault.overtaken != NULL &&
                                  strcmp(write->key, fault.overtaken) == 0;
        whole->write(store, write);
        if (is_overtaken) {
            overtake(store);
        }
        return;
    }
    write->op.status = tell(&write->op);
    if (write->phase == ZD_PHASE_COMMIT) {
        whole->discard(store, write);
    } else {
        zd_store_finish_later(&write->op);
    }
}

static void fault_erase(struct zd_store *store, struct zd_store_write *erase)
{
    if (!end_in_fault(&erase->op)) {
        whole->erase(store, erase);
    }
}

static enum zd_status fault_read_now(struct zd_store *store, struct zd_store_read *read)
{
    if (fault.is_slow) {
        return ZD_AGAIN;
    }
    return is_hit() ? tell(&read->op) : whole->read_now(store, read);
}

static enum zd_status fault_status_now(struct zd_store *store, struct zd_store_status *status)
{
    if (fault.is_slow) {
        return ZD_AGAIN;
    }
    return is_hit() ? tell(&status->op) : whole->status_now(store, status);
}

void zd_store_break(struct zd_store *store)
{
    while (store->inner != NULL) {
        store = store->inner;
    }
    ck_assert(whole == NULL || whole == store->ops || store->ops == &broken);
    if (store->ops != &broken) {
        whole = store->ops;
        broken = *whole;
        broken.read = fault_read;
        broken.status = fault_status;
        broken.list = fault_list;
        broken.write = fault_write;
        broken.erase = fault_erase;
        broken.read_now = whole->read_now == NULL ? NULL : fault_read_now;
        broken.status_now = whole->status_now == NULL ? NULL : fault_status_now;
        store->ops = &broken;
    }
}

void zd_store_fault_set(struct zd_store_fault new_fault)
{
    fault = new_fault;
    n_operations = 0;
}

uint64_t zd_store_fault_count(void)
{
    return n_operations;
}
