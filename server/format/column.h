/* The column of a dimension in a table: what each position of the result is called. Thread: any. */
#ifndef ZD_FORMAT_COLUMN_H
#define ZD_FORMAT_COLUMN_H

#include "core/grid/cf_time.h"
#include "server/format/format.h"

/** The column of a dimension without coordinates: the indices in the array. Borrowed from the
 * answer. */
struct zd_column zd_column_of_indices(const struct zd_answer *answer, uint32_t dim);

/** Add what a position is called: as zd_scalar_add, times in ISO 8601. */
void zd_column_add(const struct zd_column *column, uint64_t position,
    const struct zd_scalar_style *style, struct zd_text *text);

/**
 * Add one element as it is in a table. As zd_scalar_add.
 * @param time what numbers count: they are dates (ISO 8601) where these are not too far away; or
 *             NULL
 */
void zd_column_add_element(const struct zd_dtype *dtype, const struct zd_cf_time *time,
    const uint8_t *element, const struct zd_scalar_style *style, struct zd_text *text);

/** The name of a dimension's column: its own, else "dim_0". */
void zd_column_add_name(const struct zd_answer *answer, uint32_t dim, struct zd_text *name);

/** Whether the elements of an answer count time as their attributes say (CF); set then. */
bool zd_column_find_time(const struct zd_answer *answer, struct zd_cf_time *ret_time);

#endif
