/* The faults of a document: all of them at once, each with its place. */
#ifndef ZD_CORE_BASE_FAULT_H
#define ZD_CORE_BASE_FAULT_H

#include "core/base/json.h"
#include "core/base/status.h"

enum zd_severity {
    ZD_FAULT_INVALID,     /* breaks the specification */
    ZD_FAULT_UNSUPPORTED, /* well formed, but this build must not interpret it */
    ZD_FAULT_WARNING,     /* tolerated, or ignored as the document allows */
};

/** A fault. The list owns its strings; NULL where there is nothing to say. */
struct zd_fault {
    enum zd_severity severity;
    const char *
        code; /* static: "missing_member", "wrong_type", "unsupported_codec", "ignored_codec" ... */
    char *name;    /* of the extension, codec or member at fault */
    char *pointer; /* RFC 6901 */
    char *detail;  /* one sentence */
    char *expected;
    char *found;
    bool is_of_listing; /* of consolidated metadata: it may tell of other nodes */
};

#define ZD_FAULTS_MAX 200

/** A list of findings. Starts zeroed; more than ZD_FAULTS_MAX are counted, not kept: warnings give
 * way to what refuses. */
struct zd_faults {
    struct zd_fault *item;
    size_t n_items;
    size_t n_invalid; /* all of them, kept or not */
    size_t n_unsupported;
    bool out_of_memory;  /* a finding was lost: treat the document as refused */
    bool judges_listing; /* what is added is_of_listing */
};

/**
 * Add a finding; all strings are copied.
 *
 * @param code     static string
 * @param name     or NULL
 * @param at       place in the document
 * @param expected or NULL
 * @param found    or NULL
 * @param format   the detail, as for printf
 * Thread: the list's owner.
 */
void zd_faults_add(struct zd_faults *faults, enum zd_severity severity, const char *code,
    const char *name, const struct zd_pointer *at, const char *expected, const char *found,
    const char *format, ...) __attribute__((format(printf, 8, 9)));

/**
 * Let the findings at a place, and below it, point to another place: the document that was judged
 * had been made of another one, which is the one that people see. Thread: the list's owner.
 */
void zd_faults_move(
    struct zd_faults *faults, const struct zd_pointer *from, const struct zd_pointer *to);

/** Whether interpretation must be refused: any invalid or unsupported finding, or one lost. */
bool zd_faults_refuse(const struct zd_faults *faults);

/** Whether a finding of that severity exists. */
bool zd_faults_have(const struct zd_faults *faults, enum zd_severity severity);

/**
 * The findings as one error: ZD_INVALID when any is, else ZD_UNSUPPORTED; text of the first such
 * finding, with its pointer, name, expected and found as facts. ZD_OK when nothing refuses.
 */
ZD_RESULT zd_faults_status(const struct zd_faults *faults, struct zd_error *err);

void zd_faults_done(struct zd_faults *faults); /* frees the strings; leaves a zeroed list */

#endif
