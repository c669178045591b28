/* Ends an answer that is still being sent, and a change whose body still comes, when the credential
 * that allowed them expires. Thread: loop. */
#ifndef ZD_FRONT_EXPIRY_H
#define ZD_FRONT_EXPIRY_H

#include "server/front/front.h"

/** Until it ends, look at the exchange's identity once a second. */
void zd_expiry_watch(struct zd_exchange *exchange);

/**
 * When the exchange's identity is over, nothing more of its answer leaves: the connection is reset.
 * A body that may end anywhere ends here instead, if its client keeps up. A change whose body still
 * comes is answered with 401, and nothing of it is stored. A change that is being stored, and an
 * answer that has not begun, go on.
 */
void zd_expiry_check(struct zd_exchange *exchange);

/** Set the list and the timer of a front up. */
void zd_expiry_init_front(struct zd_front *front);

/** Close the timer; the loop must turn once more before the front is freed. */
void zd_expiry_close_front(struct zd_front *front);

#endif
