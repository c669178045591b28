/* The codec `n5.lz4`: what writers of N5 store under the name "lz4". There are two forms.
 *
 *   Java:  frame | frame | ... | frame without elements
 *   z5:    one block of LZ4, which decodes to exactly what is expected
 *
 *   frame: "LZ4Block" | form and size | stored, decoded, checksum: u32 little-endian each | data
 *
 * The first eight bytes of a frame can begin no block: its first match would lie before them. */
#include <inttypes.h>
#include <lz4.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/codec/parameter.h"

#define NAME         "n5.lz4"
#define BYTES_PER_US 2500

#define MAGIC       "LZ4Block"
#define MAGIC_BYTES (sizeof MAGIC - 1)
#define HEAD_BYTES  (MAGIC_BYTES + 1 + 3 * sizeof(uint32_t))

/* lz4-java: the upper half of the byte behind the magic says how the data is stored, the lower one
 * how many elements a frame has at most: 2^(10 + it). */
#define FORM_MASK   0xf0U
#define FORM_STORED 0x10U
#define FORM_LZ4    0x20U
#define LEVEL_MASK  0x0fU
#define LEVEL_BASE  10U

#define HASH_SEED UINT32_C(0x9747b28c)
#define HASH_MASK UINT32_C(0x0fffffff)

#define FRAME_LEVEL 6U /* of frames that are made here: 64 KiB, as in Java */
#define FRAME_BYTES (UINT32_C(1) << (LEVEL_BASE + FRAME_LEVEL))

struct n5_lz4 {
    struct zd_repr decoded;
};

struct frame {
    uint8_t form;
    uint8_t level;
    uint32_t stored_bytes;
    uint32_t decoded_bytes;
    uint32_t checksum;
};

static enum zd_status n5_lz4_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct n5_lz4 *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct n5_lz4){.decoded = *config->decoded};
    *ret_encoded = (struct zd_repr){.is_bytes = true};
    /* The smallest frames of Java have 64 bytes, behind heads of 21. */
    if (ckd_add(
            &ret_encoded->size, zd_codec_bound(config->decoded->size), config->decoded->size / 2)) {
        ret_encoded->size = UINT64_MAX;
    }
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status refuse(struct zd_error *err, const char *why, size_t at)
{
    const enum zd_status status = zd_fail(err, ZD_CORRUPT, NAME ": %s at byte %zu", why, at);
    zd_fact_name(err, NAME);
    return status;
}

static enum zd_status no_memory(struct zd_error *err, uint64_t n_bytes)
{
    return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %" PRIu64 " bytes", n_bytes);
}

/* ---- frames ---- */

static bool is_framed(struct zd_span in)
{
    return in.len >= MAGIC_BYTES && memcmp(in.ptr, MAGIC, MAGIC_BYTES) == 0;
}

static bool is_end(const struct frame *frame)
{
    return frame->decoded_bytes == 0;
}

static bool is_possible(const struct frame *frame)
{
    const bool is_stored = frame->form == FORM_STORED;
    if (!is_stored && frame->form != FORM_LZ4) {
        return false;
    }
    if (frame->stored_bytes == 0 || frame->decoded_bytes == 0) {
        return frame->stored_bytes == frame->decoded_bytes && is_stored && frame->checksum == 0;
    }
    return frame->decoded_bytes <= UINT32_C(1) << (LEVEL_BASE + frame->level) &&
           frame->stored_bytes <= INT32_MAX &&
           (!is_stored || frame->stored_bytes == frame->decoded_bytes);
}

/* The frame that begins at a byte. */
static enum zd_status read_frame(
    struct zd_span in, size_t at, struct frame *ret_frame, struct zd_error *err)
{
    const struct zd_span rest = {.ptr = in.ptr + at, .len = in.len - at};
    if (rest.len < HEAD_BYTES || !is_framed(rest)) {
        return refuse(err, "no frame", at);
    }
    const uint8_t *head = rest.ptr + MAGIC_BYTES;
    const struct frame frame = {
        .form = head[0] & FORM_MASK,
        .level = head[0] & LEVEL_MASK,
        .stored_bytes = zd_load_u32(head + 1),
        .decoded_bytes = zd_load_u32(head + 5),
        .checksum = zd_load_u32(head + 9),
    };
    if (!is_possible(&frame) || frame.stored_bytes > rest.len - HEAD_BYTES) {
        return refuse(err, "an invalid frame", at);
    }
    *ret_frame = frame;
    return ZD_OK;
}

/* All frames, the last one too; how many bytes they decode to. */
static enum zd_status measure(
    const struct n5_lz4 *lz4, struct zd_span in, uint64_t *ret_bytes, struct zd_error *err)
{
    struct frame frame = {.decoded_bytes = 1};
    uint64_t n_bytes = 0; /* of at most in.len frames of less than 2^32: no overflow */
    size_t at = 0;
    while (!is_end(&frame)) {
        ZD_TRY(read_frame(in, at, &frame, err));
        n_bytes += frame.decoded_bytes;
        at += HEAD_BYTES + frame.stored_bytes;
    }
    if (at != in.len) {
        return refuse(err, "bytes after the last frame", at);
    }
    *ret_bytes = n_bytes;
    return zd_codec_repr_check(&lz4->decoded, NAME, n_bytes, err);
}

static uint32_t checksum_of(const uint8_t *data, size_t len)
{
    return zd_hash_32((struct zd_span){.ptr = data, .len = len}, HASH_SEED) & HASH_MASK;
}

static enum zd_status decode_frame(const struct frame *frame, const uint8_t *from, size_t at,
    struct zd_buf *to, struct zd_error *err)
{
    uint8_t *out = to->data + to->len;
    if (frame->form == FORM_STORED) {
        memcpy(out, from, frame->decoded_bytes);
    } else if (LZ4_decompress_safe((const char *)from, (char *)out, (int)frame->stored_bytes,
                   (int)frame->decoded_bytes) != (int)frame->decoded_bytes) {
        return refuse(err, "a block that decodes to a wrong size", at);
    }
    if (checksum_of(out, frame->decoded_bytes) != frame->checksum) {
        return refuse(err, "a wrong checksum", at);
    }
    to->len += frame->decoded_bytes;
    return ZD_OK;
}

static enum zd_status decode_frames(
    const struct n5_lz4 *lz4, struct zd_span in, struct zd_buf **ret_decoded, struct zd_error *err)
{
    uint64_t n_bytes = 0;
    ZD_TRY(measure(lz4, in, &n_bytes, err));
    ZD_AUTO(zd_buf) decoded = zd_buf_new(n_bytes);
    if (decoded == NULL) {
        return no_memory(err, n_bytes);
    }
    size_t at = 0;
    while (decoded->len < n_bytes) {
        struct frame frame = {0};
        ZD_TRY(read_frame(in, at, &frame, err));
        ZD_TRY(decode_frame(&frame, in.ptr + at + HEAD_BYTES, at, decoded, err));
        at += HEAD_BYTES + frame.stored_bytes;
    }
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

/* ---- a block alone ---- */

static enum zd_status decode_block(
    const struct n5_lz4 *lz4, struct zd_span in, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const uint64_t size = lz4->decoded.size;
    if (!lz4->decoded.size_is_exact || size > LZ4_MAX_INPUT_SIZE || in.len > INT32_MAX) {
        return refuse(err, "no frame", 0);
    }
    ZD_AUTO(zd_buf) decoded = zd_buf_new(size);
    if (decoded == NULL) {
        return no_memory(err, size);
    }
    const int n =
        LZ4_decompress_safe((const char *)in.ptr, (char *)decoded->data, (int)in.len, (int)size);
    if (n < 0 || (uint64_t)n != size) {
        return refuse(err, "neither frames nor a block of the expected size", 0);
    }
    decoded->len = size;
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status n5_lz4_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zd_span in = zd_buf_span(encoded);
    return is_framed(in) ? decode_frames(state, in, ret_decoded, err)
                         : decode_block(state, in, ret_decoded, err);
}

/* ---- encoding ---- */

static void write_head(const struct frame *frame, uint8_t *head)
{
    memcpy(head, MAGIC, MAGIC_BYTES);
    head += MAGIC_BYTES;
    head[0] = frame->form | frame->level;
    zd_store_u32(head + 1, frame->stored_bytes);
    zd_store_u32(head + 5, frame->decoded_bytes);
    zd_store_u32(head + 9, frame->checksum);
}

/* Append a frame to `to`; it is stored where LZ4 makes it no smaller. */
static void add_frame(const uint8_t *from, uint32_t len, struct zd_buf *to)
{
    uint8_t *head = to->data + to->len;
    char *out = (char *)head + HEAD_BYTES;
    struct frame frame = {.form = FORM_LZ4, .level = FRAME_LEVEL, .decoded_bytes = len};
    frame.checksum = len == 0 ? 0 : checksum_of(from, len);
    const int n = len == 0 ? 0 : LZ4_compress_default((const char *)from, out, (int)len, (int)len);
    frame.stored_bytes = (uint32_t)n;
    if (n <= 0) {
        frame.form = FORM_STORED;
        frame.stored_bytes = len;
        memcpy(out, from, len);
    }
    write_head(&frame, head);
    to->len += HEAD_BYTES + frame.stored_bytes;
}

static enum zd_status n5_lz4_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    (void)state;
    const uint64_t n_frames = decoded->len / FRAME_BYTES + 2; /* the rest, and the end */
    uint64_t cap = 0;
    if (ckd_add(&cap, (uint64_t)decoded->len, n_frames * HEAD_BYTES)) {
        return no_memory(err, UINT64_MAX);
    }
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    if (encoded == NULL) {
        return no_memory(err, cap);
    }
    for (size_t at = 0; at < decoded->len; at += FRAME_BYTES) {
        add_frame(
            decoded->data + at, (uint32_t)zd_min_u64(FRAME_BYTES, decoded->len - at), encoded);
    }
    add_frame(decoded->data + decoded->len, 0, encoded);
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status n5_lz4_configuration(const void *state, struct zd_json **ret_json)
{
    (void)state;
    *ret_json = NULL;
    return ZD_OK;
}

const struct zd_codec zd_codec_n5_lz4 = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"additionalProperties\":false}",
    .open = n5_lz4_open,
    .close = zd_free,
    .decode = n5_lz4_decode,
    .encode = n5_lz4_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = n5_lz4_configuration,
};
