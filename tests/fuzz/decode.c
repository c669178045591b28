/* Shared by the fuzz targets of codecs: chains of one codec, and rules for all of them. */
#include "tests/fuzz/decode.h"

#include <string.h>

#include "core/base/num.h"
#include "core/grid/variable.h"

#define INPUT_BYTES_MAX (1U << 16)
#define JSON_BYTES_MAX  4096

static struct zd_json *parse_codecs(const char *text)
{
    const struct zd_json_limits limits = {
        .bytes_max = JSON_BYTES_MAX, .nodes_max = 1000, .depth_max = 32};
    ZD_AUTO_TEXT quoted = zd_strdup(text);
    zd_fuzz_insist(quoted != NULL);
    for (char *at = quoted; *at != '\0'; at++) {
        *at = (char)(*at == '\'' ? '"' : *at);
    }
    struct zd_json *json = NULL;
    zd_fuzz_insist(zd_json_parse(zd_span_of(quoted), &limits, &json, NULL) == ZD_OK);
    return json;
}

static struct zd_chain *open_chain(const struct zd_fuzz_chain *row)
{
    static const uint8_t fill[ZD_DTYPE_BYTES_MAX] = {7};
    static const uint8_t zero[ZD_DTYPE_BYTES_MAX];
    ZD_AUTO(zd_json) codecs = parse_codecs(row->codecs);
    struct zd_repr decoded = {
        .rank = row->rank, .fill = row->has_zero_fill ? zero : fill, .size_is_exact = true};
    memcpy(decoded.shape, row->shape, sizeof decoded.shape);
    zd_fuzz_insist(zd_dtype_find(row->data_type, &decoded.dtype) == ZD_OK);
    zd_fuzz_insist(!zd_codec_repr_overflows(&decoded, &decoded.size));
    const struct zd_chain_config config = {
        .codecs = codecs, .decoded = &decoded, .is_n5 = row->is_n5};
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    zd_fuzz_insist(zd_chain_open(&config, &chain, &faults) == ZD_OK);
    return chain;
}

/* NULL: refused. */
static struct zd_buf *decode(const struct zd_chain *chain, struct zd_buf *encoded)
{
    struct zd_buf *decoded = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &decoded, &err);
    if (status == ZD_OK) {
        zd_fuzz_insist(zd_codec_repr_has(zd_chain_decoded(chain), decoded));
        return decoded;
    }
    zd_fuzz_insist(status == ZD_CORRUPT || status == ZD_UNSUPPORTED);
    zd_fuzz_insist(err.status == status && err.text[0] != '\0');
    return NULL;
}

/* Any part of any bytes is decoded or refused; of what is a chunk, it is that part of the chunk. */
static void check_part(const struct zd_chain *chain, struct zd_buf *encoded,
    const struct zd_buf *elements, struct zd_span input)
{
    if (!zd_chain_has_parts(chain)) {
        return;
    }
    const uint64_t size = zd_chain_decoded(chain)->size;
    struct zd_byte_range run = {.first = zd_fuzz_u64(&input) % size};
    run.len = 1 + zd_fuzz_u64(&input) % (size - run.first);
    ZD_AUTO(zd_buf) part = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode_part(chain, encoded, run, &part, &err);
    zd_fuzz_insist(status == ZD_OK || status == ZD_CORRUPT || status == ZD_UNSUPPORTED);
    zd_fuzz_insist(status == ZD_OK ? part->len == run.len : err.text[0] != '\0');
    const uint32_t i = zd_chain_array_bytes(chain);
    const bool is_plain = i == 0 && !zd_chain_codec(chain, i)->is_swapped(zd_chain_state(chain, i));
    if (elements != NULL && is_plain) {
        zd_fuzz_insist(status == ZD_OK);
        zd_fuzz_insist(memcmp(part->data, elements->data + run.first, run.len) == 0);
    }
}

/* Encoded and decoded again, elements are the same; the bytes on the way are owned. NULL: these
 * elements cannot be stored. */
static struct zd_buf *check_round_trip(const struct zd_fuzz_chain *row, struct zd_buf *elements)
{
    struct zd_buf *encoded = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_encode(row->chain, elements, &encoded, &err);
    if (row->may_refuse && (status == ZD_INVALID || status == ZD_UNSUPPORTED)) {
        zd_fuzz_insist(err.text[0] != '\0');
        return NULL;
    }
    zd_fuzz_insist(status == ZD_OK);
    const struct zd_repr *bound = zd_chain_encoded(row->chain);
    zd_fuzz_insist(encoded->len <= zd_codec_bound(bound->size));
    zd_fuzz_insist(!bound->size_is_exact || encoded->len == bound->size);
    ZD_AUTO(zd_buf) same = decode(row->chain, encoded);
    zd_fuzz_insist(same != NULL || row->may_refuse);
    const bool may_differ = same == NULL || row->is_lossy;
    const struct zd_repr *decoded = zd_chain_decoded(row->chain);
    const uint64_t n = decoded->size / decoded->dtype.bytes;
    zd_fuzz_insist(
        may_differ || zd_dtype_same_elements(&decoded->dtype, elements->data, same->data, n));
    return encoded;
}

/* Elements of variable length: pieces of the input, as ASCII. */
static struct zd_buf *fill_variable(const struct zd_repr *decoded, struct zd_span input)
{
    static uint8_t text[INPUT_BYTES_MAX];
    const uint64_t n = decoded->size / decoded->dtype.bytes;
    struct zd_buf *packed = NULL;
    ZD_AUTO(zd_buf) elements = zd_buf_new(decoded->size);
    zd_fuzz_insist(elements != NULL && input.len <= sizeof text);
    for (size_t i = 0; i < input.len; i++) {
        text[i] = input.ptr[i] & 0x7f;
    }
    size_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
        const size_t left = input.len - at;
        const size_t len = left == 0 ? 0 : zd_min_u64(input.ptr[at], left);
        zd_variable_put(elements->data, i, (struct zd_span){.ptr = text + at, .len = len});
        at += len;
    }
    zd_fuzz_insist(zd_variable_pack(elements->data, n, SIZE_MAX, &packed, NULL) == ZD_OK);
    return packed;
}

/* A chunk of elements, which the input repeats until it is full. A bool has but two spellings. */
static struct zd_buf *fill_chunk(const struct zd_chain *chain, struct zd_span input)
{
    const struct zd_repr *decoded = zd_chain_decoded(chain);
    if (zd_dtype_is_variable(&decoded->dtype)) {
        return fill_variable(decoded, input);
    }
    const size_t len = (size_t)decoded->size;
    struct zd_buf *elements = zd_buf_new(len);
    zd_fuzz_insist(elements != NULL);
    for (size_t i = 0; i < len; i++) {
        elements->data[i] = input.len == 0 ? 0 : input.ptr[i % input.len];
    }
    zd_dtype_settle(&decoded->dtype, elements->data, len / decoded->dtype.bytes);
    elements->len = len;
    return elements;
}

/* The first byte that is left says how one of the stored bytes changes, the next ones say which. */
static void check_damage(
    const struct zd_fuzz_chain *row, const struct zd_buf *encoded, struct zd_span input)
{
    const uint8_t change = zd_fuzz_byte(&input);
    const uint64_t place = zd_fuzz_u64(&input);
    if (change == 0 || encoded->len == 0) {
        return;
    }
    ZD_AUTO(zd_buf) damaged = zd_buf_copy(zd_buf_span(encoded));
    zd_fuzz_insist(damaged != NULL);
    damaged->data[place % damaged->len] ^= change;
    check_part(row->chain, damaged, NULL, input);
    ZD_AUTO(zd_buf) decoded = decode(row->chain, damaged);
    zd_fuzz_insist(decoded == NULL || !row->is_checked);
}

void zd_fuzz_decode(struct zd_fuzz_chain *rows, size_t n_rows, struct zd_span input)
{
    if (input.len == 0 || input.len > INPUT_BYTES_MAX) {
        return;
    }
    struct zd_fuzz_chain *row = &rows[zd_fuzz_byte(&input) % n_rows];
    if (row->chain == NULL) {
        row->chain = open_chain(row);
    }
    ZD_AUTO(zd_buf) stored = zd_buf_copy(input);
    zd_fuzz_insist(stored != NULL);
    ZD_AUTO(zd_buf) decoded = decode(row->chain, stored);
    check_part(row->chain, stored, NULL, input);
    ZD_AUTO(zd_buf)
    elements = decoded == NULL ? fill_chunk(row->chain, input) : zd_buf_ref(decoded);
    ZD_AUTO(zd_buf) encoded = check_round_trip(row, elements);
    if (encoded == NULL) {
        return;
    }
    check_part(row->chain, encoded, elements, input);
    check_damage(row, encoded, input);
}
