/* The end of what remote stores wait for. */
#ifndef ZD_CORE_STORE_TRANSFER_REMOTE_STOP_H
#define ZD_CORE_STORE_TRANSFER_REMOTE_STOP_H

#include "core/store/remote/remote.h"

/** The process ends: operations under way end soon, with ZD_CANCELLED where their store has not
 * answered yet; a write may have happened then. So do those that are started from now on. Thread:
 * loop. */
void zd_remote_stop(struct zd_remote *remote);

#endif
