/* The parameters of a slice: one row each, for the query and for bodies. */
#include "server/slice/slice_params.h"

#include <stddef.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "server/format/format.h"
#include "server/request/body.h"
#include "server/runtime/server.h"

#define FORMAT_BYTES_MAX 256
#define NAMES_BYTES_MAX  256
#define SHAPE_BYTES_MAX  1024 /* 32 numbers of 20 digits */

struct row;

/* A value: of a query, or a member of a body. */
struct value {
    const struct row *row;
    const struct zd_params *params; /* of a query */
    struct zd_span text;            /* of a query */
    const struct zd_json *json;     /* of a body; NULL in a query */
    struct zd_pointer at;           /* in a body */
};

typedef enum zd_status parse_value(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err);

/* A parameter. */
struct row {
    const char *name;
    parse_value *parse;
    size_t flag;          /* the member that becomes true when it is given, or has its value */
    size_t value;         /* the member that has its value */
    const char *words[3]; /* of parse_word */
};

static bool *flag_of(struct zd_slice_params *ask, const struct value *value)
{
    return (bool *)((char *)ask + value->row->flag);
}

static void *value_of(struct zd_slice_params *ask, const struct value *value)
{
    return (char *)ask + value->row->value;
}

void zd_slice_params_init(struct zd_slice_params *ask, const struct zd_server *server)
{
    *ask = (struct zd_slice_params){.max_size = UINT64_MAX};
    zd_text_init(&ask->slice, server->config->settings.limits_body_bytes);
    zd_text_init(&ask->format, FORMAT_BYTES_MAX);
}

void zd_slice_params_done(struct zd_slice_params *ask)
{
    zd_text_done(&ask->slice);
    zd_text_done(&ask->format);
}

static bool add_extent(struct zd_slice_params *ask, uint64_t extent)
{
    if (ask->rank == ZD_RANK_MAX) {
        return false;
    }
    ask->shape[ask->rank++] = extent;
    return true;
}

/* "10,5"; nothing is the shape of a scalar. */
static bool read_shape(struct zd_slice_params *ask, struct zd_span text)
{
    struct zd_scan scan = zd_scan_of(text);
    if (zd_scan_at_end(&scan)) {
        return true;
    }
    do {
        uint64_t extent;
        zd_scan_skip_spaces(&scan);
        if (zd_scan_u64(&scan, UINT64_MAX, &extent) != ZD_OK || !add_extent(ask, extent)) {
            return false;
        }
        zd_scan_skip_spaces(&scan);
    } while (zd_scan_char(&scan, ','));
    return zd_scan_at_end(&scan);
}

static enum zd_status bad_shape(const struct value *value, struct zd_error *err)
{
    if (value->json != NULL) {
        return zd_body_fault(
            err, value->at.text, "at most 32 lengths, such as [10,5] or \"10,5\"", value->json);
    }
    const enum zd_status status =
        zd_fail_name(err, "expected_shape", "expected_shape must be a list of at most 32 lengths");
    zd_fact_expected(err, "lengths, such as 10,5");
    return status;
}

static bool read_extents(struct zd_slice_params *ask, const struct zd_json *list)
{
    for (size_t i = 0; i < zd_json_count(list); i++) {
        uint64_t extent;
        if (!zd_json_u64(zd_json_element(list, i), &extent) || !add_extent(ask, extent)) {
            return false;
        }
    }
    return true;
}

static enum zd_status parse_expected_shape(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    const bool is_list = zd_json_is(value->json, ZD_JSON_ARRAY);
    const struct zd_span text =
        value->json == NULL ? value->text : zd_json_string_span(value->json);
    const bool is_read =
        is_list ? read_extents(ask, value->json) : text.ptr != NULL && read_shape(ask, text);
    return is_read ? ZD_OK : bad_shape(value, err);
}

static enum zd_status add_items(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    for (size_t i = 0; i < zd_json_count(value->json); i++) {
        const struct zd_json *item = zd_json_element(value->json, i);
        const char *text = zd_json_string(item);
        int64_t index = 0;
        zd_text_add(&ask->slice, i == 0 ? "" : ",");
        if (text != NULL) {
            zd_text_add(&ask->slice, text);
        } else if (zd_json_i64(item, &index)) {
            zd_text_addf(&ask->slice, "%lld", (long long)index);
        } else {
            const struct zd_pointer place = zd_pointer_element(&value->at, i);
            return zd_body_fault(err, place.text, "a string or an integer", item);
        }
    }
    return ZD_OK;
}

/* Whether all of the text was kept. */
static enum zd_status check_kept(
    const struct zd_text *text, const struct value *value, struct zd_error *err)
{
    if (text->status == ZD_NO_MEMORY) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the value of %s", value->row->name);
    }
    if (text->status != ZD_OK) {
        return zd_fail(err, value->json == NULL ? ZD_INVALID : text->status,
            "the value of %s is too long", value->row->name);
    }
    return ZD_OK;
}

static enum zd_status add_text(
    struct zd_text *to, const struct value *value, const char *expected, struct zd_error *err)
{
    const struct zd_span text =
        value->json == NULL ? value->text : zd_json_string_span(value->json);
    if (text.ptr == NULL) {
        return zd_body_fault(err, value->at.text, expected, value->json);
    }
    zd_text_add_bytes(to, text.ptr, text.len);
    return ZD_OK;
}

static enum zd_status parse_slice(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    static const char expected[] = "a string, or a list of strings and integers";
    ZD_TRY(zd_json_is(value->json, ZD_JSON_ARRAY) ? add_items(ask, value, err)
                                                  : add_text(&ask->slice, value, expected, err));
    return check_kept(&ask->slice, value, err);
}

static enum zd_status parse_format(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    static const char expected[] = "the name of a format";
    ZD_TRY(add_text(&ask->format, value, expected, err));
    return value->json != NULL && ask->format.status == ZD_TOO_LARGE
               ? zd_body_fault(err, value->at.text, expected, value->json)
               : check_kept(&ask->format, value, err);
}

/* One of two words; true for the second. */
static enum zd_status parse_word(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    const char *const *words = value->row->words;
    if (value->json == NULL) {
        uint32_t choice;
        ZD_TRY(zd_params_choice(value->params, value->row->name, words, &choice, err));
        *flag_of(ask, value) = choice == 1;
        return ZD_OK;
    }
    const char *text = zd_json_string(value->json);
    if (text == NULL || (strcmp(text, words[0]) != 0 && strcmp(text, words[1]) != 0)) {
        ZD_SCOPED_TEXT(expected, FORMAT_BYTES_MAX);
        zd_text_addf(&expected, "\"%s\" or \"%s\"", words[0], words[1]);
        return zd_body_fault(err, value->at.text, expected.at, value->json);
    }
    *flag_of(ask, value) = strcmp(text, words[1]) == 0;
    return ZD_OK;
}

static enum zd_status parse_flag(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    return zd_params_flag(value->params, value->row->name, false, flag_of(ask, value), err);
}

static enum zd_status parse_number(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    uint64_t *to = value_of(ask, value);
    if (value->json == NULL) {
        const struct zd_params_range any = {.most = UINT64_MAX};
        return zd_params_u64(value->params, value->row->name, any, to, err);
    }
    return zd_json_u64(value->json, to)
               ? ZD_OK
               : zd_body_fault(err, value->at.text, "a non-negative integer", value->json);
}

/* Judged by the handler, which knows the fields, or the array, which knows its dimensions. */
static enum zd_status parse_text(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    (void)err;
    *(struct zd_span *)value_of(ask, value) = value->text;
    return ZD_OK;
}

/* Every parameter: its parser, the member that becomes true (or, of words and flags, has its
 * value), the member of other values, the words for false and true, and the requests that take it.
 * Only slice parameters may also be members of a body. */
/* clang-format off */
#define PARAMS(ROW) \
    /*  name            parser                flag               value         words                      slices stats writes */ \
    ROW(slice,          parse_slice,          has_slice,         slice,        NO_WORDS,                  YES,   YES,   YES)  \
    ROW(format,         parse_format,         has_format,        format,       NO_WORDS,                  YES,   NO,    NO)   \
    ROW(expected_shape, parse_expected_shape, has_shape,         shape,        NO_WORDS,                  YES,   NO,    YES)  \
    ROW(nan,            parse_word,           style.nan_null,    style,        WORDS("string", "null"),   YES,   NO,    NO)   \
    ROW(ints,           parse_word,           style.ints_string, style,        WORDS("number", "string"), YES,   NO,    NO)   \
    ROW(origin,         parse_word,           is_of_stored,      is_of_stored, WORDS("array", "stored"),  YES,   YES,   YES)  \
    ROW(level,          parse_number,         has_level,         level,        NO_WORDS,                  YES,   NO,    NO)   \
    ROW(max_size,       parse_number,         has_max_size,      max_size,     NO_WORDS,                  YES,   NO,    NO)   \
    ROW(fields,         parse_text,           has_fields,        fields,       NO_WORDS,                  NO,    YES,   NO)   \
    ROW(fill,           parse_word,           drops_fill,        drops_fill,   WORDS("keep", "drop"),     NO,    YES,   NO)   \
    ROW(broadcast,      parse_flag,           is_broadcast,      is_broadcast, NO_WORDS,                  NO,    NO,    YES)  \
    ROW(append,         parse_text,           has_append,        append,       NO_WORDS,                  NO,    NO,    YES)  \
    ROW(dry_run,        parse_flag,           is_dry,            is_dry,       NO_WORDS,                  NO,    NO,    YES)
/* clang-format on */

#define YES(name) #name,
#define NO(name)
#define WORDS(first, second) {first, second, NULL}
#define NO_WORDS             {NULL}

#define OF_SLICES(name, parse, flag, value, words, slices, stats, writes) slices(name)
#define OF_STATS(name, parse, flag, value, words, slices, stats, writes)  stats(name)
#define OF_WRITES(name, parse, flag, value, words, slices, stats, writes) writes(name)
#define AS_ROW(name, parse, flag, value, words, slices, stats, writes)                             \
    {#name, parse, offsetof(struct zd_slice_params, flag),                                         \
        offsetof(struct zd_slice_params, value), words},

const char *const zd_slice_params_of_slices[] = {PARAMS(OF_SLICES) NULL};
const char *const zd_slice_params_of_stats[] = {PARAMS(OF_STATS) NULL};
const char *const zd_slice_params_of_writes[] = {PARAMS(OF_WRITES) NULL};

static const struct row rows[] = {PARAMS(AS_ROW)};

static enum zd_status read_value(
    struct zd_slice_params *ask, const struct value *value, struct zd_error *err)
{
    *flag_of(ask, value) = true;
    return value->row->parse(ask, value, err);
}

enum zd_status zd_slice_params_query(struct zd_slice_params *ask, const struct zd_params *params,
    const char **ret_code, struct zd_error *err)
{
    *ret_code = "bad_parameter";
    for (size_t i = 0; i < ZD_COUNT_OF(rows); i++) {
        struct value value = {.row = &rows[i], .params = params};
        if (zd_params_find(params, rows[i].name, &value.text)) {
            ZD_TRY(read_value(ask, &value, err));
        }
    }
    return ZD_OK;
}

static const struct row *find_member(const char *name)
{
    const char *const *allowed = zd_slice_params_of_slices;
    while (*allowed != NULL && strcmp(*allowed, name) != 0) {
        allowed++;
    }
    for (size_t i = 0; *allowed != NULL && i < ZD_COUNT_OF(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static enum zd_status bad_member(const struct value *value, struct zd_error *err)
{
    ZD_SCOPED_TEXT(names, NAMES_BYTES_MAX);
    for (size_t i = 0; zd_slice_params_of_slices[i] != NULL; i++) {
        zd_text_addf(&names, "%s%s", i == 0 ? "only " : ", ", zd_slice_params_of_slices[i]);
    }
    return zd_body_fault(err, value->at.text, names.at, value->json);
}

enum zd_status zd_slice_params_body(struct zd_slice_params *ask, const struct zd_json *body,
    const char **ret_code, struct zd_error *err)
{
    const struct zd_pointer root = {.text = ""};
    *ret_code = "bad_body";
    if (!zd_json_is(body, ZD_JSON_OBJECT)) {
        return zd_body_fault(err, "", "an object", body);
    }
    for (void *iter = zd_json_next(body, NULL); iter != NULL; iter = zd_json_next(body, iter)) {
        const char *name = zd_json_iter_name(iter);
        const struct value value = {
            .row = find_member(name),
            .json = zd_json_iter_value(iter),
            .at = zd_pointer_member(&root, name),
        };
        ZD_TRY(value.row == NULL ? bad_member(&value, err) : read_value(ask, &value, err));
    }
    return ZD_OK;
}

enum zd_status zd_slice_params_check_shape(const struct zd_slice_params *ask, const char *what,
    const uint64_t *shape, uint32_t rank, struct zd_error *err)
{
    if (!ask->has_shape ||
        (ask->rank == rank && memcmp(shape, ask->shape, rank * sizeof *shape) == 0)) {
        return ZD_OK;
    }
    ZD_SCOPED_TEXT(expected, SHAPE_BYTES_MAX);
    ZD_SCOPED_TEXT(found, SHAPE_BYTES_MAX);
    zd_format_add_lengths(&expected, ask->shape, ask->rank);
    zd_format_add_lengths(&found, shape, rank);
    return zd_fail_expected(err, ZD_PRECONDITION, expected.at, found.at,
        "the %s has shape (%s), expected (%s)", what, found.at, expected.at);
}

enum zd_status zd_slice_params_select(const struct zd_slice_params *ask, const struct zd_meta *meta,
    struct zd_selection *ret_asked, struct zd_selection *ret_stored, struct zd_error *err)
{
    const uint32_t rank = meta->grid.rank;
    uint64_t shape[ZD_RANK_MAX];
    zd_meta_shape(meta, shape);
    ZD_TRY(zd_selection_parse(zd_text_span(&ask->slice), rank,
        ask->is_of_stored ? meta->grid.shape : shape, ret_asked, err));
    *ret_stored = *ret_asked;
    for (uint32_t d = 0; !ask->is_of_stored && d < rank; d++) {
        /* An empty selection starts at 0. */
        ret_stored->axis[d].start += ret_asked->axis[d].count == 0 ? 0 : meta->view.origin[d];
    }
    return ZD_OK;
}

static bool find_name(const struct zd_meta *meta, struct zd_span name, uint32_t *ret_dim)
{
    for (uint32_t d = 0; meta->dimension_name != NULL && d < meta->grid.rank; d++) {
        if (meta->dimension_name[d] != NULL && zd_span_is(name, meta->dimension_name[d])) {
            *ret_dim = d;
            return true;
        }
    }
    return false;
}

enum zd_status zd_slice_params_find_append(const struct zd_slice_params *ask,
    const struct zd_meta *meta, uint32_t *ret_dim, struct zd_error *err)
{
    const struct zd_span name = ask->append;
    const int shown = (int)zd_min_u64(name.len, ZD_FACT_TEXT_BYTES);
    uint64_t number;
    if (find_name(meta, name, ret_dim)) {
        return ZD_OK;
    }
    if (zd_scan_whole_u64(name, UINT64_MAX, &number) == ZD_OK && number < meta->grid.rank) {
        *ret_dim = (uint32_t)number;
        return ZD_OK;
    }
    const enum zd_status failed =
        zd_fail_name(err, "append", "append=%.*s: the array has no such dimension; its rank is %u",
            shown, (const char *)name.ptr, meta->grid.rank);
    zd_fact_expected(err, "the name of a dimension, or a number below %u", meta->grid.rank);
    zd_fact_found(err, "%.*s", shown, (const char *)name.ptr);
    return failed;
}
