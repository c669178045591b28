/* JSON documents over jansson: a bounded, strict reader and an immutable tree.
 *
 * jansson knows neither integers beyond int64_t nor reals beyond double nor bare NaN, nor strings
 * with half of a surrogate pair. When it refuses a document for one of these, the document is read
 * again, with marks. */
#include "core/base/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_mark.h"
#include "core/base/json_token.h"
#include "core/base/scan.h"
#include "core/base/text.h"

/* jansson reports missing memory as a syntax error; this distinguishes the two. */
static _Thread_local bool memory_was_short;

static void *allocate(size_t len)
{
    void *memory = zd_alloc(len);
    if (memory == NULL) {
        memory_was_short = true;
    }
    return memory;
}

/* jansson's allocator is one setting of the process: set it before anyone can use it. */
__attribute__((constructor)) static void use_our_memory(void)
{
    json_set_alloc_funcs(allocate, zd_free);
}

static json_t *tree(const struct zd_json *json)
{
    return (json_t *)(uintptr_t)json;
}

static struct zd_json *ours(json_t *json)
{
    return (struct zd_json *)json;
}

/* The second reading. */

static enum zd_status refusal(
    struct zd_span text, const json_error_t *error, size_t position, struct zd_error *err)
{
    if (memory_was_short || json_error_code(error) == json_error_out_of_memory) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a JSON document of %zu bytes", text.len);
    }
    if (json_error_code(error) == json_error_stack_overflow) {
        return zd_json_fail_at(err, text, position, ZD_TOO_LARGE, error->text);
    }
    return zd_json_fail_at(err, text, position, ZD_INVALID, error->text);
}

/* jansson leaves out the byte of a token for which there is no memory, and goes on: what was read
 * while memory was short is no document. */
static json_t *load(struct zd_span text, size_t flags, json_error_t *error)
{
    memory_was_short = false;
    json_t *json = json_loadb(
        (const char *)text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, error);
    if (memory_was_short) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* jansson quotes the text near the fault, which is not what the user wrote once it has marks. */
static void forget_quotation(json_error_t *error)
{
    char *near = strstr(error->text, " near '");
    if (near != NULL) {
        *near = '\0';
    }
}

/* A text with marks; why it is none. */
static enum zd_status parse_marked(struct zd_json_marking *marking, struct zd_text *marked,
    json_t **ret_json, struct zd_error *err)
{
    json_error_t error;
    json_t *json = load(zd_text_span(marked), JSON_ALLOW_NUL, &error);
    if (json == NULL) {
        if (memory_was_short) {
            return refusal(marking->text, &error, 0, err);
        }
        forget_quotation(&error);
        zd_text_clear(marked);
        const size_t at = zd_json_mark_put(marking, (size_t)error.position, marked);
        return refusal(marking->text, &error, at, err);
    }
    *ret_json = json;
    return ZD_OK;
}

static enum zd_status parse_again(struct zd_span text, bool nonfinite, const json_error_t *first,
    json_t **ret_json, struct zd_error *err)
{
    ZD_SCOPED_TEXT(marked, zd_json_mark_len_max(text));
    struct zd_json_marking marking = {.text = text, .nonfinite = nonfinite};
    (void)zd_json_mark_put(&marking, SIZE_MAX, &marked);
    if (marked.status != ZD_OK || memory_was_short) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a JSON document of %zu bytes", text.len);
    }
    if (marking.has_odd_name) {
        return zd_json_fail_at(err, text, marking.odd_name, ZD_INVALID,
            "a name contains U+0000 or half of a surrogate pair, which is not accepted");
    }
    if (marking.n_marks == 0) {
        return refusal(text, first, (size_t)first->position, err);
    }
    return parse_marked(&marking, &marked, ret_json, err);
}

/* Whether marks may help: the others are beyond help, or memory was short. */
static bool may_be_marked(const json_error_t *error)
{
    const enum json_error_code code = json_error_code(error);
    return !memory_was_short &&
           (code == json_error_numeric_overflow || code == json_error_null_character ||
               code == json_error_null_byte_in_key || code == json_error_invalid_syntax);
}

enum zd_status zd_json_parse(struct zd_span text, const struct zd_json_limits *limits,
    struct zd_json **ret_json, struct zd_error *err)
{
    ZD_TRY(zd_json_check_limits(text, limits, err));
    if (text.len == 0) {
        return zd_json_fail_at(err, text, 0, ZD_INVALID, "the document is empty; expected a value");
    }
    json_error_t error;
    json_t *json = load(text, 0, &error);
    if (json == NULL) {
        if (!may_be_marked(&error)) {
            return refusal(text, &error, (size_t)error.position, err);
        }
        ZD_TRY(parse_again(text, limits->nonfinite, &error, &json, err));
    }
    *ret_json = ours(json);
    return ZD_OK;
}

/* Whether it has no count, as the words true, false and null. */
static bool is_eternal(const json_t *value)
{
    return __atomic_load_n(&value->refcount, __ATOMIC_RELAXED) == SIZE_MAX;
}

/* jansson reads a count without an atomic load, and frees without having seen what other threads
 * did with the value: threads share references through these two only. */
struct zd_json *zd_json_ref(const struct zd_json *json)
{
    json_t *value = tree(json);
    if (value != NULL && !is_eternal(value)) {
        (void)__atomic_fetch_add(&value->refcount, 1, __ATOMIC_RELAXED);
    }
    return ours(value);
}

void zd_json_unref(struct zd_json *json)
{
    json_t *value = tree(json);
    if (value != NULL && !is_eternal(value) &&
        __atomic_sub_fetch(&value->refcount, 1, __ATOMIC_ACQ_REL) == 0) {
        json_delete(value);
    }
}

/* Reading. */

/* The letter of a marked string, or '\0' for everything else. */
static char mark_letter(const struct zd_json *json)
{
    const json_t *value = tree(json);
    if (!json_is_string(value) || json_string_length(value) < ZD_JSON_MARK_BYTES) {
        return '\0';
    }
    const char *text = json_string_value(value);
    return (char)(text[0] == '\0' ? text[1] : '\0');
}

static const char *marked_text(const struct zd_json *json)
{
    return json_string_value(tree(json)) + ZD_JSON_MARK_BYTES;
}

static enum zd_json_type string_type(const struct zd_json *json)
{
    switch (mark_letter(json)) {
    case ZD_JSON_MARK_UINT64:
        return ZD_JSON_INTEGER;
    case ZD_JSON_MARK_BIG:
    case ZD_JSON_MARK_REAL:
        return ZD_JSON_REAL;
    case ZD_JSON_MARK_NONFINITE:
        return ZD_JSON_NONFINITE;
    case ZD_JSON_MARK_STRING:
        return ZD_JSON_ODD_STRING;
    default:
        return ZD_JSON_STRING;
    }
}

enum zd_json_type zd_json_type(const struct zd_json *json)
{
    switch (json_typeof(tree(json))) {
    case JSON_OBJECT:
        return ZD_JSON_OBJECT;
    case JSON_ARRAY:
        return ZD_JSON_ARRAY;
    case JSON_STRING:
        return string_type(json);
    case JSON_INTEGER:
        return ZD_JSON_INTEGER;
    case JSON_REAL:
        return ZD_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return ZD_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return ZD_JSON_NULL;
}

bool zd_json_is(const struct zd_json *json, enum zd_json_type type)
{
    return json != NULL && zd_json_type(json) == type;
}

bool zd_json_is_true(const struct zd_json *json)
{
    return json_is_true(tree(json));
}

bool zd_json_is_false(const struct zd_json *json)
{
    return json_is_false(tree(json));
}

const char *zd_json_type_name(const struct zd_json *json)
{
    if (json == NULL) {
        return "nothing";
    }
    switch (zd_json_type(json)) {
    case ZD_JSON_NULL:
        return "null";
    case ZD_JSON_BOOL:
        return "a boolean";
    case ZD_JSON_INTEGER:
        return "an integer";
    case ZD_JSON_REAL:
        return "a real number";
    case ZD_JSON_STRING:
        return "a string";
    case ZD_JSON_ODD_STRING:
        return "a string with U+0000 or half of a surrogate pair";
    case ZD_JSON_ARRAY:
        return "an array";
    case ZD_JSON_OBJECT:
        return "an object";
    case ZD_JSON_NONFINITE:
        return "a bare NaN or Infinity";
    }
    return "nothing";
}

const struct zd_json *zd_json_member(const struct zd_json *object, const char *name)
{
    return ours(json_object_get(tree(object), name));
}

const struct zd_json *zd_json_element(const struct zd_json *array, size_t index)
{
    return ours(json_array_get(tree(array), index));
}

size_t zd_json_count(const struct zd_json *container)
{
    const json_t *value = tree(container);
    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

void *zd_json_next(const struct zd_json *object, void *iter)
{
    return iter == NULL ? json_object_iter(tree(object))
                        : json_object_iter_next(tree(object), iter);
}

const char *zd_json_iter_name(const void *iter)
{
    return json_object_iter_key((void *)(uintptr_t)iter);
}

const struct zd_json *zd_json_iter_value(void *iter)
{
    return ours(json_object_iter_value(iter));
}

const char *zd_json_string(const struct zd_json *json)
{
    return zd_json_is(json, ZD_JSON_STRING) ? json_string_value(tree(json)) : NULL;
}

struct zd_span zd_json_string_span(const struct zd_json *json)
{
    if (!zd_json_is(json, ZD_JSON_STRING)) {
        return (struct zd_span){0};
    }
    return (struct zd_span){.ptr = (const uint8_t *)json_string_value(tree(json)),
        .len = json_string_length(tree(json))};
}

bool zd_json_u64(const struct zd_json *json, uint64_t *ret_value)
{
    if (mark_letter(json) == ZD_JSON_MARK_UINT64) {
        return zd_scan_whole_u64(zd_span_of(marked_text(json)), UINT64_MAX, ret_value) == ZD_OK;
    }
    if (!json_is_integer(tree(json)) || json_integer_value(tree(json)) < 0) {
        return false;
    }
    *ret_value = (uint64_t)json_integer_value(tree(json));
    return true;
}

bool zd_json_i64(const struct zd_json *json, int64_t *ret_value)
{
    if (!json_is_integer(tree(json))) {
        return false;
    }
    *ret_value = json_integer_value(tree(json));
    return true;
}

static double marked_value(const struct zd_json *json, char letter)
{
    const char *text = marked_text(json);
    if (letter == ZD_JSON_MARK_UINT64 || letter == ZD_JSON_MARK_BIG) {
        return strtod(text, NULL); /* digits only: the locale's decimal point cannot matter */
    }
    if (letter == ZD_JSON_MARK_NONFINITE && text[0] == 'N') {
        return (double)NAN;
    }
    return text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
}

bool zd_json_f64(const struct zd_json *json, double *ret_value)
{
    const char letter = mark_letter(json);
    if (letter != '\0' && letter != ZD_JSON_MARK_STRING) {
        *ret_value = marked_value(json, letter);
        return true;
    }
    if (!json_is_number(tree(json))) {
        return false;
    }
    *ret_value = json_number_value(tree(json));
    return true;
}

const char *zd_json_digits(const struct zd_json *json)
{
    const char letter = mark_letter(json);
    return letter == ZD_JSON_MARK_BIG || letter == ZD_JSON_MARK_REAL ? marked_text(json) : NULL;
}

const char *zd_json_odd_string(const struct zd_json *json)
{
    return mark_letter(json) == ZD_JSON_MARK_STRING ? marked_text(json) : NULL;
}

const char *zd_json_nonfinite(const struct zd_json *json)
{
    return mark_letter(json) == ZD_JSON_MARK_NONFINITE ? marked_text(json) : NULL;
}

/* A long double has 64 bits of mantissa at least, so every integer here is exact in it. */
static long double number_of(const struct zd_json *json)
{
    uint64_t positive;
    int64_t negative;
    double real = 0;
    if (zd_json_u64(json, &positive)) {
        return (long double)positive;
    }
    if (zd_json_i64(json, &negative)) {
        return (long double)negative;
    }
    (void)zd_json_f64(json, &real);
    return (long double)real;
}

static bool is_number(const struct zd_json *json)
{
    return zd_json_is(json, ZD_JSON_INTEGER) || zd_json_is(json, ZD_JSON_REAL);
}

static bool arrays_equal(const struct zd_json *a, const struct zd_json *b)
{
    const size_t n = zd_json_count(a);
    for (size_t i = 0; i < n; i++) {
        if (!zd_json_equal(zd_json_element(a, i), zd_json_element(b, i))) {
            return false;
        }
    }
    return n == zd_json_count(b);
}

static bool objects_equal(const struct zd_json *a, const struct zd_json *b)
{
    for (void *i = zd_json_next(a, NULL); i != NULL; i = zd_json_next(a, i)) {
        if (!zd_json_equal(zd_json_iter_value(i), zd_json_member(b, zd_json_iter_name(i)))) {
            return false;
        }
    }
    return zd_json_count(a) == zd_json_count(b);
}

/* Goes down as deep as the parser's limit lets a tree be. */
bool zd_json_equal(const struct zd_json *a, const struct zd_json *b)
{
    if (a == b || a == NULL || b == NULL) {
        return a == b;
    }
    if (is_number(a) && is_number(b)) {
        return number_of(a) == number_of(b);
    }
    if (zd_json_type(a) != zd_json_type(b)) {
        return false;
    }
    switch (zd_json_type(a)) {
    case ZD_JSON_ARRAY:
        return arrays_equal(a, b);
    case ZD_JSON_OBJECT:
        return objects_equal(a, b);
    case ZD_JSON_NULL:
    case ZD_JSON_BOOL:
    case ZD_JSON_INTEGER:
    case ZD_JSON_REAL:
    case ZD_JSON_STRING:
    case ZD_JSON_ODD_STRING:
    case ZD_JSON_NONFINITE:
        break;
    }
    return json_equal(tree(a), tree(b)) == 1;
}

/* Making. */

struct zd_json *zd_json_new_object(void)
{
    return ours(json_object());
}

struct zd_json *zd_json_new_array(void)
{
    return ours(json_array());
}

struct zd_json *zd_json_new_text(const char *utf8)
{
    return ours(json_string(utf8));
}

struct zd_json *zd_json_new_u64(uint64_t value)
{
    if (value <= INT64_MAX) {
        return ours(json_integer((json_int_t)value));
    }
    char text[ZD_JSON_MARK_BYTES + 21] = {'\0', ZD_JSON_MARK_UINT64};
    const int len =
        snprintf(text + ZD_JSON_MARK_BYTES, sizeof text - ZD_JSON_MARK_BYTES, "%" PRIu64, value);
    return ours(json_stringn(text, ZD_JSON_MARK_BYTES + (size_t)len));
}

struct zd_json *zd_json_new_i64(int64_t value)
{
    return ours(json_integer(value));
}

struct zd_json *zd_json_new_f64(double value)
{
    return ours(json_real(value));
}

struct zd_json *zd_json_new_bool(bool value)
{
    return ours(json_boolean(value));
}

struct zd_json *zd_json_new_null(void)
{
    return ours(json_null());
}

enum zd_status zd_json_set(struct zd_json *object, const char *name, struct zd_json *value)
{
    return json_object_set_new(tree(object), name, tree(value)) == 0 ? ZD_OK : ZD_NO_MEMORY;
}

enum zd_status zd_json_wrap(const char *name, struct zd_json *value, struct zd_json **ret_json)
{
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        zd_json_unref(value);
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, name, value));
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

enum zd_status zd_json_append(struct zd_json *array, struct zd_json *value)
{
    return json_array_append_new(tree(array), tree(value)) == 0 ? ZD_OK : ZD_NO_MEMORY;
}

enum zd_status zd_json_remove(struct zd_json *object, const char *name)
{
    return json_object_del(tree(object), name) == 0 ? ZD_OK : ZD_NOT_FOUND;
}

/* jansson leaves out the member for which there is no memory, and goes on. */
struct zd_json *zd_json_copy(const struct zd_json *json)
{
    memory_was_short = false;
    ZD_AUTO(zd_json) copy = ours(json_copy(tree(json)));
    return memory_was_short ? NULL : ZD_TAKE(copy);
}
