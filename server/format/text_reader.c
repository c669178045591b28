/* Parse elements of a JSON body that arrives in pieces.
 *
 *   TOP --+--> ITEM <--> AFTER --> DONE          nested lists
 *         |      | ELEMENT |
 *         +--> NAME --> COLON --> MEMBER --> AFTER_MEMBER --> DONE       "data" leads to ITEM
 *
 * A state takes one byte, or refuses it to the state that it has set (an element that is a number
 * ends with what follows it). */
#include "server/format/text_reader.h"

#include <string.h>

#include "core/base/emit.h"
#include "core/base/num.h"
#include "core/grid/variable.h"
#include "server/format/text_element.h"

#define MEMBER_BYTES_MAX   (64U << 10) /* of a member that is not the data */
#define NUMBER_BYTES_MAX   1024        /* NumPy, Python and JavaScript write shorter ones */
#define BYTE_TEXT_MAX      8           /* of one byte of an element: "255, " and more */
#define POINTER_BYTES      ZD_FACT_TEXT_BYTES
#define EXPECTED_BYTES_MAX 4096 /* of a shape, or names */
#define FOUND_BYTES_MAX    200

enum place {
    TOP,
    ITEM,  /* a list, or at the innermost depth an element */
    FIRST, /* the same, or the end of an empty list */
    ELEMENT,
    AFTER, /* an item */
    NAME,
    IN_NAME,
    COLON,
    MEMBER,
    IN_MEMBER,
    AFTER_MEMBER,
    DONE,
};

void zd_text_reader_init(struct zd_text_reader *reader, const struct zd_dtype *dtype, uint32_t rank,
    const uint64_t *shape)
{
    *reader = (struct zd_text_reader){.dtype = dtype, .rank = rank};
    memcpy(reader->shape, shape, rank * sizeof *shape);
    const size_t fields_bytes = dtype->fields == NULL ? 0 : zd_scalar_text_max(dtype);
    const size_t element_bytes_max =
        NUMBER_BYTES_MAX + fields_bytes + (size_t)dtype->bytes * BYTE_TEXT_MAX;
    zd_text_init(&reader->token, zd_max_u64(element_bytes_max, MEMBER_BYTES_MAX));
    zd_text_init(&reader->bytes, 0);
}

void zd_text_reader_allow(struct zd_text_reader *reader, size_t bytes_max)
{
    reader->token.len_max = zd_max_u64(reader->token.len_max, bytes_max);
    reader->bytes.len_max = bytes_max;
}

void zd_text_reader_done(struct zd_text_reader *reader)
{
    zd_text_done(&reader->token);
    zd_text_done(&reader->bytes);
}

/* ---- faults ---- */

static bool is_in_data(const struct zd_text_reader *reader)
{
    return reader->place >= ITEM && reader->place <= AFTER;
}

/* Where the reader is, as a pointer into the document. */
static void add_place(const struct zd_text_reader *reader, struct zd_error *err)
{
    ZD_SCOPED_TEXT(pointer, POINTER_BYTES);
    if (is_in_data(reader)) {
        zd_text_add(&pointer, reader->in_object ? "/data" : "");
        for (uint32_t d = 0; d < reader->depth; d++) {
            zd_text_addf(&pointer, "/%llu", (unsigned long long)reader->n_items[d]);
        }
    }
    zd_fact_pointer(err, pointer.at);
    zd_fact_position(err, reader->position);
}

static enum zd_status bad(
    const struct zd_text_reader *reader, const char *expected, uint8_t found, struct zd_error *err)
{
    const bool is_plain = found > ' ' && found < 0x7f;
    const enum zd_status failed = zd_fail(err, ZD_INVALID, "the body at byte %llu: expected %s",
        (unsigned long long)reader->position, expected);
    add_place(reader, err);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, is_plain ? "%c" : "byte %u", found);
    return failed;
}

static enum zd_status bad_length(
    const struct zd_text_reader *reader, uint32_t dim, bool is_longer, struct zd_error *err)
{
    const unsigned long long expected = reader->shape[dim];
    const unsigned long long found = reader->n_items[dim];
    const enum zd_status failed = zd_fail(err, ZD_INVALID,
        "a list of dimension %u in the body has %s%llu items, expected %llu", dim,
        is_longer ? "more than " : "", found, expected);
    add_place(reader, err);
    zd_fact_dim(err, dim);
    zd_fact_expected(err, "%llu items", expected);
    zd_fact_found(err, "%s%llu items", is_longer ? "more than " : "", found);
    return failed;
}

/* ---- tokens: a value or a name, whatever its pieces ---- */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Adds a byte. ret_is_over: the token has ended, with this byte or (ret_is_taken false) before. */
static enum zd_status add_to_token(struct zd_text_reader *reader, uint8_t c, bool *ret_is_over,
    bool *ret_is_taken, struct zd_error *err)
{
    *ret_is_over = false;
    *ret_is_taken = true;
    if (reader->in_string) {
        const bool ends = c == '"' && !reader->is_escaped;
        reader->is_escaped = c == '\\' && !reader->is_escaped;
        reader->in_string = !ends;
        *ret_is_over = ends && reader->n_brackets == 0;
    } else if (c == '"') {
        reader->in_string = true;
    } else if (c == '[' || c == '{') {
        reader->n_brackets++;
    } else if (reader->n_brackets > 0) {
        reader->n_brackets -= c == ']' || c == '}';
        *ret_is_over = reader->n_brackets == 0;
    } else if (c == ',' || c == ']' || c == '}' || is_space(c)) {
        *ret_is_over = true;
        *ret_is_taken = false;
        return ZD_OK;
    }
    const enum zd_status status = zd_text_add_char(&reader->token, (char)c);
    if (status == ZD_TOO_LARGE) {
        return bad(reader, "a shorter value", c, err);
    }
    return status == ZD_OK ? ZD_OK : zd_fail(err, status, "no memory for a value of the body");
}

static void begin_token(struct zd_text_reader *reader, enum place place)
{
    zd_text_clear(&reader->token);
    reader->n_brackets = 0;
    reader->in_string = false;
    reader->is_escaped = false;
    reader->place = (uint8_t)place;
}

/* ---- elements ---- */

/* Parse an element of variable length: `to` gets its length, the reader its bytes. */
static enum zd_status parse_variable(struct zd_text_reader *reader, struct zd_error *err)
{
    size_t len = 0;
    ZD_TRY(zd_text_element_parse_variable(
        reader->dtype, zd_text_span(&reader->token), &reader->bytes, &len, err));
    zd_variable_put(reader->to, 0, (struct zd_span){.len = len});
    return ZD_OK;
}

/* ---- lists ---- */

static void item_is_over(struct zd_text_reader *reader)
{
    if (reader->depth > 0) {
        reader->n_items[reader->depth - 1]++;
        reader->place = AFTER;
    } else {
        reader->has_data = true;
        reader->place = reader->in_object ? AFTER_MEMBER : DONE;
    }
}

static enum zd_status put_element(struct zd_text_reader *reader, struct zd_error *err)
{
    const enum zd_status status =
        zd_dtype_is_variable(reader->dtype)
            ? parse_variable(reader, err)
            : zd_text_element_parse(reader->dtype, zd_text_span(&reader->token), reader->to, err);
    if (status != ZD_OK) {
        add_place(reader, err);
        return status;
    }
    reader->to += reader->dtype->bytes;
    reader->n_room--;
    item_is_over(reader);
    return ZD_OK;
}

static enum zd_status close_list(struct zd_text_reader *reader, struct zd_error *err)
{
    const uint32_t dim = reader->depth - 1;
    if (reader->n_items[dim] != reader->shape[dim]) {
        return bad_length(reader, dim, false, err);
    }
    reader->depth--;
    item_is_over(reader);
    return ZD_OK;
}

/* The first byte of an item. ret_is_taken false: the element's state takes it, or there is no room.
 */
static enum zd_status begin_item(
    struct zd_text_reader *reader, uint8_t c, bool *ret_is_taken, struct zd_error *err)
{
    const uint32_t depth = reader->depth;
    if (depth > 0 && reader->n_items[depth - 1] == reader->shape[depth - 1]) {
        return bad_length(reader, depth - 1, true, err);
    }
    if (depth == reader->rank) {
        *ret_is_taken = false;
        if (reader->n_room > 0) {
            begin_token(reader, ELEMENT);
        }
        return ZD_OK;
    }
    if (c != '[') {
        return bad(reader, "a list", c, err);
    }
    reader->n_items[depth] = 0;
    reader->depth++;
    reader->place = FIRST;
    return ZD_OK;
}

static enum zd_status after_item(struct zd_text_reader *reader, uint8_t c, struct zd_error *err)
{
    if (c == ']') {
        return close_list(reader, err);
    }
    if (c != ',') {
        return bad(reader, "a comma or the end of the list", c, err);
    }
    reader->place = ITEM;
    return ZD_OK;
}

/* ---- the object that a slice is answered with ---- */

static bool name_is(const struct zd_text_reader *reader, const char *name)
{
    const size_t len = strlen(name);
    return reader->token.len == len + 2 && memcmp(reader->token.at + 1, name, len) == 0;
}

/* A member contradicts the data. */
static enum zd_status contradicts(const struct zd_text_reader *reader, const char *member,
    const char *expected, const struct zd_json *said, struct zd_error *err)
{
    ZD_SCOPED_TEXT(found, FOUND_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &found, false);
    zd_emit_json(&emit, said);
    const char *what = found.status == ZD_OK ? found.at : zd_json_type_name(said);
    const enum zd_status failed = zd_fail(err, ZD_INVALID,
        "the body states %s %s, but its data must have %s", member, what, expected);
    zd_fact_pointer(err, member);
    zd_fact_position(err, reader->position);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%s", what);
    return failed;
}

static enum zd_status judge_shape(
    const struct zd_text_reader *reader, const struct zd_json *said, struct zd_error *err)
{
    bool is_same = zd_json_is(said, ZD_JSON_ARRAY) && zd_json_count(said) == (size_t)reader->rank;
    for (uint32_t d = 0; d < reader->rank && is_same; d++) {
        uint64_t length;
        is_same = zd_json_u64(zd_json_element(said, d), &length) && length == reader->shape[d];
    }
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    zd_text_add_char(&expected, '[');
    zd_format_add_lengths(&expected, reader->shape, reader->rank);
    zd_text_add_char(&expected, ']');
    return is_same ? ZD_OK : contradicts(reader, "/shape", expected.at, said, err);
}

static enum zd_status judge_data_type(
    const struct zd_text_reader *reader, const struct zd_json *said, struct zd_error *err)
{
    const bool is_same = zd_json_is(said, ZD_JSON_STRING) &&
                         zd_span_is(zd_json_string_span(said), reader->dtype->name);
    return is_same ? ZD_OK : contradicts(reader, "/data_type", reader->dtype->name, said, err);
}

/* The array's name of a dimension; NULL when it has none, or none was given. */
static const char *dimension_of(const struct zd_text_reader *reader, uint32_t d)
{
    return reader->answer == NULL ? NULL : zd_format_answer_dimension(reader->answer, d);
}

/* A name that the array does not have may be said of a dimension without one, and null of any. */
static enum zd_status judge_dimensions(
    const struct zd_text_reader *reader, const struct zd_json *said, struct zd_error *err)
{
    bool is_same = zd_json_is(said, ZD_JSON_ARRAY) && zd_json_count(said) == (size_t)reader->rank;
    ZD_SCOPED_TEXT(expected, EXPECTED_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &expected, false);
    zd_emit_array(&emit);
    for (uint32_t d = 0; d < reader->rank; d++) {
        const char *name = dimension_of(reader, d);
        const struct zd_json *one = zd_json_element(said, d);
        const bool is_string = zd_json_is(one, ZD_JSON_STRING);
        const bool is_other = is_string && name != NULL && strcmp(zd_json_string(one), name) != 0;
        is_same = is_same && !is_other && (is_string || zd_json_is(one, ZD_JSON_NULL));
        if (name == NULL) {
            zd_emit_null(&emit);
        } else {
            zd_emit_string(&emit, name);
        }
    }
    zd_emit_array_end(&emit);
    const char *right = expected.status == ZD_OK ? expected.at : "the names of the array";
    return is_same ? ZD_OK : contradicts(reader, "/dimensions", right, said, err);
}

/* The members besides data, which must not say anything else than it must be. */
static const struct member {
    const char *name;
    enum zd_status (*judge)(
        const struct zd_text_reader *reader, const struct zd_json *said, struct zd_error *err);
} members[] = {
    {"shape", judge_shape}, {"data_type", judge_data_type}, {"dimensions", judge_dimensions},
    {"selection", NULL}, /* what was read may be written elsewhere */
};

static enum zd_status end_name(struct zd_text_reader *reader, struct zd_error *err)
{
    if (name_is(reader, "data") && !reader->has_data) {
        reader->in_object = true;
        reader->place = COLON;
        return ZD_OK;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        if (name_is(reader, members[i].name)) {
            reader->member = (uint8_t)i;
            reader->place = COLON;
            return ZD_OK;
        }
    }
    const enum zd_status failed = zd_fail_expected(err, ZD_INVALID,
        "shape, data_type, dimensions, selection or data", reader->token.at,
        "the body has a member %.64s: expected shape, data_type, dimensions, selection and data "
        "once",
        reader->token.at);
    zd_fact_position(err, reader->position);
    return failed;
}

static enum zd_status after_colon(struct zd_text_reader *reader, uint8_t c, struct zd_error *err)
{
    if (c != ':') {
        return bad(reader, "a colon", c, err);
    }
    reader->place = name_is(reader, "data") ? ITEM : MEMBER;
    return ZD_OK;
}

static enum zd_status end_member(struct zd_text_reader *reader, struct zd_error *err)
{
    const struct zd_json_limits limits = {
        .bytes_max = MEMBER_BYTES_MAX, .nodes_max = MEMBER_BYTES_MAX, .depth_max = 2};
    struct zd_json *json = NULL;
    const enum zd_status status = zd_json_parse(zd_text_span(&reader->token), &limits, &json, err);
    if (status == ZD_TOO_LARGE) {
        const uint8_t last = (uint8_t)reader->token.at[reader->token.len - 1];
        return bad(reader, "a member with fewer levels of nesting", last, err);
    }
    ZD_TRY(status);
    ZD_AUTO(zd_json) said = json;
    const struct member *member = &members[reader->member];
    ZD_TRY(member->judge == NULL ? ZD_OK : member->judge(reader, said, err));
    reader->place = AFTER_MEMBER;
    return ZD_OK;
}

static enum zd_status after_member(struct zd_text_reader *reader, uint8_t c, struct zd_error *err)
{
    if (c == ',') {
        reader->place = NAME;
        return ZD_OK;
    }
    if (c != '}' || !reader->has_data) {
        return bad(reader, c == '}' ? "a member data" : "a comma or the end of the object", c, err);
    }
    reader->place = DONE;
    return ZD_OK;
}

static enum zd_status begin_name(
    struct zd_text_reader *reader, uint8_t c, bool *ret_is_taken, struct zd_error *err)
{
    if (c != '"') {
        return bad(reader, "a member name", c, err);
    }
    *ret_is_taken = false;
    begin_token(reader, IN_NAME);
    return ZD_OK;
}

/* ---- the whole ---- */

static enum zd_status in_token(
    struct zd_text_reader *reader, uint8_t c, bool *ret_is_taken, struct zd_error *err)
{
    bool is_over;
    ZD_TRY(add_to_token(reader, c, &is_over, ret_is_taken, err));
    if (!is_over) {
        return ZD_OK;
    }
    if (reader->place == ELEMENT) {
        return put_element(reader, err);
    }
    return reader->place == IN_NAME ? end_name(reader, err) : end_member(reader, err);
}

/* Take a byte outside of tokens. */
static enum zd_status step(
    struct zd_text_reader *reader, uint8_t c, bool *ret_is_taken, struct zd_error *err)
{
    switch ((enum place)reader->place) {
    case TOP:
        if (c == '{') {
            reader->in_object = true;
            reader->place = NAME;
            return ZD_OK;
        }
        return begin_item(reader, c, ret_is_taken, err);
    case FIRST:
        return c == ']' ? close_list(reader, err) : begin_item(reader, c, ret_is_taken, err);
    case ITEM:
        return begin_item(reader, c, ret_is_taken, err);
    case AFTER:
        return after_item(reader, c, err);
    case NAME:
        return begin_name(reader, c, ret_is_taken, err);
    case COLON:
        return after_colon(reader, c, err);
    case MEMBER:
        *ret_is_taken = false;
        begin_token(reader, IN_MEMBER);
        return ZD_OK;
    case AFTER_MEMBER:
        return after_member(reader, c, err);
    case DONE:
        return bad(reader, "the end of the body", c, err);
    case ELEMENT:
    case IN_NAME:
    case IN_MEMBER:
        break;
    }
    return in_token(reader, c, ret_is_taken, err);
}

static bool is_in_token(const struct zd_text_reader *reader)
{
    return reader->place == ELEMENT || reader->place == IN_NAME || reader->place == IN_MEMBER;
}

enum zd_status zd_text_reader_feed(
    struct zd_text_reader *reader, struct zd_span text, size_t *ret_used, struct zd_error *err)
{
    size_t at = 0;
    bool has_room = true;
    while (at < text.len && has_room) {
        const uint8_t c = text.ptr[at];
        const uint8_t place = reader->place;
        bool is_taken = true;
        if (is_in_token(reader) || !is_space(c)) {
            ZD_TRY(step(reader, c, &is_taken, err));
        }
        has_room = is_taken || reader->place != place;
        at += is_taken ? 1 : 0;
        reader->position += is_taken ? 1 : 0;
    }
    *ret_used = at;
    return ZD_OK;
}

enum zd_status zd_text_reader_end(struct zd_text_reader *reader, struct zd_error *err)
{
    if (reader->place == ELEMENT && reader->rank == 0 && !reader->in_object && !reader->in_string &&
        reader->n_brackets == 0) {
        return put_element(reader, err); /* a number that nothing follows */
    }
    if (reader->place != DONE) {
        const enum zd_status failed = zd_fail_expected(err, ZD_INVALID, "more of the body",
            "its end", "the body is incomplete: it ends after %llu bytes",
            (unsigned long long)reader->position);
        add_place(reader, err);
        return failed;
    }
    return ZD_OK;
}
