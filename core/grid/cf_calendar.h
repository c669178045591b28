/* Dates of the calendars of CF (CF conventions 4.4.1), as days, and as moments. Thread: any. */
#ifndef ZD_CORE_GRID_CF_CALENDAR_H
#define ZD_CORE_GRID_CF_CALENDAR_H

#include "core/base/buf.h"
#include "core/base/num.h"

enum zd_cf_calendar {
    ZD_CF_STANDARD, /* Julian to 1582-10-04, then Gregorian from 1582-10-15; has no year 0 */
    ZD_CF_PROLEPTIC_GREGORIAN,
    ZD_CF_JULIAN, /* has no year 0 */
    ZD_CF_NOLEAP,
    ZD_CF_ALL_LEAP,
    ZD_CF_360_DAY,
};

#define ZD_CF_YEAR_MAX      INT64_C(100000000000) /* dates are within these years of 0 */
#define ZD_CF_SECONDS_A_DAY 86400
#define ZD_CF_AS_A_SECOND   INT64_C(1000000000000000000) /* attoseconds */

/** A date and the time of its day. */
struct zd_cf_date {
    int64_t year;
    uint32_t month;  /* 1 .. 12 */
    uint32_t day;    /* 1 .. */
    uint32_t hour;   /* 0 .. 23 */
    uint32_t minute; /* 0 .. 59 */
    uint32_t second; /* 0 .. 59 */
    uint64_t attoseconds;
};

/** The calendar of a name, in any case; aliases too. An empty one is "standard". */
bool zd_cf_calendar_find(struct zd_span name, enum zd_cf_calendar *ret_calendar);

/** The names of all calendars and their aliases, for messages. */
extern const char zd_cf_calendar_names[];

/** Whether its dates are those of ISO 8601, and therefore of datetime64: always, or (standard) from
 * 1582-10-15 on. */
static inline bool zd_cf_calendar_is_standard(enum zd_cf_calendar calendar)
{
    return calendar == ZD_CF_STANDARD || calendar == ZD_CF_PROLEPTIC_GREGORIAN;
}

/**
 * The day of a date; days are counted from 1970-01-01 where the calendar is Gregorian, and from
 * some day of their own in others.
 *
 * @param date its time of day is not looked at
 * @return false: the calendar has no such date, or it is beyond ZD_CF_YEAR_MAX
 */
bool zd_cf_calendar_days(
    enum zd_cf_calendar calendar, const struct zd_cf_date *date, int64_t *ret_days);

/** The date of a day, at its beginning. @param days at most 10^15 away from 0 */
struct zd_cf_date zd_cf_calendar_date(enum zd_cf_calendar calendar, int64_t days);

/**
 * The moment of a date: attoseconds since the beginning of day 0.
 * @return false: there is no such date, or no such time of a day
 */
bool zd_cf_calendar_moment(
    enum zd_cf_calendar calendar, const struct zd_cf_date *date, zd_i128 *ret_moment);

/** The date of a moment. @return false: it is beyond ZD_CF_YEAR_MAX or so */
bool zd_cf_calendar_date_of(
    enum zd_cf_calendar calendar, zd_i128 moment, struct zd_cf_date *ret_date);

/** The year or month (`is_month`) that follows that of a date: its first day. */
struct zd_cf_date zd_cf_calendar_next(
    enum zd_cf_calendar calendar, const struct zd_cf_date *date, bool is_month);

/** Rounds down. @param n > 0 @param ret_rest 0 <= rest < n */
zd_i128 zd_cf_calendar_divide(zd_i128 value, zd_i128 n, zd_i128 *ret_rest);

#endif
