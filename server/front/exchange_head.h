/* The head of a request, as an exchange keeps it. Thread: loop. */
#ifndef ZD_FRONT_EXCHANGE_HEAD_H
#define ZD_FRONT_EXCHANGE_HEAD_H

#include "server/front/front.h"

/** Keep the target, without the token and the signature in it. @retval ZD_TOO_LARGE, ZD_NO_MEMORY
 */
ZD_RESULT zd_exchange_take_target(struct zd_exchange *exchange, const char *target);

/** Read the head: set method, conditions, accepted forms, and id. @retval ZD_NO_MEMORY */
ZD_RESULT zd_exchange_read_head(struct zd_exchange *exchange, const char *method);

#endif
