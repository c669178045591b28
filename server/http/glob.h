/* Patterns for paths: `*`, `**` and `?` (api.md 3.3). */
#ifndef ZD_HTTP_GLOB_H
#define ZD_HTTP_GLOB_H

#include <stdbool.h>

/**
 * Whether a path matches a pattern, from its first byte to its last: `*` is any run within a
 * segment, `?` one character of a segment, `**` any run at all; a segment that is `**` also
 * stands for no segment.
 *
 * The cost is at most the product of both lengths. Thread: any.
 */
bool zd_glob_matches(const char *pattern, const char *path);

#endif
