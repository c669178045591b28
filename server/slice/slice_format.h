/* The format of a slice: by name, or negotiated. Thread: loop. */
#ifndef ZD_SLICE_SLICE_FORMAT_H
#define ZD_SLICE_SLICE_FORMAT_H

#include "server/format/format.h"
#include "server/slice/slice_params.h"

/** The result, and the parameters of the request; everything borrowed. */
struct zd_slice_format_ask {
    const struct zd_slice_params *params;
    const struct zd_dtype *dtype;
    uint32_t rank; /* of the result */
};

/**
 * The format that `format=` names; without it the one that Accept prefers: raw among equals, then
 * the first by name.
 * @param accept or NULL
 * @return NULL: no format can express the result, or the client accepts none that can
 */
const struct zd_format *zd_slice_format_choose(
    const struct zd_slice_format_ask *ask, const char *accept);

/** Answer 406 with the formats that can express the result. */
enum zd_next zd_slice_format_refuse(const struct zd_slice_format_ask *ask, struct zd_request *req);

#endif
