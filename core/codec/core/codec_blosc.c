/* The codec `blosc` (Zarr v3, blosc codec; frames of C-Blosc 1). */
#include <blosc.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/blosc_part.h"
#include "core/codec/parameter.h"

#define NAME "blosc"

/* C-Blosc 1.21.3 (and later ones) writes outside of its memory when it decodes blosclz blocks of
 * about 8.42 MB and more, which its own validation accepts: such frames are not given to it. */
#define BLOSCLZ_BYTES_MAX (8U << 20)

/* Beyond this libblosc refuses a block size; it cuts a larger one to the data anyway. */
#define BLOCK_BYTES_MAX ((INT32_MAX - 1020U) / 3)

#define FORMAT_MAX 4U /* zstd */

/* The largest block of LZ4 when the library chooses the block size. */
#define OWN_BLOCK_BYTES (256U << 10)

/* Speed of decoding a part: it shuffles element by element. */
#define PART_SHUFFLE_BYTES_PER_US 1000

struct blosc {
    uint32_t cname;
    int clevel;
    uint32_t shuffle; /* 0 none, 1 bytes, 2 bits: as libblosc numbers them */
    int64_t typesize; /* 0: not said */
    int64_t blocksize;
    struct zd_repr decoded;
};

extern const struct zd_codec zd_codec_blosc;

/* Decoded bytes a microsecond, of the compressors in the order of their names and of the shuffles.
 */
static const uint64_t compressor_rates[] = {3000, 8000, 8000, 1500, 400, 1200};
static const uint64_t shuffle_rates[] = {0, 20000, 4000};

static const char *const cname_words[] = {
    "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", NULL};
static const char *const shuffle_words[] = {"noshuffle", "shuffle", "bitshuffle", NULL};

static void read_blocksize(const struct zd_parameters *parameters, struct blosc *blosc)
{
    if (parameters->judgement == ZD_JUDGE_WRITE ||
        zd_parameter_find(parameters, "blocksize") != NULL) {
        (void)zd_parameter_i64(parameters, "blocksize", 0, INT64_MAX, &blosc->blocksize);
        return;
    }
    /* Every implementation means 0, automatic: the specification requires the member. */
    const struct zd_pointer at = zd_parameter_at(parameters, "blocksize");
    zd_faults_add(parameters->faults, ZD_FAULT_WARNING, "implied_parameter", NAME, &at,
        "an integer", NULL, "blosc lacks the member \"blocksize\"; 0 is assumed");
}

/* Only writers need the type size: the frame has it. zarrita left it out (reference 13.4). */
static void imply_typesize(const struct zd_parameters *parameters, struct blosc *blosc)
{
    const struct zd_pointer at = zd_parameter_at(parameters, "typesize");
    const uint32_t element_bytes = blosc->decoded.dtype.bytes;
    blosc->typesize = element_bytes == 0 ? 1 : element_bytes;
    zd_faults_add(parameters->faults, ZD_FAULT_WARNING, "implied_parameter", NAME, &at,
        "an integer", NULL, "blosc lacks the member \"typesize\"; %d is assumed",
        (int)blosc->typesize);
}

static void read_parameters(const struct zd_parameters *parameters, struct blosc *blosc)
{
    int64_t clevel = 0;
    (void)zd_parameter_choice(parameters, "cname", cname_words, &blosc->cname);
    (void)zd_parameter_i64(parameters, "clevel", 0, 9, &clevel);
    blosc->clevel = (int)clevel;
    const bool shuffle_known =
        zd_parameter_choice(parameters, "shuffle", shuffle_words, &blosc->shuffle);
    /* Zarr v3, blosc: typesize is required, and has a meaning, only with a shuffle. */
    const bool has_typesize = zd_parameter_find(parameters, "typesize") != NULL;
    const bool is_needed = shuffle_known && blosc->shuffle != BLOSC_NOSHUFFLE;
    if (is_needed && !has_typesize && parameters->judgement == ZD_JUDGE_READ) {
        imply_typesize(parameters, blosc);
    } else if (is_needed || (has_typesize && parameters->judgement == ZD_JUDGE_WRITE)) {
        (void)zd_parameter_i64(parameters, "typesize", 1, INT32_MAX, &blosc->typesize);
    }
    read_blocksize(parameters, blosc);
}

static enum zd_status blosc_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {
        "cname", "clevel", "shuffle", "typesize", "blocksize", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    struct blosc blosc = {.decoded = *config->decoded};
    read_parameters(&parameters, &blosc);
    ZD_TRY(zd_parameters_status(&parameters));
    struct blosc *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = blosc;
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = zd_codec_bound(config->decoded->size)};
    *ret_state = state;
    return ZD_OK;
}

/* Reference 5.1.4: what must hold before libblosc sees a frame. */
static enum zd_status read_header(const struct blosc *blosc, struct zd_span in,
    struct zd_blosc_header *ret_header, struct zd_error *err)
{
    if (in.len < BLOSC_MIN_HEADER_LENGTH) {
        return zd_blosc_corrupt(err, "a frame has at least 16 bytes", in.len);
    }
    const struct zd_blosc_header header = {
        .compressor_version = in.ptr[1],
        .flags = in.ptr[2],
        .typesize = in.ptr[3],
        .nbytes = zd_load_u32(in.ptr + 4),
        .blocksize = zd_load_u32(in.ptr + 8),
        .cbytes = zd_load_u32(in.ptr + 12),
    };
    if (in.ptr[0] != BLOSC_VERSION_FORMAT) {
        return zd_blosc_corrupt(err, "the format version must be 2", in.ptr[0]);
    }
    if ((header.flags & ZD_BLOSC_RESERVED) != 0 || ZD_BLOSC_FORMAT(header.flags) > FORMAT_MAX) {
        return zd_blosc_corrupt(err, "the flags are invalid in a Blosc 1 frame", header.flags);
    }
    if (header.typesize == 0) {
        return zd_blosc_corrupt(err, "the type size must not be 0", 0);
    }
    const bool is_stored = (header.flags & ZD_BLOSC_STORED) != 0;
    if (!is_stored && (header.blocksize == 0 || header.blocksize > BLOCK_BYTES_MAX)) {
        return zd_blosc_corrupt(err, "the block size is out of range", header.blocksize);
    }
    if (header.cbytes != in.len) {
        return zd_blosc_corrupt(
            err, "the frame's length differs from the one in its header", in.len);
    }
    ZD_TRY(zd_codec_repr_check(&blosc->decoded, NAME, header.nbytes, err));
    *ret_header = header;
    return ZD_OK;
}

/* Decodes a frame whose header was checked into exactly header->nbytes bytes. */
static enum zd_status decode_frame(
    const struct zd_blosc_header *header, struct zd_span in, uint8_t *out, struct zd_error *err)
{
    if ((header->flags & ZD_BLOSC_STORED) != 0) {
        if (in.len - BLOSC_MIN_HEADER_LENGTH != header->nbytes) {
            return zd_blosc_corrupt(
                err, "a frame stored without compression has 16 bytes more than its data", in.len);
        }
        memcpy(out, in.ptr + BLOSC_MIN_HEADER_LENGTH, header->nbytes);
        return ZD_OK;
    }
    if (ZD_BLOSC_FORMAT(header->flags) == BLOSC_BLOSCLZ_FORMAT && in.len >= BLOSCLZ_BYTES_MAX) {
        const enum zd_status status = zd_fail(err, ZD_UNSUPPORTED,
            NAME ": blosclz frames of %u bytes or more are not supported; this one has %zu",
            BLOSCLZ_BYTES_MAX, in.len);
        zd_fact_name(err, NAME);
        return status;
    }
    size_t nbytes;
    if (blosc_cbuffer_validate(in.ptr, in.len, &nbytes) != 0 || nbytes != header->nbytes) {
        return zd_blosc_corrupt(err, "the frame is not valid", in.len);
    }
    const int n = blosc_decompress_ctx(in.ptr, out, header->nbytes, 1);
    if (n < 0 || (uint32_t)n != header->nbytes) {
        return zd_blosc_corrupt(err, "the frame cannot be decoded", in.len);
    }
    return ZD_OK;
}

static enum zd_status blosc_codec_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zd_span in = zd_buf_span(encoded);
    struct zd_blosc_header header = {0};
    ZD_TRY(read_header(state, in, &header, err));
    ZD_AUTO(zd_buf) decoded = zd_buf_new(header.nbytes);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %u bytes", header.nbytes);
    }
    if (header.nbytes > 0) {
        ZD_TRY(decode_frame(&header, in, decoded->data, err));
    }
    decoded->len = header.nbytes;
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

static enum zd_status blosc_decode_part(const void *state, struct zd_buf *encoded,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err)
{
    const struct zd_span in = zd_buf_span(encoded);
    struct zd_blosc_header header = {0};
    ZD_TRY(read_header(state, in, &header, err));
    if (!zd_blosc_has_parts(&header)) {
        return zd_codec_cut(&zd_codec_blosc, state, encoded, run, ret_bytes, err);
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new(run.len);
    if (bytes == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, NAME ": cannot allocate %llu bytes", (unsigned long long)run.len);
    }
    ZD_TRY(zd_blosc_decode_part(&header, in, run, bytes->data, err));
    bytes->len = run.len;
    *ret_bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

/* From the start of the run's first block; UINT64_MAX when frames of that kind have no parts. */
static uint64_t blosc_part_ns(const void *state, struct zd_byte_range run)
{
    const struct blosc *blosc = state;
    const char *cname = cname_words[blosc->cname];
    const bool is_lz4 =
        strcmp(cname, BLOSC_LZ4_COMPNAME) == 0 || strcmp(cname, BLOSC_LZ4HC_COMPNAME) == 0;
    if (!is_lz4 || blosc->shuffle == BLOSC_BITSHUFFLE) {
        return UINT64_MAX;
    }
    const uint64_t own = zd_min_u64(blosc->decoded.size, OWN_BLOCK_BYTES);
    const uint64_t block = blosc->blocksize == 0 ? own : (uint64_t)blosc->blocksize;
    const uint64_t shuffle_rate = blosc->shuffle == BLOSC_NOSHUFFLE ? 0 : PART_SHUFFLE_BYTES_PER_US;
    return zd_codec_ns(run.first % block + run.len, compressor_rates[blosc->cname]) +
           zd_codec_ns(run.len, shuffle_rate);
}

/* Make a frame that can be decoded again. A frame of blosclz that is too large for libblosc is
 * replaced by a frame that is only stored (clevel 0). */
static int compress(const struct blosc *blosc, const struct zd_buf *from, struct zd_buf *to)
{
    const size_t typesize = blosc->typesize == 0 ? 1 : (size_t)blosc->typesize;
    const size_t blocksize = zd_min_u64((uint64_t)blosc->blocksize, BLOCK_BYTES_MAX);
    const char *cname = cname_words[blosc->cname];
    const int n = blosc_compress_ctx(blosc->clevel, (int)blosc->shuffle, typesize, from->len,
        from->data, to->data, to->cap, cname, blocksize, 1);
    const bool is_blosclz = strcmp(cname, BLOSC_BLOSCLZ_COMPNAME) == 0;
    if (n < 0 || !is_blosclz || (size_t)n < BLOSCLZ_BYTES_MAX) {
        return n;
    }
    return blosc_compress_ctx(0, (int)blosc->shuffle, typesize, from->len, from->data, to->data,
        to->cap, cname, blocksize, 1);
}

static enum zd_status blosc_codec_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    if (decoded->len > BLOSC_MAX_BUFFERSIZE) {
        return zd_fail(err, ZD_TOO_LARGE, NAME ": cannot encode %zu bytes; the limit is %d",
            decoded->len, BLOSC_MAX_BUFFERSIZE);
    }
    const size_t cap = decoded->len + BLOSC_MAX_OVERHEAD;
    ZD_AUTO(zd_buf) encoded = zd_buf_new(cap);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", cap);
    }
    const int n = compress(state, decoded, encoded);
    if (n <= 0) {
        /* With room for the overhead, only a library without that compressor fails. */
        return zd_fail(err, ZD_UNSUPPORTED, NAME ": the Blosc library failed to encode %zu bytes",
            decoded->len);
    }
    encoded->len = (size_t)n;
    *ret_encoded = ZD_TAKE(encoded);
    return ZD_OK;
}

static uint64_t blosc_bytes_per_us(const void *state)
{
    const struct blosc *blosc = state;
    const uint64_t rate = compressor_rates[blosc->cname];
    const uint64_t shuffle = shuffle_rates[blosc->shuffle];
    return shuffle == 0 ? rate : rate * shuffle / (rate + shuffle); /* one after the other */
}

static enum zd_status blosc_configuration(const void *state, struct zd_json **ret_json)
{
    const struct blosc *blosc = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "cname", zd_json_new_text(cname_words[blosc->cname])));
    ZD_TRY(zd_json_set(json, "clevel", zd_json_new_i64(blosc->clevel)));
    ZD_TRY(zd_json_set(json, "shuffle", zd_json_new_text(shuffle_words[blosc->shuffle])));
    if (blosc->typesize > 0) {
        ZD_TRY(zd_json_set(json, "typesize", zd_json_new_i64(blosc->typesize)));
    }
    ZD_TRY(zd_json_set(json, "blocksize", zd_json_new_i64(blosc->blocksize)));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_blosc = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"cname\":{\"enum\":[\"blosclz\",\"lz4\",\"lz4hc\",\"snappy\",\"zlib\",\"zstd\"]},"
              "\"clevel\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":9},"
              "\"shuffle\":{\"enum\":[\"noshuffle\",\"shuffle\",\"bitshuffle\"]},"
              "\"typesize\":{\"type\":\"integer\",\"minimum\":1},"
              "\"blocksize\":{\"type\":\"integer\",\"minimum\":0}},"
              "\"required\":[\"cname\",\"clevel\",\"shuffle\",\"blocksize\"],"
              "\"if\":{\"properties\":{\"shuffle\":{\"enum\":[\"shuffle\",\"bitshuffle\"]}}},"
              "\"then\":{\"required\":[\"typesize\"]},\"additionalProperties\":false}",
    .open = blosc_open,
    .close = zd_free,
    .decode = blosc_codec_decode,
    .encode = blosc_codec_encode,
    .decode_part = blosc_decode_part,
    .part_ns = blosc_part_ns,
    .find_bytes_per_us = blosc_bytes_per_us,
    .configuration = blosc_configuration,
};
