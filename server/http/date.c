/* Dates of HTTP (RFC 9110, 5.6.7). */
#include "server/http/date.h"

#include <string.h>
#include <time.h>

int64_t zd_date_seconds(int64_t time_ms)
{
    return time_ms >= 0 ? time_ms / 1000 : -1 - (-1 - time_ms) / 1000;
}

static const char months[12][4] = {
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void zd_date_format(char to[ZD_DATE_BYTES], int64_t time_ms)
{
    const time_t seconds = (time_t)zd_date_seconds(time_ms);
    struct tm tm = {0};
    if (gmtime_r(&seconds, &tm) == NULL || tm.tm_year < -900 || tm.tm_year > 8099) {
        tm = (struct tm){.tm_mday = 1, .tm_year = 70, .tm_wday = 4};
    }
    (void)strftime(to, ZD_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT", &tm); /* in the C locale */
}

/* Exactly n digits. */
static bool scan_fixed(const char **at, int n, int *ret_value)
{
    int value = 0;
    for (int i = 0; i < n; i++, ++*at) {
        if (**at < '0' || **at > '9') {
            return false;
        }
        value = value * 10 + (**at - '0');
    }
    *ret_value = value;
    return true;
}

static bool scan_literal(const char **at, const char *literal)
{
    const size_t len = strlen(literal);
    if (strncmp(*at, literal, len) != 0) {
        return false;
    }
    *at += len;
    return true;
}

static bool scan_month(const char **at, int *ret_month)
{
    for (int i = 0; i < 12; i++) {
        if (scan_literal(at, months[i])) {
            *ret_month = i;
            return true;
        }
    }
    return false;
}

static bool scan_clock(const char **at, struct tm *tm)
{
    return scan_fixed(at, 2, &tm->tm_hour) && scan_literal(at, ":") &&
           scan_fixed(at, 2, &tm->tm_min) && scan_literal(at, ":") &&
           scan_fixed(at, 2, &tm->tm_sec) && tm->tm_hour < 24 && tm->tm_min < 60 &&
           tm->tm_sec <= 60;
}

/* "06 Nov 1994 08:49:37 GMT" */
static bool scan_fixdate(const char *at, struct tm *tm)
{
    return scan_fixed(&at, 2, &tm->tm_mday) && scan_literal(&at, " ") &&
           scan_month(&at, &tm->tm_mon) && scan_literal(&at, " ") &&
           scan_fixed(&at, 4, &tm->tm_year) && scan_literal(&at, " ") && scan_clock(&at, tm) &&
           scan_literal(&at, " GMT") && *at == '\0';
}

/* "06-Nov-94 08:49:37 GMT": years of two digits are those of 1970 to 2069. */
static bool scan_rfc850(const char *at, struct tm *tm)
{
    const bool ok = scan_fixed(&at, 2, &tm->tm_mday) && scan_literal(&at, "-") &&
                    scan_month(&at, &tm->tm_mon) && scan_literal(&at, "-") &&
                    scan_fixed(&at, 2, &tm->tm_year) && scan_literal(&at, " ") &&
                    scan_clock(&at, tm) && scan_literal(&at, " GMT") && *at == '\0';
    tm->tm_year += tm->tm_year < 70 ? 2000 : 1900;
    return ok;
}

/* "Nov  6 08:49:37 1994" */
static bool scan_asctime(const char *at, struct tm *tm)
{
    if (!scan_month(&at, &tm->tm_mon) || !scan_literal(&at, " ")) {
        return false;
    }
    const int n_digits = *at == ' ' ? 1 : 2;
    at += n_digits == 1 ? 1 : 0;
    return scan_fixed(&at, n_digits, &tm->tm_mday) && scan_literal(&at, " ") &&
           scan_clock(&at, tm) && scan_literal(&at, " ") && scan_fixed(&at, 4, &tm->tm_year) &&
           *at == '\0';
}

/* Whether the month has that day; years since 1900. */
static bool day_exists(const struct tm *tm)
{
    struct tm day = {.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};
    (void)timegm(&day); /* the 31st of a short month becomes a day of the next one */
    return day.tm_mon == tm->tm_mon;
}

bool zd_date_parse(const char *text, int64_t *ret_seconds)
{
    struct tm tm = {0};
    const char *comma = strstr(text, ", ");
    const char *space = strchr(text, ' ');
    bool ok = false;
    if (comma != NULL) {
        ok = scan_fixdate(comma + 2, &tm) || scan_rfc850(comma + 2, &tm);
    } else if (space != NULL) {
        ok = scan_asctime(space + 1, &tm);
    }
    if (!ok || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_year < 1) {
        return false;
    }
    tm.tm_year -= 1900;
    if (!day_exists(&tm)) {
        return false;
    }
    *ret_seconds = timegm(&tm);
    return true;
}
