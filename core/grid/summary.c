/* A summary of elements: their count, extremes, mean and spread.
 *
 * Elements are taken some at a time, widened to one of three types, and what is left out is
 * dropped. Moments are those of each lot in two passes, joined by the rule of Chan, Golub and
 * LeVeque (1979): as stable as Welford's, without a division for each element. long double holds
 * every 64-bit integer exactly. */
#include "core/grid/summary.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/base/half.h"
#include "core/base/num.h"

#define LOT 256

/** Elements widened, without those that are left out. */
union lot {
    uint64_t u64[LOT];
    int64_t i64[LOT];
    double f64[LOT];
};

void zd_summary_init(struct zd_summary *summary, const struct zd_summary_config *config)
{
    assert(zd_dtype_is_ordered(&config->dtype));
    *summary = (struct zd_summary){
        .dtype = config->dtype,
        .drops_fill = config->drops_fill,
        .wants_moments = config->wants_moments,
    };
    memcpy(summary->fill, config->fill, config->dtype.bytes);
}

/* So many more, of which these are the extremes. */
static void widen(struct zd_summary *summary, const void *min, const void *max, uint64_t count)
{
    const struct zd_dtype *dtype = &summary->dtype;
    if (count == 0) {
        return;
    }
    if (summary->count == 0 || zd_element_compare(dtype, min, summary->min) < 0) {
        memcpy(summary->min, min, dtype->bytes);
    }
    if (summary->count == 0 || zd_element_compare(dtype, max, summary->max) > 0) {
        memcpy(summary->max, max, dtype->bytes);
    }
    summary->count += count;
}

static void join_moments(struct zd_summary *summary, const struct zd_summary *other)
{
    const uint64_t n = other->n_finite;
    if (n == 0) {
        return;
    }
    if (summary->n_finite == 0) {
        summary->base = other->base;
    }
    const long double n_before = (long double)summary->n_finite;
    const long double part = (long double)n / (n_before + (long double)n);
    const long double delta = other->mean + (other->base - summary->base) - summary->mean;
    summary->mean += delta * part;
    summary->m2 += other->m2 + delta * delta * n_before * part;
    summary->n_finite += n;
}

/* Add the moments of numbers that are all finite; at most LOT. */
static void add_moments(struct zd_summary *summary, const long double *value, uint64_t n)
{
    struct zd_summary lot = {.n_finite = n};
    long double sum = 0;
    if (n == 0) {
        return;
    }
    lot.base = summary->n_finite == 0 ? value[0] : summary->base;
    for (uint64_t i = 0; i < n; i++) {
        sum += value[i] - lot.base;
    }
    lot.mean = sum / (long double)n;
    for (uint64_t i = 0; i < n; i++) {
        const long double distance = value[i] - lot.base - lot.mean;
        lot.m2 += distance * distance;
    }
    join_moments(summary, &lot);
}

static void add_unsigned(struct zd_summary *summary, const uint8_t *element, uint64_t n)
{
    const struct zd_dtype *dtype = &summary->dtype;
    const uint64_t fill = zd_element_u64(dtype, summary->fill);
    union lot lot;
    uint64_t n_kept = 0;
    uint64_t n_fill = 0;
    for (uint64_t i = 0; i < n; i++) {
        lot.u64[n_kept] = zd_element_u64(dtype, element + i * dtype->bytes);
        const bool is_fill = lot.u64[n_kept] == fill;
        n_fill += is_fill;
        n_kept += !(is_fill && summary->drops_fill);
    }
    summary->n_fill += n_fill;
    uint64_t min = UINT64_MAX;
    uint64_t max = 0;
    for (uint64_t i = 0; i < n_kept; i++) {
        min = zd_min_u64(min, lot.u64[i]);
        max = zd_max_u64(max, lot.u64[i]);
    }
    widen(summary, &min, &max, n_kept);
    if (summary->wants_moments) {
        long double value[LOT];
        for (uint64_t i = 0; i < n_kept; i++) {
            value[i] = (long double)lot.u64[i];
        }
        add_moments(summary, value, n_kept);
    }
}

static void add_signed(struct zd_summary *summary, const uint8_t *element, uint64_t n)
{
    const struct zd_dtype *dtype = &summary->dtype;
    const int64_t fill = zd_element_i64(dtype, summary->fill);
    union lot lot;
    uint64_t n_kept = 0;
    uint64_t n_fill = 0;
    for (uint64_t i = 0; i < n; i++) {
        lot.i64[n_kept] = zd_element_i64(dtype, element + i * dtype->bytes);
        const bool is_fill = lot.i64[n_kept] == fill;
        n_fill += is_fill;
        n_kept += !(is_fill && summary->drops_fill);
    }
    summary->n_fill += n_fill;
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;
    for (uint64_t i = 0; i < n_kept; i++) {
        min = lot.i64[i] < min ? lot.i64[i] : min;
        max = lot.i64[i] > max ? lot.i64[i] : max;
    }
    widen(summary, &min, &max, n_kept);
    if (summary->wants_moments) {
        long double value[LOT];
        for (uint64_t i = 0; i < n_kept; i++) {
            value[i] = (long double)lot.i64[i];
        }
        add_moments(summary, value, n_kept);
    }
}

/* Add times as floats. If the fill value is NaT, a NaT is dropped with it. */
static void add_ticks(struct zd_summary *summary, const uint8_t *element, uint64_t n)
{
    const bool is_fill = summary->drops_fill && zd_element_is_nan(&summary->dtype, summary->fill);
    int64_t ticks[LOT];
    uint64_t n_kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        ticks[n_kept] = zd_element_i64(&summary->dtype, element + i * sizeof *ticks);
        n_kept += ticks[n_kept] != ZD_DTYPE_NAT;
    }
    *(is_fill ? &summary->n_fill : &summary->n_nan) += n - n_kept;
    add_signed(summary, (const uint8_t *)ticks, n_kept);
}

/* Keep the elements that are not NaN, nor the fill value when that is dropped. */
static uint64_t keep_floats(
    struct zd_summary *summary, const uint8_t *element, uint64_t n, union lot *ret_lot)
{
    const struct zd_dtype *dtype = &summary->dtype;
    const double fill = zd_element_f64(dtype, summary->fill);
    uint64_t n_kept = 0;
    uint64_t n_nan = 0;
    uint64_t n_fill = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double value = zd_element_f64(dtype, element + i * dtype->bytes);
        if (isnan(value)) {
            const bool is_fill = summary->drops_fill && memcmp(element + i * dtype->bytes,
                                                            summary->fill, dtype->bytes) == 0;
            n_fill += is_fill;
            n_nan += !is_fill;
            continue;
        }
        ret_lot->f64[n_kept] = value;
        n_fill += value == fill;
        n_kept += !(value == fill && summary->drops_fill);
    }
    summary->n_nan += n_nan;
    summary->n_fill += n_fill;
    return n_kept;
}

static void store_float(const struct zd_dtype *dtype, double value, void *to)
{
    uint32_t code = 0;
    if (dtype->small != NULL && zd_small_float_nearest(dtype->small, value, &code)) {
        memcpy(to, &code, dtype->bytes);
        return;
    }
    const float narrow = (float)value; /* exact: it was one, or a half */
    const uint16_t half = zd_half_from_double(value);
    const void *from = dtype->bytes == 8 ? (const void *)&value : (const void *)&narrow;
    memcpy(to, dtype->bytes == 2 ? (const void *)&half : from, dtype->bytes);
}

static void add_float_moments(struct zd_summary *summary, const union lot *lot, uint64_t n)
{
    long double value[LOT];
    uint64_t n_finite = 0;
    for (uint64_t i = 0; i < n; i++) {
        value[n_finite] = (long double)lot->f64[i];
        n_finite += isfinite(lot->f64[i]) != 0;
    }
    add_moments(summary, value, n_finite);
}

static void add_floats(struct zd_summary *summary, const uint8_t *element, uint64_t n)
{
    union lot lot;
    const uint64_t n_kept = keep_floats(summary, element, n, &lot);
    double min = INFINITY;
    double max = -INFINITY;
    for (uint64_t i = 0; i < n_kept; i++) {
        min = lot.f64[i] < min ? lot.f64[i] : min;
        max = lot.f64[i] > max ? lot.f64[i] : max;
    }
    uint8_t least[ZD_SUMMARY_ELEMENT_BYTES];
    uint8_t greatest[ZD_SUMMARY_ELEMENT_BYTES];
    store_float(&summary->dtype, min, least);
    store_float(&summary->dtype, max, greatest);
    widen(summary, least, greatest, n_kept);
    if (summary->wants_moments) {
        for (uint64_t i = 0; i < n_kept; i++) {
            summary->has_plus_infinity = summary->has_plus_infinity || lot.f64[i] == INFINITY;
            summary->has_minus_infinity = summary->has_minus_infinity || lot.f64[i] == -INFINITY;
        }
        add_float_moments(summary, &lot, n_kept);
    }
}

void zd_summary_add(struct zd_summary *summary, const void *elements, uint64_t n_elements)
{
    const uint8_t *element = elements;
    while (n_elements > 0) {
        const uint64_t n = zd_min_u64(n_elements, LOT);
        if (zd_dtype_is_float(&summary->dtype)) {
            add_floats(summary, element, n);
        } else if (summary->dtype.kind == ZD_DTYPE_INT) {
            add_signed(summary, element, n);
        } else if (zd_dtype_is_ticks(&summary->dtype)) {
            add_ticks(summary, element, n);
        } else {
            add_unsigned(summary, element, n);
        }
        element += n * summary->dtype.bytes;
        n_elements -= n;
    }
}

void zd_summary_add_fill(struct zd_summary *summary, uint64_t n_elements)
{
    const struct zd_dtype *dtype = &summary->dtype;
    if (n_elements == 0 || summary->drops_fill) {
        summary->n_fill += n_elements;
        return;
    }
    struct zd_summary one;
    const struct zd_summary_config config = {
        .dtype = *dtype, .fill = summary->fill, .wants_moments = summary->wants_moments};
    zd_summary_init(&one, &config);
    zd_summary_add(&one, summary->fill, 1);
    one.n_nan *= n_elements;
    one.n_fill *= n_elements;
    one.count *= n_elements;
    one.n_finite *= n_elements; /* all at their mean */
    zd_summary_join(summary, &one);
}

void zd_summary_join(struct zd_summary *summary, const struct zd_summary *other)
{
    summary->n_nan += other->n_nan;
    summary->n_fill += other->n_fill;
    widen(summary, other->min, other->max, other->count);
    join_moments(summary, other);
    summary->has_plus_infinity = summary->has_plus_infinity || other->has_plus_infinity;
    summary->has_minus_infinity = summary->has_minus_infinity || other->has_minus_infinity;
}

double zd_summary_mean(const struct zd_summary *summary)
{
    assert(summary->wants_moments && summary->count > 0);
    if (summary->has_plus_infinity || summary->has_minus_infinity) {
        const bool has_both = summary->has_plus_infinity && summary->has_minus_infinity;
        const double only = summary->has_plus_infinity ? INFINITY : -INFINITY;
        return has_both ? (double)NAN : only;
    }
    return (double)(summary->base + summary->mean);
}

double zd_summary_std(const struct zd_summary *summary)
{
    assert(summary->wants_moments && summary->count > 0);
    if (summary->has_plus_infinity || summary->has_minus_infinity) {
        return (double)NAN;
    }
    return (double)sqrtl(summary->m2 / (long double)summary->n_finite);
}
