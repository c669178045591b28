/* What somebody may have meant: the names nearest to what was typed. Pure. Thread: any. */
#ifndef ZD_HTTP_SUGGEST_H
#define ZD_HTTP_SUGGEST_H

#include "core/base/json.h"

#define ZD_NEAREST_MAX 16

/** Names, nearest first; of equally near ones that which was added first. Zeroed: none. */
struct zd_suggest {
    const char *name[ZD_NEAREST_MAX]; /* n of them; borrowed */
    uint32_t distance[ZD_NEAREST_MAX];
    uint32_t n;
};

/**
 * How many bytes must be added, left out, replaced or swapped with the next to come from one name
 * to the other. Names differ in all that is beyond their first 64 bytes.
 */
uint32_t zd_suggest_distance(struct zd_span typed, struct zd_span name);

/**
 * The distance of a path from a route's template: segment by segment, where variables are any
 * segment, and the last one the rest of the path. What is behind a template's end differs as a
 * whole, slashes included.
 */
uint32_t zd_suggest_path_distance(const char *path, const char *template);

/** Add a name; the farthest gives way. A name that is there already is not added. */
void zd_suggest_add(struct zd_suggest *nearest, const char *name, uint32_t distance);

/** The same, when it may have been mistyped so: at most every third byte differs, and one. */
void zd_suggest_add_typed(struct zd_suggest *nearest, const char *typed, const char *name);

/** {"suggestions": [...]}, owned; NULL: no memory. An empty object when there are none. */
struct zd_json *zd_suggest_json(const struct zd_suggest *nearest);

#endif
