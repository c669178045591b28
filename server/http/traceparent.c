/* The header traceparent (W3C Trace Context): which trace a request is a part of. */
#include "server/http/traceparent.h"

#include <stdio.h>
#include <string.h>

#define LEN        (ZD_TRACEPARENT_BYTES - 1)
#define TRACE_AT   3
#define SPAN_AT    (TRACE_AT + ZD_TRACEPARENT_TRACE_LEN + 1)
#define FLAGS_AT   (SPAN_AT + ZD_TRACEPARENT_SPAN_LEN + 1)
#define FLAGS_LEN  2
#define DIGITS     "0123456789abcdef"
#define IS_SAMPLED 1 /* of the flags */

static bool is_hex(const char *at, size_t len)
{
    return strspn(at, DIGITS) >= len;
}

/* All zeros mean nobody. */
static bool is_id(const char *at, size_t len)
{
    return is_hex(at, len) && strspn(at, "0") < len;
}

static unsigned digit(char c)
{
    return (unsigned)(strchr(DIGITS, c) - DIGITS);
}

/* Later versions may have more behind the flags; ff is none. */
static bool has_version(const char *value, size_t len)
{
    if (!is_hex(value, 2) || memcmp(value, "ff", 2) == 0) {
        return false;
    }
    return memcmp(value, "00", 2) == 0 ? len == LEN : len == LEN || value[LEN] == '-';
}

bool zd_traceparent_parse(const char *value, struct zd_traceparent *ret_parent)
{
    const size_t len = strlen(value);
    if (len < LEN || !has_version(value, len) || value[TRACE_AT - 1] != '-' ||
        value[SPAN_AT - 1] != '-' || value[FLAGS_AT - 1] != '-' ||
        !is_id(value + TRACE_AT, ZD_TRACEPARENT_TRACE_LEN) ||
        !is_id(value + SPAN_AT, ZD_TRACEPARENT_SPAN_LEN) || !is_hex(value + FLAGS_AT, FLAGS_LEN)) {
        return false;
    }
    *ret_parent = (struct zd_traceparent){
        .is_sampled = (digit(value[FLAGS_AT + 1]) & IS_SAMPLED) != 0,
    };
    memcpy(ret_parent->trace_id, value + TRACE_AT, ZD_TRACEPARENT_TRACE_LEN);
    memcpy(ret_parent->span_id, value + SPAN_AT, ZD_TRACEPARENT_SPAN_LEN);
    return true;
}

void zd_traceparent_format(const struct zd_traceparent *parent, char to[ZD_TRACEPARENT_BYTES])
{
    (void)snprintf(to, ZD_TRACEPARENT_BYTES, "00-%s-%s-%02x", parent->trace_id, parent->span_id,
        parent->is_sampled ? IS_SAMPLED : 0U);
}
