/* Slices of groups: which of a group's levels answers (example.multiscale-arrays). Thread: loop. */
#ifndef ZD_SLICE_SLICE_LEVEL_H
#define ZD_SLICE_SLICE_LEVEL_H

#include "server/slice/slice.h"

/** Whether the request's node may be sliced; else it is answered. */
bool zd_slice_level_refuse(struct zd_request *req);

/**
 * What is asked is known: go on with `next` once the slice's node, and the request's, is an array.
 * @return what the step returns; ZD_DONE: answered with a problem
 */
enum zd_next zd_slice_level_want(struct zd_slice *slice, zd_step *next);

#endif
