/* The codec `zstd` (Zarr registry; RFC 8878). */
#include <zstd.h>
#include <zstd_errors.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/codec/spare.h"

#define NAME      "zstd"
#define LEVEL_MIN (-131072)
#define LEVEL_MAX 22

#define BYTES_PER_US      1200
#define PART_BYTES_PER_US 1000 /* through the window, from which each byte is copied */

#define BLOCK_BYTES   (128U << 10) /* RFC 8878, 3.1.1.2.4: a block has no more */
#define FLAG_CHECKSUM 0x04U        /* RFC 8878, 3.1.1.1.1, in the byte behind the magic number */
#define FLAGS_AT      4U

/* A stream needs its window in memory: what parts are decoded with, and what of it is kept. */
#define WINDOW_LOG_MIN 10
#define WINDOW_LOG_MAX 23
#define KEPT_BYTES_MAX (4U << 20)

struct zstd {
    int level;
    bool has_checksum;
    struct zd_repr decoded;
};

extern const struct zd_codec zd_codec_zstd;

static struct zd_spares decoders; /* ZSTD_DCtx, between two frames */

static ZSTD_DCtx *take_decoder(void)
{
    ZSTD_DCtx *decoder = zd_spares_take(&decoders);
    return decoder == NULL ? ZSTD_createDCtx() : decoder;
}

static void give_decoder(ZSTD_DCtx *decoder)
{
    if (ZSTD_sizeof_DCtx(decoder) > KEPT_BYTES_MAX) {
        (void)ZSTD_freeDCtx(decoder);
        return;
    }
    (void)ZSTD_freeDCtx(zd_spares_give(&decoders, decoder));
}

static enum zd_status zstd_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"level", "checksum", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    int64_t level = 0;
    bool has_checksum = false;
    (void)zd_parameter_i64(&parameters, "level", LEVEL_MIN, LEVEL_MAX, &level);
    if (zd_parameter_find(&parameters, "checksum") != NULL) {
        (void)zd_parameter_bool(&parameters, "checksum", &has_checksum);
    }
    ZD_TRY(zd_parameters_status(&parameters));
    struct zstd *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct zstd){
        .level = (int)level, .has_checksum = has_checksum, .decoded = *config->decoded};
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = zd_codec_bound(config->decoded->size)};
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status refuse(size_t code, const struct zstd *zstd, struct zd_error *err)
{
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for decoding");
    }
    enum zd_status status;
    if (ZSTD_getErrorCode(code) == ZSTD_error_dstSize_tooSmall) {
        status = zd_fail(err, ZD_CORRUPT, NAME ": more than the expected %llu bytes decoded",
            (unsigned long long)zstd->decoded.size);
    } else {
        status = zd_fail(err, ZD_CORRUPT, NAME ": %s; %llu bytes expected", ZSTD_getErrorName(code),
            (unsigned long long)zstd->decoded.size);
    }
    zd_fact_name(err, NAME);
    zd_fact_expected(err, "%llu bytes", (unsigned long long)zstd->decoded.size);
    return status;
}

/* The sum of the content sizes that the frames declare; false when a frame declares none. */
static bool said_content(const struct zd_buf *encoded, uint64_t *ret_content)
{
    uint64_t content = 0;
    for (size_t at = 0; at < encoded->len;) {
        const uint8_t *frame = encoded->data + at;
        const unsigned long long more = ZSTD_getFrameContentSize(frame, encoded->len - at);
        const size_t frame_len = ZSTD_findFrameCompressedSize(frame, encoded->len - at);
        if (more == ZSTD_CONTENTSIZE_UNKNOWN || more == ZSTD_CONTENTSIZE_ERROR ||
            ZSTD_isError(frame_len) || ckd_add(&content, content, more)) {
            return false;
        }
        at += frame_len;
    }
    *ret_content = content;
    return true;
}

/* A bound that is no exact size may be far above what the input becomes. */
static uint64_t room_for(const struct zstd *zstd, const struct zd_buf *encoded)
{
    uint64_t content;
    if (zstd->decoded.size_is_exact || !said_content(encoded, &content)) {
        return zstd->decoded.size;
    }
    return zd_min_u64(zstd->decoded.size, content);
}

/* All frames of the input, skippable ones too; never more than was expected, whatever a frame says
 * of its size. */
static enum zd_status zstd_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zstd *zstd = state;
    const uint64_t room = room_for(zstd, encoded);
    ZD_AUTO(zd_buf) decoded = zd_buf_new(room);
    ZSTD_DCtx *decoder = decoded == NULL ? NULL : take_decoder();
    if (decoder == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, NAME ": cannot allocate %llu bytes", (unsigned long long)room);
    }
    const size_t len =
        ZSTD_decompressDCtx(decoder, decoded->data, decoded->cap, encoded->data, encoded->len);
    give_decoder(decoder);
    if (ZSTD_isError(len)) {
        return refuse(len, zstd, err);
    }
    decoded->len = len;
    ZD_TRY(zd_codec_repr_check(&zstd->decoded, NAME, len, err));
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

/* Whether there is a single frame that declares its size and has no checksum: its parts can be
 * decoded alone. */
static bool has_parts(const struct zstd *zstd, const struct zd_buf *encoded)
{
    return encoded->len > FLAGS_AT && (encoded->data[FLAGS_AT] & FLAG_CHECKSUM) == 0 &&
           ZSTD_getFrameContentSize(encoded->data, encoded->len) == zstd->decoded.size &&
           ZSTD_findFrameCompressedSize(encoded->data, encoded->len) == encoded->len;
}

/* Fills `to`; stops there. */
static size_t decode_prefix(
    const struct zstd *zstd, ZSTD_DCtx *decoder, const struct zd_buf *encoded, struct zd_buf *to)
{
    int window_log = WINDOW_LOG_MIN;
    while (window_log < WINDOW_LOG_MAX && UINT64_C(1) << window_log < zstd->decoded.size) {
        window_log++;
    }
    size_t result = ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, window_log);
    ZSTD_outBuffer out = {.dst = to->data, .size = to->cap};
    ZSTD_inBuffer in = {.src = encoded->data, .size = encoded->len};
    bool moves = true;
    while (moves && !ZSTD_isError(result) && out.pos < out.size) {
        const size_t before = in.pos + out.pos;
        result = ZSTD_decompressStream(decoder, &out, &in);
        moves = in.pos + out.pos > before && result != 0;
    }
    to->len = out.pos;
    (void)ZSTD_DCtx_reset(decoder, ZSTD_reset_session_and_parameters);
    return result;
}

static enum zd_status zstd_decode_part(const void *state, struct zd_buf *encoded,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err)
{
    const struct zstd *zstd = state;
    if (!has_parts(zstd, encoded)) {
        return zd_codec_cut(&zd_codec_zstd, state, encoded, run, ret_bytes, err);
    }
    const uint64_t end = run.first + run.len;
    ZD_AUTO(zd_buf) bytes = zd_buf_new(end);
    ZSTD_DCtx *decoder = bytes == NULL ? NULL : take_decoder();
    if (decoder == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, NAME ": cannot allocate %llu bytes", (unsigned long long)end);
    }
    const size_t result = decode_prefix(zstd, decoder, encoded, bytes);
    give_decoder(decoder);
    if (ZSTD_isError(result) || bytes->len != end) {
        /* Its window is too large, or it is corrupt: decoding the whole frame shows which. */
        return zd_codec_cut(&zd_codec_zstd, state, encoded, run, ret_bytes, err);
    }
    bytes->data += run.first; /* it is not shared yet */
    bytes->cap -= run.first;
    bytes->len = run.len;
    *ret_bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

/* All blocks up to the run's last one. */
static uint64_t zstd_part_ns(const void *state, struct zd_byte_range run)
{
    const struct zstd *zstd = state;
    const uint64_t n_blocks = zd_div_up(run.first + run.len, BLOCK_BYTES);
    const uint64_t bytes = zd_min_u64(n_blocks * BLOCK_BYTES, zstd->decoded.size);
    return zstd->has_checksum ? UINT64_MAX : zd_codec_ns(bytes, PART_BYTES_PER_US);
}

static size_t compress(const struct zstd *zstd, ZSTD_CCtx *context, const struct zd_buf *decoded,
    struct zd_buf *encoded)
{
    size_t result = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, zstd->level);
    if (!ZSTD_isError(result)) {
        result = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, zstd->has_checksum ? 1 : 0);
    }
    if (!ZSTD_isError(result)) {
        result = ZSTD_compress2(context, encoded->data, encoded->cap, decoded->data, decoded->len);
    }
    return result;
}

static enum zd_status zstd_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const size_t cap = ZSTD_compressBound(decoded->len);
    if (ZSTD_isError(cap)) {
        return zd_fail(err, ZD_TOO_LARGE, NAME ": cannot compress %zu bytes", decoded->len);
    }
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    ZSTD_CCtx *context = encoded == NULL ? NULL : ZSTD_createCCtx();
    if (context == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", cap);
    }
    const size_t len = compress(state, context, decoded, encoded);
    (void)ZSTD_freeCCtx(context);
    if (ZSTD_isError(len)) {
        /* The bound is enough and the level valid: nothing else can fail. */
        return zd_fail(err, ZD_NO_MEMORY, NAME ": %s", ZSTD_getErrorName(len));
    }
    encoded->len = len;
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static enum zd_status zstd_configuration(const void *state, struct zd_json **ret_json)
{
    const struct zstd *zstd = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "level", zd_json_new_i64(zstd->level)));
    if (zstd->has_checksum) { /* the registry: omitted when false */
        ZD_TRY(zd_json_set(json, "checksum", zd_json_new_bool(true)));
    }
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_zstd = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\",\"minimum\":"
              "-131072,\"maximum\":22},\"checksum\":{\"type\":\"boolean\"}},"
              "\"required\":[\"level\"],\"additionalProperties\":false}",
    .open = zstd_open,
    .close = zd_free,
    .decode = zstd_decode,
    .encode = zstd_encode,
    .decode_part = zstd_decode_part,
    .part_ns = zstd_part_ns,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zstd_configuration,
};
