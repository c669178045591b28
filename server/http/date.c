/* Dates of HTTP (RFC 9110, 5.6.7). */
#include "server/http/date.h"

#include <string.h>
#include <time.h>

#include "core/base/num.h"

int64_t zd_date_seconds(int64_t time_ms)
{
    return time_ms >= 0 ? time_ms / 1000 : -1 - (-1 - time_ms) / 1000;
}

void zd_date_format(char to[ZD_DATE_BYTES], int64_t time_ms)
{
    const time_t seconds = (time_t)zd_date_seconds(time_ms);
    struct tm tm = {0};
    if (gmtime_r(&seconds, &tm) == NULL || tm.tm_year < -900 || tm.tm_year > 8099) {
        tm = (struct tm){.tm_mday = 1, .tm_year = 70, .tm_wday = 4};
    }
    (void)strftime(to, ZD_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT", &tm); /* in the C locale */
}

/* The three forms, behind the name of the day. Shapes have 0 for a digit, A and a for letters:
 * strptime(3) alone accepts more. */
static const struct form {
    const char *shape;
    const char *format;
} forms[] = {
    {", 00 Aaa 0000 00:00:00 GMT", ", %d %b %Y %H:%M:%S GMT"},
    {", 00-Aaa-00 00:00:00 GMT", ", %d-%b-%y %H:%M:%S GMT"},
    {" Aaa 00 00:00:00 0000", " %b %d %H:%M:%S %Y"},
    {" Aaa  0 00:00:00 0000", " %b %d %H:%M:%S %Y"},
};

static bool has_shape(const char *text, const char *shape)
{
    for (; *shape != '\0'; shape++, text++) {
        const char last = *shape == '0' ? '9' : *shape == 'A' ? 'Z' : *shape == 'a' ? 'z' : *shape;
        if (*text < *shape || *text > last) {
            return false;
        }
    }
    return *text == '\0';
}

static const struct form *find_form(const char *text)
{
    for (size_t i = 0; i < ZD_COUNT_OF(forms); i++) {
        if (has_shape(text, forms[i].shape)) {
            return &forms[i];
        }
    }
    return NULL;
}

/* Whether the month has that day. */
static bool day_exists(const struct tm *tm)
{
    struct tm day = {.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};
    (void)timegm(&day); /* the 31st of a short month becomes a day of the next one */
    return day.tm_mon == tm->tm_mon;
}

bool zd_date_parse(const char *text, int64_t *ret_seconds)
{
    const char *comma = strstr(text, ", ");
    const char *after_day = comma != NULL ? comma : strchrnul(text, ' ');
    const struct form *form = find_form(after_day);
    struct tm tm = {0};
    const char *end = form == NULL ? NULL : strptime(after_day, form->format, &tm);
    if (end == NULL || *end != '\0') {
        return false;
    }
    if (form == &forms[1] && tm.tm_year < 70) {
        tm.tm_year += 100; /* years of two digits are those of 1970 to 2069 */
    }
    if (tm.tm_sec > 60 || tm.tm_year <= -1900 || !day_exists(&tm)) {
        return false;
    }
    *ret_seconds = timegm(&tm);
    return true;
}
