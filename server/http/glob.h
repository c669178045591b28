/* Patterns for paths: `*`, `**` and `?`. */
#ifndef ZD_HTTP_GLOB_H
#define ZD_HTTP_GLOB_H

#include <stdbool.h>

/**
 * Whether a pattern matches the whole path: `*` matches any run within a segment, `?` one
 * character of a segment, `**` any run; a segment `**` also matches no segment.
 *
 * The cost is at most the product of both lengths. Thread: any.
 */
bool zd_glob_matches(const char *pattern, const char *path);

#endif
