/* Numbers as times: "UNIT since REFERENCE" in a calendar, exactly. */
#include "core/grid/cf_time.h"

#include <math.h>

#include "core/base/num.h"
#include "core/grid/iso_date.h"

#define AS_A_NS        INT64_C(1000000000)
#define AS_A_US        INT64_C(1000000000000)
#define DAYS_A_MONTH   30  /* 360_day */
#define DAYS_A_YEAR    365 /* noleap */
#define FRACTION_BITS  64
#define MOMENT_BITS    126
#define UNITS_TEXT_MAX 100

static const char since[] = " since ";

static char lower(uint8_t c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* Whether the text goes on with a word, in any case. */
static bool has_word(struct zd_span text, size_t at, const char *word)
{
    size_t i = 0;
    while (word[i] != '\0' && at + i < text.len && lower(text.ptr[at + i]) == word[i]) {
        i++;
    }
    return word[i] == '\0';
}

/* Where " since " is. */
static bool split(struct zd_span units, struct zd_span *ret_unit, struct zd_span *ret_reference)
{
    for (size_t i = 0; i < units.len; i++) {
        if (has_word(units, i, since)) {
            const size_t end = i + sizeof since - 1;
            *ret_unit = zd_span_trim((struct zd_span){.ptr = units.ptr, .len = i});
            *ret_reference =
                zd_span_trim((struct zd_span){.ptr = units.ptr + end, .len = units.len - end});
            return true;
        }
    }
    return false;
}

static bool is_word(struct zd_span text, const char *word)
{
    return text.len == zd_span_of(word).len && has_word(text, 0, word);
}

static zd_i128 unit_of(struct zd_span name, enum zd_cf_calendar calendar)
{
    const zd_i128 day = (zd_i128)ZD_CF_SECONDS_A_DAY * ZD_CF_AS_A_SECOND;
    if (calendar == ZD_CF_360_DAY && (is_word(name, "month") || is_word(name, "months"))) {
        return DAYS_A_MONTH * day;
    }
    if (calendar == ZD_CF_NOLEAP &&
        (is_word(name, "common_year") || is_word(name, "common_years"))) {
        return DAYS_A_YEAR * day;
    }
    return zd_iso_date_unit(name);
}

/* At most so many bytes are shown. */
static int shown(struct zd_span text)
{
    return (int)zd_min_u64(text.len, UNITS_TEXT_MAX);
}

enum zd_status zd_cf_time_parse(struct zd_span units, struct zd_span calendar,
    struct zd_cf_time *ret_time, struct zd_error *err)
{
    struct zd_cf_time time = {0};
    struct zd_span unit;
    struct zd_span reference;
    struct zd_iso_date date;
    zd_i128 end;
    if (!split(units, &unit, &reference)) {
        return zd_fail(err, ZD_UNSUPPORTED, "the units '%.*s' are not of the form UNIT since DATE",
            shown(units), (const char *)units.ptr);
    }
    if (!zd_cf_calendar_find(zd_span_trim(calendar), &time.calendar)) {
        const enum zd_status status = zd_fail_name(err, "calendar", "unknown calendar '%.*s'",
            shown(calendar), (const char *)calendar.ptr);
        zd_fact_expected(err, "%s", zd_cf_calendar_names);
        zd_fact_found(err, "%.*s", shown(calendar), (const char *)calendar.ptr);
        return status;
    }
    time.unit = unit_of(unit, time.calendar);
    if (time.unit == 0) {
        return zd_fail(err, ZD_UNSUPPORTED, "the time unit '%.*s' has no fixed length", shown(unit),
            (const char *)unit.ptr);
    }
    if (!zd_iso_date_read_loose(reference, &date) ||
        !zd_iso_date_period(&date, time.calendar, &time.reference, &end)) {
        const enum zd_status status = zd_fail_name(err, "units",
            "the reference date '%.*s' of the units is not a date of the calendar",
            shown(reference), (const char *)reference.ptr);
        zd_fact_expected(err, "a date such as 2001-02-03 04:05:06");
        zd_fact_found(err, "%.*s", shown(reference), (const char *)reference.ptr);
        return status;
    }
    *ret_time = time;
    return ZD_OK;
}

bool zd_cf_time_of_ticks(const struct zd_dtype *dtype, struct zd_cf_time *ret_time)
{
    static const zd_i128 units[] = {
        [ZD_DTYPE_WEEKS] = (zd_i128)7 * ZD_CF_SECONDS_A_DAY * ZD_CF_AS_A_SECOND,
        [ZD_DTYPE_DAYS] = (zd_i128)ZD_CF_SECONDS_A_DAY * ZD_CF_AS_A_SECOND,
        [ZD_DTYPE_HOURS] = (zd_i128)3600 * ZD_CF_AS_A_SECOND,
        [ZD_DTYPE_MINUTES] = (zd_i128)60 * ZD_CF_AS_A_SECOND,
        [ZD_DTYPE_SECONDS] = ZD_CF_AS_A_SECOND,
        [ZD_DTYPE_MILLISECONDS] = (zd_i128)1000 * AS_A_US,
        [ZD_DTYPE_MICROSECONDS] = AS_A_US,
        [ZD_DTYPE_NANOSECONDS] = AS_A_NS,
        [ZD_DTYPE_PICOSECONDS] = 1000000,
        [ZD_DTYPE_FEMTOSECONDS] = 1000,
        [ZD_DTYPE_ATTOSECONDS] = 1,
        [ZD_DTYPE_GENERIC] = 0,
    };
    if (dtype->kind != ZD_DTYPE_TIME || units[dtype->unit] == 0) {
        return false;
    }
    *ret_time = (struct zd_cf_time){
        .calendar = ZD_CF_PROLEPTIC_GREGORIAN,
        .unit = units[dtype->unit] * dtype->scale,
    };
    return true;
}

/* ---- numbers to moments ---- */

static bool moment_of(const struct zd_cf_time *time, zd_i128 value, zd_i128 *ret_moment)
{
    const zd_i128 most = ((zd_i128)1 << MOMENT_BITS) / time->unit;
    if (value > most || value < -most) {
        return false;
    }
    *ret_moment = value * time->unit + time->reference; /* references are far below 2^126 */
    return true;
}

bool zd_cf_time_of_i64(const struct zd_cf_time *time, int64_t value, zd_i128 *ret_moment)
{
    return moment_of(time, value, ret_moment);
}

bool zd_cf_time_of_u64(const struct zd_cf_time *time, uint64_t value, zd_i128 *ret_moment)
{
    return moment_of(time, value, ret_moment);
}

bool zd_cf_time_of_f64(const struct zd_cf_time *time, double value, zd_i128 *ret_moment)
{
    const double limit = 0x1p62;
    if (!(value > -limit && value < limit)) {
        return false;
    }
    const zd_i128 step = time->unit >= AS_A_US ? AS_A_US : time->unit >= AS_A_NS ? AS_A_NS : 1;
    const double whole = floor(value);
    /* The fraction as an integer: what lies below 2^-64 of a unit is far less than half a step. */
    const zd_u128 part = (zd_u128)(uint64_t)ldexp(value - whole, FRACTION_BITS - 1) << 1;
    const zd_u128 half = (zd_u128)1 << (FRACTION_BITS - 1);
    const zd_u128 n_steps = (part * (zd_u128)(time->unit / step) + half) >> FRACTION_BITS;
    if (!moment_of(time, (zd_i128)whole, ret_moment)) {
        return false;
    }
    *ret_moment += (zd_i128)n_steps * step;
    return true;
}

/* ---- moments to numbers ---- */

bool zd_cf_time_ns(zd_i128 moment, int64_t *ret_ns)
{
    zd_i128 rest;
    const zd_i128 ns = zd_cf_calendar_divide(moment, AS_A_NS, &rest);
    if (ns <= INT64_MIN || ns > INT64_MAX) { /* the least is NaT */
        return false;
    }
    *ret_ns = (int64_t)ns;
    return true;
}

bool zd_cf_time_add(enum zd_cf_calendar calendar, zd_i128 moment, struct zd_text *text)
{
    struct zd_cf_date date;
    if (!zd_cf_calendar_date_of(calendar, moment, &date)) {
        return false;
    }
    zd_iso_date_add(&date, text);
    return true;
}
