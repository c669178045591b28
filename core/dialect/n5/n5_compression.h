/* The compression of an N5 dataset as a codec of a final v3 document. */
#ifndef ZD_CORE_DIALECT_N5_N5_COMPRESSION_H
#define ZD_CORE_DIALECT_N5_N5_COMPRESSION_H

#include "core/base/fault.h"

/** The codec, and where it stands in attributes.json. */
struct zd_n5_compression {
    struct zd_json *codec; /* of a final v3 document; owned; NULL: none, or the faults refuse */
    struct zd_pointer place;
};

/**
 * Translate `compression`, or the older `compressionType`. Parameters only steer who compresses:
 * one that cannot be is a warning, and its default is taken.
 *
 * @param attributes    the document, an object; borrowed
 * @param element_bytes of the array
 * @param ret_compression owned: zd_n5_compression_done
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_n5_compression_translate(const struct zd_json *attributes, uint32_t element_bytes,
    struct zd_n5_compression *ret_compression, struct zd_faults *faults);

void zd_n5_compression_done(struct zd_n5_compression *compression); /* accepts a zeroed one */

#endif
