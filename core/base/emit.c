/* Writing JSON piece by piece into a text, with numbers that read back as the same value. */
#include "core/base/emit.h"

#include <assert.h>
#include <math.h>

#include "core/base/scan.h"

/* Structure. */

void zd_emit_init(struct zd_emit *emit, struct zd_text *text, bool pretty)
{
    *emit = (struct zd_emit){.text = text, .pretty = pretty};
}

static void new_line(struct zd_emit *emit)
{
    if (emit->pretty) {
        zd_text_add_char(emit->text, '\n');
        for (uint32_t i = 0; i < emit->depth; i++) {
            zd_text_add(emit->text, "  ");
        }
    }
}

/* Write the separator between the last item and the next one. */
static void begin_item(struct zd_emit *emit)
{
    if (emit->after_key) {
        emit->after_key = false;
        return;
    }
    if (emit->depth == 0 || emit->depth >= ZD_EMIT_DEPTH_MAX) {
        return;
    }
    if (emit->has_item[emit->depth]) {
        zd_text_add_char(emit->text, ',');
    }
    emit->has_item[emit->depth] = true;
    new_line(emit);
}

static void open_level(struct zd_emit *emit, char bracket)
{
    begin_item(emit);
    zd_text_add_char(emit->text, bracket);
    emit->depth++;
    if (emit->depth >= ZD_EMIT_DEPTH_MAX) {
        emit->text->status = emit->text->status == ZD_OK ? ZD_TOO_LARGE : emit->text->status;
        return;
    }
    emit->has_item[emit->depth] = false;
}

static void close_level(struct zd_emit *emit, char bracket)
{
    assert(emit->depth > 0 && !emit->after_key);
    const bool had_item = emit->depth < ZD_EMIT_DEPTH_MAX && emit->has_item[emit->depth];
    emit->depth--;
    if (had_item) {
        new_line(emit);
    }
    zd_text_add_char(emit->text, bracket);
}

void zd_emit_object(struct zd_emit *emit)
{
    open_level(emit, '{');
}

void zd_emit_object_end(struct zd_emit *emit)
{
    close_level(emit, '}');
}

void zd_emit_array(struct zd_emit *emit)
{
    open_level(emit, '[');
}

void zd_emit_array_end(struct zd_emit *emit)
{
    close_level(emit, ']');
}

/* Strings. */

static void add_escape(struct zd_text *text, uint8_t c)
{
    static const char short_form[] = "btn\0fr"; /* U+0008 .. U+000D */
    if (c == '"' || c == '\\') {
        zd_text_add_char(text, '\\');
        zd_text_add_char(text, (char)c);
    } else if (c >= '\b' && c <= '\r' && c != '\v') {
        zd_text_add_char(text, '\\');
        zd_text_add_char(text, short_form[c - '\b']);
    } else {
        zd_text_addf(text, "\\u%04x", c);
    }
}

static bool needs_escape(uint8_t c)
{
    return c < 0x20 || c == '"' || c == '\\'; /* RFC 8259, 7 */
}

static void add_escaped(struct zd_text *text, struct zd_span utf8)
{
    size_t done = 0;
    for (size_t i = 0; i < utf8.len; i++) {
        if (needs_escape(utf8.ptr[i])) {
            zd_text_add_bytes(text, utf8.ptr + done, i - done);
            add_escape(text, utf8.ptr[i]);
            done = i + 1;
        }
    }
    if (done < utf8.len) {
        zd_text_add_bytes(text, utf8.ptr + done, utf8.len - done);
    }
}

/* How many bytes the character at the start has; 0 when it is malformed. */
static size_t character_len(struct zd_span text)
{
    for (size_t len = 1; len <= 4 && len <= text.len; len++) {
        if (zd_scan_is_utf8((struct zd_span){.ptr = text.ptr, .len = len})) {
            return len;
        }
    }
    return 0;
}

/* Messages quote what strangers sent, and may be cut: a JSON text must be UTF-8 all the same. */
static void add_repaired(struct zd_text *text, struct zd_span bytes)
{
    for (size_t i = 0; i < bytes.len;) {
        const struct zd_span rest = {.ptr = bytes.ptr + i, .len = bytes.len - i};
        const size_t len = character_len(rest);
        if (len == 0) {
            zd_text_add(text, "\xEF\xBF\xBD"); /* U+FFFD */
            i++;
        } else {
            add_escaped(text, (struct zd_span){.ptr = rest.ptr, .len = len});
            i += len;
        }
    }
}

static void add_quoted(struct zd_text *text, struct zd_span utf8)
{
    zd_text_add_char(text, '"');
    if (zd_scan_is_utf8(utf8)) {
        add_escaped(text, utf8);
    } else {
        add_repaired(text, utf8);
    }
    zd_text_add_char(text, '"');
}

void zd_emit_key(struct zd_emit *emit, const char *name)
{
    begin_item(emit);
    add_quoted(emit->text, zd_span_of(name));
    zd_text_add(emit->text, emit->pretty ? ": " : ":");
    emit->after_key = true;
}

void zd_emit_string(struct zd_emit *emit, const char *utf8)
{
    if (utf8 == NULL) {
        zd_emit_null(emit);
    } else {
        zd_emit_string_span(emit, zd_span_of(utf8));
    }
}

void zd_emit_string_span(struct zd_emit *emit, struct zd_span utf8)
{
    begin_item(emit);
    add_quoted(emit->text, utf8);
}

void zd_emit_text(struct zd_emit *emit, const struct zd_text *utf8)
{
    if (utf8->status != ZD_OK && emit->text->status == ZD_OK) {
        emit->text->status = utf8->status;
    }
    zd_emit_string_span(emit, zd_text_span(utf8));
}

/* Scalars. */

static void emit_word(struct zd_emit *emit, const char *word)
{
    begin_item(emit);
    zd_text_add(emit->text, word);
}

void zd_emit_u64(struct zd_emit *emit, uint64_t value)
{
    begin_item(emit);
    zd_text_add_u64(emit->text, value);
}

void zd_emit_i64(struct zd_emit *emit, int64_t value)
{
    begin_item(emit);
    if (value < 0) {
        zd_text_add_char(emit->text, '-');
    }
    zd_text_add_u64(emit->text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void zd_emit_f64(struct zd_emit *emit, double value)
{
    if (isnan(value)) {
        zd_emit_string(emit, "NaN");
    } else if (isinf(value)) {
        zd_emit_string(emit, value > 0 ? "Infinity" : "-Infinity");
    } else {
        begin_item(emit);
        zd_decimal_add(emit->text, value, 64);
    }
}

void zd_emit_bool(struct zd_emit *emit, bool value)
{
    emit_word(emit, value ? "true" : "false");
}

void zd_emit_null(struct zd_emit *emit)
{
    emit_word(emit, "null");
}

void zd_emit_raw(struct zd_emit *emit, struct zd_span json_text)
{
    begin_item(emit);
    zd_text_add_bytes(emit->text, json_text.ptr, json_text.len);
}

/* Trees. */

static void emit_integer(struct zd_emit *emit, const struct zd_json *json)
{
    uint64_t positive;
    int64_t negative;
    if (zd_json_u64(json, &positive)) {
        zd_emit_u64(emit, positive);
    } else if (zd_json_i64(json, &negative)) {
        zd_emit_i64(emit, negative);
    }
}

static void emit_real(struct zd_emit *emit, const struct zd_json *json)
{
    double value = 0;
    if (zd_json_digits(json) != NULL) {
        emit_word(emit, zd_json_digits(json));
    } else if (zd_json_f64(json, &value)) {
        zd_emit_f64(emit, value);
    }
}

/* Its escapes are those of the document: nothing else can say it. */
static void emit_odd_string(struct zd_emit *emit, const struct zd_json *json)
{
    begin_item(emit);
    zd_text_add_char(emit->text, '"');
    zd_text_add(emit->text, zd_json_odd_string(json));
    zd_text_add_char(emit->text, '"');
}

static void emit_members(struct zd_emit *emit, const struct zd_json *object)
{
    zd_emit_object(emit);
    for (void *i = zd_json_next(object, NULL); i != NULL; i = zd_json_next(object, i)) {
        zd_emit_member_json(emit, zd_json_iter_name(i), zd_json_iter_value(i));
    }
    zd_emit_object_end(emit);
}

static void emit_elements(struct zd_emit *emit, const struct zd_json *array)
{
    zd_emit_array(emit);
    const size_t n = zd_json_count(array);
    for (size_t i = 0; i < n; i++) {
        zd_emit_json(emit, zd_json_element(array, i));
    }
    zd_emit_array_end(emit);
}

/* Goes down as deep as ZD_EMIT_DEPTH_MAX: past it the text has failed, and nothing is added. */
void zd_emit_json(struct zd_emit *emit, const struct zd_json *json)
{
    double real = 0;
    if (json == NULL) {
        zd_emit_null(emit);
        return;
    }
    if (emit->text->status != ZD_OK) {
        emit->after_key = false; /* the value counts as written, so that levels can be closed */
        return;
    }
    switch (zd_json_type(json)) {
    case ZD_JSON_NULL:
        zd_emit_null(emit);
        break;
    case ZD_JSON_BOOL:
        zd_emit_bool(emit, zd_json_is_true(json));
        break;
    case ZD_JSON_INTEGER:
        emit_integer(emit, json);
        break;
    case ZD_JSON_REAL:
        emit_real(emit, json);
        break;
    case ZD_JSON_NONFINITE:
        (void)zd_json_f64(json, &real);
        zd_emit_f64(emit, real);
        break;
    case ZD_JSON_STRING:
        zd_emit_string_span(emit, zd_json_string_span(json));
        break;
    case ZD_JSON_ODD_STRING:
        emit_odd_string(emit, json);
        break;
    case ZD_JSON_ARRAY:
        emit_elements(emit, json);
        break;
    case ZD_JSON_OBJECT:
        emit_members(emit, json);
        break;
    }
}

void zd_emit_member_object(struct zd_emit *emit, const char *name)
{
    zd_emit_key(emit, name);
    zd_emit_object(emit);
}

void zd_emit_member_array(struct zd_emit *emit, const char *name)
{
    zd_emit_key(emit, name);
    zd_emit_array(emit);
}

void zd_emit_member_string(struct zd_emit *emit, const char *name, const char *utf8)
{
    zd_emit_key(emit, name);
    zd_emit_string(emit, utf8);
}

void zd_emit_member_text(struct zd_emit *emit, const char *name, const struct zd_text *utf8)
{
    zd_emit_key(emit, name);
    zd_emit_text(emit, utf8);
}

void zd_emit_member_u64(struct zd_emit *emit, const char *name, uint64_t value)
{
    zd_emit_key(emit, name);
    zd_emit_u64(emit, value);
}

void zd_emit_member_bool(struct zd_emit *emit, const char *name, bool value)
{
    zd_emit_key(emit, name);
    zd_emit_bool(emit, value);
}

void zd_emit_member_json(struct zd_emit *emit, const char *name, const struct zd_json *json)
{
    zd_emit_key(emit, name);
    zd_emit_json(emit, json);
}
