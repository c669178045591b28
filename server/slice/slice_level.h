/* Slices of multiscale groups: which level answers. Thread: loop. */
#ifndef ZD_SLICE_SLICE_LEVEL_H
#define ZD_SLICE_SLICE_LEVEL_H

#include "server/slice/slice_read.h"

/** Answers a request whose node cannot be sliced. @return whether it is answered */
bool zd_slice_level_refuse(struct zd_request *req);

/**
 * Once the parameters are read: makes the chosen level of a multiscale group the node of the slice
 * and of the request, and goes on with `next`.
 * @return what the step returns; ZD_DONE: answered with a problem
 */
enum zd_next zd_slice_level_want(struct zd_slice_read *read, zd_step *next);

#endif
