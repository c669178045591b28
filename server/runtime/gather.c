/* Many waits at once: a machine goes on when the last of them has ended. */
#include "server/runtime/gather.h"

#include <assert.h>

#include "core/store/contract/store.h"

void zd_gather_begin(struct zd_gather *gather)
{
    assert((gather->n == 0 || gather->n_at_once > 0) && !gather->is_asking);
    gather->is_asking = true;
}

enum zd_next zd_gather_end(struct zd_gather *gather)
{
    assert(gather->is_asking);
    gather->is_asking = false;
    return gather->n == 0 ? ZD_NEXT : ZD_WAIT;
}

void zd_gather_arrived(struct zd_gather *gather)
{
    assert(gather->n > 0);
    if (gather->n == 0) {
        return; /* cancelled, but not by its owner: the machine does not wait for it */
    }
    gather->n--;
    if ((gather->n == 0 || gather->n < gather->n_at_once) && !gather->is_asking) {
        zd_machine_go_on(gather->machine);
    }
}

void zd_gather_wake(struct zd_wait *wait)
{
    zd_gather_arrived(wait->context);
}

static void op_done(struct zd_store_op *op)
{
    zd_gather_arrived(op->context);
}

void zd_gather_await(struct zd_gather *gather, struct zd_store_op *op)
{
    op->done = op_done;
    op->context = gather;
    zd_gather_add(gather, ZD_WAIT);
}
