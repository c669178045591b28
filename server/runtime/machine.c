/* Runs state machines. */
#include "server/runtime/machine.h"

#include <assert.h>

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
    if (zd_machine_begin(machine) == ZD_DONE) {
        machine->end(machine);
    }
}

void zd_machine_wake(struct zd_wait *wait)
{
    zd_machine_go_on(wait->context);
}
