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

/** One of a few words (ended by NULL): its position. */
bool zd_parameter_choice(const struct zd_parameters *parameters, const char *name,
    const char *const *words, uint32_t *ret_choice);

/** A member that is an array: the array itself, or NULL and a fault. */
const struct zd_json *zd_parameter_array(const struct zd_parameters *parameters, const char *name);

/** Add a fault at a member, or at a place below it; found is shown as JSON when it is short. */
void zd_parameter_fault(const struct zd_parameters *parameters, const char *name,
    const struct zd_pointer *at, const char *code, const char *expected,
    const struct zd_json *found);

/** The place of a member. */
struct zd_pointer zd_parameter_at(const struct zd_parameters *parameters, const char *name);

#endif
