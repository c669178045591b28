/* Dates of the calendars of CF, as days, and as moments.
 *
 * Years begin in March where a leap day is to be the last of its year. Days of the Julian calendar
 * are counted as those of the Gregorian one, so that the standard calendar can change over. */
#include "core/grid/cf_calendar.h"

#include "core/base/num.h"

#define MONTHS            12
#define DAYS_TO_1970      719468 /* from 0000-03-01, Gregorian, to 1970-01-01 */
#define JULIAN_LEAD       2      /* days that 0000-03-01 of the Julian calendar comes before it */
#define DAYS_A_ERA        146097 /* 400 Gregorian years */
#define DAYS_A_JULIAN_ERA 1461   /* 4 years */
#define DAYS_360          30
#define REFORM_DAYS       (-141427) /* 1582-10-15, Gregorian */
#define NAME_BYTES_MAX    32

static const uint32_t noleap_days[MONTHS + 1] = {
    0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
static const uint32_t all_leap_days[MONTHS + 1] = {
    0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366};

static const struct name {
    const char *name;
    enum zd_cf_calendar calendar;
} names[] = {
    {"standard", ZD_CF_STANDARD},
    {"gregorian", ZD_CF_STANDARD},
    {"proleptic_gregorian", ZD_CF_PROLEPTIC_GREGORIAN},
    {"tai", ZD_CF_PROLEPTIC_GREGORIAN},
    {"julian", ZD_CF_JULIAN},
    {"noleap", ZD_CF_NOLEAP},
    {"365_day", ZD_CF_NOLEAP},
    {"all_leap", ZD_CF_ALL_LEAP},
    {"366_day", ZD_CF_ALL_LEAP},
    {"360_day", ZD_CF_360_DAY},
};

const char zd_cf_calendar_names[] =
    "standard, gregorian, proleptic_gregorian, tai, julian, noleap, 365_day, all_leap, 366_day or "
    "360_day";

bool zd_cf_calendar_find(struct zd_span name, enum zd_cf_calendar *ret_calendar)
{
    char lower[NAME_BYTES_MAX];
    if (name.len == 0) {
        *ret_calendar = ZD_CF_STANDARD;
        return true;
    }
    for (size_t i = 0; name.len <= sizeof lower && i < name.len; i++) {
        const bool is_upper = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z';
        lower[i] = (char)(name.ptr[i] + (is_upper ? 'a' - 'A' : 0));
    }
    for (size_t i = 0; name.len <= sizeof lower && i < ZD_COUNT_OF(names); i++) {
        const struct zd_span found = {.ptr = (const uint8_t *)lower, .len = name.len};
        if (zd_span_is(found, names[i].name)) {
            *ret_calendar = names[i].calendar;
            return true;
        }
    }
    return false;
}

zd_i128 zd_cf_calendar_divide(zd_i128 value, zd_i128 n, zd_i128 *ret_rest)
{
    const zd_i128 rest = value % n;
    *ret_rest = rest < 0 ? rest + n : rest;
    return value / n - (rest < 0 ? 1 : 0);
}

static int64_t divide(int64_t value, int64_t n, int64_t *ret_rest)
{
    const int64_t rest = value % n;
    *ret_rest = rest < 0 ? rest + n : rest;
    return value / n - (rest < 0 ? 1 : 0);
}

/* ---- years with a year 0, as astronomers count ---- */

static bool has_year_zero(enum zd_cf_calendar calendar)
{
    return calendar != ZD_CF_STANDARD && calendar != ZD_CF_JULIAN;
}

static int64_t written_year(enum zd_cf_calendar calendar, int64_t year)
{
    return year <= 0 && !has_year_zero(calendar) ? year - 1 : year;
}

/* ---- days ---- */

/* From March on: the year, and the day of it. */
static int64_t day_from_march(int64_t year, const struct zd_cf_date *date, int64_t *ret_year)
{
    const int64_t month = (int64_t)date->month;
    *ret_year = month > 2 ? year : year - 1;
    return (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + (int64_t)date->day - 1;
}

static int64_t gregorian_days(int64_t year, const struct zd_cf_date *date)
{
    int64_t from_march;
    int64_t rest;
    const int64_t day = day_from_march(year, date, &from_march);
    return 365 * from_march + divide(from_march, 4, &rest) - divide(from_march, 100, &rest) +
           divide(from_march, 400, &rest) + day - DAYS_TO_1970;
}

static int64_t julian_days(int64_t year, const struct zd_cf_date *date)
{
    int64_t from_march;
    int64_t rest;
    const int64_t day = day_from_march(year, date, &from_march);
    return 365 * from_march + divide(from_march, 4, &rest) + day - DAYS_TO_1970 - JULIAN_LEAD;
}

static int64_t days_of(enum zd_cf_calendar calendar, int64_t year, const struct zd_cf_date *date)
{
    switch (calendar) {
    case ZD_CF_STANDARD:
        break;
    case ZD_CF_PROLEPTIC_GREGORIAN:
        return gregorian_days(year, date);
    case ZD_CF_JULIAN:
        return julian_days(year, date);
    case ZD_CF_NOLEAP:
        return 365 * year + (int64_t)noleap_days[date->month - 1] + (int64_t)date->day - 1;
    case ZD_CF_ALL_LEAP:
        return 366 * year + (int64_t)all_leap_days[date->month - 1] + (int64_t)date->day - 1;
    case ZD_CF_360_DAY:
        return (MONTHS * year + (int64_t)date->month - 1) * DAYS_360 + (int64_t)date->day - 1;
    }
    const int64_t days = gregorian_days(year, date);
    return days < REFORM_DAYS ? julian_days(year, date) : days;
}

/* Sets month and day of a day from March on. @return whether the next year has begun */
static bool set_day_from_march(int64_t day, struct zd_cf_date *date)
{
    const int64_t month = (5 * day + 2) / 153;
    date->month = (uint32_t)(month < 10 ? month + 3 : month - 9);
    date->day = (uint32_t)(day - (153 * month + 2) / 5 + 1);
    return month >= 10;
}

static int64_t set_gregorian(int64_t days, struct zd_cf_date *date)
{
    int64_t day;
    const int64_t era = divide(days + DAYS_TO_1970, DAYS_A_ERA, &day);
    const int64_t year = (day - day / 1460 + day / 36524 - day / (DAYS_A_ERA - 1)) / 365;
    const int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    return era * 400 + year + (set_day_from_march(day_of_year, date) ? 1 : 0);
}

static int64_t set_julian(int64_t days, struct zd_cf_date *date)
{
    int64_t day;
    const int64_t era = divide(days + DAYS_TO_1970 + JULIAN_LEAD, DAYS_A_JULIAN_ERA, &day);
    const int64_t year = (day - day / (DAYS_A_JULIAN_ERA - 1)) / 365;
    return era * 4 + year + (set_day_from_march(day - 365 * year, date) ? 1 : 0);
}

static int64_t set_equal_years(int64_t days, const uint32_t *before, struct zd_cf_date *date)
{
    int64_t day;
    const int64_t year = divide(days, before[MONTHS], &day);
    date->month = MONTHS;
    while (before[date->month - 1] > (uint32_t)day) {
        date->month--;
    }
    date->day = (uint32_t)day - before[date->month - 1] + 1;
    return year;
}

static int64_t set_360_days(int64_t days, struct zd_cf_date *date)
{
    int64_t day;
    int64_t month;
    const int64_t year = divide(divide(days, DAYS_360, &day), MONTHS, &month);
    date->month = (uint32_t)month + 1;
    date->day = (uint32_t)day + 1;
    return year;
}

static int64_t set_day(enum zd_cf_calendar calendar, int64_t days, struct zd_cf_date *date)
{
    switch (calendar) {
    case ZD_CF_STANDARD:
        break;
    case ZD_CF_PROLEPTIC_GREGORIAN:
        return set_gregorian(days, date);
    case ZD_CF_JULIAN:
        return set_julian(days, date);
    case ZD_CF_NOLEAP:
        return set_equal_years(days, noleap_days, date);
    case ZD_CF_ALL_LEAP:
        return set_equal_years(days, all_leap_days, date);
    case ZD_CF_360_DAY:
        return set_360_days(days, date);
    }
    return days < REFORM_DAYS ? set_julian(days, date) : set_gregorian(days, date);
}

struct zd_cf_date zd_cf_calendar_date(enum zd_cf_calendar calendar, int64_t days)
{
    struct zd_cf_date date = {0};
    date.year = written_year(calendar, set_day(calendar, days, &date));
    return date;
}

bool zd_cf_calendar_days(
    enum zd_cf_calendar calendar, const struct zd_cf_date *date, int64_t *ret_days)
{
    const bool is_before = date->year < 0 && !has_year_zero(calendar);
    if (date->year < -ZD_CF_YEAR_MAX || date->year > ZD_CF_YEAR_MAX || date->month < 1 ||
        date->month > MONTHS || date->day < 1 || date->day > 31) {
        return false;
    }
    const int64_t days = days_of(calendar, date->year + (is_before ? 1 : 0), date);
    const struct zd_cf_date same = zd_cf_calendar_date(calendar, days);
    if (same.year != date->year || same.month != date->month || same.day != date->day) {
        return false;
    }
    *ret_days = days;
    return true;
}

/* ---- moments ---- */

bool zd_cf_calendar_moment(
    enum zd_cf_calendar calendar, const struct zd_cf_date *date, zd_i128 *ret_moment)
{
    int64_t days;
    if (!zd_cf_calendar_days(calendar, date, &days) || date->hour > 23 || date->minute > 59 ||
        date->second > 59 || date->attoseconds >= (uint64_t)ZD_CF_AS_A_SECOND) {
        return false;
    }
    const int64_t seconds = days * ZD_CF_SECONDS_A_DAY + (int64_t)date->hour * 3600 +
                            (int64_t)date->minute * 60 + (int64_t)date->second;
    *ret_moment = (zd_i128)seconds * ZD_CF_AS_A_SECOND + (zd_i128)date->attoseconds;
    return true;
}

bool zd_cf_calendar_date_of(
    enum zd_cf_calendar calendar, zd_i128 moment, struct zd_cf_date *ret_date)
{
    const zd_i128 days_max = (zd_i128)ZD_CF_YEAR_MAX * 366;
    zd_i128 attoseconds;
    zd_i128 second;
    const zd_i128 seconds = zd_cf_calendar_divide(moment, ZD_CF_AS_A_SECOND, &attoseconds);
    const zd_i128 days = zd_cf_calendar_divide(seconds, ZD_CF_SECONDS_A_DAY, &second);
    if (days < -days_max || days > days_max) {
        return false;
    }
    *ret_date = zd_cf_calendar_date(calendar, (int64_t)days);
    ret_date->hour = (uint32_t)(second / 3600);
    ret_date->minute = (uint32_t)(second / 60 % 60);
    ret_date->second = (uint32_t)(second % 60);
    ret_date->attoseconds = (uint64_t)attoseconds;
    return true;
}

struct zd_cf_date zd_cf_calendar_next(
    enum zd_cf_calendar calendar, const struct zd_cf_date *date, bool is_month)
{
    struct zd_cf_date next = {.year = date->year, .month = 1, .day = 1};
    if (is_month && date->month < MONTHS) {
        next.month = date->month + 1;
        return next;
    }
    next.year += next.year == -1 && !has_year_zero(calendar) ? 2 : 1;
    return next;
}
