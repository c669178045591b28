/* Ticks as dates of the proleptic Gregorian calendar (ISO 8601), and back.
 *
 * A tick is counted in one of four steps: years, months, days or seconds. Parts of a second are
 * apart, so that attoseconds fit. 400 years are an era, of which all have as many days. */
#include "core/grid/calendar.h"

#include <inttypes.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define EPOCH_YEAR       1970
#define YEARS_PER_ERA    400
#define DAYS_PER_ERA     146097
#define EPOCH_DAYS       719468 /* from 0000-03-01, where eras begin, to 1970-01-01 */
#define MONTHS_PER_YEAR  12
#define SECONDS_PER_DAY  86400
#define SECONDS_PER_HOUR 3600
#define YEAR_MAX         UINT64_C(1000000000000000)
#define DIGITS_MAX       18 /* of a fraction: attoseconds */

enum step {
    STEP_YEARS,
    STEP_MONTHS,
    STEP_DAYS,
    STEP_SECONDS,
};

/* The length of a unit: a number of steps, or a decimal fraction of a second with that many digits.
 */
static const struct unit {
    enum step step;
    uint32_t n_steps;
    uint32_t n_digits;
    uint32_t n_fields; /* of a date that is as exact: year, month, day, hour, minute, second */
} units[] = {
    [ZD_DTYPE_YEARS] = {STEP_YEARS, 1, 0, 1},
    [ZD_DTYPE_MONTHS] = {STEP_MONTHS, 1, 0, 2},
    [ZD_DTYPE_WEEKS] = {STEP_DAYS, 7, 0, 3},
    [ZD_DTYPE_DAYS] = {STEP_DAYS, 1, 0, 3},
    [ZD_DTYPE_HOURS] = {STEP_SECONDS, SECONDS_PER_HOUR, 0, 4},
    [ZD_DTYPE_MINUTES] = {STEP_SECONDS, 60, 0, 5},
    [ZD_DTYPE_SECONDS] = {STEP_SECONDS, 1, 0, 6},
    [ZD_DTYPE_MILLISECONDS] = {STEP_SECONDS, 1, 3, 6},
    [ZD_DTYPE_MICROSECONDS] = {STEP_SECONDS, 1, 6, 6},
    [ZD_DTYPE_NANOSECONDS] = {STEP_SECONDS, 1, 9, 6},
    [ZD_DTYPE_PICOSECONDS] = {STEP_SECONDS, 1, 12, 6},
    [ZD_DTYPE_FEMTOSECONDS] = {STEP_SECONDS, 1, 15, 6},
    [ZD_DTYPE_ATTOSECONDS] = {STEP_SECONDS, 1, DIGITS_MAX, 6},
};

/* A moment, from the epoch on. */
struct moment {
    int64_t n_steps;
    uint64_t part; /* of a second, in 10^-n_digits; less than one */
};

struct date {
    int64_t year;
    uint64_t field[6]; /* month, day, hour, minute, second; 0 is the year's place */
};

static uint64_t power_of_ten(uint32_t n)
{
    uint64_t power = 1;
    for (; n > 0; n--) {
        power *= 10;
    }
    return power;
}

/* Rounds down; n > 0. */
static int64_t divide(int64_t value, int64_t n, int64_t *ret_rest)
{
    const int64_t rest = value % n;
    *ret_rest = rest < 0 ? rest + n : rest;
    return value / n - (rest < 0 ? 1 : 0);
}

/* ---- ticks to a moment ---- */

/* Adds one moment to another. */
static bool moment_overflows(struct moment *sum, const struct moment *more, uint64_t parts)
{
    const bool overflows = ckd_add(&sum->n_steps, sum->n_steps, more->n_steps);
    sum->part += more->part;
    if (sum->part < parts) {
        return overflows;
    }
    sum->part -= parts;
    return overflows || ckd_add(&sum->n_steps, sum->n_steps, 1);
}

/* Multiplies by doubling, since the product of part and factor may not fit even where the result
 * does not. */
static bool multiple_overflows(struct moment *moment, uint32_t factor, uint64_t parts)
{
    struct moment sum = {0};
    struct moment power = *moment;
    for (bool overflows = false; factor > 0; factor >>= 1) {
        if (overflows || ((factor & 1) != 0 && moment_overflows(&sum, &power, parts))) {
            return true;
        }
        const struct moment same = power;
        overflows = moment_overflows(&power, &same, parts); /* matters only if it is used */
    }
    *moment = sum;
    return false;
}

static bool moment_of(const struct zd_dtype *dtype, int64_t ticks, struct moment *ret_moment)
{
    const struct unit *unit = &units[dtype->unit];
    const int64_t parts = (int64_t)power_of_ten(unit->n_digits);
    int64_t part = 0;
    struct moment moment = {.n_steps = divide(ticks, parts, &part)};
    moment.part = (uint64_t)part;
    if (multiple_overflows(&moment, dtype->scale, (uint64_t)parts) ||
        multiple_overflows(&moment, unit->n_steps, (uint64_t)parts)) {
        return false;
    }
    *ret_moment = moment;
    return true;
}

/* ---- moments and dates ---- */

static struct date date_of_days(int64_t days)
{
    int64_t day = 0;
    int64_t era = divide(days, DAYS_PER_ERA, &day) + EPOCH_DAYS / DAYS_PER_ERA;
    day += EPOCH_DAYS % DAYS_PER_ERA;
    if (day >= DAYS_PER_ERA) {
        day -= DAYS_PER_ERA;
        era++;
    }
    /* Years begin in March, so that the leap day is their last. */
    const int64_t year = (day - day / 1460 + day / 36524 - day / (DAYS_PER_ERA - 1)) / 365;
    const int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * day_of_year + 2) / 153;
    struct date date = {.year = era * YEARS_PER_ERA + year + (month >= 10 ? 1 : 0)};
    date.field[1] = (uint64_t)(month < 10 ? month + 3 : month - 9);
    date.field[2] = (uint64_t)(day_of_year - (153 * month + 2) / 5 + 1);
    return date;
}

/* The year is less than 10^15 or so. */
static int64_t days_of_date(const struct date *date)
{
    const int64_t month = (int64_t)date->field[1];
    int64_t year = 0;
    const int64_t era = divide(date->year - (month <= 2 ? 1 : 0), YEARS_PER_ERA, &year);
    const int64_t day_of_year =
        (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + (int64_t)date->field[2] - 1;
    return era * DAYS_PER_ERA + year * 365 + year / 4 - year / 100 + day_of_year - EPOCH_DAYS;
}

static struct date date_of(enum step step, int64_t n_steps)
{
    int64_t rest = 0;
    struct date date = {0};
    switch (step) {
    case STEP_YEARS:
        date = (struct date){.year = n_steps, .field = {0, 1, 1}};
        break;
    case STEP_MONTHS:
        date.year = divide(n_steps, MONTHS_PER_YEAR, &rest);
        date.field[1] = (uint64_t)rest + 1;
        date.field[2] = 1;
        break;
    case STEP_DAYS:
        return date_of_days(n_steps);
    case STEP_SECONDS:
        date = date_of_days(divide(n_steps, SECONDS_PER_DAY, &rest));
        date.field[3] = (uint64_t)rest / SECONDS_PER_HOUR;
        date.field[4] = (uint64_t)rest / 60 % 60;
        date.field[5] = (uint64_t)rest % 60;
        return date;
    }
    date.year += EPOCH_YEAR; /* fits: the caller has left room */
    return date;
}

bool zd_calendar_add(const struct zd_dtype *dtype, int64_t ticks, struct zd_text *text)
{
    static const char before[] = {'\0', '-', '-', 'T', ':', ':'};
    struct moment moment;
    if (dtype->unit == ZD_DTYPE_GENERIC || !moment_of(dtype, ticks, &moment) ||
        moment.n_steps > INT64_MAX - EPOCH_YEAR) {
        return false;
    }
    const struct unit *unit = &units[dtype->unit];
    const struct date date = date_of(unit->step, moment.n_steps);
    const uint64_t size = date.year < 0 ? 0 - (uint64_t)date.year : (uint64_t)date.year;
    zd_text_addf(text, "%s%04" PRIu64, date.year < 0 ? "-" : "", size);
    for (uint32_t i = 1; i < unit->n_fields; i++) {
        zd_text_addf(text, "%c%02" PRIu64, before[i], date.field[i]);
    }
    if (unit->n_digits > 0) {
        zd_text_addf(text, ".%0*" PRIu64, (int)unit->n_digits, moment.part);
    }
    return true;
}

/* ---- dates that are read ---- */

/* So many digits; false: they are not there, or say more than max. */
static bool read_digits(struct zd_scan *scan, size_t n, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    if ((size_t)(scan->end - scan->at) < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const char c = scan->at[i];
        if (c < '0' || c > '9' || value > max) {
            return false;
        }
        value = value * 10 + (uint64_t)(c - '0');
    }
    if (value > max) {
        return false;
    }
    scan->at += n;
    *ret_value = value;
    return true;
}

/* Four digits, or more behind a sign or not. */
static bool read_year(struct zd_scan *scan, struct date *date)
{
    uint64_t year = 0;
    const bool is_negative = zd_scan_char(scan, '-');
    if (!is_negative) {
        (void)zd_scan_char(scan, '+');
    }
    const size_t n = zd_scan_n_digits(scan);
    if (n < 4 || !read_digits(scan, n, YEAR_MAX, &year)) {
        return false;
    }
    date->year = is_negative ? -(int64_t)year : (int64_t)year;
    return true;
}

static uint64_t days_in_month(const struct date *date)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool is_leap =
        date->year % 4 == 0 && (date->year % 100 != 0 || date->year % YEARS_PER_ERA == 0);
    const uint64_t month = date->field[1];
    return days[month - 1] + (month == 2 && is_leap ? 1U : 0U);
}

/* The fraction as if it had all digits. */
static bool read_fraction(struct zd_scan *scan, uint64_t *ret_part)
{
    const size_t n = zd_scan_n_digits(scan);
    if (n == 0 || n > DIGITS_MAX || !read_digits(scan, n, UINT64_MAX / 10, ret_part)) {
        return false;
    }
    *ret_part *= power_of_ten(DIGITS_MAX - (uint32_t)n);
    return true;
}

static bool read_date(struct zd_span text, struct date *date, uint64_t *ret_part)
{
    static const struct {
        char before;
        uint64_t min;
        uint64_t max;
    } fields[] = {
        {'\0', 0, 0}, {'-', 1, 12}, {'-', 1, 31}, {'T', 0, 23}, {':', 0, 59}, {':', 0, 59}};
    struct zd_scan scan = zd_scan_of(text);
    *date = (struct date){.field = {0, 1, 1}};
    *ret_part = 0;
    if (!read_year(&scan, date)) {
        return false;
    }
    uint32_t i = 1;
    for (; i < ZD_COUNT_OF(fields) && zd_scan_char(&scan, fields[i].before); i++) {
        if (!read_digits(&scan, 2, fields[i].max, &date->field[i]) ||
            date->field[i] < fields[i].min) {
            return false;
        }
    }
    if (i == ZD_COUNT_OF(fields) && zd_scan_char(&scan, '.') && !read_fraction(&scan, ret_part)) {
        return false;
    }
    (void)(i > 3 && zd_scan_char(&scan, 'Z'));
    return zd_scan_at_end(&scan) && date->field[2] <= days_in_month(date);
}

/* In the step of a unit; false: the date is more exact than that, or does not fit. */
static bool steps_of(enum step step, const struct date *date, int64_t *ret_n_steps)
{
    const uint64_t *field = date->field;
    const int64_t second_of_day = (int64_t)(field[3] * SECONDS_PER_HOUR + field[4] * 60 + field[5]);
    switch (step) {
    case STEP_YEARS:
        *ret_n_steps = date->year - EPOCH_YEAR;
        return field[1] == 1 && field[2] == 1 && second_of_day == 0;
    case STEP_MONTHS:
        *ret_n_steps = (date->year - EPOCH_YEAR) * MONTHS_PER_YEAR + (int64_t)date->field[1] - 1;
        return field[2] == 1 && second_of_day == 0;
    case STEP_DAYS:
        *ret_n_steps = days_of_date(date);
        return second_of_day == 0;
    case STEP_SECONDS:
        break;
    }
    return !ckd_mul(ret_n_steps, days_of_date(date), (int64_t)SECONDS_PER_DAY) &&
           !ckd_add(ret_n_steps, *ret_n_steps, second_of_day);
}

/* steps and a part of the next one, in parts. Negative steps are more
 * than the sum. */
static bool parts_overflow(int64_t steps, int64_t part, int64_t parts, int64_t *ret_ticks)
{
    const bool is_negative = steps < 0 && part > 0;
    return ckd_mul(ret_ticks, steps + (is_negative ? 1 : 0), parts) ||
           ckd_add(ret_ticks, *ret_ticks, is_negative ? part - parts : part);
}

bool zd_calendar_read(const struct zd_dtype *dtype, struct zd_span date, int64_t *ret_ticks)
{
    struct date read;
    uint64_t part = 0;
    int64_t steps = 0;
    if (dtype->unit == ZD_DTYPE_GENERIC || !read_date(date, &read, &part)) {
        return false;
    }
    const struct unit *unit = &units[dtype->unit];
    const uint64_t below = power_of_ten(DIGITS_MAX - unit->n_digits);
    const int64_t per_tick = (int64_t)unit->n_steps * dtype->scale;
    int64_t ticks = 0;
    if (!steps_of(unit->step, &read, &steps) || part % below != 0 ||
        parts_overflow(
            steps, (int64_t)(part / below), (int64_t)power_of_ten(unit->n_digits), &ticks) ||
        ticks % per_tick != 0 || ticks / per_tick == ZD_DTYPE_NAT) {
        return false;
    }
    *ret_ticks = ticks / per_tick;
    return true;
}
