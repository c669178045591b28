/* How the value of a slice parameter is read, from a query or from a member of a body. The table in
 * slice_params_table.c gives each parameter one of these. Thread: loop. */
#ifndef ZD_SLICE_PARAM_VALUE_H
#define ZD_SLICE_PARAM_VALUE_H

#include "server/slice/slice_params.h"

struct zd_param_value_row;

/** A value, as it was sent; borrowed. */
struct zd_param_value {
    const struct zd_param_value_row *row;
    const struct zd_params *params; /* of a query */
    struct zd_span text;            /* of a query */
    const struct zd_json *json;     /* of a body; NULL in a query */
    struct zd_pointer at;           /* in a body */
};

/** How a value gets into the members that its row names. */
typedef enum zd_status zd_param_value_parse(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err);

/** A parameter. */
struct zd_param_value_row {
    const char *name;
    zd_param_value_parse *parse;
    size_t flag;             /* the member that becomes true when it is given, or has its value */
    size_t value;            /* the member that has its value */
    const char *const *list; /* of zd_param_value_choice; ended by NULL */
    const char *words[3];    /* of zd_param_value_word and _mark; ended by NULL */
};

/**
 * Read a value as its row says.
 * @retval ZD_INVALID of a query: facts name, expected, found; of a body: facts pointer, expected,
 *                    found
 * @retval ZD_TOO_LARGE, ZD_NO_MEMORY it cannot be kept
 */
ZD_RESULT zd_param_value_read(
    struct zd_slice_params *ask, const struct zd_param_value *value, struct zd_error *err);

/** Parsers of one parameter each: they know its members. */
zd_param_value_parse zd_param_value_shape; /* expected_shape */
zd_param_value_parse zd_param_value_slice;
zd_param_value_parse zd_param_value_points;
zd_param_value_parse zd_param_value_picks; /* isel, sel */
zd_param_value_parse zd_param_value_arrays;
zd_param_value_parse zd_param_value_format;
zd_param_value_parse zd_param_value_dtype;

/** The only word that there is. */
zd_param_value_parse zd_param_value_mark;

/** Parse one of two words: the flag is true for the second. */
zd_param_value_parse zd_param_value_word;

/** Parse a word of a list: the value, an uint32_t, is its place there. */
zd_param_value_parse zd_param_value_choice;

/** Texts with commas between them, or a list: the value, a struct zd_text, ends each with NUL. */
zd_param_value_parse zd_param_value_list;

/** True or false: the flag. */
zd_param_value_parse zd_param_value_flag;

/** True or false: the value, a bool, where it matters whether either was sent. */
zd_param_value_parse zd_param_value_yes;

/** The value, an uint64_t. */
zd_param_value_parse zd_param_value_number;

/** The value, a struct zd_span of a query. The handler, which knows the fields, or the array, which
 * knows its dimensions, judges it. */
zd_param_value_parse zd_param_value_text;

#endif
