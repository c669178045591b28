/* The codec `n5_default`: a block of N5, which says its own shape (Zarr registry; N5, file-system
 * specification).
 *
 *   mode u16 | number of dimensions u16 | dimensions u32 each | elements u32, mode 1 | elements
 *
 * All numbers are big-endian. A block at an edge may be cut to the array, or be whole: what it
 * lacks is the fill value. In an N5 dataset there is more than the registry says: blocks of mode 1
 * that have as many elements as their shape says, and two compressors under one name. */
#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/chain.h"
#include "core/codec/parameter.h"
#include "core/codec/strided.h"

#define NAME "n5_default"

#define CODECS_MAX 3U /* transpose, bytes and a compressor */

#define MODE_DEFAULT   0U
#define MODE_VARLENGTH 1U
#define MODE_OBJECT    2U

#define FIXED_HEAD_BYTES 4U /* mode and number of dimensions */
#define COUNT_BYTES      sizeof(uint32_t)

#define COPY_BYTES_PER_US 4000

/* Compressors that N5 calls by one name: which one it is shows in the first bytes. */
struct sibling {
    const char *name;   /* the one that the document names */
    const char *codecs; /* the other one, as a list of codecs */
    bool (*begins)(struct zd_span body);
};

struct n5_default {
    struct zd_repr decoded; /* its fill is the chain's */
    bool is_n5;
    const struct sibling *sibling; /* or NULL: there is no other compressor */
    struct zd_json *codecs;
    struct zd_json *other_codecs; /* with the other compressor; NULL without one */
    struct zd_chain *chain;       /* of a whole block */
};

/* A block's header. */
struct block {
    uint64_t shape[ZD_RANK_MAX];
    size_t head_bytes;
    bool is_whole;
};

static void n5_default_close(void *state)
{
    struct n5_default *n5 = state;
    if (n5 != NULL) {
        zd_chain_unref(n5->chain);
        zd_json_unref(n5->codecs);
        zd_json_unref(n5->other_codecs);
        zd_free(n5);
    }
}

/* ---- compressors that share a name ---- */

static bool begins_as_gzip(struct zd_span body)
{
    return body.len >= 2 && body.ptr[0] == 0x1f && body.ptr[1] == 0x8b; /* RFC 1952, 2.3.1 */
}

static bool begins_as_zlib(struct zd_span body)
{
    /* RFC 1950, 2.2: method 8, a window of at most 32 KiB, and a multiple of 31. */
    return body.len >= 2 && (body.ptr[0] & 0x0fU) == 8 && body.ptr[0] >> 4 <= 7 &&
           (body.ptr[0] * 256U + body.ptr[1]) % 31 == 0;
}

static bool begins_as_frame(struct zd_span body)
{
    static const char magic[] = "LZ4Block";
    return body.len >= sizeof magic - 1 && memcmp(body.ptr, magic, sizeof magic - 1) == 0;
}

static const struct sibling siblings[] = {
    {"gzip", "[{\"name\":\"numcodecs.zlib\"}]", begins_as_zlib},
    {"numcodecs.zlib", "[{\"name\":\"gzip\",\"configuration\":{\"level\":6}}]", begins_as_gzip},
    {"numcodecs.lz4", "[{\"name\":\"n5.lz4\"}]", begins_as_frame},
};

static const struct sibling *find_sibling(const struct zd_chain *chain)
{
    if (zd_chain_count(chain) < CODECS_MAX) {
        return NULL;
    }
    const char *name = zd_chain_codec(chain, CODECS_MAX - 1)->name;
    for (size_t i = 0; i < ZD_COUNT_OF(siblings); i++) {
        if (strcmp(siblings[i].name, name) == 0) {
            return &siblings[i];
        }
    }
    return NULL;
}

/* The list of codecs with the other compressor at its end. */
static enum zd_status replace_compressor(
    const struct sibling *sibling, const struct zd_json *codecs, struct zd_json **ret_codecs)
{
    static const struct zd_json_limits limits = {.bytes_max = 256, .nodes_max = 16, .depth_max = 8};
    ZD_AUTO(zd_json) another = NULL;
    ZD_AUTO(zd_json) list = zd_json_new_array();
    ZD_TRY(zd_json_parse(zd_span_of(sibling->codecs), &limits, &another, NULL));
    for (size_t i = 0; list != NULL && i < CODECS_MAX; i++) {
        const struct zd_json *codec =
            i + 1 < CODECS_MAX ? zd_json_element(codecs, i) : zd_json_element(another, 0);
        ZD_TRY(zd_json_append(list, zd_json_ref(codec)));
    }
    *ret_codecs = ZD_TAKE(list);
    return *ret_codecs == NULL ? ZD_NO_MEMORY : ZD_OK;
}

/* ---- opening ---- */

static bool has_n5_type(const struct zd_dtype *dtype)
{
    static const char *const names[] = {"uint8", "uint16", "uint32", "uint64", "int8", "int16",
        "int32", "int64", "float32", "float64"};
    for (size_t i = 0; i < ZD_COUNT_OF(names); i++) {
        if (strcmp(names[i], dtype->name) == 0) {
            return true;
        }
    }
    return false;
}

/* Registry, n5_default: what a block can say. */
static void judge_array(const struct zd_codec_config *config, struct zd_faults *faults)
{
    const struct zd_repr *decoded = config->decoded;
    if (!decoded->lacks_dtype && !has_n5_type(&decoded->dtype)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", NAME, &config->at,
            "integers of 8 to 64 bits, float32, float64", decoded->dtype.name,
            "N5 blocks cannot hold elements of %s", decoded->dtype.name);
    }
    for (uint32_t d = 0; !decoded->lacks_shape && d < decoded->rank; d++) {
        if (decoded->shape[d] > UINT32_MAX) {
            zd_faults_add(faults, ZD_FAULT_INVALID, "out_of_range", NAME, &config->at,
                "less than 2^32 elements along each dimension", NULL,
                "an N5 block must have less than 2^32 elements along each dimension");
            return;
        }
    }
}

static bool is_reversal(const struct zd_codec *codec, const void *state, uint32_t rank)
{
    if (codec->order == NULL) {
        return false;
    }
    const uint32_t *order = codec->order(state);
    for (uint32_t i = 0; i < rank; i++) {
        if (order[i] != rank - 1 - i) {
            return false;
        }
    }
    return true;
}

/* Registry, n5_default: transpose of all axes, `bytes` big-endian, and one compressor or none. */
static bool is_n5_chain(const struct zd_chain *chain, const struct zd_repr *decoded)
{
    const uint32_t n = zd_chain_count(chain);
    if (n < 2 || n > CODECS_MAX || zd_chain_array_bytes(chain) != 1 || zd_chain_is_partial(chain)) {
        return false;
    }
    const struct zd_codec *bytes = zd_chain_codec(chain, 1);
    const bool is_big =
        bytes->is_swapped != NULL &&
        (decoded->dtype.unit_bytes == 1 || bytes->is_swapped(zd_chain_state(chain, 1)));
    return is_big && is_reversal(zd_chain_codec(chain, 0), zd_chain_state(chain, 0), decoded->rank);
}

static enum zd_status open_chain(const struct zd_codec_config *config,
    const struct zd_parameters *parameters, struct n5_default *n5)
{
    const struct zd_chain_config chain_config = {
        .codecs = zd_parameter_need(parameters, "codecs", "a list of codecs"),
        .at = zd_parameter_at(parameters, "codecs"),
        .decoded = config->decoded,
        .judgement = config->judgement,
        .depth = config->depth + 1,
    };
    if (chain_config.codecs == NULL) {
        return ZD_INVALID;
    }
    ZD_TRY(zd_chain_open(&chain_config, &n5->chain, parameters->faults));
    const bool is_whole = zd_json_count(chain_config.codecs) == zd_chain_count(n5->chain);
    if (!is_whole || !is_n5_chain(n5->chain, config->decoded)) {
        zd_faults_add(parameters->faults, ZD_FAULT_INVALID, "codec_order", NAME, &chain_config.at,
            "transpose of all axes, bytes big-endian, at most one compressor", NULL,
            "the codecs of %s must be: transpose with all axes reversed, bytes with big endian, "
            "then at most one bytes->bytes codec",
            NAME);
        return ZD_INVALID;
    }
    n5->codecs = zd_json_ref(chain_config.codecs);
    n5->sibling = n5->is_n5 ? find_sibling(n5->chain) : NULL;
    return n5->sibling == NULL ? ZD_OK
                               : replace_compressor(n5->sibling, n5->codecs, &n5->other_codecs);
}

static enum zd_status fill_state(
    const struct zd_codec_config *config, struct n5_default *n5, struct zd_faults *faults)
{
    static const char *const names[] = {"codecs", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (config->depth >= ZD_CODEC_DEPTH_MAX) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", NAME, &config->at,
            "at most 4 nested codecs", NULL, "codecs can be nested up to %d levels",
            ZD_CODEC_DEPTH_MAX);
        return ZD_UNSUPPORTED;
    }
    judge_array(config, faults);
    if (open_chain(config, &parameters, n5) == ZD_NO_MEMORY) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_parameters_status(&parameters));
    n5->decoded.fill = zd_chain_decoded(n5->chain)->fill;
    return ZD_OK;
}

static enum zd_status n5_default_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    struct n5_default *n5 = zd_alloc_zero(1, sizeof *n5);
    if (n5 == NULL) {
        return ZD_NO_MEMORY;
    }
    n5->decoded = *config->decoded;
    n5->is_n5 = config->is_n5;
    const enum zd_status status = fill_state(config, n5, faults);
    if (status != ZD_OK) {
        n5_default_close(n5);
        return status;
    }
    const uint64_t head_bytes =
        FIXED_HEAD_BYTES + n5->decoded.rank * sizeof(uint32_t) + COUNT_BYTES;
    *ret_encoded = (struct zd_repr){.is_bytes = true};
    if (ckd_add(&ret_encoded->size, zd_chain_encoded(n5->chain)->size, head_bytes)) {
        ret_encoded->size = UINT64_MAX;
    }
    *ret_state = n5;
    return ZD_OK;
}

/* ---- headers ---- */

static uint32_t load_u16_big(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t load_u32_big(const uint8_t *at)
{
    return load_u16_big(at) << 16 | load_u16_big(at + 2);
}

static void store_u16_big(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void store_u32_big(uint8_t *at, uint32_t value)
{
    store_u16_big(at, value >> 16);
    store_u16_big(at + 2, value);
}

static enum zd_status too_short(struct zd_error *err, size_t found, size_t expected)
{
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": the block ends within its header, after %zu bytes", found);
    zd_fact_name(err, NAME);
    zd_fact_expected(err, "%zu bytes or more", expected);
    zd_fact_found(err, "%zu bytes", found);
    return status;
}

static enum zd_status unsupported_mode(struct zd_error *err, uint32_t mode, const char *why)
{
    const enum zd_status status = zd_fail(err, ZD_UNSUPPORTED,
        NAME ": the block has mode %" PRIu32 " (%s); only mode 0 is supported", mode, why);
    zd_fact_name(err, NAME);
    zd_fact_expected(err, "mode 0");
    zd_fact_found(err, "mode %" PRIu32, mode);
    return status;
}

static enum zd_status judge_mode(const struct n5_default *n5, uint32_t mode, struct zd_error *err)
{
    if (mode == MODE_OBJECT) {
        return unsupported_mode(err, mode, "objects");
    }
    if (mode == MODE_VARLENGTH && !n5->is_n5) {
        return unsupported_mode(err, mode, "any number of elements");
    }
    if (mode == MODE_DEFAULT || mode == MODE_VARLENGTH) {
        return ZD_OK;
    }
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": the block has mode %" PRIu32 "; expected 0, 1 or 2", mode);
    zd_fact_name(err, NAME);
    zd_fact_expected(err, "0, 1 or 2");
    zd_fact_found(err, "%" PRIu32, mode);
    return status;
}

/* Reference 7A.4: a block is no larger than the grid says, and may be smaller. */
static enum zd_status read_shape(
    const struct n5_default *n5, const uint8_t *at, struct block *block, struct zd_error *err)
{
    block->is_whole = true;
    for (uint32_t d = 0; d < n5->decoded.rank; d++) {
        const uint64_t edge = load_u32_big(at + d * sizeof(uint32_t));
        if (edge == 0 || edge > n5->decoded.shape[d]) {
            const enum zd_status status = zd_fail(err, ZD_CORRUPT,
                NAME ": the block has %" PRIu64 " elements along dimension %" PRIu32
                     "; expected 1 to %" PRIu64,
                edge, d, n5->decoded.shape[d]);
            zd_fact_name(err, NAME);
            zd_fact_expected(err, "1 to %" PRIu64, n5->decoded.shape[d]);
            zd_fact_found(err, "%" PRIu64, edge);
            return status;
        }
        block->shape[d] = edge;
        block->is_whole = block->is_whole && edge == n5->decoded.shape[d];
    }
    return ZD_OK;
}

static enum zd_status read_block(
    const struct n5_default *n5, struct zd_span in, struct block *ret_block, struct zd_error *err)
{
    struct block block = {.head_bytes = FIXED_HEAD_BYTES + n5->decoded.rank * sizeof(uint32_t)};
    if (in.len < FIXED_HEAD_BYTES) {
        return too_short(err, in.len, FIXED_HEAD_BYTES);
    }
    const uint32_t mode = load_u16_big(in.ptr);
    const uint32_t rank = load_u16_big(in.ptr + 2);
    ZD_TRY(judge_mode(n5, mode, err));
    if (rank != n5->decoded.rank) {
        const enum zd_status status = zd_fail(err, ZD_CORRUPT,
            NAME ": the block has %" PRIu32 " dimensions; the array has %" PRIu32, rank,
            n5->decoded.rank);
        zd_fact_name(err, NAME);
        zd_fact_expected(err, "%" PRIu32 " dimensions", n5->decoded.rank);
        zd_fact_found(err, "%" PRIu32 " dimensions", rank);
        return status;
    }
    const size_t count_bytes = mode == MODE_VARLENGTH ? COUNT_BYTES : 0;
    if (in.len < block.head_bytes + count_bytes) {
        return too_short(err, in.len, block.head_bytes + count_bytes);
    }
    ZD_TRY(read_shape(n5, in.ptr + FIXED_HEAD_BYTES, &block, err));
    uint64_t n = 0;
    const bool overflows =
        zd_product_overflows(&n, block.shape, rank); /* no larger than a chunk's */
    assert(!overflows);
    (void)overflows;
    if (mode == MODE_VARLENGTH && load_u32_big(in.ptr + block.head_bytes) != n) {
        return unsupported_mode(err, mode, "more or fewer elements than its shape has");
    }
    block.head_bytes += count_bytes;
    *ret_block = block;
    return ZD_OK;
}

/* ---- decoding ---- */

static enum zd_status no_memory(struct zd_error *err, uint64_t n_bytes)
{
    return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %" PRIu64 " bytes", n_bytes);
}

/* The chain of a block of another shape, or of another compressor. */
static enum zd_status open_block_chain(const struct n5_default *n5, const struct block *block,
    const struct zd_json *codecs, struct zd_chain **ret_chain, struct zd_error *err)
{
    struct zd_repr decoded = n5->decoded;
    memcpy(decoded.shape, block->shape, sizeof decoded.shape);
    const bool overflows = zd_codec_repr_overflows(&decoded, &decoded.size);
    assert(!overflows);
    (void)overflows;
    const struct zd_chain_config config = {
        .codecs = codecs,
        .decoded = &decoded,
        .judgement = ZD_JUDGE_READ,
        .depth = zd_chain_depth(n5->chain),
    };
    struct zd_faults faults = {0}; /* the same codecs were judged before: memory can be short */
    enum zd_status status = zd_chain_open(&config, ret_chain, &faults);
    if (status != ZD_OK) {
        const enum zd_status why = zd_faults_status(&faults, err);
        status = why == ZD_OK ? no_memory(err, sizeof faults) : why;
    }
    zd_faults_done(&faults);
    return status;
}

/* The elements of a block, in C order. */
static enum zd_status decode_block(const struct n5_default *n5, const struct block *block,
    struct zd_span body, struct zd_buf **ret_elements, struct zd_error *err)
{
    ZD_AUTO(zd_buf) encoded = zd_buf_copy(body);
    ZD_AUTO(zd_chain) chain = NULL;
    if (encoded == NULL) {
        return no_memory(err, body.len);
    }
    const bool is_other = n5->sibling != NULL && n5->sibling->begins(body);
    if (is_other || !block->is_whole) {
        const struct zd_json *codecs = is_other ? n5->other_codecs : n5->codecs;
        ZD_TRY(open_block_chain(n5, block, codecs, &chain, err));
    } else {
        chain = zd_chain_ref(n5->chain);
    }
    return zd_chain_decode(chain, encoded, ret_elements, err);
}

/* A chunk with the block at its origin, and the fill value everywhere else. */
static void place_block(const struct n5_default *n5, const struct block *block,
    const struct zd_buf *elements, struct zd_buf *chunk)
{
    const struct zd_dtype *dtype = &n5->decoded.dtype;
    const uint32_t rank = n5->decoded.rank;
    uint64_t to[ZD_RANK_MAX];
    uint64_t from[ZD_RANK_MAX];
    zd_strided_dense(rank, n5->decoded.shape, dtype->bytes, to);
    zd_strided_dense(rank, block->shape, dtype->bytes, from);
    struct zd_strided box = {.rank = rank, .run_bytes = dtype->bytes};
    for (uint32_t d = 0; d < rank; d++) {
        box.count[d] = block->shape[d];
        box.to[d] = to[d];
        box.from[d] = (int64_t)from[d];
    }
    zd_strided_fold(&box);
    zd_dtype_fill(dtype, chunk->data, n5->decoded.fill, chunk->len / dtype->bytes);
    zd_strided_copy(&box, chunk->data, elements->data);
}

static enum zd_status n5_default_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct n5_default *n5 = state;
    struct block block;
    ZD_TRY(read_block(n5, zd_buf_span(encoded), &block, err));
    const struct zd_span body = {
        .ptr = encoded->data + block.head_bytes, .len = encoded->len - block.head_bytes};
    ZD_AUTO(zd_buf) elements = NULL;
    ZD_TRY(decode_block(n5, &block, body, &elements, err));
    if (block.is_whole) {
        *ret_decoded = ZD_TAKE(elements);
        return ZD_OK;
    }
    struct zd_buf *chunk = zd_buf_new(n5->decoded.size);
    if (chunk == NULL) {
        return no_memory(err, n5->decoded.size);
    }
    chunk->len = n5->decoded.size;
    place_block(n5, &block, elements, chunk);
    *ret_decoded = chunk;
    return ZD_OK;
}

/* ---- encoding: whole blocks of mode 0 ---- */

static enum zd_status n5_default_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct n5_default *n5 = state;
    const uint32_t rank = n5->decoded.rank;
    const size_t head_bytes = FIXED_HEAD_BYTES + rank * sizeof(uint32_t);
    ZD_AUTO(zd_buf) body = NULL;
    uint64_t n_bytes = 0;
    ZD_TRY(zd_chain_encode(n5->chain, decoded, &body, err));
    if (ckd_add(&n_bytes, (uint64_t)body->len, head_bytes)) {
        return no_memory(err, UINT64_MAX);
    }
    struct zd_buf *block = zd_buf_new(n_bytes);
    if (block == NULL) {
        return no_memory(err, n_bytes);
    }
    store_u16_big(block->data, MODE_DEFAULT);
    store_u16_big(block->data + 2, rank);
    for (uint32_t d = 0; d < rank; d++) {
        store_u32_big(
            block->data + FIXED_HEAD_BYTES + d * sizeof(uint32_t), (uint32_t)n5->decoded.shape[d]);
    }
    memcpy(block->data + head_bytes, body->data, body->len);
    block->len = n_bytes;
    *ret_encoded = block;
    return ZD_OK;
}

static enum zd_status n5_default_configuration(const void *state, struct zd_json **ret_json)
{
    const struct n5_default *n5 = state;
    return zd_json_wrap("codecs", zd_chain_json(n5->chain), ret_json);
}

/* The chain's elements, and a copy of them in a block that is cut. */
static uint64_t n5_default_bytes_per_us(const void *state)
{
    const struct n5_default *n5 = state;
    const uint64_t decode_us = zd_chain_decode_ns(n5->chain) / 1000;
    const uint64_t us = 1 + decode_us + n5->decoded.size / COPY_BYTES_PER_US;
    return zd_max_u64(n5->decoded.size / us, 1);
}

const struct zd_codec zd_codec_n5_default = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"codecs\":{\"type\":\"array\"}},"
              "\"required\":[\"codecs\"],\"additionalProperties\":false}",
    .open = n5_default_open,
    .close = n5_default_close,
    .decode = n5_default_decode,
    .encode = n5_default_encode,
    .find_bytes_per_us = n5_default_bytes_per_us,
    .configuration = n5_default_configuration,
};
