/* Times: a line of units, a line with a calendar, then a date or a duration. What is understood is
 * written so that it reads as the same. */
#include "core/grid/cf_time.h"

#include <string.h>

#include "core/grid/iso_date.h"
#include "tests/fuzz/input.h"

#define TEXT_BYTES_MAX 100

static void check_moment(const struct zd_cf_time *time, zd_i128 moment)
{
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_iso_date date;
    zd_i128 same;
    zd_i128 end;
    if (zd_cf_time_add(time->calendar, moment, &text)) {
        zd_fuzz_insist(text.status == ZD_OK && zd_iso_date_read(zd_text_span(&text), &date));
        if (zd_iso_date_period(&date, time->calendar, &same, &end)) { /* not behind all years */
            zd_fuzz_insist(same == moment && end > same);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT units = zd_fuzz_line(&input);
    ZD_AUTO_TEXT calendar = zd_fuzz_line(&input);
    struct zd_error err = {0};
    struct zd_cf_time time;
    struct zd_iso_date date;
    zd_i128 first;
    zd_i128 end;
    if (zd_iso_date_read_duration(input, &first)) {
        zd_fuzz_insist(first >= 0);
    }
    const enum zd_status status =
        zd_cf_time_parse(zd_span_of(units), zd_span_of(calendar), &time, &err);
    if (status != ZD_OK) {
        zd_fuzz_insist((status == ZD_INVALID || status == ZD_UNSUPPORTED) && err.text[0] != '\0');
        return 0;
    }
    check_moment(&time, time.reference);
    if (zd_iso_date_read(input, &date) && zd_iso_date_period(&date, time.calendar, &first, &end)) {
        check_moment(&time, first);
        check_moment(&time, end);
    }
    if (input.len >= sizeof(double)) {
        double value;
        memcpy(&value, input.ptr, sizeof value);
        if (zd_cf_time_of_f64(&time, value, &first)) {
            check_moment(&time, first);
        }
    }
    return 0;
}
