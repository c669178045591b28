/* The codec `msgpack2` of numcodecs: strings as a MessagePack list, then their type and their
 * shape; nil, which NumPy has where nothing was written, is the empty string. Read only.
 *
 *     [["a","b"],["c",nil],"|O",[2,2]]
 *
 * By hand, as Debian's libmsgpack-c allocates what a list says of its length before it looks for
 * the items, and three kinds of values are all there is. */
#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/codec/nesting.h"
#include "core/grid/variable.h"

#define NAME         "numcodecs.msgpack2"
#define BYTES_PER_US 500
#define MARK_BYTES   32 /* in front of an element: its length, those of lists */
#define NIL          0xc0

/* MessagePack, formats: values whose first byte has their length, or their number, in its low
 * bits, and values of which it follows, big-endian. */
struct kind {
    uint8_t first;   /* with low bits 0 */
    uint8_t mask;    /* the low bits */
    uint8_t wide[4]; /* the first byte where it follows in 1, 2, 4, 8 bytes; 0: there is none */
    const char *name;
};

static const struct kind list_kind = {0x90, 0x0f, {0, 0xdc, 0xdd, 0}, "a list"};
static const struct kind string_kind = {0xa0, 0x1f, {0xd9, 0xda, 0xdb, 0}, "a string"};
static const struct kind number_kind = {0x00, 0x7f, {0xcc, 0xcd, 0xce, 0xcf}, "a length"};

/* Bytes on their way. */
struct reader {
    struct zd_span bytes;
    size_t at;
};

static enum zd_status msgpack2_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"use_single_float", "use_bin_type", "raw", NULL};
    static const struct zd_nesting_format format = {
        .name = NAME, .parameters = names, .byte_bytes = 1, .mark_bytes = MARK_BYTES};
    return zd_nesting_open(&format, config, ret_encoded, ret_state, faults);
}

/* ---- values ---- */

static enum zd_status corrupt(
    const struct reader *reader, const char *expected, struct zd_error *err)
{
    return zd_nesting_corrupt(NAME, reader->at, expected, err);
}

/* In how many bytes the number follows; 0: it is in the first byte. False: another kind. */
static bool find_width(const struct kind *kind, uint8_t first, size_t *ret_width)
{
    for (size_t i = 0; i < ZD_COUNT_OF(kind->wide); i++) {
        if (kind->wide[i] != 0 && first == kind->wide[i]) {
            *ret_width = (size_t)1 << i;
            return true;
        }
    }
    *ret_width = 0;
    return (first & ~kind->mask) == kind->first;
}

/* The length or number of a value of that kind, which must be next. */
static enum zd_status read_number(
    struct reader *reader, const struct kind *kind, uint64_t *ret_number, struct zd_error *err)
{
    const uint8_t *next = reader->bytes.ptr + reader->at;
    const size_t n_left = reader->bytes.len - reader->at;
    size_t width = 0;
    if (n_left == 0 || !find_width(kind, next[0], &width) || width > n_left - 1) {
        return corrupt(reader, kind->name, err);
    }
    uint64_t number = width == 0 ? next[0] & kind->mask : 0;
    for (size_t i = 1; i <= width; i++) {
        number = number << 8 | next[i];
    }
    reader->at += 1 + width;
    *ret_number = number;
    return ZD_OK;
}

static enum zd_status read_list(struct reader *reader, uint64_t n_expected, struct zd_error *err)
{
    const size_t before = reader->at;
    uint64_t n = 0;
    ZD_TRY(read_number(reader, &list_kind, &n, err));
    if (n != n_expected) {
        reader->at = before;
        return corrupt(reader, "a list of the chunk's shape", err);
    }
    return ZD_OK;
}

static enum zd_status read_string(
    struct reader *reader, struct zd_span *ret_bytes, struct zd_error *err)
{
    const size_t before = reader->at;
    uint64_t len = 0;
    ZD_TRY(read_number(reader, &string_kind, &len, err));
    const struct zd_span bytes = {.ptr = reader->bytes.ptr + reader->at, .len = (size_t)len};
    if (len > reader->bytes.len - reader->at || !zd_scan_is_utf8(bytes)) {
        reader->at = before;
        return corrupt(reader, "a whole string, in UTF-8", err);
    }
    reader->at += bytes.len;
    *ret_bytes = bytes;
    return ZD_OK;
}

/* ---- the list ---- */

static enum zd_status read_element(
    struct reader *reader, struct zd_span *ret_bytes, struct zd_error *err)
{
    if (reader->at < reader->bytes.len && reader->bytes.ptr[reader->at] == NIL) {
        reader->at++;
        *ret_bytes = (struct zd_span){0};
        return ZD_OK;
    }
    return read_string(reader, ret_bytes, err);
}

/* Lists of the dimensions behind the first begin at an element. */
static enum zd_status read_elements(const struct zd_nesting *nesting, struct reader *reader,
    uint64_t n, uint8_t *elements, struct zd_error *err)
{
    for (uint64_t i = 0; i < n; i++) {
        struct zd_span bytes = {0};
        for (uint32_t d = 1; d < nesting->rank; d++) {
            if (i % nesting->n_items[d] == 0) {
                ZD_TRY(read_list(reader, nesting->length[d], err));
            }
        }
        ZD_TRY(read_element(reader, &bytes, err));
        zd_variable_put(elements, i, bytes);
    }
    return ZD_OK;
}

/* The type, the shape, and nothing else. */
static enum zd_status read_end(
    const struct zd_nesting *nesting, struct reader *reader, struct zd_error *err)
{
    struct zd_span dtype = {0};
    ZD_TRY(read_string(reader, &dtype, err));
    if (!zd_span_is(dtype, "|O")) {
        return corrupt(reader, "the data type \"|O\"", err);
    }
    ZD_TRY(read_list(reader, nesting->rank, err));
    for (uint32_t d = 0; d < nesting->rank; d++) {
        uint64_t length = 0;
        ZD_TRY(read_number(reader, &number_kind, &length, err));
        if (length != nesting->length[d]) {
            return corrupt(reader, "the shape of the chunk", err);
        }
    }
    return reader->at == reader->bytes.len ? ZD_OK : corrupt(reader, "the end", err);
}

static enum zd_status read_whole(const struct zd_nesting *nesting, struct zd_span bytes, uint64_t n,
    uint8_t *elements, struct zd_error *err)
{
    struct reader reader = {.bytes = bytes};
    const uint64_t n_first = nesting->rank == 0 ? 1 : nesting->length[0];
    ZD_TRY(read_list(&reader, n_first + 2, err)); /* type and shape, too */
    ZD_TRY(read_elements(nesting, &reader, n, elements, err));
    return read_end(nesting, &reader, err);
}

/* Only the shape at the end says which nesting it is: what is not one is the other. */
static enum zd_status msgpack2_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zd_nested *nested = state;
    const struct zd_span bytes = zd_buf_span(encoded);
    const uint64_t n = nested->n;
    ZD_AUTO(zd_buf) elements = zd_buf_new(n * ZD_VARIABLE_BYTES);
    if (elements == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": no memory for %" PRIu64 " elements", n);
    }
    if (read_whole(&nested->turned, bytes, n, elements->data, NULL) != ZD_OK) {
        ZD_TRY(read_whole(&nested->own, bytes, n, elements->data, err));
    }
    return zd_variable_pack(elements->data, n, zd_variable_bytes_max(n), ret_decoded, err);
}

const struct zd_codec zd_codec_msgpack2 = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"use_single_float\":{},\"use_bin_type\":{},"
              "\"raw\":{}},\"additionalProperties\":false}",
    .takes_variable = true,
    .open = msgpack2_open,
    .close = zd_free,
    .decode = msgpack2_decode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zd_nesting_configuration,
};
