/* Runs state machines. Thread: loop. */
#ifndef ZD_RUNTIME_MACHINE_H
#define ZD_RUNTIME_MACHINE_H

#include "server/runtime/wait.h"

/* How often steps begin again when other processes keep changing what they read or write. */
#define ZD_RESTARTS_MAX        4  /* reading a stored object */
#define ZD_ANSWER_RESTARTS_MAX 3  /* reading the objects of one answer */
#define ZD_TRIES_MAX           16 /* writing, the first time included */

struct zd_store_op;

/**
 * A state machine, embedded in the object whose steps it runs. The owner keeps which step is next:
 * `step` is two lines that find the owner and call that. A step must not free the owner: the end
 * may, and the caller of zd_machine_begin after ZD_DONE. Nothing wakes a machine that is done.
 *
 *     zd_machine_begin -> step, step, ... -> ZD_DONE: the caller has the result
 *                                      \-> ZD_WAIT ... zd_machine_wake -> step, ... -> ZD_DONE: end
 */
struct zd_machine {
    enum zd_next (*step)(struct zd_machine *machine);
    void (*end)(struct zd_machine *machine); /* runs once, when it is done; may free the owner */
    struct zd_wait *wait; /* what ends then, where there is no `end`: the steps answer it */
    bool is_running;      /* its own: inside a step */
};

/** Run the first steps. @return ZD_WAIT: `end` will run; ZD_DONE: it will not */
enum zd_next zd_machine_begin(struct zd_machine *machine);

/** The same for a call that wants something: ZD_NEXT when the machine is done at once. */
static inline enum zd_next zd_machine_call(struct zd_machine *machine)
{
    return zd_machine_begin(machine) == ZD_DONE ? ZD_NEXT : ZD_WAIT;
}

/** Run further steps, and `end` when the machine is done. No step is running. */
void zd_machine_go_on(struct zd_machine *machine);

/** The `done` of a wait whose context is a machine: the machine goes on. */
void zd_machine_wake(struct zd_wait *wait);

/** Let the end of a store operation wake the machine. Before the operation is started. */
void zd_machine_await(struct zd_machine *machine, struct zd_store_op *op);

/** A wait that wakes the machine. */
static inline struct zd_wait zd_machine_wait(struct zd_machine *machine)
{
    return (struct zd_wait){.done = zd_machine_wake, .context = machine};
}

/**
 * The place of a machine in a table of states. Each row has two steps, `begin` and `end`, and the
 * state that follows each of their outcomes. An outcome is a number of the table's own; 0 is NEXT.
 * `begin` may start something: when it returns NEXT, `end` runs once that is over. Any other
 * outcome of `begin` leaves the state without `end`. A state without `end` is left with NEXT.
 */
struct zd_machine_place {
    uint8_t state;  /* 0: the machine is done */
    bool has_begun; /* `end` runs next */
    bool waits;     /* set by a step that started something: the machine is woken when it is over */
};

/** Remember what a call that wants something has returned. */
static inline void zd_machine_want(struct zd_machine_place *place, enum zd_next next)
{
    place->waits = next == ZD_WAIT;
}

/**
 * Leave a step for the next one.
 *
 * @param row  the state that follows each outcome; 0: as in row 0 of the table
 * @param row0 for outcomes that are the same in most states; 0: the machine is done
 * @return what the machine's step returns
 */
enum zd_next zd_machine_follow(
    struct zd_machine_place *place, const uint8_t *row, const uint8_t *row0, uint32_t outcome);

#endif
