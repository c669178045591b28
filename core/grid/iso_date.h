/* Dates, times and durations as text (ISO 8601), in any calendar of CF. Thread: any. */
#ifndef ZD_CORE_GRID_ISO_DATE_H
#define ZD_CORE_GRID_ISO_DATE_H

#include "core/base/text.h"
#include "core/grid/cf_calendar.h"

/** A date that was read. */
struct zd_iso_date {
    struct zd_cf_date date; /* what is not said is the first */
    uint32_t n_fields;      /* that are said: 1 (a year) .. 6 (seconds) */
    uint32_t n_digits;      /* of a fraction of the second: 0 .. 18 */
    int32_t zone_s;         /* east of UTC */
};

/**
 * Read "2001", "2001-02", "2001-02-03", "2001-02-03T04", .. "2001-02-03T04:05:06.789Z". Years have
 * four digits, or a sign and more; a space may be in place of T; a zone (Z, +01, +0130, +01:30) may
 * follow a time.
 *
 * @return false: it is no such text. Whether the date exists, the calendar says.
 */
bool zd_iso_date_read(struct zd_span text, struct zd_iso_date *ret_date);

/** Read a date as the units of CF have it (UDUNITS): also "1-1-1 0:0:0.5 +1:30", "20010203", "UTC"
 * or "GMT" at its end. */
bool zd_iso_date_read_loose(struct zd_span text, struct zd_iso_date *ret_date);

/**
 * The time that a date means: the whole of what it does not divide ("2001-02": that month;
 * "..:06.789": that millisecond).
 *
 * @param ret_first its first moment
 * @param ret_end   the first moment after it
 * @return false: the calendar has no such date
 */
bool zd_iso_date_period(const struct zd_iso_date *date, enum zd_cf_calendar calendar,
    zd_i128 *ret_first, zd_i128 *ret_end);

/** Add "2001-02-03T04:05:06", and a fraction without zeros at its end, if there is one. */
void zd_iso_date_add(const struct zd_cf_date *date, struct zd_text *text);

/**
 * Read a duration: "PT3H", "P1DT12H", "P2W", "PT0.5S", or a number and a unit: "3h", "90 minutes",
 * "1.5 days". Years and months are none, since they differ.
 * @return false: it is no such text, negative, or too long
 */
bool zd_iso_date_read_duration(struct zd_span text, zd_i128 *ret_attoseconds);

/** The attoseconds of a unit of time, as CF and UDUNITS spell it: "d", "day", "days", "h", .. "ns";
 * in any case. @return 0: it is none of constant length */
zd_i128 zd_iso_date_unit(struct zd_span name);

#endif
