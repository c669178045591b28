/* The codec `sharding_indexed`: a chunk made of smaller ones and an index (Zarr v3, sharding).
 *
 *   index at the end:    inner chunk | inner chunk | ... | index
 *   index at the start:  index | inner chunk | inner chunk | ...
 *
 * The index holds, for every inner chunk in C order, its offset from the shard's first byte and its
 * length: two uint64, both ZD_SHARD_MISSING when the inner chunk is all fill value. */
#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/chain.h"
#include "core/codec/parameter.h"
#include "core/codec/shard_index.h"
#include "core/codec/strided.h"
#include "core/grid/variable.h"

#define NAME        "sharding_indexed"
#define ENTRY_WORDS 2

#define COPY_BYTES_PER_US 4000

struct sharding {
    struct zd_shard shard;
    struct zd_repr decoded;
    struct zd_json *codecs;
    uint64_t chunk_bytes;       /* of an inner chunk, decoded */
    uint64_t step[ZD_RANK_MAX]; /* bytes between neighbouring inner chunks in the decoded shard */
    struct zd_strided scatter;  /* an inner chunk to its place in the decoded shard */
    struct zd_strided gather;
};

static const char *const location_words[] = {"end", "start", NULL};

static void sharding_close(void *state)
{
    struct sharding *sharding = state;
    if (sharding != NULL) {
        zd_chain_unref(sharding->shard.inner);
        zd_chain_unref(sharding->shard.index);
        zd_json_unref(sharding->codecs);
        zd_free(sharding);
    }
}

/* Read an edge of the inner chunks; false and a fault when it does not fit the shard. */
static bool read_edge(const struct zd_parameters *parameters, const struct zd_json *list,
    uint32_t dim, struct sharding *sharding)
{
    const struct zd_json *element = zd_json_element(list, dim);
    const struct zd_pointer list_at = zd_parameter_at(parameters, "chunk_shape");
    const struct zd_pointer at = zd_pointer_element(&list_at, dim);
    uint64_t edge;
    if (!zd_json_is(element, ZD_JSON_INTEGER)) {
        zd_parameter_fault(
            parameters, "chunk_shape", &at, "wrong_type", "a list of integers", element);
        return false;
    }
    if (!zd_json_u64(element, &edge) || edge == 0) {
        zd_parameter_fault(
            parameters, "chunk_shape", &at, "out_of_range", "integers of 1 and more", element);
        return false;
    }
    /* Zarr v3, sharding: the shard's shape, as it reaches the codec, is divided evenly. */
    const uint64_t shard_edge = sharding->decoded.shape[dim];
    if (!sharding->decoded.lacks_shape && shard_edge % edge != 0) {
        ZD_SCOPED_TEXT(expected, 64);
        zd_text_addf(&expected, "a divisor of %" PRIu64 ", the shard's edge", shard_edge);
        zd_parameter_fault(parameters, "chunk_shape", &at, "not_divisible", expected.at, element);
        return false;
    }
    sharding->shard.chunk_shape[dim] = edge;
    sharding->shard.grid[dim] = shard_edge / edge;
    return true;
}

static bool read_shape(const struct zd_parameters *parameters, struct sharding *sharding)
{
    const struct zd_json *list = zd_parameter_array(parameters, "chunk_shape");
    if (list == NULL) {
        return false;
    }
    if (sharding->decoded.lacks_shape) {
        sharding->shard.rank = (uint32_t)zd_min_u64(zd_json_count(list), ZD_RANK_MAX - 1);
    }
    const uint32_t rank = sharding->shard.rank;
    if (zd_json_count(list) != rank) {
        const struct zd_pointer at = zd_parameter_at(parameters, "chunk_shape");
        zd_parameter_fault(parameters, "chunk_shape", &at, "wrong_rank",
            "one integer for each dimension of the shard", list);
        return false;
    }
    bool ok = true;
    for (uint32_t dim = 0; dim < rank; dim++) {
        ok = read_edge(parameters, list, dim, sharding) && ok;
    }
    return ok;
}

/* @param codecs what the member of that name is */
static enum zd_status open_chain(const struct zd_codec_config *config,
    const struct zd_parameters *parameters, const char *name, const struct zd_json *codecs,
    const struct zd_repr *decoded, struct zd_chain **ret_chain)
{
    const struct zd_chain_config chain_config = {
        .codecs = codecs,
        .at = zd_parameter_at(parameters, name),
        .decoded = decoded,
        .judgement = config->judgement,
        .depth = config->depth + 1,
        .fixed = strcmp(name, "index_codecs") == 0,
    };
    return zd_chain_open(&chain_config, ret_chain, parameters->faults);
}

/* @param has_shape whether the shape of the inner chunks is known */
static enum zd_status open_inner(const struct zd_codec_config *config,
    const struct zd_parameters *parameters, bool has_shape, struct sharding *sharding)
{
    struct zd_shard *shard = &sharding->shard;
    struct zd_repr decoded = sharding->decoded;
    memcpy(decoded.shape, shard->chunk_shape, sizeof decoded.shape);
    decoded.rank = shard->rank;
    decoded.fill = config->decoded->fill;
    /* An inner chunk is no larger than its shard, whose size fits. */
    const bool overflows = zd_codec_repr_overflows(&decoded, &decoded.size);
    assert(!overflows || !zd_codec_repr_is_known(&sharding->decoded) || !has_shape);
    decoded.lacks_shape = !has_shape || overflows;
    sharding->chunk_bytes = decoded.size;
    const struct zd_json *codecs = zd_parameter_find(parameters, "codecs");
    return open_chain(config, parameters, "codecs", codecs, &decoded, &shard->inner);
}

/* Little-endian words and nothing else, but for checksums behind them. */
static bool is_plain(const struct zd_chain *index)
{
    for (uint32_t i = 0; i < zd_chain_count(index); i++) {
        const struct zd_codec *codec = zd_chain_codec(index, i);
        const bool is_little =
            codec->is_swapped != NULL && !codec->is_swapped(zd_chain_state(index, i));
        if (!is_little && strcmp(codec->name, "crc32c") != 0) {
            return false;
        }
    }
    return true;
}

/* Drafts of 2023 had no member for it. Reference 7.5: try a checksum first, then none. */
static enum zd_status imply_index(const struct zd_parameters *parameters, struct zd_json **ret_list)
{
    static const struct zd_json_limits limits = {.bytes_max = 128, .nodes_max = 16, .depth_max = 4};
    static const char list[] =
        "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},\"crc32c\"]";
    const struct zd_pointer at = zd_parameter_at(parameters, "index_codecs");
    zd_faults_add(parameters->faults, ZD_FAULT_WARNING, "implied_parameter", NAME, &at,
        "a list of codecs", NULL,
        "sharding_indexed lacks the member \"index_codecs\"; `bytes` (little-endian) is assumed, "
        "with crc32c where the checksum is right");
    return zd_json_parse(zd_span_of(list), &limits, ret_list, NULL);
}

static enum zd_status open_index_chain(const struct zd_codec_config *config,
    const struct zd_parameters *parameters, const struct zd_repr *decoded, struct zd_shard *shard)
{
    ZD_AUTO(zd_json) implied = NULL;
    const struct zd_json *codecs = zd_parameter_find(parameters, "index_codecs");
    shard->index_is_implied = codecs == NULL && config->judgement == ZD_JUDGE_READ;
    if (shard->index_is_implied) {
        ZD_TRY(imply_index(parameters, &implied));
        codecs = implied;
    }
    return open_chain(config, parameters, "index_codecs", codecs, decoded, &shard->index);
}

static enum zd_status open_index(const struct zd_codec_config *config,
    const struct zd_parameters *parameters, struct sharding *sharding)
{
    static const uint64_t missing = ZD_SHARD_MISSING;
    struct zd_shard *shard = &sharding->shard;
    struct zd_repr decoded = {.rank = shard->rank + 1, .fill = &missing, .size_is_exact = true};
    memcpy(decoded.shape, shard->grid, shard->rank * sizeof shard->grid[0]);
    decoded.shape[shard->rank] = ENTRY_WORDS;
    ZD_TRY(zd_dtype_find("uint64", &decoded.dtype));
    if (zd_product_overflows(&shard->n_chunks, shard->grid, shard->rank) ||
        zd_codec_repr_overflows(&decoded, &decoded.size)) {
        zd_faults_add(parameters->faults, ZD_FAULT_UNSUPPORTED, "out_of_range", NAME, &config->at,
            "an index of less than 2^64 bytes", NULL, "the shard has too many inner chunks");
        return ZD_UNSUPPORTED;
    }
    ZD_TRY(open_index_chain(config, parameters, &decoded, shard));
    shard->index_bytes = zd_chain_encoded(shard->index)->size;
    shard->index_is_plain = !shard->index_is_implied && is_plain(shard->index);
    return ZD_OK;
}

static void prepare_boxes(struct sharding *sharding)
{
    const struct zd_shard *shard = &sharding->shard;
    const uint64_t element_bytes = sharding->decoded.dtype.bytes;
    uint64_t shard_stride[ZD_RANK_MAX];
    uint64_t chunk_stride[ZD_RANK_MAX];
    zd_strided_dense(shard->rank, sharding->decoded.shape, element_bytes, shard_stride);
    zd_strided_dense(shard->rank, shard->chunk_shape, element_bytes, chunk_stride);
    struct zd_strided *scatter = &sharding->scatter;
    struct zd_strided *gather = &sharding->gather;
    *scatter = (struct zd_strided){.rank = shard->rank, .run_bytes = element_bytes};
    *gather = *scatter;
    for (uint32_t dim = 0; dim < shard->rank; dim++) {
        scatter->count[dim] = shard->chunk_shape[dim];
        scatter->to[dim] = (int64_t)shard_stride[dim];
        scatter->from[dim] = (int64_t)chunk_stride[dim];
        gather->count[dim] = shard->chunk_shape[dim];
        gather->to[dim] = (int64_t)chunk_stride[dim];
        gather->from[dim] = (int64_t)shard_stride[dim];
        sharding->step[dim] = shard->chunk_shape[dim] * shard_stride[dim];
    }
    zd_strided_fold(scatter);
    zd_strided_fold(gather);
}

/* The most that a shard of ours has; the inner chunks' own bound is one, too. */
static uint64_t bound_of(const struct sharding *sharding)
{
    uint64_t bound;
    if (ckd_mul(&bound, sharding->shard.n_chunks, zd_chain_encoded(sharding->shard.inner)->size) ||
        ckd_add(&bound, bound, sharding->shard.index_bytes)) {
        return UINT64_MAX;
    }
    return bound;
}

static void judge_nesting(const struct zd_codec_config *config, struct zd_faults *faults)
{
    if (config->depth >= ZD_CODEC_DEPTH_MAX) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", NAME, &config->at,
            "at most 4 nested shards", NULL, "shards can be nested up to %d levels",
            ZD_CODEC_DEPTH_MAX);
    }
    /* The index has one dimension more than the shard. */
    if (config->decoded->rank >= ZD_RANK_MAX) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", NAME, &config->at,
            "at most 31 dimensions", NULL, "shards are supported with up to %d dimensions",
            ZD_RANK_MAX - 1);
    }
}

/* Reads everything into a state that may be half made when the status is not ZD_OK. */
static enum zd_status fill_state(
    const struct zd_codec_config *config, struct sharding *sharding, struct zd_faults *faults)
{
    static const char *const names[] = {
        "chunk_shape", "codecs", "index_codecs", "index_location", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    uint32_t location = 0; /* Zarr v3, sharding: at the end unless said otherwise */
    if (zd_parameter_find(&parameters, "index_location") != NULL) {
        (void)zd_parameter_choice(&parameters, "index_location", location_words, &location);
    }
    sharding->shard.index_at_start = location == 1;
    judge_nesting(config, faults);
    const bool has_shape = read_shape(&parameters, sharding);
    if (config->depth >= ZD_CODEC_DEPTH_MAX || sharding->shard.rank >= ZD_RANK_MAX) {
        return zd_parameters_status(&parameters);
    }
    if (open_inner(config, &parameters, has_shape, sharding) == ZD_NO_MEMORY) {
        return ZD_NO_MEMORY;
    }
    /* Without a shape, the index is judged as that of a shard of one chunk. */
    for (uint32_t dim = 0; dim < sharding->shard.rank && (!has_shape || parameters.is_blind);
        dim++) {
        sharding->shard.grid[dim] = 1;
    }
    if (open_index(config, &parameters, sharding) == ZD_NO_MEMORY) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_parameters_status(&parameters));
    const struct zd_json *codecs = zd_parameter_find(&parameters, "codecs");
    sharding->codecs = zd_json_ref(codecs);
    sharding->shard.codecs = sharding->codecs;
    sharding->shard.codecs_at = zd_parameter_at(&parameters, "codecs");
    return ZD_OK;
}

static enum zd_status sharding_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    struct sharding *sharding = zd_alloc_zero(1, sizeof *sharding);
    if (sharding == NULL) {
        return ZD_NO_MEMORY;
    }
    sharding->decoded = *config->decoded;
    sharding->decoded.fill = NULL; /* the inner chain has a copy */
    sharding->shard.rank = config->decoded->lacks_shape ? 0 : config->decoded->rank;
    const enum zd_status status = fill_state(config, sharding, faults);
    if (status != ZD_OK) {
        sharding_close(sharding);
        return status;
    }
    prepare_boxes(sharding);
    *ret_encoded = (struct zd_repr){.is_bytes = true, .size = bound_of(sharding)};
    *ret_state = sharding;
    return ZD_OK;
}

/* The constants that these two return are what a static analyser can follow. */
static enum zd_status no_memory(struct zd_error *err, uint64_t n_bytes)
{
    const enum zd_status status =
        zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %" PRIu64 " bytes", n_bytes);
    assert(status == ZD_NO_MEMORY);
    (void)status;
    return ZD_NO_MEMORY;
}

static enum zd_status too_short(uint64_t index_bytes, size_t found, struct zd_error *err)
{
    const enum zd_status status = zd_fail(err, ZD_CORRUPT,
        NAME ": a shard of %zu bytes is shorter than its index of %" PRIu64, found, index_bytes);
    assert(status == ZD_CORRUPT);
    (void)status;
    zd_fact_name(err, NAME);
    return ZD_CORRUPT;
}

/* Where inner chunk i (in C order) begins in the decoded shard. */
static uint64_t place_of(const struct sharding *sharding, uint64_t i)
{
    uint64_t place = 0;
    for (uint32_t dim = sharding->shard.rank; dim-- > 0;) {
        place += i % sharding->shard.grid[dim] * sharding->step[dim];
        i /= sharding->shard.grid[dim];
    }
    return place;
}

static enum zd_status decode_index(const struct sharding *sharding, struct zd_span in,
    struct zd_buf **ret_index, struct zd_error *err)
{
    const struct zd_shard *shard = &sharding->shard;
    const uint64_t len = zd_shard_index_bytes(shard, in.len);
    if (in.len < len) {
        return too_short(len, in.len, err);
    }
    const struct zd_span place = {
        .ptr = shard->index_at_start ? in.ptr : in.ptr + (in.len - len),
        .len = len,
    };
    ZD_AUTO(zd_buf) encoded = zd_buf_copy(place);
    if (encoded == NULL) {
        return no_memory(err, place.len);
    }
    return zd_shard_index_decode(shard, encoded, ret_index, err);
}

/* A shard while it is put together, or its chunks while they are decoded. */
struct pieces {
    uint64_t n;
    struct zd_buf **chunk; /* n inner chunks, NULL where missing; owned */
    struct zd_buf *index;  /* decoded; owned */
    uint64_t n_bytes;      /* of the whole shard; or of the elements decoded, without their spans */
};

static void pieces_done(struct pieces *pieces)
{
    for (uint64_t i = 0; pieces->chunk != NULL && i < pieces->n; i++) {
        zd_buf_unref(pieces->chunk[i]);
    }
    zd_free((void *)pieces->chunk);
    zd_buf_unref(pieces->index);
}

static enum zd_status decode_chunk(const struct sharding *sharding, struct zd_span in, uint8_t *out,
    struct zd_buf **ret_decoded, struct zd_error *err)
{
    ZD_AUTO(zd_buf) encoded = zd_buf_copy(in);
    if (encoded == NULL) {
        return no_memory(err, in.len);
    }
    ZD_TRY(zd_chain_decode(sharding->shard.inner, encoded, ret_decoded, err));
    zd_strided_copy(&sharding->scatter, out, (*ret_decoded)->data);
    return ZD_OK;
}

static enum zd_status decode_chunks(const struct sharding *sharding, struct zd_span in,
    const struct zd_buf *index, uint8_t *out, struct zd_error *err)
{
    for (uint64_t i = 0; i < sharding->shard.n_chunks; i++) {
        const struct zd_shard_entry entry = zd_shard_entry_at(index, i);
        if (!zd_shard_entry_is_missing(entry)) {
            const struct zd_span chunk = {.ptr = in.ptr + entry.first, .len = entry.len};
            ZD_AUTO(zd_buf) decoded = NULL;
            ZD_TRY(decode_chunk(sharding, chunk, out + place_of(sharding, i), &decoded, err));
        }
    }
    return ZD_OK;
}

/* Elements of variable length borrow their bytes until all are there. */
static enum zd_status pack_chunks(const struct sharding *sharding, struct zd_span in,
    const struct zd_buf *index, struct pieces *pieces, struct zd_buf **decoded,
    struct zd_error *err)
{
    const uint64_t n_elements = sharding->decoded.size / sharding->decoded.dtype.bytes;
    const uint64_t bytes_max = zd_variable_bytes_max(n_elements);
    if (pieces->chunk == NULL) {
        return no_memory(err, pieces->n * sizeof *pieces->chunk);
    }
    for (uint64_t i = 0; i < pieces->n; i++) {
        const struct zd_shard_entry entry = zd_shard_entry_at(index, i);
        if (zd_shard_entry_is_missing(entry)) {
            continue;
        }
        const struct zd_span chunk = {.ptr = in.ptr + entry.first, .len = entry.len};
        uint8_t *out = (*decoded)->data + place_of(sharding, i);
        ZD_TRY(decode_chunk(sharding, chunk, out, &pieces->chunk[i], err));
        pieces->n_bytes += pieces->chunk[i]->len - sharding->chunk_bytes;
        if (pieces->n_bytes > bytes_max) {
            return zd_fail_limit(err, bytes_max, pieces->n_bytes,
                NAME ": the elements of the shard have more than %" PRIu64 " bytes in total",
                bytes_max);
        }
    }
    ZD_AUTO(zd_buf) borrowed = ZD_TAKE(*decoded);
    return zd_variable_pack(borrowed->data, n_elements, bytes_max, decoded, err);
}

static enum zd_status decode_variable(const struct sharding *sharding, struct zd_span in,
    const struct zd_buf *index, struct zd_buf **decoded, struct zd_error *err)
{
    const uint64_t n = sharding->shard.n_chunks;
    struct pieces pieces = {
        .n = n, .chunk = (struct zd_buf **)zd_alloc_zero(n, sizeof(struct zd_buf *))};
    const enum zd_status status = pack_chunks(sharding, in, index, &pieces, decoded, err);
    pieces_done(&pieces);
    return status;
}

static enum zd_status sharding_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct sharding *sharding = state;
    const struct zd_span in = zd_buf_span(encoded);
    ZD_AUTO(zd_buf) index = NULL;
    bool any_missing = false;
    ZD_TRY(decode_index(sharding, in, &index, err));
    ZD_TRY(zd_shard_index_check(&sharding->shard, index, in.len, &any_missing, err));
    ZD_AUTO(zd_buf) decoded = zd_buf_new(sharding->decoded.size);
    if (decoded == NULL) {
        return no_memory(err, sharding->decoded.size);
    }
    decoded->len = sharding->decoded.size;
    if (any_missing) {
        zd_dtype_fill(&sharding->decoded.dtype, decoded->data,
            zd_chain_decoded(sharding->shard.inner)->fill,
            decoded->len / sharding->decoded.dtype.bytes);
    }
    if (zd_dtype_is_variable(&sharding->decoded.dtype)) {
        ZD_TRY(decode_variable(sharding, in, index, &decoded, err));
    } else {
        ZD_TRY(decode_chunks(sharding, in, index, decoded->data, err));
    }
    *ret_decoded = ZD_TAKE(decoded);
    return ZD_OK;
}

/* Whether all elements equal the fill value bit by bit. */
static bool is_fill(const struct sharding *sharding, const struct zd_buf *chunk)
{
    const struct zd_dtype *dtype = &sharding->decoded.dtype;
    const void *fill = zd_chain_decoded(sharding->shard.inner)->fill;
    const uint64_t n_others = chunk->len / dtype->bytes - 1;
    return zd_dtype_same_elements(dtype, chunk->data, fill, 1) &&
           zd_dtype_same_elements(dtype, chunk->data, chunk->data + dtype->bytes, n_others);
}

/* Encodes inner chunk i unless it is all fill value. */
static enum zd_status encode_chunk(const struct sharding *sharding, const struct zd_buf *decoded,
    uint64_t i, struct zd_buf **ret_chunk, struct zd_error *err)
{
    ZD_AUTO(zd_buf) chunk = zd_buf_new(sharding->chunk_bytes);
    if (chunk == NULL) {
        return no_memory(err, sharding->chunk_bytes);
    }
    chunk->len = sharding->chunk_bytes;
    zd_strided_copy(&sharding->gather, chunk->data, decoded->data + place_of(sharding, i));
    if (is_fill(sharding, chunk)) {
        *ret_chunk = NULL;
        return ZD_OK;
    }
    return zd_chain_encode(sharding->shard.inner, chunk, ret_chunk, err);
}

static enum zd_status encode_chunks(const struct sharding *sharding, const struct zd_buf *decoded,
    struct pieces *pieces, struct zd_error *err)
{
    uint64_t at = sharding->shard.index_at_start ? sharding->shard.index_bytes : 0;
    for (uint64_t i = 0; i < pieces->n; i++) {
        ZD_TRY(encode_chunk(sharding, decoded, i, &pieces->chunk[i], err));
        const struct zd_buf *chunk = pieces->chunk[i];
        uint8_t *entry = pieces->index->data + i * ZD_SHARD_ENTRY_BYTES;
        zd_store_u64(entry, chunk == NULL ? ZD_SHARD_MISSING : at);
        zd_store_u64(entry + sizeof(uint64_t), chunk == NULL ? ZD_SHARD_MISSING : chunk->len);
        if (chunk != NULL && ckd_add(&at, at, chunk->len)) {
            return no_memory(err, UINT64_MAX);
        }
    }
    const uint64_t index_after = sharding->shard.index_at_start ? 0 : sharding->shard.index_bytes;
    if (ckd_add(&pieces->n_bytes, at, index_after)) {
        return no_memory(err, UINT64_MAX);
    }
    return ZD_OK;
}

static void append(struct zd_buf *to, const struct zd_buf *piece)
{
    memcpy(to->data + to->len, piece->data, piece->len);
    to->len += piece->len;
}

static enum zd_status assemble(const struct sharding *sharding, const struct pieces *pieces,
    struct zd_buf **ret_shard, struct zd_error *err)
{
    ZD_AUTO(zd_buf) index = NULL;
    ZD_TRY(zd_chain_encode(sharding->shard.index, pieces->index, &index, err));
    assert(index->len == sharding->shard.index_bytes);
    ZD_AUTO(zd_buf) shard = zd_buf_new(pieces->n_bytes);
    if (shard == NULL) {
        return no_memory(err, pieces->n_bytes);
    }
    if (sharding->shard.index_at_start) {
        append(shard, index);
    }
    for (uint64_t i = 0; i < pieces->n; i++) {
        if (pieces->chunk[i] != NULL) {
            append(shard, pieces->chunk[i]);
        }
    }
    if (!sharding->shard.index_at_start) {
        append(shard, index);
    }
    *ret_shard = ZD_TAKE(shard);
    return ZD_OK;
}

static enum zd_status encode_pieces(const struct sharding *sharding, const struct zd_buf *decoded,
    struct pieces *pieces, struct zd_buf **ret_shard, struct zd_error *err)
{
    if (pieces->chunk == NULL || pieces->index == NULL) {
        return no_memory(err, pieces->n * ZD_SHARD_ENTRY_BYTES);
    }
    pieces->index->len = pieces->n * ZD_SHARD_ENTRY_BYTES;
    ZD_TRY(encode_chunks(sharding, decoded, pieces, err));
    return assemble(sharding, pieces, ret_shard, err);
}

static enum zd_status sharding_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct sharding *sharding = state;
    const uint64_t n = sharding->shard.n_chunks;
    struct pieces pieces = {
        .n = n,
        .chunk = (struct zd_buf **)zd_alloc_zero(n, sizeof(struct zd_buf *)),
        .index = zd_buf_new(n * ZD_SHARD_ENTRY_BYTES), /* open saw that this fits */
    };
    const enum zd_status status = encode_pieces(sharding, decoded, &pieces, ret_encoded, err);
    pieces_done(&pieces);
    return status;
}

static enum zd_status sharding_configuration(const void *state, struct zd_json **ret_json)
{
    const struct sharding *sharding = state;
    const struct zd_shard *shard = &sharding->shard;
    ZD_AUTO(zd_json) shape = zd_json_new_array();
    for (uint32_t dim = 0; shape != NULL && dim < shard->rank; dim++) {
        ZD_TRY(zd_json_append(shape, zd_json_new_u64(shard->chunk_shape[dim])));
    }
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "chunk_shape", ZD_TAKE(shape)));
    ZD_TRY(zd_json_set(json, "codecs", zd_chain_json(shard->inner)));
    ZD_TRY(zd_json_set(json, "index_codecs", zd_chain_json(shard->index)));
    ZD_TRY(zd_json_set(
        json, "index_location", zd_json_new_text(location_words[shard->index_at_start ? 1 : 0])));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

/* Each inner chunk is decoded and copied to its place. */
static uint64_t sharding_bytes_per_us(const void *state)
{
    const struct sharding *sharding = state;
    const uint64_t decode_us = zd_chain_decode_ns(sharding->shard.inner) / 1000;
    const uint64_t us = 1 + decode_us + sharding->chunk_bytes / COPY_BYTES_PER_US;
    return zd_max_u64(sharding->chunk_bytes / us, 1);
}

static const struct zd_shard *sharding_shard(const void *state)
{
    const struct sharding *sharding = state;
    return &sharding->shard;
}

const struct zd_codec zd_codec_sharding_indexed = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"chunk_shape\":{\"type\":\"array\",\"items\":"
              "{\"type\":\"integer\",\"minimum\":1}},\"codecs\":{\"type\":\"array\"},"
              "\"index_codecs\":{\"type\":\"array\"},\"index_location\":{\"enum\":[\"start\","
              "\"end\"]}},\"required\":[\"chunk_shape\",\"codecs\",\"index_codecs\"],"
              "\"additionalProperties\":false}",
    .takes_variable = true,
    .open = sharding_open,
    .close = sharding_close,
    .decode = sharding_decode,
    .encode = sharding_encode,
    .find_bytes_per_us = sharding_bytes_per_us,
    .configuration = sharding_configuration,
    .shard = sharding_shard,
};
