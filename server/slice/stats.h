/* Statistics of a selection: read from the document, or computed chunk by chunk.
 * Thread: loop. */
#ifndef ZD_SLICE_STATS_H
#define ZD_SLICE_STATS_H

#include "server/slice/slice_read.h"

/** The fields, in the order of the answer. */
enum zd_stats_field {
    ZD_STATS_MIN,
    ZD_STATS_MAX,
    ZD_STATS_MEAN,
    ZD_STATS_STD,
    ZD_STATS_N_NAN,
    ZD_STATS_N_FILL,
    ZD_STATS_FIELDS,
};

/** The state of a request for statistics. */
struct zd_stats {
    struct zd_slice_read read; /* first; the task counts the elements of one lot of chunks */
    bool wants[ZD_STATS_FIELDS];
    bool wants_count;
    bool is_declared;    /* the array's own bounds answer: no chunk is read */
    struct zd_buf *room; /* for the elements of one part */
    struct zd_summary summary;
};

/** A state for zd_slice_read_attach. NULL without memory. */
struct zd_stats *zd_stats_new(struct zd_request *req, const struct zd_slice_read_kind *kind);

/** The work and the release of its kind. */
void zd_stats_work(struct zd_task *task);
void zd_stats_release(struct zd_task *task);

/**
 * Parse the query, and judge it against the array and the limits.
 * @param ret_code the problem code of a failure, or NULL
 * @retval ZD_INVALID, ZD_OUT_OF_BOUNDS, ZD_UNSUPPORTED (the data type), ZD_TOO_LARGE
 */
ZD_RESULT zd_stats_plan(struct zd_stats *stats, const char **ret_code, struct zd_error *err);

/** The bytes that computing holds at the same time. */
uint64_t zd_stats_held_bytes(const struct zd_stats *stats);

/** Memory was admitted: take what counting and the tag need. @retval ZD_NO_MEMORY */
ZD_RESULT zd_stats_take(struct zd_stats *stats, struct zd_error *err);

/** Begin to count (again). @retval ZD_NO_MEMORY */
ZD_RESULT zd_stats_begin(struct zd_stats *stats, struct zd_error *err);

/** The entity tag; every touched object is known, unless it is declared. */
void zd_stats_tag(const struct zd_stats *stats, char to[ZD_TAG_BYTES]);

/** The answer. Failures stick in the text. */
void zd_stats_emit(const struct zd_stats *stats, struct zd_emit *emit);

#endif
