/* Pieces of a slice that is too large. Thread: loop. */
#ifndef ZD_SLICE_SLICE_SUGGEST_H
#define ZD_SLICE_SLICE_SUGGEST_H

#include "server/request/request.h"
#include "server/slice/slice_limits.h"

/** {"suggestions": [...], "n_suggestions": n} of pieces that together are the slice, owned; NULL
 * without memory. */
struct zd_json *zd_slice_suggest_pieces(const struct zd_slice_limits_whole *whole);

/** Answer 413 with the pieces. @param err of zd_slice_limits_check */
enum zd_next zd_slice_suggest_respond(
    const struct zd_slice_limits_whole *whole, const struct zd_error *err, struct zd_request *req);

#endif
