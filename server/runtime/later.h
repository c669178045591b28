/* Later turns of the loop: what is long is done in pieces, and others are served between them.
 * Thread: loop. */
#ifndef ZD_RUNTIME_LATER_H
#define ZD_RUNTIME_LATER_H

#include <uv.h>

#include "server/runtime/wait.h"

#define ZD_LATER_PIECES 64 /* in a turn */

struct zd_later {
    struct zd_list waiting; /* struct zd_wait, in order of arrival */
    uv_idle_t next;         /* while there are any, or pieces were taken */
    uint32_t n_pieces;      /* that were taken in this turn */
};

void zd_later_init(struct zd_later *later, uv_loop_t *loop);

/** Nobody waits. The loop must turn once more. */
void zd_later_close(struct zd_later *later);

/** A piece of work, of some ten microseconds, for who has many of them: all together may do so many
 * in one turn of the loop, however they were woken. @return false: none is left; wait for another
 * turn */
bool zd_later_take_piece(struct zd_later *later);

/** Wait for a turn of the loop of its own: it ends with ZD_OK. zd_wait_cancel stops that. */
void zd_later_want(struct zd_later *later, struct zd_wait *wait);

#endif
