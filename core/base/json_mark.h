/* Marks for what jansson cannot hold: each such token of a document becomes a marked string, and
 * jansson reads that. A mark begins with a NUL, which no other string can hold, as one with a NUL
 * is marked, too:
 *
 *     NUL 'U' digits    an integer beyond int64_t that fits uint64_t
 *     NUL 'B' digits    an integer beyond 64 bits
 *     NUL 'R' number    a real beyond double
 *     NUL 'N' word      NaN, Infinity or -Infinity
 *     NUL 'S' text      a string with U+0000 or half of a surrogate pair, its escapes as written
 */
#ifndef ZD_BASE_JSON_MARK_H
#define ZD_BASE_JSON_MARK_H

#include <stddef.h>

#include "core/base/text.h"

#define ZD_JSON_MARK_UINT64    'U'
#define ZD_JSON_MARK_BIG       'B'
#define ZD_JSON_MARK_REAL      'R'
#define ZD_JSON_MARK_NONFINITE 'N'
#define ZD_JSON_MARK_STRING    'S'
#define ZD_JSON_MARK_BYTES     2 /* NUL and the letter */

/** The marking of a text. */
struct zd_json_marking {
    struct zd_span text;
    bool nonfinite; /* NaN and infinities are marked */
    size_t n_marks;
    bool has_odd_name; /* which cannot be marked */
    size_t odd_name;   /* where */
};

/** The text with its marks, as far as len_max bytes of output. Failures stick in it. Thread: any.
 * @return where in the input that is */
size_t zd_json_mark_put(struct zd_json_marking *marking, size_t len_max, struct zd_text *out);

/** How long a text may become. */
size_t zd_json_mark_len_max(struct zd_span text);

#endif
