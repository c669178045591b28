/* The codec `json2` of numcodecs: strings as a JSON list, then their type and their shape; null,
 * which NumPy has where nothing was written, is the empty string. Read only.
 *
 *     [["a","b"],["c",null],"|O",[2,2]] */
#include <inttypes.h>
#include <string.h>

#include "core/base/json_token.h"
#include "core/codec/nesting.h"
#include "core/grid/variable.h"

#define NAME         "numcodecs.json2"
#define BYTES_PER_US 200
#define ESCAPE_BYTES 6  /* of a character: \u0001 */
#define MARK_BYTES   32 /* around an element: quotes, brackets, a comma, spaces */

/* A text on its way. */
struct reader {
    struct zd_span text;
    size_t at;
    struct zd_text bytes; /* of the elements so far */
};

static enum zd_status json2_open(const struct zd_codec_config *config, struct zd_repr *ret_encoded,
    void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"encoding", "skipkeys", "ensure_ascii", "check_circular",
        "allow_nan", "sort_keys", "indent", "separators", "strict", NULL};
    static const struct zd_nesting_format format = {
        .name = NAME, .parameters = names, .byte_bytes = ESCAPE_BYTES, .mark_bytes = MARK_BYTES};
    return zd_nesting_open(&format, config, ret_encoded, ret_state, faults);
}

static enum zd_status corrupt(
    const struct reader *reader, const char *expected, struct zd_error *err)
{
    return zd_nesting_corrupt(NAME, reader->at, expected, err);
}

/* The next byte after spaces; 0 at the end. */
static uint8_t next_byte(struct reader *reader)
{
    const struct zd_span rest = {
        .ptr = reader->text.ptr + reader->at, .len = reader->text.len - reader->at};
    reader->at += rest.len == 0 ? 0 : zd_json_space_len(rest);
    return reader->at < reader->text.len ? reader->text.ptr[reader->at] : 0;
}

static enum zd_status expect(
    struct reader *reader, char mark, const char *name, struct zd_error *err)
{
    if (next_byte(reader) != (uint8_t)mark) {
        return corrupt(reader, name, err);
    }
    reader->at++;
    return ZD_OK;
}

static enum zd_status read_value(
    struct reader *reader, struct zd_json **ret_json, const char *expected, struct zd_error *err)
{
    size_t end;
    const uint8_t first = next_byte(reader);
    if (first == 0 || first == ',') {
        return corrupt(reader, expected, err);
    }
    const enum zd_json_token token = zd_json_next_token(reader->text, &reader->at, &end);
    const struct zd_span value = {.ptr = reader->text.ptr + reader->at, .len = end - reader->at};
    const struct zd_json_limits one = {.bytes_max = value.len, .nodes_max = 1};
    if (token != ZD_JSON_TOKEN_STRING && token != ZD_JSON_TOKEN_WORD) {
        return corrupt(reader, expected, err);
    }
    const enum zd_status status = zd_json_parse(value, &one, ret_json, NULL);
    if (status != ZD_OK) {
        return status == ZD_NO_MEMORY ? zd_fail(err, status, NAME ": no memory for a string")
                                      : corrupt(reader, expected, err);
    }
    reader->at = end;
    return ZD_OK;
}

static enum zd_status read_element(struct reader *reader, size_t *ret_len, struct zd_error *err)
{
    struct zd_json *parsed = NULL;
    const size_t before = reader->at;
    ZD_TRY(read_value(reader, &parsed, "a string", err));
    ZD_AUTO(zd_json) json = parsed;
    if (zd_json_is(json, ZD_JSON_NULL)) {
        *ret_len = 0;
        return ZD_OK;
    }
    if (zd_json_string(json) == NULL) {
        reader->at = before;
        return corrupt(reader, "a string", err);
    }
    const struct zd_span bytes = zd_json_string_span(json);
    *ret_len = bytes.len;
    const enum zd_status status = zd_text_add_bytes(&reader->bytes, bytes.ptr, bytes.len);
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, NAME ": no room for the strings");
}

/* Lists of the dimensions behind the first begin or end at an element. */
static enum zd_status read_elements(const struct zd_nested *nested,
    const struct zd_nesting *nesting, struct reader *reader, uint8_t *elements,
    struct zd_error *err)
{
    for (uint64_t i = 0; i < nested->n; i++) {
        struct zd_span length = {0};
        if (i > 0) {
            ZD_TRY(expect(reader, ',', "a comma", err));
        }
        for (uint32_t d = 1; d < nesting->rank; d++) {
            if (i % nesting->n_items[d] == 0) {
                ZD_TRY(expect(reader, '[', "a list", err));
            }
        }
        ZD_TRY(read_element(reader, &length.len, err));
        zd_variable_put(elements, i, length);
        for (uint32_t d = nesting->rank; d-- > 1;) {
            if ((i + 1) % nesting->n_items[d] == 0) {
                ZD_TRY(expect(reader, ']', "the end of a list", err));
            }
        }
    }
    return ZD_OK;
}

/* [2,2]] and nothing else. */
static enum zd_status read_shape(
    const struct zd_nesting *nesting, struct reader *reader, struct zd_error *err)
{
    ZD_TRY(expect(reader, '[', "the shape", err));
    for (uint32_t d = 0; d < nesting->rank; d++) {
        uint64_t length;
        ZD_AUTO(zd_json) json = NULL;
        ZD_TRY(d == 0 ? ZD_OK : expect(reader, ',', "a comma", err));
        ZD_TRY(read_value(reader, &json, "a length", err));
        if (!zd_json_u64(json, &length) || length != nesting->length[d]) {
            return corrupt(reader, "the shape of the chunk", err);
        }
    }
    ZD_TRY(expect(reader, ']', "the end of the shape", err));
    ZD_TRY(expect(reader, ']', "the end of the list", err));
    (void)next_byte(reader);
    return reader->at == reader->text.len ? ZD_OK : corrupt(reader, "the end of the text", err);
}

/* The shape behind the elements says which. */
static const struct zd_nesting *find_nesting(
    const struct zd_nested *nested, const struct reader *reader)
{
    struct reader shape = {.text = reader->text, .at = reader->text.len};
    while (shape.at > 0 && shape.text.ptr[shape.at - 1] != '[') {
        shape.at--;
    }
    shape.at -= shape.at > 0 ? 1 : 0;
    return read_shape(&nested->turned, &shape, NULL) == ZD_OK ? &nested->turned : &nested->own;
}

/* "|O", and the shape. */
static enum zd_status read_end(
    const struct zd_nesting *nesting, struct reader *reader, struct zd_error *err)
{
    ZD_TRY(expect(reader, ',', "a comma", err));
    ZD_AUTO(zd_json) dtype = NULL;
    ZD_TRY(read_value(reader, &dtype, "the data type", err));
    if (!zd_span_is(zd_json_string_span(dtype), "|O")) {
        return corrupt(reader, "the data type \"|O\"", err);
    }
    ZD_TRY(expect(reader, ',', "a comma", err));
    return read_shape(nesting, reader, err);
}

static enum zd_status read_text(const struct zd_nested *nested, struct reader *reader,
    struct zd_buf **ret_decoded, struct zd_error *err)
{
    ZD_AUTO(zd_buf) lengths = zd_buf_new(nested->n * ZD_VARIABLE_BYTES);
    if (lengths == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    const struct zd_nesting *nesting = find_nesting(nested, reader);
    ZD_TRY(expect(reader, '[', "a list", err));
    ZD_TRY(read_elements(nested, nesting, reader, lengths->data, err));
    ZD_TRY(read_end(nesting, reader, err));
    return zd_variable_join(
        lengths->data, nested->n, zd_text_span(&reader->bytes), ret_decoded, err);
}

static enum zd_status json2_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zd_nested *nested = state;
    struct reader reader = {.text = zd_buf_span(encoded)};
    zd_text_init(&reader.bytes, zd_variable_bytes_max(nested->n));
    const enum zd_status status = read_text(nested, &reader, ret_decoded, err);
    zd_text_done(&reader.bytes);
    return status;
}

const struct zd_codec zd_codec_json2 = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"encoding\":{},\"skipkeys\":{},"
              "\"ensure_ascii\":{},\"check_circular\":{},\"allow_nan\":{},\"sort_keys\":{},"
              "\"indent\":{},\"separators\":{},\"strict\":{}},\"additionalProperties\":false}",
    .takes_variable = true,
    .open = json2_open,
    .close = zd_free,
    .decode = json2_decode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zd_nesting_configuration,
};
