/* The output of a decoder whose decoded size shows only at the end of the stream. */
#include "core/codec/output.h"

#include <string.h>

#include "core/base/num.h"

/* The first guess where the size is not known; then as much again each time. */
#define GUESS_FACTOR 4U
#define GUESS_BYTES  65536U

static ZD_RESULT allocate(
    const struct zd_output *output, size_t cap, struct zd_buf **ret_bytes, struct zd_error *err)
{
    struct zd_buf *bytes = zd_buf_new(cap);
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: cannot allocate %zu bytes", output->codec, cap);
    }
    *ret_bytes = bytes;
    return ZD_OK;
}

enum zd_status zd_output_init(struct zd_output *output, const char *codec,
    const struct zd_repr *decoded, size_t encoded_bytes, struct zd_error *err)
{
    *output = (struct zd_output){.codec = codec, .decoded = decoded};
    uint64_t guess = decoded->size;
    if (!decoded->size_is_exact && !ckd_mul(&guess, (uint64_t)encoded_bytes, GUESS_FACTOR)) {
        guess = zd_min_u64(decoded->size, zd_max_u64(guess, GUESS_BYTES));
    }
    return allocate(output, guess, &output->bytes, err);
}

void zd_output_done(struct zd_output *output)
{
    zd_buf_unref(output->bytes);
    output->bytes = NULL;
}

static ZD_RESULT grow(struct zd_output *output, struct zd_error *err)
{
    uint64_t cap;
    struct zd_buf *longer = NULL;
    if (ckd_mul(&cap, (uint64_t)output->bytes->cap, UINT64_C(2))) {
        cap = output->decoded->size;
    }
    ZD_TRY(allocate(output, zd_min_u64(cap, output->decoded->size), &longer, err));
    memcpy(longer->data, output->bytes->data, output->bytes->len);
    longer->len = output->bytes->len;
    zd_buf_unref(output->bytes);
    output->bytes = longer;
    return ZD_OK;
}

enum zd_status zd_output_room(
    struct zd_output *output, uint8_t **ret_room, size_t *ret_bytes, struct zd_error *err)
{
    if (output->bytes->len == output->decoded->size) {
        *ret_room = &output->beyond;
        *ret_bytes = 1;
        return ZD_OK;
    }
    if (output->bytes->len == output->bytes->cap) {
        ZD_TRY(grow(output, err));
    }
    *ret_room = output->bytes->data + output->bytes->len;
    *ret_bytes = output->bytes->cap - output->bytes->len;
    return ZD_OK;
}

enum zd_status zd_output_add(struct zd_output *output, size_t n_bytes, struct zd_error *err)
{
    if (n_bytes > 0 && output->bytes->len == output->decoded->size) {
        return zd_codec_too_much(output->decoded, output->codec, err);
    }
    assert(n_bytes <= output->bytes->cap - output->bytes->len);
    output->bytes->len += n_bytes;
    return ZD_OK;
}

enum zd_status zd_output_take(
    struct zd_output *output, struct zd_buf **ret_decoded, struct zd_error *err)
{
    ZD_TRY(zd_codec_repr_check(output->decoded, output->codec, output->bytes->len, err));
    *ret_decoded = ZD_TAKE(output->bytes);
    return ZD_OK;
}
