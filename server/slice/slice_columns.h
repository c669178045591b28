/* Names of the positions of a result in a table: the coordinates of its dimensions. Thread:
 * loop. */
#ifndef ZD_SLICE_SLICE_COLUMNS_H
#define ZD_SLICE_SLICE_COLUMNS_H

#include "server/data/coordinates.h"
#include "server/format/format.h"
#include "server/request/request.h"

/** Starts zeroed but for what is set before the call. */
struct zd_slice_columns {
    struct zd_wait wait;
    /* in */
    const struct zd_request *req; /* that must be allowed to read the coordinates; borrowed */
    struct zd_node *node;         /* the array of the answer; borrowed */
    /* out, with ZD_OK */
    struct zd_coordinate *of[ZD_RANK_MAX]; /* of each dimension of the array; NULL: there is none; a
                                              reference */
    uint64_t tag;                          /* of all of them */
    /* its own */
    bool is_wanted[ZD_RANK_MAX];
    struct zd_machine machine;
    uint32_t dim; /* that is looked up */
    struct zd_coordinate_want want;
};

/** Find the coordinates of the dimensions that an answer has. wait.status: ZD_OK, or why one cannot
 * be read. @param answer looked at during the call */
enum zd_next zd_slice_columns_want(
    struct zd_slice_columns *columns, const struct zd_answer *answer);

/** Stop waiting, and release what was found. Accepts a zeroed one. */
void zd_slice_columns_release(struct zd_slice_columns *columns);

/**
 * The columns of an answer, whose dimensions are those that were looked up.
 * @param columns      NULL: they are indices
 * @param ret_column   borrowed from the answer and from columns
 */
void zd_slice_columns_make(const struct zd_slice_columns *columns, const struct zd_answer *answer,
    struct zd_column ret_column[ZD_RANK_MAX]);

#endif
