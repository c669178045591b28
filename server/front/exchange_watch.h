/* Ends the waits of sleeping exchanges (zd_exchange_suspend) when their clients hang up, or their
 * deadlines pass. Thread: loop. */
#ifndef ZD_FRONT_EXCHANGE_WATCH_H
#define ZD_FRONT_EXCHANGE_WATCH_H

#include "server/front/front.h"

/** Set front->waiting and front->hangup up. */
void zd_exchange_watch_init(struct zd_front *front);

/** Close the timers; the loop must turn once more before zd_exchange_watch_done. */
void zd_exchange_watch_close(struct zd_front *front);
void zd_exchange_watch_done(struct zd_front *front);

#endif
