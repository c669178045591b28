/* The outcome of a call, and a text that a person can act on. */
#ifndef ZD_CORE_BASE_STATUS_H
#define ZD_CORE_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The outcome of a call. It is independent of HTTP: server/http/problem.c maps a status to a code.
 */
enum zd_status {
    ZD_OK = 0,
    ZD_INVALID,       /* the input breaks a rule: its author must change it */
    ZD_UNSUPPORTED,   /* well formed, but it needs something this build lacks */
    ZD_CORRUPT,       /* stored bytes do not decode */
    ZD_OUT_OF_BOUNDS, /* an index outside its range */
    ZD_TOO_LARGE,     /* past a limit */
    ZD_NOT_FOUND,     /* the thing does not exist, and that is certain */
    ZD_NOT_MODIFIED,  /* a conditional read: the generation is still the one named */
    ZD_PRECONDITION,  /* a conditional write: the generation is another one */
    ZD_READ_ONLY,     /* the store or dataset takes no writes */
    ZD_AGAIN,         /* it cannot be had without blocking */
    ZD_NO_MEMORY,
    ZD_NO_SPACE, /* the store is full */
    ZD_STORE,    /* the store failed, or refused; nothing is known of the key */
    ZD_GONE,     /* the store itself is no longer where it was opened */
    ZD_TIMEOUT,  /* the deadline passed */
    ZD_UNABLE,   /* the store cannot keep what the operation asks of it */
    ZD_PAUSED,   /* the store has failed and is left alone for a while; the fact retry says how long
                  */
    ZD_CANCELLED, /* the result is no longer wanted */
    ZD_INTERNAL,  /* a bug of ours */
};

/** The result of a function that can fail; the compiler makes every caller look at it. */
#define ZD_RESULT __attribute__((warn_unused_result)) enum zd_status

/** Passes a failure up unchanged. */
#define ZD_TRY(expression)                                                                         \
    do {                                                                                           \
        const enum zd_status zd_try_status_ = (expression);                                        \
        if (zd_try_status_ != ZD_OK) {                                                             \
            return zd_try_status_;                                                                 \
        }                                                                                          \
    } while (0)

#define ZD_ERROR_TEXT_BYTES 512
#define ZD_FACT_TEXT_BYTES  128

/** Which members of struct zd_facts are set. */
enum zd_fact {
    ZD_FACT_DIM = 1U << 0,
    ZD_FACT_INDEX = 1U << 1,
    ZD_FACT_SIZE = 1U << 2,
    ZD_FACT_LIMIT = 1U << 3,
    ZD_FACT_REQUESTED = 1U << 4,
    ZD_FACT_POSITION = 1U << 5,
    ZD_FACT_POINTER = 1U << 6,
    ZD_FACT_EXPECTED = 1U << 7,
    ZD_FACT_FOUND = 1U << 8,
    ZD_FACT_NAME = 1U << 9,
    ZD_FACT_RETRY = 1U << 10,
};

/** Facts of an error for programs: each becomes a member of the problem document. */
struct zd_facts {
    uint32_t set;                      /* bits of enum zd_fact */
    uint32_t dim;                      /* the dimension at fault */
    int64_t index;                     /* as it was asked, negative ones included */
    uint64_t size;                     /* of the dimension, in elements */
    uint64_t limit;                    /* in the unit the text names */
    uint64_t requested;                /* in the unit of limit */
    uint64_t position;                 /* byte offset into the text at fault */
    uint64_t retry_ms;                 /* when to try again: no member, but Retry-After */
    char pointer[ZD_FACT_TEXT_BYTES];  /* RFC 6901 */
    char expected[ZD_FACT_TEXT_BYTES]; /* cut when longer */
    char found[ZD_FACT_TEXT_BYTES];    /* cut when longer */
    char name[ZD_FACT_TEXT_BYTES];     /* of the parameter, member, codec ... at fault */
};

/** An error's story. Start with `struct zd_error err = {0};`. */
struct zd_error {
    enum zd_status status;
    struct zd_facts facts;
    char text[ZD_ERROR_TEXT_BYTES]; /* one sentence: what, where, expected, found */
};

/**
 * Tell an error: sets the status and the text, and forgets all facts.
 *
 * @param err    may be NULL: then only the status travels
 * @param status not ZD_OK
 * @param format as for printf; cut at ZD_ERROR_TEXT_BYTES
 * @return status, so that `return zd_fail(...)` reads well
 * Thread: any.
 */
ZD_RESULT zd_fail(struct zd_error *err, enum zd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__ /* it follows no function of another file: this says what comes back */
#define zd_fail(err, status, ...) (zd_fail(err, status, __VA_ARGS__) == ZD_OK ? (status) : (status))
#endif

/** The same with the status ZD_TOO_LARGE, and the facts limit and requested. */
ZD_RESULT zd_fail_limit(struct zd_error *err, uint64_t limit, uint64_t requested,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The same with the status ZD_INVALID, and the fact name. */
ZD_RESULT zd_fail_name(struct zd_error *err, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Like zd_fail, with the facts expected and found; NULL leaves a fact out. */
ZD_RESULT zd_fail_expected(struct zd_error *err, enum zd_status status, const char *expected,
    const char *found, const char *format, ...) __attribute__((format(printf, 5, 6)));

/** Add facts to an error set by zd_fail; each accepts err == NULL. Thread: any. */
void zd_fact_dim(struct zd_error *err, uint32_t dim);
void zd_fact_index(struct zd_error *err, int64_t index);
void zd_fact_size(struct zd_error *err, uint64_t size);
void zd_fact_limit(struct zd_error *err, uint64_t limit, uint64_t requested);
void zd_fact_position(struct zd_error *err, uint64_t position);
void zd_fact_pointer(struct zd_error *err, const char *pointer);
void zd_fact_expected(struct zd_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void zd_fact_found(struct zd_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void zd_fact_name(struct zd_error *err, const char *name);
void zd_fact_retry(struct zd_error *err, uint64_t retry_ms);

/** The status as a word for logs: "ok", "not_found", ... Thread: any. */
const char *zd_status_name(enum zd_status status);

#endif
