/* Codecs by name, and the arithmetic of sizes that they share. */
#include "core/codec/codec.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"

/* Beyond the data: an eighth of it, and room for headers. zlib, zstd and blosc add far less. */
#define BOUND_DIVISOR 8
#define BOUND_BYTES   65536

#define NS_PER_US UINT64_C(1000)

static bool has_name(const struct zd_codec *codec, const char *name)
{
    if (strcmp(codec->name, name) == 0) {
        return true;
    }
    for (size_t i = 0; codec->aliases != NULL && codec->aliases[i] != NULL; i++) {
        if (strcmp(codec->aliases[i], name) == 0) {
            return true;
        }
    }
    return false;
}

const struct zd_codec *zd_codec_find(const char *name)
{
    for (size_t i = 0; zd_codecs[i] != NULL; i++) {
        if (has_name(zd_codecs[i], name)) {
            return zd_codecs[i];
        }
    }
    return NULL;
}

bool zd_codec_repr_overflows(const struct zd_repr *array, uint64_t *ret_size)
{
    assert(!array->is_bytes);
    uint64_t n_elements;
    if (zd_product_overflows(&n_elements, array->shape, array->rank)) {
        return true;
    }
    return ckd_mul(ret_size, n_elements, array->dtype.bytes);
}

uint64_t zd_codec_ns(uint64_t bytes, uint64_t bytes_per_us)
{
    uint64_t ns = 0;
    const bool overflows = bytes_per_us > 0 && ckd_mul(&ns, bytes, NS_PER_US);
    return overflows ? UINT64_MAX : ns / zd_max_u64(bytes_per_us, 1);
}

enum zd_status zd_codec_cut(const struct zd_codec *codec, const void *state, struct zd_buf *encoded,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err)
{
    ZD_AUTO(zd_buf) whole = NULL;
    ZD_TRY(codec->decode(state, encoded, &whole, err));
    assert(run.len <= whole->len && run.first <= whole->len - run.len);
    struct zd_buf *bytes =
        zd_buf_copy((struct zd_span){.ptr = whole->data + run.first, .len = run.len});
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: cannot allocate %llu bytes", codec->name,
            (unsigned long long)run.len);
    }
    *ret_bytes = bytes;
    return ZD_OK;
}

uint64_t zd_codec_bound(uint64_t size)
{
    uint64_t bound;
    if (ckd_add(&bound, size, size / BOUND_DIVISOR) || ckd_add(&bound, bound, BOUND_BYTES)) {
        return UINT64_MAX;
    }
    return bound;
}

enum zd_status zd_codec_repr_check(
    const struct zd_repr *decoded, const char *codec, uint64_t found_bytes, struct zd_error *err)
{
    const bool fits =
        decoded->size_is_exact ? found_bytes == decoded->size : found_bytes <= decoded->size;
    if (fits) {
        return ZD_OK;
    }
    const char *most = decoded->size_is_exact ? "" : "at most ";
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, "%s: %" PRIu64 " bytes decoded, %s%" PRIu64 " expected", codec,
            found_bytes, most, decoded->size);
    zd_fact_name(err, codec);
    zd_fact_expected(err, "%s%" PRIu64 " bytes", most, decoded->size);
    zd_fact_found(err, "%" PRIu64 " bytes", found_bytes);
    return status;
}

enum zd_status zd_codec_too_much(
    const struct zd_repr *decoded, const char *codec, struct zd_error *err)
{
    const enum zd_status status = zd_fail(err, ZD_CORRUPT,
        "%s: more than the expected %llu bytes decoded", codec, (unsigned long long)decoded->size);
    zd_fact_name(err, codec);
    zd_fact_expected(err, "%llu bytes", (unsigned long long)decoded->size);
    return status;
}
