/* Turns: writes of one key run one after the other, writes of different keys side by side, but no
 * more at a time than the pool of threads can spare. Thread: loop. */
#ifndef ZD_CORE_STORE_CONTRACT_TURNS_H
#define ZD_CORE_STORE_CONTRACT_TURNS_H

#include "core/store/contract/store.h"

#define ZD_TURNS 256 /* keys share them by their hash: a power of 2 */
#define ZD_TURNS_AT_ONCE                                                                           \
    8 /* writes of a store that run: more do not make a disk's syncs faster                        \
       */

struct zd_turn {
    struct zd_list waiting; /* operations, through op.link */
    bool is_taken;          /* by one that runs or is ready */
};

struct zd_turns {
    void (*run)(struct zd_store_op *op); /* runs the operation; call zd_turns_end at its end */
    struct zd_turn turn[ZD_TURNS];
    struct zd_list ready; /* operations that have their turn but no thread */
    uint32_t n_running;
};

void zd_turns_init(struct zd_turns *turns, void (*run)(struct zd_store_op *op));

/** Run an operation once all earlier ones with that hash have ended; uses op->link and
 * op->private_state until then. */
void zd_turns_take(struct zd_turns *turns, struct zd_store_op *op, uint64_t hash);

/** Run an operation that touches no key: it needs a thread but no turn. */
void zd_turns_take_any(struct zd_turns *turns, struct zd_store_op *op);

/** The operation has ended: start the next ones. */
void zd_turns_end(struct zd_turns *turns, struct zd_store_op *op);

/** Take a waiting operation out. @return false: it runs already, or never waited */
bool zd_turns_leave(struct zd_turns *turns, struct zd_store_op *op);

/** An operation that runs waits for others: it lets go of its thread, and takes one again, whether
 * there is one or not, before it ends. */
void zd_turns_pause(struct zd_turns *turns);
void zd_turns_resume(struct zd_turns *turns);

/** Whether operations wait for a thread. */
bool zd_turns_are_waited_for(const struct zd_turns *turns);

/** Whether nothing runs and nothing waits. */
bool zd_turns_are_idle(const struct zd_turns *turns);

#endif
