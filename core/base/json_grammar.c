/* The grammar of JSON (RFC 8259): a text is judged, and its members are found, without a tree. */
#include "core/base/json_grammar.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define SURROGATE_FIRST 0xD800
#define SURROGATE_LOW   0xDC00

/** The tokens that may come next. */
enum expected {
    A_VALUE,
    A_VALUE_OR_END,
    A_NAME,
    A_NAME_OR_END,
    A_COLON,
    A_COMMA_OR_END,
    NOTHING,
};

static const char *const expectations[] = {
    [A_VALUE] = "expected a value",
    [A_VALUE_OR_END] = "expected a value or ']'",
    [A_NAME] = "expected a name in quotes",
    [A_NAME_OR_END] = "expected a name in quotes or '}'",
    [A_COLON] = "expected ':'",
    [A_COMMA_OR_END] = "expected ',' or the end of the array or object",
    [NOTHING] = "expected nothing after the value",
};

/** A text under judgement. */
struct grammar {
    struct zd_span text;
    size_t at;
    size_t depth_max;
    bool nonfinite; /* is accepted */
    bool has_nonfinite;
    size_t depth;
    bool is_object[ZD_JSON_GRAMMAR_DEPTH_MAX]; /* each level: or an array */
    enum expected expected;
    struct zd_error *err;
};

static ZD_RESULT fail(const struct grammar *grammar, size_t at, const char *what)
{
    return zd_json_fail_at(grammar->err, grammar->text, at, ZD_INVALID, what);
}

static struct zd_span rest_of(const struct grammar *grammar, size_t at)
{
    return (struct zd_span){.ptr = grammar->text.ptr + at, .len = grammar->text.len - at};
}

static void after_value(struct grammar *grammar)
{
    grammar->expected = grammar->depth == 0 ? NOTHING : A_COMMA_OR_END;
}

/* RFC 8259, 7: the bytes between the quotes, but for what escapes say. */
static ZD_RESULT check_bytes(const struct grammar *grammar, struct zd_span token, size_t at)
{
    bool is_ascii = true;
    if (token.len < 2 || token.ptr[token.len - 1] != '"') {
        return fail(grammar, at, "the string is not closed");
    }
    for (size_t i = 1; i + 1 < token.len; i++) {
        if (token.ptr[i] < ' ') {
            return fail(grammar, at + i, "a control character must be escaped");
        }
        is_ascii = is_ascii && token.ptr[i] < 0x80;
    }
    return is_ascii || zd_scan_is_utf8(token) ? ZD_OK : fail(grammar, at, "invalid UTF-8");
}

static ZD_RESULT check_string(struct grammar *grammar, struct zd_span token, bool is_name)
{
    const size_t at = grammar->at;
    ZD_TRY(check_bytes(grammar, token, at));
    if (memchr(token.ptr, '\\', token.len) == NULL) {
        return ZD_OK;
    }
    if (!zd_json_string_is_well_formed(token)) {
        return fail(grammar, at, "the string has an invalid escape");
    }
    return is_name && zd_json_string_is_odd(token)
               ? fail(grammar, at,
                     "a name contains U+0000 or half of a surrogate pair, which is not accepted")
               : ZD_OK;
}

static bool is_digit(struct zd_span word, size_t at)
{
    return at < word.len && word.ptr[at] >= '0' && word.ptr[at] <= '9';
}

/* RFC 8259, 6: of what zd_json_word_is_number takes, no digit is missing and none too many. */
static bool is_number(struct zd_span word)
{
    const size_t at = word.len > 0 && word.ptr[0] == '-' ? 1 : 0;
    const uint8_t *point = memchr(word.ptr, '.', word.len);
    return zd_json_word_is_number(word) && is_digit(word, at) &&
           (word.ptr[at] != '0' || !is_digit(word, at + 1)) &&
           (point == NULL || is_digit(word, (size_t)(point - word.ptr) + 1)) &&
           is_digit(word, word.len - 1);
}

static ZD_RESULT read_word(struct grammar *grammar, struct zd_span word)
{
    const bool is_nonfinite = grammar->nonfinite && zd_json_word_is_nonfinite(word);
    if (!is_nonfinite && !zd_span_is(word, "true") && !zd_span_is(word, "false") &&
        !zd_span_is(word, "null") && !is_number(word)) {
        return fail(grammar, grammar->at, "expected a value, found an unknown word");
    }
    grammar->has_nonfinite = grammar->has_nonfinite || is_nonfinite;
    after_value(grammar);
    return ZD_OK;
}

static ZD_RESULT read_string(struct grammar *grammar, struct zd_span token)
{
    const bool is_name = grammar->expected == A_NAME || grammar->expected == A_NAME_OR_END;
    ZD_TRY(check_string(grammar, token, is_name));
    if (is_name) {
        grammar->expected = A_COLON;
    } else {
        after_value(grammar);
    }
    return ZD_OK;
}

static ZD_RESULT open_level(struct grammar *grammar, bool is_object)
{
    if (grammar->depth == grammar->depth_max) {
        ZD_TRY(zd_json_fail_at(
            grammar->err, grammar->text, grammar->at, ZD_TOO_LARGE, "too many levels of nesting"));
    }
    grammar->is_object[grammar->depth++] = is_object;
    grammar->expected = is_object ? A_NAME_OR_END : A_VALUE_OR_END;
    return ZD_OK;
}

/* Whether the byte ends the array or object that is open, and may do so here. */
static bool may_close(const struct grammar *grammar, uint8_t c)
{
    if (grammar->depth == 0) {
        return false;
    }
    const bool is_object = grammar->is_object[grammar->depth - 1];
    return c == (is_object ? '}' : ']') &&
           (grammar->expected == A_COMMA_OR_END ||
               grammar->expected == (is_object ? A_NAME_OR_END : A_VALUE_OR_END));
}

static bool wants_value(const struct grammar *grammar)
{
    return grammar->expected == A_VALUE || grammar->expected == A_VALUE_OR_END;
}

static bool wants_name(const struct grammar *grammar)
{
    return grammar->expected == A_NAME || grammar->expected == A_NAME_OR_END;
}

/* A token of one byte. */
static ZD_RESULT read_mark(struct grammar *grammar, uint8_t c)
{
    if (c == ',' && grammar->expected == A_COMMA_OR_END) {
        grammar->expected = grammar->is_object[grammar->depth - 1] ? A_NAME : A_VALUE;
        return ZD_OK;
    }
    if (c == ':' && grammar->expected == A_COLON) {
        grammar->expected = A_VALUE;
        return ZD_OK;
    }
    if (may_close(grammar, c)) {
        grammar->depth--;
        after_value(grammar);
        return ZD_OK;
    }
    if ((c == '{' || c == '[') && wants_value(grammar)) {
        return open_level(grammar, c == '{');
    }
    return fail(grammar, grammar->at, expectations[grammar->expected]);
}

static bool is_mark(uint8_t c)
{
    return c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']';
}

/* Read a token; grammar->at is its first byte, and is moved behind it. */
static ZD_RESULT read_token(struct grammar *grammar)
{
    const uint8_t c = grammar->text.ptr[grammar->at];
    size_t end = grammar->at + 1;
    if (is_mark(c)) {
        ZD_TRY(read_mark(grammar, c));
    } else {
        const enum zd_json_token type = zd_json_next_token(grammar->text, &grammar->at, &end);
        const struct zd_span token = {
            .ptr = grammar->text.ptr + grammar->at, .len = end - grammar->at};
        const bool is_string = type == ZD_JSON_TOKEN_STRING;
        if (!wants_value(grammar) && !(is_string && wants_name(grammar))) {
            return fail(grammar, grammar->at, expectations[grammar->expected]);
        }
        ZD_TRY(is_string ? read_string(grammar, token) : read_word(grammar, token));
    }
    grammar->at = end;
    return ZD_OK;
}

enum zd_status zd_json_grammar_check(struct zd_span text, const struct zd_json_limits *limits,
    bool *ret_nonfinite, struct zd_error *err)
{
    struct grammar grammar = {
        .text = text,
        .depth_max = (size_t)zd_min_u64(limits->depth_max, ZD_JSON_GRAMMAR_DEPTH_MAX),
        .nonfinite = limits->nonfinite,
        .err = err,
    };
    for (;;) {
        grammar.at += zd_json_space_len(rest_of(&grammar, grammar.at));
        if (grammar.at == text.len) {
            break;
        }
        ZD_TRY(read_token(&grammar));
    }
    if (grammar.expected != NOTHING) {
        return fail(&grammar, text.len, expectations[grammar.expected]);
    }
    *ret_nonfinite = grammar.has_nonfinite;
    return ZD_OK;
}

/* ---- members ---- */

bool zd_json_grammar_next(struct zd_span object, size_t *at, struct zd_json_extent *ret_member)
{
    size_t begin = *at;
    size_t end = 0;
    enum zd_json_token type = zd_json_next_token(object, &begin, &end);
    if (*at == 0 && type == ZD_JSON_TOKEN_OPEN) {
        begin = end;
        type = zd_json_next_token(object, &begin, &end);
    }
    if (type != ZD_JSON_TOKEN_STRING) {
        return false;
    }
    ret_member->name = (struct zd_span){.ptr = object.ptr + begin + 1, .len = end - begin - 2};
    begin = end;
    (void)zd_json_next_token(object, &begin, &end); /* the colon */
    begin = end;
    (void)zd_json_next_token(object, &begin, &end);
    *at = zd_json_value_end(object, begin);
    ret_member->value = (struct zd_span){.ptr = object.ptr + begin, .len = *at - begin};
    return true;
}

bool zd_json_grammar_is_object(struct zd_span value)
{
    const size_t at = zd_json_space_len(value);
    return at < value.len && value.ptr[at] == '{';
}

static bool is_named(struct zd_span written, const char *name)
{
    if (memchr(written.ptr, '\\', written.len) == NULL) {
        return zd_span_is(written, name);
    }
    ZD_SCOPED_TEXT(text, written.len);
    zd_json_grammar_unescape(written, &text);
    return text.status == ZD_OK && zd_span_is(zd_text_span(&text), name);
}

bool zd_json_grammar_says(struct zd_span value, const char *utf8)
{
    if (value.len < 2 || value.ptr[0] != '"') {
        return false;
    }
    return is_named((struct zd_span){.ptr = value.ptr + 1, .len = value.len - 2}, utf8);
}

bool zd_json_grammar_find(struct zd_span object, const char *name, struct zd_span *ret_value)
{
    struct zd_json_extent member;
    for (size_t at = 0;
        zd_json_grammar_is_object(object) && zd_json_grammar_next(object, &at, &member);) {
        if (is_named(member.name, name)) {
            *ret_value = member.value;
            return true;
        }
    }
    return false;
}

/* RFC 3629, 3 */
static void add_character(uint32_t c, struct zd_text *out)
{
    const uint32_t n_more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint32_t marks[] = {0, 0xC0, 0xE0, 0xF0};
    uint8_t bytes[4] = {(uint8_t)(marks[n_more] | c >> 6 * n_more)};
    for (uint32_t i = 1; i <= n_more; i++) {
        bytes[i] = (uint8_t)(0x80 | (c >> 6 * (n_more - i) & 0x3F));
    }
    zd_text_add_bytes(out, bytes, 1 + n_more);
}

/* The meaning of an escape of one letter. */
static char letter_of(char c)
{
    static const char letters[] = "bfnrt";
    static const char meanings[] = "\b\f\n\r\t";
    const char *found = strchr(letters, c);
    return (char)(found == NULL ? c : meanings[found - letters]);
}

/* Adds what the escape at the start says; how long that is. */
static size_t add_escape(struct zd_span rest, struct zd_text *out)
{
    uint32_t unit = 0;
    uint32_t low = 0;
    if (!zd_json_read_unit(rest, &unit)) {
        zd_text_add_char(out, letter_of((char)rest.ptr[1]));
        return 2;
    }
    const struct zd_span after = {.ptr = rest.ptr + 6, .len = rest.len - 6};
    if (unit < SURROGATE_FIRST || unit >= SURROGATE_LOW || !zd_json_read_unit(after, &low)) {
        add_character(unit, out);
        return 6;
    }
    add_character(0x10000 + ((unit - SURROGATE_FIRST) << 10) + (low - SURROGATE_LOW), out);
    return 12;
}

void zd_json_grammar_unescape(struct zd_span written, struct zd_text *out)
{
    for (size_t at = 0; at < written.len;) {
        const struct zd_span rest = {.ptr = written.ptr + at, .len = written.len - at};
        const uint8_t *escape = memchr(rest.ptr, '\\', rest.len);
        const size_t len = escape == NULL ? rest.len : (size_t)(escape - rest.ptr);
        zd_text_add_bytes(out, rest.ptr, len);
        at += len;
        if (escape != NULL) {
            const struct zd_span at_escape = {.ptr = escape, .len = rest.len - len};
            at += add_escape(at_escape, out);
        }
    }
}
