/* The codecs of a final v3 array as order, filters and compressor of Zarr v2. */
#ifndef ZD_CORE_DIALECT_V2_V2_FILTERS_H
#define ZD_CORE_DIALECT_V2_V2_FILTERS_H

#include "core/base/fault.h"
#include "core/grid/dtype.h"

/** The v2 form of the codecs. */
struct zd_v2_filters {
    bool is_f;                    /* order "F" */
    bool is_big;                  /* the byte order of the data type, and of what filters make */
    const struct zd_json *endian; /* of each field of a structure, where they differ: "big" or
                                     "little"; borrowed from the codecs, or NULL */
    struct zd_json *list;         /* the filters, maybe none; owned */
    struct zd_json *compressor;   /* owned, or NULL */
};

/**
 * Translate the codecs: the way back of zd_v2_codecs_translate.
 *
 * @param codecs  of a judged document: complete and in order; borrowed
 * @param dtype   of the array
 * @param rank    of the array
 * @param ret_filters owned: zd_v2_filters_done
 * @param faults  what v2 cannot say is invalid (not_in_dialect), with its place in the v3 document
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v2_filters_make(const struct zd_json *codecs, const struct zd_dtype *dtype,
    size_t rank, struct zd_v2_filters *ret_filters, struct zd_faults *faults);

void zd_v2_filters_done(struct zd_v2_filters *filters); /* accepts a zeroed one */

#endif
