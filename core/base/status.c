/* The outcome of a call, and a text that a person can act on. */
#include "core/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef zd_fail

__attribute__((format(printf, 3, 0))) static void fail(
    struct zd_error *err, enum zd_status status, const char *format, va_list args)
{
    if (err != NULL) {
        vsnprintf(err->text, sizeof err->text, format, args);
        err->status = status;
        err->facts.set = 0;
    }
}

enum zd_status zd_fail(struct zd_error *err, enum zd_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, format, args);
    va_end(args);
    return status;
}

enum zd_status zd_fail_limit(
    struct zd_error *err, uint64_t limit, uint64_t requested, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, ZD_TOO_LARGE, format, args);
    va_end(args);
    zd_fact_limit(err, limit, requested);
    return ZD_TOO_LARGE;
}

enum zd_status zd_fail_name(struct zd_error *err, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, ZD_INVALID, format, args);
    va_end(args);
    zd_fact_name(err, name);
    return ZD_INVALID;
}

enum zd_status zd_fail_expected(struct zd_error *err, enum zd_status status, const char *expected,
    const char *found, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, format, args);
    va_end(args);
    if (expected != NULL) {
        zd_fact_expected(err, "%s", expected);
    }
    if (found != NULL) {
        zd_fact_found(err, "%s", found);
    }
    return status;
}

void zd_fact_dim(struct zd_error *err, uint32_t dim)
{
    if (err != NULL) {
        err->facts.dim = dim;
        err->facts.set |= ZD_FACT_DIM;
    }
}

void zd_fact_index(struct zd_error *err, int64_t index)
{
    if (err != NULL) {
        err->facts.index = index;
        err->facts.set |= ZD_FACT_INDEX;
    }
}

void zd_fact_size(struct zd_error *err, uint64_t size)
{
    if (err != NULL) {
        err->facts.size = size;
        err->facts.set |= ZD_FACT_SIZE;
    }
}

void zd_fact_limit(struct zd_error *err, uint64_t limit, uint64_t requested)
{
    if (err != NULL) {
        err->facts.limit = limit;
        err->facts.requested = requested;
        err->facts.set |= ZD_FACT_LIMIT | ZD_FACT_REQUESTED;
    }
}

void zd_fact_position(struct zd_error *err, uint64_t position)
{
    if (err != NULL) {
        err->facts.position = position;
        err->facts.set |= ZD_FACT_POSITION;
    }
}

static void copy_text(char *to, const char *from)
{
    snprintf(to, ZD_FACT_TEXT_BYTES, "%s", from);
}

void zd_fact_pointer(struct zd_error *err, const char *pointer)
{
    if (err != NULL) {
        copy_text(err->facts.pointer, pointer);
        err->facts.set |= ZD_FACT_POINTER;
    }
}

void zd_fact_expected(struct zd_error *err, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->facts.expected, sizeof err->facts.expected, format, args);
        va_end(args);
        err->facts.set |= ZD_FACT_EXPECTED;
    }
}

void zd_fact_found(struct zd_error *err, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->facts.found, sizeof err->facts.found, format, args);
        va_end(args);
        err->facts.set |= ZD_FACT_FOUND;
    }
}

void zd_fact_name(struct zd_error *err, const char *name)
{
    if (err != NULL) {
        copy_text(err->facts.name, name);
        err->facts.set |= ZD_FACT_NAME;
    }
}

void zd_fact_retry(struct zd_error *err, uint64_t retry_ms)
{
    if (err != NULL) {
        err->facts.retry_ms = retry_ms;
        err->facts.set |= ZD_FACT_RETRY;
    }
}

const char *zd_status_name(enum zd_status status)
{
    switch (status) {
    case ZD_OK:
        return "ok";
    case ZD_INVALID:
        return "invalid";
    case ZD_UNSUPPORTED:
        return "unsupported";
    case ZD_CORRUPT:
        return "corrupt";
    case ZD_OUT_OF_BOUNDS:
        return "out_of_bounds";
    case ZD_TOO_LARGE:
        return "too_large";
    case ZD_NOT_FOUND:
        return "not_found";
    case ZD_NOT_MODIFIED:
        return "not_modified";
    case ZD_PRECONDITION:
        return "precondition";
    case ZD_READ_ONLY:
        return "read_only";
    case ZD_AGAIN:
        return "again";
    case ZD_NO_MEMORY:
        return "no_memory";
    case ZD_NO_SPACE:
        return "no_space";
    case ZD_STORE:
        return "store";
    case ZD_GONE:
        return "gone";
    case ZD_TIMEOUT:
        return "timeout";
    case ZD_UNABLE:
        return "unable";
    case ZD_PAUSED:
        return "paused";
    case ZD_CANCELLED:
        return "cancelled";
    case ZD_INTERNAL:
        return "internal";
    }
    return "unknown";
}
