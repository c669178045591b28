/* The tokens of a JSON text, without a look at the grammar. */
#include "core/base/json_token.h"

#include <string.h>

/* Bytes of a tree of jansson, the place in the container included (measured: 240, 130, 45, 90). */
#define OBJECT_BYTES 256
#define ARRAY_BYTES  144
#define WORD_BYTES   48
#define WORD_LENGTH  18 /* a longer number may be kept as a string */
#define STRING_BYTES 96 /* and its characters; a name costs as much */
#define MEMBER_BYTES 32 /* more */

enum zd_status zd_json_fail_at(struct zd_error *err, struct zd_span text, size_t position,
    enum zd_status status, const char *what)
{
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < position && i < text.len; i++) {
        const bool ends_line = text.ptr[i] == '\n';
        const bool continues = (text.ptr[i] & 0xC0) == 0x80; /* a later byte of a character */
        line += ends_line ? 1 : 0;
        column = ends_line ? 1 : column + (continues ? 0 : 1);
    }
    const enum zd_status failed =
        zd_fail(err, status, "JSON, line %zu, column %zu: %s", line, column, what);
    zd_fact_position(err, position);
    return failed;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t zd_json_space_len(struct zd_span text)
{
    size_t len = 0;
    while (len < text.len && is_space(text.ptr[len])) {
        len++;
    }
    return len;
}

static bool ends_word(uint8_t c)
{
    return is_space(c) || c == ',' || c == ':' || c == '[' || c == ']' || c == '{' || c == '}' ||
           c == '"';
}

/* Past the closing quote; an unclosed string ends with the text. */
static size_t string_end(struct zd_span text, size_t at)
{
    for (at++; at < text.len && text.ptr[at] != '"'; at++) {
        at += text.ptr[at] == '\\' ? 1 : 0;
    }
    return at < text.len ? at + 1 : text.len;
}

enum zd_json_token zd_json_next_token(struct zd_span text, size_t *at, size_t *ret_end)
{
    while (*at < text.len && (is_space(text.ptr[*at]) || text.ptr[*at] == ',')) {
        (*at)++;
    }
    *ret_end = *at + 1;
    if (*at >= text.len) {
        *ret_end = text.len;
        return ZD_JSON_TOKEN_END;
    }
    switch (text.ptr[*at]) {
    case '[':
    case '{':
        return ZD_JSON_TOKEN_OPEN;
    case ']':
    case '}':
        return ZD_JSON_TOKEN_CLOSE;
    case ':':
        return ZD_JSON_TOKEN_COLON;
    case '"':
        *ret_end = string_end(text, *at);
        return ZD_JSON_TOKEN_STRING;
    default:
        while (*ret_end < text.len && !ends_word(text.ptr[*ret_end])) {
            (*ret_end)++;
        }
        return ZD_JSON_TOKEN_WORD;
    }
}

/* How many arrays and objects are open behind a token. */
static size_t depth_after(size_t depth, enum zd_json_token type)
{
    if (type == ZD_JSON_TOKEN_OPEN) {
        return depth + 1;
    }
    return type == ZD_JSON_TOKEN_CLOSE && depth > 0 ? depth - 1 : depth;
}

size_t zd_json_value_end(struct zd_span text, size_t at)
{
    size_t depth = 0;
    size_t end = 0;
    for (;; at = end) {
        const enum zd_json_token type = zd_json_next_token(text, &at, &end);
        depth = depth_after(depth, type);
        if (type == ZD_JSON_TOKEN_END || depth == 0) {
            return end;
        }
    }
}

static bool is_name(struct zd_span text, size_t at, size_t end, const char *name)
{
    const struct zd_span inside = {.ptr = text.ptr + at + 1, .len = end - at - 2};
    return end - at >= 2 && zd_span_is(inside, name);
}

bool zd_json_find_value(struct zd_span text, const char *name, struct zd_span *ret_value)
{
    size_t depth = 0;
    bool is_found = false; /* the token before was the name */
    size_t end = 0;
    for (size_t at = 0;; at = end) {
        const enum zd_json_token type = zd_json_next_token(text, &at, &end);
        if (type == ZD_JSON_TOKEN_END) {
            return false;
        }
        if (type == ZD_JSON_TOKEN_COLON && is_found) {
            *ret_value =
                (struct zd_span){.ptr = text.ptr + end, .len = zd_json_value_end(text, end) - end};
            return true;
        }
        depth = depth_after(depth, type);
        is_found = depth == 1 && type == ZD_JSON_TOKEN_STRING && is_name(text, at, end, name);
    }
}

static enum zd_status too_large(
    struct zd_error *err, const char *what, size_t limit, size_t requested)
{
    const enum zd_status failed = zd_fail(err, ZD_TOO_LARGE,
        "the JSON document has %zu %s or more; the limit is %zu", requested, what, limit);
    zd_fact_limit(err, limit, requested);
    return failed;
}

enum zd_status zd_json_check_limits(
    struct zd_span text, const struct zd_json_limits *limits, struct zd_error *err)
{
    if (text.len > limits->bytes_max) {
        return too_large(err, "bytes", limits->bytes_max, text.len);
    }
    size_t n_values = 0; /* a name counts until its colon shows what it is */
    size_t depth = 0;
    size_t end = 0;
    for (size_t at = 0;; at = end) {
        const enum zd_json_token type = zd_json_next_token(text, &at, &end);
        if (type == ZD_JSON_TOKEN_END) {
            return ZD_OK;
        }
        depth = depth_after(depth, type);
        if (type == ZD_JSON_TOKEN_COLON) {
            n_values -= n_values > 0 ? 1 : 0;
        } else if (type != ZD_JSON_TOKEN_CLOSE) {
            n_values++;
        }
        if (depth > limits->depth_max) {
            return too_large(err, "levels of nesting", limits->depth_max, depth);
        }
        if (n_values > limits->nodes_max) {
            return too_large(err, "values", limits->nodes_max, n_values);
        }
    }
}

static uint64_t token_bytes(enum zd_json_token type, struct zd_span token)
{
    switch (type) {
    case ZD_JSON_TOKEN_OPEN:
        return token.ptr[0] == '{' ? OBJECT_BYTES : ARRAY_BYTES;
    case ZD_JSON_TOKEN_COLON:
        return MEMBER_BYTES;
    case ZD_JSON_TOKEN_STRING:
        return STRING_BYTES + token.len;
    case ZD_JSON_TOKEN_WORD:
        return token.len <= WORD_LENGTH ? WORD_BYTES : STRING_BYTES + token.len;
    case ZD_JSON_TOKEN_CLOSE:
    case ZD_JSON_TOKEN_END:
        break;
    }
    return 0;
}

uint64_t zd_json_tree_bytes(struct zd_span text)
{
    uint64_t bytes = 0;
    size_t end = 0;
    for (size_t at = 0;; at = end) {
        const enum zd_json_token type = zd_json_next_token(text, &at, &end);
        if (type == ZD_JSON_TOKEN_END) {
            return bytes;
        }
        bytes += token_bytes(type, (struct zd_span){.ptr = text.ptr + at, .len = end - at});
    }
}

bool zd_json_read_unit(struct zd_span text, uint32_t *ret_unit)
{
    if (text.len < 6 || text.ptr[0] != '\\' || text.ptr[1] != 'u') {
        return false;
    }
    uint32_t unit = 0;
    for (size_t i = 2; i < 6; i++) {
        const uint8_t c = text.ptr[i];
        const uint8_t lower = c | 0x20;
        if (c >= '0' && c <= '9') {
            unit = unit << 4 | (uint32_t)(c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            unit = unit << 4 | (uint32_t)(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    *ret_unit = unit;
    return true;
}

/* How many bytes the escape at the start has, with the other half of a pair; 0: malformed. */
static size_t escape_len(struct zd_span text, bool *is_odd)
{
    uint32_t unit = 0;
    uint32_t low = 0;
    if (text.len >= 2 && text.ptr[1] != '\0' && strchr("\"\\/bfnrt", text.ptr[1]) != NULL) {
        return 2;
    }
    if (!zd_json_read_unit(text, &unit)) {
        return 0;
    }
    const struct zd_span rest = {.ptr = text.ptr + 6, .len = text.len - 6};
    const bool is_half = unit >= 0xD800 && unit <= 0xDFFF;
    if (unit < 0xDC00 && is_half && zd_json_read_unit(rest, &low) && low >= 0xDC00 &&
        low <= 0xDFFF) {
        return 12;
    }
    *is_odd = *is_odd || is_half || unit == 0;
    return 6;
}

/* Whether all escapes between the quotes are well formed. */
static bool read_escapes(struct zd_span token, bool *is_odd)
{
    size_t at = 1;
    while (at < token.len && token.ptr[at] != '"') {
        const struct zd_span rest = {.ptr = token.ptr + at, .len = token.len - at};
        const size_t len = rest.ptr[0] == '\\' ? escape_len(rest, is_odd) : 1;
        if (len == 0) {
            return false;
        }
        at += len;
    }
    return at + 1 == token.len;
}

bool zd_json_string_is_well_formed(struct zd_span token)
{
    bool is_odd = false;
    return read_escapes(token, &is_odd);
}

bool zd_json_string_is_odd(struct zd_span token)
{
    bool is_odd = false;
    return read_escapes(token, &is_odd) && is_odd;
}

bool zd_json_word_is_nonfinite(struct zd_span word)
{
    return zd_span_is(word, "NaN") || zd_span_is(word, "Infinity") || zd_span_is(word, "-Infinity");
}

bool zd_json_word_is_integer(struct zd_span word)
{
    for (size_t i = 0; i < word.len; i++) {
        const bool is_sign = i == 0 && word.ptr[i] == '-';
        if (!is_sign && (word.ptr[i] < '0' || word.ptr[i] > '9')) {
            return false;
        }
    }
    return true;
}

static size_t digits_end(struct zd_span word, size_t at)
{
    while (at < word.len && word.ptr[at] >= '0' && word.ptr[at] <= '9') {
        at++;
    }
    return at;
}

bool zd_json_word_is_number(struct zd_span word)
{
    size_t at = digits_end(word, word.len > 0 && word.ptr[0] == '-' ? 1 : 0);
    if (at < word.len && word.ptr[at] == '.') {
        at = digits_end(word, at + 1);
    }
    if (at < word.len && (word.ptr[at] == 'e' || word.ptr[at] == 'E')) {
        at++;
        const bool is_signed = at < word.len && (word.ptr[at] == '+' || word.ptr[at] == '-');
        at = digits_end(word, is_signed ? at + 1 : at);
    }
    return at == word.len;
}
