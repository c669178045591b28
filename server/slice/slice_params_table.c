/* The parameters of a slice: one row each, for queries and bodies. */
#include "server/slice/slice_params.h"

#include <stddef.h>
#include <string.h>

#include "core/base/num.h"
#include "core/compute/convert.h"
#include "server/http/foreign_param.h"
#include "server/request/body.h"
#include "server/slice/param_value.h"

#define NAMES_BYTES_MAX 512

/* In the order of enum zd_reduce_op, as far as they are the same. */
static const char *const agg_names[] = {
    [ZD_REDUCE_MEAN] = "mean",
    [ZD_REDUCE_MIN] = "min",
    [ZD_REDUCE_MAX] = "max",
    [ZD_REDUCE_SUM] = "sum",
    [ZD_SLICE_AGG_NEAREST] = "nearest",
    NULL,
};

/* Every parameter: its parser, the member that becomes true (or, of words and flags, has its
 * value), the member of other values, the words for false and true, and the requests that take it.
 * Only slice parameters may also be members of a body. */
/* clang-format off */
#define PARAMS(ROW) \
    /*  name            parser                flag               value         words                      slices stats writes */ \
    ROW(slice,          slice,                has_slice,         slice,        NO_WORDS,                  YES,   YES,   YES)  \
    ROW(isel,           picks,                has_picks,         picks,        NO_WORDS,                  YES,   NO,    NO)   \
    ROW(sel,            picks,                has_picks,         picks,        NO_WORDS,                  YES,   NO,    NO)   \
    ROW(points,         points,               has_points,        lists,        NO_WORDS,                  NO,    NO,    NO)   \
    ROW(format,         format,               has_format,        format,       NO_WORDS,                  YES,   NO,    NO)   \
    ROW(expected_shape, shape,                has_shape,         shape,        NO_WORDS,                  YES,   NO,    YES)  \
    ROW(nan,            word,                 style.nan_null,    style,        WORDS("string", "null"),   YES,   NO,    NO)   \
    ROW(ints,           word,                 style.ints_string, style,        WORDS("number", "string"), YES,   NO,    NO)   \
    ROW(layout,         word,                 is_table,          is_table,     WORDS("array", "table"),   YES,   NO,    NO)   \
    ROW(header,         yes,                  has_header,        header,       NO_WORDS,                  YES,   NO,    NO)   \
    ROW(arrays,         arrays,               has_arrays,        arrays,       NO_WORDS,                  YES,   NO,    NO)   \
    ROW(coords,         yes,                  has_coords,        coords,       NO_WORDS,                  YES,   NO,    NO)   \
    ROW(origin,         word,                 is_of_stored,      is_of_stored, WORDS("array", "stored"),  YES,   YES,   YES)  \
    ROW(level,          number,               has_level,         level,        NO_WORDS,                  YES,   NO,    NO)   \
    ROW(max_size,       number,               has_max_size,      max_size,     NO_WORDS,                  YES,   NO,    NO)   \
    ROW(decode,         mark,                 decodes,           decodes,      WORD("cf"),                YES,   NO,    NO)   \
    ROW(reduce,         choice,               has_reduce,        reduce,       LIST(zd_reduce_names),     YES,   NO,    NO)   \
    ROW(over,           list,                 has_over,          over,         NO_WORDS,                  YES,   NO,    NO)   \
    ROW(skipna,         yes,                  has_skipna,        skipna,       NO_WORDS,                  YES,   NO,    NO)   \
    ROW(coarsen,        list,                 has_coarsen,       coarsen,      NO_WORDS,                  YES,   NO,    NO)   \
    ROW(agg,            choice,               has_agg,           agg,          LIST(agg_names),           YES,   NO,    NO)   \
    ROW(dtype,          dtype,                has_dtype,         dtype,        NO_WORDS,                  YES,   NO,    NO)   \
    ROW(plan,           flag,                 wants_plan,        wants_plan,   NO_WORDS,                  YES,   YES,   NO)   \
    ROW(fields,         text,                 has_fields,        fields,       NO_WORDS,                  NO,    YES,   NO)   \
    ROW(fill,           word,                 drops_fill,        drops_fill,   WORDS("keep", "drop"),     NO,    YES,   NO)   \
    ROW(broadcast,      flag,                 is_broadcast,      is_broadcast, NO_WORDS,                  NO,    NO,    YES)  \
    ROW(append,         text,                 has_append,        append,       NO_WORDS,                  NO,    NO,    YES)  \
    ROW(dry_run,        flag,                 is_dry,            is_dry,       NO_WORDS,                  NO,    NO,    YES)
/* clang-format on */

#define YES(name) #name,
#define NO(name)
#define WORDS(first, second)                                                                       \
    NULL,                                                                                          \
    {                                                                                              \
        first, second, NULL                                                                        \
    }
#define LIST(list)                                                                                 \
    list,                                                                                          \
    {                                                                                              \
        NULL                                                                                       \
    }
#define WORD(only)                                                                                 \
    NULL,                                                                                          \
    {                                                                                              \
        only, NULL                                                                                 \
    }
#define NO_WORDS                                                                                   \
    NULL,                                                                                          \
    {                                                                                              \
        NULL                                                                                       \
    }

#define OF_SLICES(name, parse, flag, value, words, slices, stats, writes) slices(name)
#define OF_STATS(name, parse, flag, value, words, slices, stats, writes)  stats(name)
#define OF_WRITES(name, parse, flag, value, words, slices, stats, writes) writes(name)
#define AS_ROW(name, parse, flag, value, words, slices, stats, writes)                             \
    {#name, zd_param_value_##parse, offsetof(struct zd_slice_params, flag),                        \
        offsetof(struct zd_slice_params, value), words},

const char *const zd_slice_params_of_slices[] = {PARAMS(OF_SLICES) NULL};
const char *const zd_slice_params_of_stats[] = {PARAMS(OF_STATS) NULL};
const char *const zd_slice_params_of_writes[] = {PARAMS(OF_WRITES) NULL};
const char *const zd_slice_params_repeated[] = {"isel", "sel", NULL};

static const struct zd_param_value_row rows[] = {PARAMS(AS_ROW)};

const char *const *zd_slice_params_allowed(const char *name)
{
    if (strcmp(name, "dtype") == 0) {
        return zd_convert_names;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return rows[i].list != NULL       ? rows[i].list
                   : rows[i].words[0] == NULL ? NULL
                                              : rows[i].words;
        }
    }
    return NULL;
}

enum zd_status zd_slice_params_query(struct zd_slice_params *ask, const struct zd_params *params,
    const char **ret_code, struct zd_error *err)
{
    *ret_code = "bad_parameter";
    for (size_t i = 0; i < ZD_COUNT_OF(rows); i++) {
        struct zd_param_value value = {.row = &rows[i], .params = params};
        if (zd_params_find(params, rows[i].name, &value.text)) {
            ZD_TRY(zd_param_value_read(ask, &value, err));
        }
    }
    return ZD_OK;
}

/* Parameters of a query, and points. */
static bool may_be_member(const struct zd_param_value_row *row)
{
    const char *const *allowed = zd_slice_params_of_slices;
    while (*allowed != NULL && strcmp(*allowed, row->name) != 0) {
        allowed++;
    }
    return *allowed != NULL || row->parse == zd_param_value_points;
}

static const struct zd_param_value_row *find_member(const char *name)
{
    for (size_t i = 0; i < ZD_COUNT_OF(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return may_be_member(&rows[i]) ? &rows[i] : NULL;
        }
    }
    return NULL;
}

static enum zd_status bad_member(
    const char *name, const struct zd_param_value *value, struct zd_error *err)
{
    ZD_SCOPED_TEXT(names, NAMES_BYTES_MAX);
    const struct zd_foreign_param *usual = zd_foreign_param_find(name, zd_slice_params_of_slices);
    if (usual != NULL) {
        zd_text_addf(&names, "%s (in a query: %s)", usual->ours, usual->example);
        return zd_body_fault(err, value->at.text, names.at, value->json);
    }
    for (size_t i = 0; i < ZD_COUNT_OF(rows); i++) {
        if (may_be_member(&rows[i])) {
            zd_text_addf(&names, "%s%s", i == 0 ? "only " : ", ", rows[i].name);
        }
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
        const struct zd_param_value value = {
            .row = find_member(name),
            .json = zd_json_iter_value(iter),
            .at = zd_pointer_member(&root, name),
        };
        ZD_TRY(value.row == NULL ? bad_member(name, &value, err)
                                 : zd_param_value_read(ask, &value, err));
    }
    if (ask->has_points && (ask->has_slice || ask->has_picks)) {
        return zd_body_fault(
            err, "/points", "points without slice, isel and sel", zd_json_member(body, "points"));
    }
    return ZD_OK;
}
