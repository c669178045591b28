/* Suggestions: the names nearest to a mistyped one. Thread: any. */
#ifndef ZD_HTTP_SUGGEST_H
#define ZD_HTTP_SUGGEST_H

#include "core/base/json.h"

#define ZD_SUGGEST_MAX       16
#define ZD_SUGGEST_MEANT_MAX 3 /* slips, up to which a name is taken for what was meant */

/** Pairs of bytes: 128 comparisons of the longest names, and thousands of names that differ little.
 */
#define ZD_SUGGEST_WORK_MAX (1U << 19)

/** Names, nearest first; of equally near ones the one added first. Zeroed: none. */
struct zd_suggest {
    const char *name[ZD_SUGGEST_MAX]; /* n of them; borrowed */
    uint32_t distance[ZD_SUGGEST_MAX];
    uint32_t n;
    uint32_t work; /* pairs of bytes compared by zd_suggest_add_typed */
};

/**
 * How many bytes must be inserted, deleted, replaced or swapped with their neighbour to turn one
 * name into the other. Bytes beyond the first 64 always count as different.
 */
uint32_t zd_suggest_distance(struct zd_span typed, struct zd_span name);

/**
 * The distance of a path from a route's template, segment by segment: a variable matches any
 * segment, and the last variable the rest of the path. Bytes behind the template's end all count
 * as different, slashes included.
 */
uint32_t zd_suggest_path_distance(const char *path, const char *template);

/** Add a name unless it is there already; the farthest one is dropped when all places are used. */
void zd_suggest_add(struct zd_suggest *nearest, const char *name, uint32_t distance);

/** The same, but only when at most a third of the bytes differ, or one byte. Names beyond
 * ZD_SUGGEST_WORK_MAX are not compared. */
void zd_suggest_add_typed(struct zd_suggest *nearest, const char *typed, const char *name);

/** {"suggestions": [...]}, owned; NULL: no memory. An empty object when there are none. */
struct zd_json *zd_suggest_json(const struct zd_suggest *nearest);

#endif
