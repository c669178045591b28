/* Ticks as dates of the proleptic Gregorian calendar (ISO 8601), and back. */
#ifndef ZD_CORE_GRID_CALENDAR_H
#define ZD_CORE_GRID_CALENDAR_H

#include "core/base/text.h"
#include "core/grid/dtype.h"

/**
 * The beginning of a tick, as exact as its unit and no more: "2001", "2001-02-03T04",
 * "1969-12-31T23:59:59.999".
 *
 * @param dtype a time
 * @param ticks not NaT
 * @return false: the unit is generic, or the time is more than 2^63 seconds or so away; nothing is
 * added. Failures of the text stick in it.
 * Thread: any.
 */
bool zd_calendar_add(const struct zd_dtype *dtype, int64_t ticks, struct zd_text *text);

/**
 * The tick that begins at a date: what zd_calendar_add writes, of any exactness, perhaps with Z at
 * its end.
 *
 * @return false: it is no such text, no tick begins then, or the time does not fit
 * Thread: any.
 */
bool zd_calendar_read(const struct zd_dtype *dtype, struct zd_span date, int64_t *ret_ticks);

#endif
