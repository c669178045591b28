/* Dates of HTTP (RFC 9110, 5.6.7). Thread: any. */
#ifndef ZD_HTTP_DATE_H
#define ZD_HTTP_DATE_H

#include <stdbool.h>
#include <stdint.h>

#define ZD_DATE_BYTES 64

/** Whole seconds since 1970, rounded down: the precision of Last-Modified. */
int64_t zd_date_seconds(int64_t time_ms);

/** Write a time as IMF-fixdate. */
void zd_date_format(char to[ZD_DATE_BYTES], int64_t time_ms);

/** Read any of the three forms into seconds since 1970; false: not a date. */
bool zd_date_parse(const char *text, int64_t *ret_seconds);

#endif
