/* Marks for what jansson cannot hold. */
#include "core/base/json_mark.h"

#include <jansson.h>
#include <string.h>

#include "core/base/json_token.h"
#include "core/base/num.h"
#include "core/base/scan.h"

#define INT64_DIGITS 19 /* a number of fewer digits fits */

/* Whether jansson itself, given the word alone, says that it is a number out of range. */
static bool is_beyond(struct zd_span word)
{
    if (!zd_json_word_is_number(word)) {
        return false;
    }
    if (word.len < INT64_DIGITS && memchr(word.ptr, 'e', word.len) == NULL &&
        memchr(word.ptr, 'E', word.len) == NULL) {
        return false;
    }
    json_error_t error;
    json_t *value = json_loadb((const char *)word.ptr, word.len, JSON_DECODE_ANY, &error);
    json_decref(value);
    return value == NULL && json_error_code(&error) == json_error_numeric_overflow;
}

/* The letter of the mark that a word needs, or '\0'. */
static char mark_of(struct zd_span word, bool nonfinite)
{
    uint64_t value;
    if (zd_json_word_is_nonfinite(word)) {
        return nonfinite ? ZD_JSON_MARK_NONFINITE : '\0';
    }
    if (!is_beyond(word)) {
        return '\0';
    }
    if (!zd_json_word_is_integer(word)) {
        return ZD_JSON_MARK_REAL;
    }
    return zd_scan_whole_u64(word, UINT64_MAX, &value) == ZD_OK ? ZD_JSON_MARK_UINT64
                                                                : ZD_JSON_MARK_BIG;
}

/* Whether a name ends there: a colon follows. */
static bool is_name(struct zd_span text, size_t end)
{
    size_t next_end = 0;
    return zd_json_next_token(text, &end, &next_end) == ZD_JSON_TOKEN_COLON;
}

/* The letter of the mark that a token needs, or '\0'. */
static char letter_of(
    struct zd_json_marking *marking, enum zd_json_token type, struct zd_span token, size_t at)
{
    if (type == ZD_JSON_TOKEN_WORD) {
        return mark_of(token, marking->nonfinite);
    }
    if (type != ZD_JSON_TOKEN_STRING || !zd_json_string_is_odd(token)) {
        return '\0';
    }
    if (is_name(marking->text, at + token.len)) {
        marking->odd_name = marking->has_odd_name ? marking->odd_name : at;
        marking->has_odd_name = true;
        return '\0';
    }
    return ZD_JSON_MARK_STRING;
}

static void add_mark(char letter, struct zd_span token, struct zd_text *out)
{
    zd_text_add(out, "\"\\u0000");
    zd_text_add_char(out, letter);
    if (letter != ZD_JSON_MARK_STRING) {
        zd_text_add_bytes(out, token.ptr, token.len);
    }
    for (size_t i = 1; letter == ZD_JSON_MARK_STRING && i + 1 < token.len; i++) {
        if (token.ptr[i] == '\\' || token.ptr[i] == '"') {
            zd_text_add_char(out, '\\');
        }
        zd_text_add_char(out, (char)token.ptr[i]);
    }
    zd_text_add_char(out, '"');
}

size_t zd_json_mark_put(struct zd_json_marking *marking, size_t len_max, struct zd_text *out)
{
    const struct zd_span text = marking->text;
    size_t copied = 0;
    size_t end = 0;
    for (size_t at = 0;; at = end) {
        const enum zd_json_token type = zd_json_next_token(text, &at, &end);
        if (type == ZD_JSON_TOKEN_END || out->len + (at - copied) >= len_max ||
            out->status != ZD_OK) {
            break;
        }
        const struct zd_span token = {.ptr = text.ptr + at, .len = end - at};
        const char letter = letter_of(marking, type, token, at);
        if (letter != '\0') {
            zd_text_add_bytes(out, text.ptr + copied, at - copied);
            add_mark(letter, token, out);
            copied = end;
            marking->n_marks++;
        }
    }
    if (len_max < out->len) {
        return copied;
    }
    const size_t rest = zd_min_u64(text.len - copied, len_max - out->len);
    zd_text_add_bytes(out, text.ptr + copied, rest);
    return copied + rest;
}

/* A mark takes at most 8 bytes more than its word, and words stand at least one byte apart; a
 * string, which has 8 bytes or more, is at most doubled. */
size_t zd_json_mark_len_max(struct zd_span text)
{
    size_t len;
    return ckd_mul(&len, text.len, 9) || ckd_add(&len, len, 16) ? SIZE_MAX / 2 : len;
}
