/* Runs state machines. */
#include "server/runtime/machine.h"

#include <assert.h>

#include "core/store/contract/store.h"

enum zd_next zd_machine_begin(struct zd_machine *machine)
{
    assert(!machine->is_running);
    machine->is_running = true;
    enum zd_next next = ZD_NEXT;
    while (next == ZD_NEXT) {
        next = machine->step(machine);
    }
    machine->is_running = false;
    return next;
}

void zd_machine_go_on(struct zd_machine *machine)
{
    if (zd_machine_begin(machine) != ZD_DONE) {
        return;
    }
    if (machine->end != NULL) {
        machine->end(machine);
    } else {
        machine->wait->done(machine->wait);
    }
}

enum zd_next zd_machine_follow(
    struct zd_machine_place *place, const uint8_t *row, const uint8_t *row0, uint32_t outcome)
{
    const enum zd_next next = place->waits ? ZD_WAIT : ZD_NEXT;
    place->waits = false;
    if (!place->has_begun && outcome == 0) {
        place->has_begun = true;
        return next;
    }
    place->has_begun = false;
    place->state = row[outcome] != 0 ? row[outcome] : row0[outcome];
    assert(place->state != 0 || next == ZD_NEXT);
    return place->state == 0 ? ZD_DONE : next;
}

void zd_machine_wake(struct zd_wait *wait)
{
    zd_machine_go_on(wait->context);
}

static void op_done(struct zd_store_op *op)
{
    zd_machine_go_on(op->context);
}

void zd_machine_await(struct zd_machine *machine, struct zd_store_op *op)
{
    op->done = op_done;
    op->context = machine;
}
