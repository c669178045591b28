/* Elements of variable length one after the other: what `vlen-utf8`, `vlen-bytes` and `vlen-array`
 * have in common (Zarr v3 registry, vlen-utf8; numcodecs).
 *
 *     u32le count, then for each element: u32le length in bytes, bytes */
#ifndef ZD_CORE_CODEC_VLEN_H
#define ZD_CORE_CODEC_VLEN_H

#include "core/codec/codec.h"

struct zd_vlen {
    const char *name; /* of the codec; static */
    enum zd_dtype_kind kind;
    uint64_t n_elements;
    uint64_t bytes_max; /* of all elements together */
};

/**
 * Elements as the codecs encode them; fewer than 2^32.
 * @retval ZD_TOO_LARGE they have more bytes than a chunk may have; facts limit, requested
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_vlen_write(const uint8_t *elements, uint64_t n_elements, struct zd_buf **ret_encoded,
    struct zd_error *err);

/** The codec of elements of that type. */
static inline const char *zd_vlen_name(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_STRING  ? "vlen-utf8"
           : dtype->kind == ZD_DTYPE_BYTES ? "vlen-bytes"
                                           : "numcodecs.vlen-array";
}

/** Fill in what a chunk has, where that is known; a fault when it has too many elements.
 * @param vlen has name and kind */
void zd_vlen_prepare(struct zd_vlen *vlen, const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, struct zd_faults *faults);

/** Parts of the codecs' tables; `name` and `kind` are those of the codec. */
ZD_RESULT zd_vlen_open(const char *name, enum zd_dtype_kind kind,
    const struct zd_codec_config *config, struct zd_repr *ret_encoded, void **ret_state,
    struct zd_faults *faults);
ZD_RESULT zd_vlen_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err);
ZD_RESULT zd_vlen_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err);
uint64_t zd_vlen_bytes_per_us(const void *state);
ZD_RESULT zd_vlen_configuration(const void *state, struct zd_json **ret_json);

#endif
