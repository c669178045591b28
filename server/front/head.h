/* The head of a request: its fields, its id, and the client's address. Thread: loop. */
#ifndef ZD_FRONT_HEAD_H
#define ZD_FRONT_HEAD_H

#include "server/front/front.h"

/** The head is there: set method, conditions, what is accepted, and id. @retval ZD_NO_MEMORY */
ZD_RESULT zd_head_read(struct zd_exchange *exchange, const char *method);

/** Make an X-Request-Id: ZD_FRONT_MADE_ID_LEN characters and NUL. */
void zd_head_make_id(struct zd_front *front, char *to);

#endif
