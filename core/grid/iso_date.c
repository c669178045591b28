/* Dates, times and durations as text (ISO 8601), in any calendar of CF. */
#include "core/grid/iso_date.h"

#include <inttypes.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define DIGITS_MAX      18 /* of a fraction: attoseconds */
#define YEAR_DIGITS_MAX 12
#define PACKED_DIGITS   8 /* YYYYMMDD */
#define ZONE_HOURS_MAX  18
#define WORD_BYTES_MAX  16
#define COUNT_MAX       UINT64_C(1000000000000) /* of units in a duration */

#define AS_A_MINUTE ((zd_i128)60 * ZD_CF_AS_A_SECOND)
#define AS_A_HOUR   ((zd_i128)3600 * ZD_CF_AS_A_SECOND)
#define AS_A_DAY    ((zd_i128)ZD_CF_SECONDS_A_DAY * ZD_CF_AS_A_SECOND)

static uint64_t power_of_ten(uint32_t n)
{
    uint64_t power = 1;
    for (; n > 0; n--) {
        power *= 10;
    }
    return power;
}

/* Between n_min and n_max digits, as many as are there; leading zeros are welcome. */
static bool read_digits(struct zd_scan *scan, size_t n_min, size_t n_max, uint64_t *ret_value)
{
    const size_t n = zd_scan_n_digits(scan);
    uint64_t value = 0;
    if (n < n_min || n > n_max) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        value = value * 10 + (uint64_t)(scan->at[i] - '0');
    }
    scan->at += n;
    *ret_value = value;
    return true;
}

static bool read_field(struct zd_scan *scan, size_t n_min, uint32_t *ret_field)
{
    uint64_t value;
    if (!read_digits(scan, n_min, 2, &value)) {
        return false;
    }
    *ret_field = (uint32_t)value;
    return true;
}

/* Behind its point; as attoseconds. */
static bool read_fraction(struct zd_scan *scan, uint32_t *ret_n_digits, uint64_t *ret_attoseconds)
{
    const size_t n = zd_scan_n_digits(scan);
    uint64_t part;
    if (!read_digits(scan, 1, DIGITS_MAX, &part)) {
        return false;
    }
    *ret_n_digits = (uint32_t)n;
    *ret_attoseconds = part * power_of_ten(DIGITS_MAX - (uint32_t)n);
    return true;
}

/* ---- dates ---- */

/* How strict a text is read. */
struct manner {
    size_t n_year;  /* digits of a year without sign, at least */
    size_t n_field; /* the same of the others */
    bool is_loose;
};

static bool read_year(struct zd_scan *scan, const struct manner *manner, struct zd_iso_date *read)
{
    uint64_t year;
    const bool is_negative = zd_scan_char(scan, '-');
    const bool is_signed = is_negative || zd_scan_char(scan, '+');
    const size_t n_max = is_signed || manner->is_loose ? YEAR_DIGITS_MAX : 4;
    if (!read_digits(scan, manner->n_year, n_max, &year)) {
        return false;
    }
    read->date.year = is_negative ? -(int64_t)year : (int64_t)year;
    read->n_fields = 1;
    return true;
}

static bool read_days(struct zd_scan *scan, const struct manner *manner, struct zd_iso_date *read)
{
    uint64_t packed;
    if (manner->is_loose && zd_scan_n_digits(scan) == PACKED_DIGITS) {
        if (!read_digits(scan, PACKED_DIGITS, PACKED_DIGITS, &packed)) {
            return false;
        }
        read->date.year = (int64_t)(packed / 10000);
        read->date.month = (uint32_t)(packed / 100 % 100);
        read->date.day = (uint32_t)(packed % 100);
        read->n_fields = 3;
        return true;
    }
    if (!read_year(scan, manner, read)) {
        return false;
    }
    uint32_t *const fields[] = {&read->date.month, &read->date.day};
    for (size_t i = 0; i < ZD_COUNT_OF(fields) && zd_scan_char(scan, '-'); i++) {
        if (!read_field(scan, manner->n_field, fields[i])) {
            return false;
        }
        read->n_fields++;
    }
    return true;
}

static bool read_time(struct zd_scan *scan, const struct manner *manner, struct zd_iso_date *read)
{
    uint32_t *const fields[] = {&read->date.hour, &read->date.minute, &read->date.second};
    size_t i = 0;
    do {
        if (!read_field(scan, manner->n_field, fields[i])) {
            return false;
        }
        read->n_fields++;
        i++;
    } while (i < ZD_COUNT_OF(fields) && zd_scan_char(scan, ':'));
    if (read->n_fields == 6 && zd_scan_char(scan, '.')) {
        return read_fraction(scan, &read->n_digits, &read->date.attoseconds);
    }
    return true;
}

/* Read the zone after a time; no zone means UTC. */
static bool read_zone(struct zd_scan *scan, const struct manner *manner, struct zd_iso_date *read)
{
    uint32_t hours = 0;
    uint32_t minutes = 0;
    if (manner->is_loose) {
        zd_scan_skip_spaces(scan);
    }
    if (zd_scan_char(scan, 'Z') ||
        (manner->is_loose && (zd_scan_word(scan, "UTC") || zd_scan_word(scan, "GMT")))) {
        return true;
    }
    const bool is_west = zd_scan_char(scan, '-');
    if (!is_west && !zd_scan_char(scan, '+')) {
        return true;
    }
    const size_t n = zd_scan_n_digits(scan);
    uint64_t value;
    if (n == 4 && read_digits(scan, 4, 4, &value)) { /* HHMM */
        hours = (uint32_t)(value / 100);
        minutes = (uint32_t)(value % 100);
    } else if (!read_field(scan, manner->n_field, &hours) ||
               (zd_scan_char(scan, ':') && !read_field(scan, 2, &minutes))) {
        return false;
    }
    const int32_t zone_s = (int32_t)(hours * 3600 + minutes * 60);
    read->zone_s = is_west ? -zone_s : zone_s;
    return hours <= ZONE_HOURS_MAX && minutes <= 59;
}

static bool read_date(struct zd_span text, const struct manner *manner, struct zd_iso_date *ret)
{
    struct zd_scan scan = zd_scan_of(text);
    struct zd_iso_date read = {.date = {.month = 1, .day = 1}};
    if (manner->is_loose) {
        zd_scan_skip_spaces(&scan);
    }
    if (!read_days(&scan, manner, &read)) {
        return false;
    }
    bool has_time = read.n_fields == 3 && (zd_scan_char(&scan, 'T') || zd_scan_char(&scan, ' '));
    if (manner->is_loose && read.n_fields == 3) {
        (void)(!has_time && zd_scan_char(&scan, ','));
        zd_scan_skip_spaces(&scan);
        has_time = zd_scan_n_digits(&scan) > 0;
    }
    if ((has_time && !read_time(&scan, manner, &read)) ||
        ((has_time || manner->is_loose) && !read_zone(&scan, manner, &read))) {
        return false;
    }
    if (manner->is_loose) {
        zd_scan_skip_spaces(&scan);
    }
    if (!zd_scan_at_end(&scan)) {
        return false;
    }
    *ret = read;
    return true;
}

bool zd_iso_date_read(struct zd_span text, struct zd_iso_date *ret_date)
{
    static const struct manner strict = {.n_year = 4, .n_field = 2};
    return read_date(text, &strict, ret_date);
}

bool zd_iso_date_read_loose(struct zd_span text, struct zd_iso_date *ret_date)
{
    static const struct manner loose = {.n_year = 1, .n_field = 1, .is_loose = true};
    return read_date(text, &loose, ret_date);
}

/* The length of what a date with so many digits means. */
static zd_i128 length_of(const struct zd_iso_date *date)
{
    static const uint32_t digits[] = {0, 3, 6, 9, 12, 15, DIGITS_MAX};
    uint32_t i = 0;
    switch (date->n_fields) {
    case 3:
        return AS_A_DAY;
    case 4:
        return AS_A_HOUR;
    case 5:
        return AS_A_MINUTE;
    default:
        while (digits[i] < date->n_digits) {
            i++;
        }
        return (zd_i128)power_of_ten(DIGITS_MAX - digits[i]);
    }
}

bool zd_iso_date_period(const struct zd_iso_date *date, enum zd_cf_calendar calendar,
    zd_i128 *ret_first, zd_i128 *ret_end)
{
    zd_i128 first;
    zd_i128 end;
    if (!zd_cf_calendar_moment(calendar, &date->date, &first)) {
        return false;
    }
    if (date->n_fields <= 2) {
        const struct zd_cf_date next =
            zd_cf_calendar_next(calendar, &date->date, date->n_fields == 2);
        if (!zd_cf_calendar_moment(calendar, &next, &end)) {
            return false;
        }
    } else {
        end = first + length_of(date);
    }
    const zd_i128 zone = (zd_i128)date->zone_s * ZD_CF_AS_A_SECOND;
    *ret_first = first - zone;
    *ret_end = end - zone;
    return true;
}

void zd_iso_date_add(const struct zd_cf_date *date, struct zd_text *text)
{
    const uint64_t year = date->year < 0 ? 0 - (uint64_t)date->year : (uint64_t)date->year;
    const char *sign = date->year < 0 ? "-" : year > 9999 ? "+" : "";
    zd_text_addf(text,
        "%s%04" PRIu64 "-%02" PRIu32 "-%02" PRIu32 "T%02" PRIu32 ":%02" PRIu32 ":%02" PRIu32, sign,
        year, date->month, date->day, date->hour, date->minute, date->second);
    if (date->attoseconds > 0) {
        uint64_t part = date->attoseconds;
        int n = DIGITS_MAX;
        for (; part % 10 == 0; n--) {
            part /= 10;
        }
        zd_text_addf(text, ".%0*" PRIu64, n, part);
    }
}

/* ---- units and durations ---- */

zd_i128 zd_iso_date_unit(struct zd_span name)
{
    static const struct {
        const char *name; /* without the s of its plural */
        bool has_plural;
        zd_i128 attoseconds;
    } units[] = {
        {"nanosecond", true, 1000000000},
        {"nanosec", true, 1000000000},
        {"nsec", true, 1000000000},
        {"ns", false, 1000000000},
        {"microsecond", true, 1000000000000},
        {"microsec", true, 1000000000000},
        {"usec", true, 1000000000000},
        {"us", false, 1000000000000},
        {"millisecond", true, 1000000000000000},
        {"millisec", true, 1000000000000000},
        {"msec", true, 1000000000000000},
        {"ms", false, 1000000000000000},
        {"second", true, ZD_CF_AS_A_SECOND},
        {"sec", true, ZD_CF_AS_A_SECOND},
        {"s", false, ZD_CF_AS_A_SECOND},
        {"minute", true, AS_A_MINUTE},
        {"min", true, AS_A_MINUTE},
        {"hour", true, AS_A_HOUR},
        {"hr", true, AS_A_HOUR},
        {"h", false, AS_A_HOUR},
        {"day", true, AS_A_DAY},
        {"d", false, AS_A_DAY},
        {"week", true, 7 * AS_A_DAY},
    };
    char lower[WORD_BYTES_MAX];
    for (size_t i = 0; name.len <= sizeof lower && i < name.len; i++) {
        const bool is_upper = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z';
        lower[i] = (char)(name.ptr[i] + (is_upper ? 'a' - 'A' : 0));
    }
    for (size_t i = 0; name.len > 0 && name.len <= sizeof lower && i < ZD_COUNT_OF(units); i++) {
        struct zd_span found = {.ptr = (const uint8_t *)lower, .len = name.len};
        if (zd_span_is(found, units[i].name)) {
            return units[i].attoseconds;
        }
        found.len -= lower[name.len - 1] == 's' ? 1 : 0;
        if (units[i].has_plural && zd_span_is(found, units[i].name)) {
            return units[i].attoseconds;
        }
    }
    return 0;
}

/* "1.5" */
static bool read_amount(struct zd_scan *scan, uint64_t *ret_whole, uint64_t *ret_attos)
{
    uint32_t n_digits;
    *ret_attos = 0;
    return read_digits(scan, 1, DIGITS_MAX, ret_whole) && *ret_whole <= COUNT_MAX &&
           (!zd_scan_char(scan, '.') || read_fraction(scan, &n_digits, ret_attos));
}

/* Fractions are cut to whole attoseconds. */
static zd_i128 amount_of(uint64_t whole, uint64_t attos, zd_i128 unit)
{
    return (zd_i128)whole * unit + (unit < ZD_CF_AS_A_SECOND
                                           ? (zd_i128)attos * unit / ZD_CF_AS_A_SECOND
                                           : (zd_i128)attos * (unit / ZD_CF_AS_A_SECOND));
}

/* Behind P. */
static bool read_parts(struct zd_scan *scan, zd_i128 *sum)
{
    static const struct {
        char name;
        bool is_time;
        zd_i128 attoseconds;
    } parts[] = {
        {'W', false, 7 * AS_A_DAY},
        {'D', false, AS_A_DAY},
        {'H', true, AS_A_HOUR},
        {'M', true, AS_A_MINUTE},
        {'S', true, ZD_CF_AS_A_SECOND},
    };
    bool is_time = false;
    for (size_t i = 0; !zd_scan_at_end(scan); i++) {
        uint64_t whole;
        uint64_t attos;
        is_time = is_time || zd_scan_char(scan, 'T');
        if (!read_amount(scan, &whole, &attos)) {
            return false;
        }
        while (i < ZD_COUNT_OF(parts) &&
               (parts[i].is_time != is_time || !zd_scan_char(scan, parts[i].name))) {
            i++;
        }
        if (i == ZD_COUNT_OF(parts)) {
            return false;
        }
        *sum += amount_of(whole, attos, parts[i].attoseconds);
    }
    return true;
}

bool zd_iso_date_read_duration(struct zd_span text, zd_i128 *ret_attoseconds)
{
    struct zd_scan scan = zd_scan_of(text);
    uint64_t whole;
    uint64_t attos;
    zd_i128 sum = 0;
    if (zd_scan_char(&scan, 'P')) {
        if (zd_scan_at_end(&scan) || !read_parts(&scan, &sum)) {
            return false;
        }
        *ret_attoseconds = sum;
        return true;
    }
    if (!read_amount(&scan, &whole, &attos)) {
        return false;
    }
    zd_scan_skip_spaces(&scan);
    const struct zd_span rest = {
        .ptr = (const uint8_t *)scan.at, .len = (size_t)(scan.end - scan.at)};
    const zd_i128 unit = zd_iso_date_unit(rest);
    if (unit == 0) {
        return false;
    }
    *ret_attoseconds = amount_of(whole, attos, unit);
    return true;
}
