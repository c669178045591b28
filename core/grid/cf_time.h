/* Numbers as times: "UNIT since REFERENCE" in a calendar (CF conventions 4.4), exactly. Thread:
 * any.
 *
 * A moment is a number of attoseconds in its calendar (core/grid/cf_calendar.h); in the standard
 * and the Gregorian one it is counted from 1970-01-01T00:00, as datetime64 is. */
#ifndef ZD_CORE_GRID_CF_TIME_H
#define ZD_CORE_GRID_CF_TIME_H

#include "core/base/status.h"
#include "core/base/text.h"
#include "core/grid/cf_calendar.h"
#include "core/grid/dtype.h"

/** The unit and origin of a time coordinate's numbers. */
struct zd_cf_time {
    enum zd_cf_calendar calendar;
    zd_i128 unit; /* attoseconds; >= 1, and of what zd_cf_time_parse gives a multiple of 10^9 */
    zd_i128 reference; /* the moment of 0 */
};

/**
 * Parse the attributes of a variable.
 *
 * Units are those of zd_iso_date_unit, months in 360_day, and common years in noleap.
 *
 * @param units    "days since 2001-01-01 00:00"
 * @param calendar empty: there is none, which means standard
 * @retval ZD_UNSUPPORTED these are no units of time since a moment, or have no constant length
 *                        ("months since ..."): the numbers are no more than numbers
 * @retval ZD_INVALID     there is no such calendar, or no such date in it; facts name, expected,
 *                        found
 */
ZD_RESULT zd_cf_time_parse(struct zd_span units, struct zd_span calendar,
    struct zd_cf_time *ret_time, struct zd_error *err);

/** The time of a datetime64's ticks. @return false: the unit is years, months or generic */
bool zd_cf_time_of_ticks(const struct zd_dtype *dtype, struct zd_cf_time *ret_time);

/** The moment of a number. @return false: beyond 10^20 seconds */
bool zd_cf_time_of_i64(const struct zd_cf_time *time, int64_t value, zd_i128 *ret_moment);
bool zd_cf_time_of_u64(const struct zd_cf_time *time, uint64_t value, zd_i128 *ret_moment);

/** The same of a float, whose fractions are rounded to microseconds (of units smaller than one, to
 * nanoseconds): it says no more. @return false: NaN and infinities too */
bool zd_cf_time_of_f64(const struct zd_cf_time *time, double value, zd_i128 *ret_moment);

/** A moment as datetime64 in nanoseconds, rounded down. @return false: it does not fit */
bool zd_cf_time_ns(zd_i128 moment, int64_t *ret_ns);

/** Add a moment as ISO 8601, "2001-02-03T04:05:06.5". @return false: it is too far away; nothing is
 * added */
bool zd_cf_time_add(enum zd_cf_calendar calendar, zd_i128 moment, struct zd_text *text);

#endif
