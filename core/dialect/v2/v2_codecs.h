/* Filters and compressor of a Zarr v2 array as the codecs of a final v3 document. */
#ifndef ZD_CORE_DIALECT_V2_V2_CODECS_H
#define ZD_CORE_DIALECT_V2_V2_CODECS_H

#include "core/codec/chain.h"
#include "core/grid/typestr.h"

/** The codecs, and where each of them stands in the v2 document. */
struct zd_v2_codecs {
    struct zd_json *list; /* of a final v3 document; owned */
    uint32_t n;
    struct zd_pointer place[ZD_CHAIN_CODECS_MAX];
};

/**
 * Translate order, filters and compressor.
 *
 * @param zarray     the document, an object; borrowed
 * @param dtype      of the array; NULL: not known, so that names are judged, and nothing else
 * @param rank       of the array
 * @param ret_codecs owned: zd_v2_codecs_done; complete unless the faults refuse
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v2_codecs_translate(const struct zd_json *zarray, const struct zd_typestr *dtype,
    size_t rank, struct zd_v2_codecs *ret_codecs, struct zd_faults *faults);

/** Let the findings about the translated codecs point to the v2 document. */
void zd_v2_codecs_move_faults(const struct zd_v2_codecs *codecs, struct zd_faults *faults);

void zd_v2_codecs_done(struct zd_v2_codecs *codecs); /* accepts a zeroed one */

/** The data type of objects ("|O"): what the first of the filters, or the compressor, makes of
 * bytes. @retval ZD_UNSUPPORTED none of them makes objects that are supported */
ZD_RESULT zd_v2_codecs_object_type(const struct zd_json *zarray, struct zd_dtype *ret_dtype);

#endif
