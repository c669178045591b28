/* The header traceparent (W3C Trace Context): which trace a request is a part of. Thread: any. */
#ifndef ZD_HTTP_TRACEPARENT_H
#define ZD_HTTP_TRACEPARENT_H

#include <stdbool.h>

#define ZD_TRACEPARENT_TRACE_LEN 32
#define ZD_TRACEPARENT_SPAN_LEN  16
#define ZD_TRACEPARENT_BYTES     56 /* of its value, with NUL */

/** Ids are lower-case hexadecimal digits, not all of them zeros. */
struct zd_traceparent {
    char trace_id[ZD_TRACEPARENT_TRACE_LEN + 1];
    char span_id[ZD_TRACEPARENT_SPAN_LEN + 1]; /* of the caller's span */
    bool is_sampled;                           /* the caller records the trace */
};

/** Read the value of the header; what is malformed is as if it were not there. @return false:
 * nothing is set */
bool zd_traceparent_parse(const char *value, struct zd_traceparent *ret_parent);

/** The value of version 00. */
void zd_traceparent_format(const struct zd_traceparent *parent, char to[ZD_TRACEPARENT_BYTES]);

#endif
