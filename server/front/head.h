/* The head of a request: what its fields say, whose it is, and from whom. Thread: loop. */
#ifndef ZD_FRONT_HEAD_H
#define ZD_FRONT_HEAD_H

#include "server/front/front.h"

/** The head is there: sets method, conditions, what is accepted, and id. @retval ZD_NO_MEMORY */
ZD_RESULT zd_head_read(struct zd_request *req, const char *method);

#endif
