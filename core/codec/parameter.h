/* Judging a codec's configuration: every fault with its place. */
#ifndef ZD_CORE_CODEC_PARAMETER_H
#define ZD_CORE_CODEC_PARAMETER_H

#include "core/codec/codec.h"

/** A configuration under judgement. */
struct zd_parameters {
    const char *codec;                   /* its name, for texts; static */
    const struct zd_json *configuration; /* an object, or NULL: no members; borrowed */
    struct zd_pointer at;                /* of the configuration */
    enum zd_judgement judgement;
    struct zd_faults *faults; /* borrowed */
    size_t n_refusals;        /* findings that refuse, before this configuration's */
    bool is_blind;            /* what the codec decodes to is not known */
};

/**
 * Begin, and find fault with members that the codec does not have.
 *
 * @param names the members it has, ended by NULL
 */
void zd_parameters_init(struct zd_parameters *parameters, const char *codec,
    const struct zd_codec_config *config, const char *const *names, struct zd_faults *faults);

/** ZD_OK when nothing was found since the beginning, and what the codec decodes to is known; else
 * ZD_INVALID, or ZD_NO_MEMORY. */
ZD_RESULT zd_parameters_status(const struct zd_parameters *parameters);

/** A member, or NULL without a finding; with zd_parameter_need, a missing one is a fault. */
const struct zd_json *zd_parameter_find(const struct zd_parameters *parameters, const char *name);
const struct zd_json *zd_parameter_need(
    const struct zd_parameters *parameters, const char *name, const char *expected);

/** Reading a member that is there; false and a fault when it is not what it must be. */
bool zd_parameter_i64(const struct zd_parameters *parameters, const char *name, int64_t min,
    int64_t max, int64_t *ret_value);
bool zd_parameter_bool(const struct zd_parameters *parameters, const char *name, bool *ret_value);

/** The position of the parameter among a few words (ended by NULL). */
bool zd_parameter_choice(const struct zd_parameters *parameters, const char *name,
    const char *const *words, uint32_t *ret_choice);

/** A number that is finite; an integer or not. */
bool zd_parameter_number(
    const struct zd_parameters *parameters, const char *name, double *ret_value);

/**
 * A data type as NumPy spells it (a type string, or a name), of which the codec does not use the
 * byte order.
 * @param is_wanted which types the codec has
 * @param wanted    what they are, for texts
 */
bool zd_parameter_typestr(const struct zd_parameters *parameters, const char *name,
    bool (*is_wanted)(const struct zd_dtype *dtype), const char *wanted,
    struct zd_dtype *ret_dtype);

/** A value at a member, or at a place below it, that spells an element as a fill value does. */
bool zd_parameter_scalar(const struct zd_parameters *parameters, const char *name,
    const struct zd_pointer *at, const struct zd_dtype *dtype, const struct zd_json *json,
    void *ret_bytes);

/** A codec of numcodecs takes its input for what this member says: a fault when it is not that. */
void zd_parameter_judge_input(const struct zd_parameters *parameters, const char *name,
    const struct zd_repr *decoded, const struct zd_dtype *dtype);

/** Add a fault at the codec: it does not take elements of that type, but `expected`. */
void zd_parameters_refuse_input(const struct zd_parameters *parameters,
    const struct zd_codec_config *config, const char *expected);

/** Set the size of an array in memory; ZD_INVALID and a fault at a member when it does not fit. */
ZD_RESULT zd_parameters_size(
    const struct zd_parameters *parameters, const char *name, struct zd_repr *array);

/** Put a type string into a configuration. */
ZD_RESULT zd_parameter_set_typestr(
    struct zd_json *json, const char *name, const struct zd_dtype *dtype);

/** A member that is an array: the array itself, or NULL and a fault. */
const struct zd_json *zd_parameter_array(const struct zd_parameters *parameters, const char *name);

/** Add a fault at a member, or at a place below it; found is shown as JSON when it is short. */
void zd_parameter_fault(const struct zd_parameters *parameters, const char *name,
    const struct zd_pointer *at, const char *code, const char *expected,
    const struct zd_json *found);

/** The place of a member. */
struct zd_pointer zd_parameter_at(const struct zd_parameters *parameters, const char *name);

#endif
