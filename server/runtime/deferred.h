/* Later turns of the loop: what is long is done in pieces, and others are served between them.
 * Thread: loop. */
#ifndef ZD_RUNTIME_DEFERRED_H
#define ZD_RUNTIME_DEFERRED_H

#include <uv.h>

#include "server/runtime/wait.h"

#define ZD_DEFERRED_PIECES 64 /* in a turn */

struct zd_deferred {
    struct zd_list waiting; /* struct zd_wait, in order of arrival */
    uv_idle_t next;         /* while there are any, or pieces were taken */
    uint32_t n_pieces;      /* that were taken in this turn */
};

void zd_deferred_init(struct zd_deferred *later, uv_loop_t *loop);

/** Nobody waits. The loop must turn once more. */
void zd_deferred_close(struct zd_deferred *later);

/** A piece of work, of some ten microseconds, for who has many of them: all together may do so many
 * in one turn of the loop, however they were woken. @return false: none is left; wait for another
 * turn */
bool zd_deferred_take_piece(struct zd_deferred *later);

/** Wait for a turn of the loop of its own: it ends with ZD_OK. zd_wait_cancel stops that. */
void zd_deferred_want(struct zd_deferred *later, struct zd_wait *wait);

#endif
