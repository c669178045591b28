/* Elements added to cells.
 *
 * They are widened a lot at a time, then one short loop, which the compiler turns into vector
 * instructions, adds the lot to its cells or, on several lanes, to one cell. */
#include "core/compute/reduce.h"

#include <math.h>
#include <string.h>

#include "core/codec/number.h"
#include "core/grid/widen.h"

#define LOT   ZD_NUMBERS_MAX
#define LANES 8

/* Elements widened. */
union lot {
    double number[LOT];
    int64_t i64[LOT];
    uint64_t u64[LOT];
};

/* A sum, and what its additions have lost (Knuth's two-sum). */
struct sum {
    double sum;
    double rest;
};

/* ---- loading ---- */

static void load(const struct zd_reduce *reduce, const uint8_t *from, size_t n, union lot *lot)
{
    if (reduce->way == ZD_REDUCE_TICKS) {
        memcpy(lot->i64, from, n * sizeof *lot->i64);
        return;
    }
    if (reduce->way != ZD_REDUCE_FLOATS && !zd_reduce_is_spread(reduce)) {
        zd_numbers_load_integers(&reduce->usual, from, n, lot->u64);
        return;
    }
    if (zd_widen_is_needed(&reduce->from)) {
        float wide[LOT];
        zd_widen(&reduce->from, wide, from, n);
        zd_numbers_load(&reduce->usual, (const uint8_t *)wide, n, lot->number);
        return;
    }
    zd_numbers_load(&reduce->usual, from, n, lot->number);
}

static bool is_missing(const struct zd_reduce *reduce, const union lot *lot, size_t i)
{
    return reduce->way == ZD_REDUCE_TICKS ? lot->i64[i] == ZD_DTYPE_NAT
                                          : isnan(lot->number[i]) != 0;
}

static bool has_missing(const struct zd_reduce *reduce, const union lot *lot, size_t n)
{
    unsigned found = 0;
    if (reduce->way == ZD_REDUCE_TICKS) {
        for (size_t i = 0; i < n; i++) {
            found |= lot->i64[i] == ZD_DTYPE_NAT;
        }
        return found != 0;
    }
    for (size_t i = 0; i < n; i++) {
        found |= lot->number[i] != lot->number[i];
    }
    return found != 0;
}

/* ---- each to a cell of its own ---- */

static void add_numbers_each(double *restrict sum, const double *restrict number, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] += number[i];
    }
}

static void add_rests_each(
    double *restrict sum, double *restrict rest, const double *restrict number, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double before = sum[i];
        const double after = before + number[i];
        const double part = after - before;
        rest[i] += (before - (after - part)) + (number[i] - part);
        sum[i] = after;
    }
}

/* Distances from a first number, and their squares; rests are what float64 does not have of them.
 */
struct spread {
    double distance[LOT];
    double square[LOT];
    double distance_rest[LOT];
    double square_rest[LOT];
};

/* In float64, each square and each distance is rounded beyond its last bit. */
static void measure_exactly(
    const double *number, const double *first, size_t step, size_t n, struct spread *ret_spread)
{
    for (size_t i = 0; i < n; i++) {
        const long double distance = (long double)number[i] - (long double)first[i * step];
        const long double square = distance * distance;
        ret_spread->distance[i] = (double)distance;
        ret_spread->distance_rest[i] = (double)(distance - (long double)ret_spread->distance[i]);
        ret_spread->square[i] = (double)square;
        ret_spread->square_rest[i] = (double)(square - (long double)ret_spread->square[i]);
    }
}

/* @param first of each number (step 1), or of all of them (step 0) */
static void measure(const struct zd_reduce *reduce, const double *number, const double *first,
    size_t step, size_t n, struct spread *ret_spread)
{
    if (reduce->to.bytes == sizeof(double)) {
        measure_exactly(number, first, step, n, ret_spread);
    } else {
        memset(ret_spread->distance_rest, 0, n * sizeof *ret_spread->distance_rest);
        memset(ret_spread->square_rest, 0, n * sizeof *ret_spread->square_rest);
        for (size_t i = 0; i < n; i++) {
            ret_spread->distance[i] = number[i] - first[i * step];
        }
        for (size_t i = 0; i < n; i++) {
            ret_spread->square[i] = ret_spread->distance[i] * ret_spread->distance[i];
        }
    }
    for (size_t i = 0; reduce->skips_nan && i < n; i++) {
        const bool is_skipped = number[i] != number[i];
        ret_spread->distance[i] = is_skipped ? 0 : ret_spread->distance[i];
        ret_spread->square[i] = is_skipped ? 0 : ret_spread->square[i];
        ret_spread->distance_rest[i] = is_skipped ? 0 : ret_spread->distance_rest[i];
        ret_spread->square_rest[i] = is_skipped ? 0 : ret_spread->square_rest[i];
    }
}

static void add_spread_each(struct zd_reduce *reduce, uint64_t cell, const union lot *lot, size_t n)
{
    struct spread spread;
    double *first = reduce->first + cell;
    for (size_t i = 0; i < n; i++) {
        first[i] = first[i] != first[i] ? lot->number[i] : first[i];
    }
    measure(reduce, lot->number, first, 1, n, &spread);
    add_rests_each(reduce->sum + cell, reduce->sum_rest + cell, spread.distance, n);
    add_rests_each(reduce->square + cell, reduce->square_rest + cell, spread.square, n);
    add_numbers_each(reduce->sum_rest + cell, spread.distance_rest, n);
    add_numbers_each(reduce->square_rest + cell, spread.square_rest, n);
}

static void extremes_of_floats(
    double *restrict extreme, const double *restrict number, size_t n, bool is_min)
{
    if (is_min) {
        for (size_t i = 0; i < n; i++) {
            extreme[i] = number[i] < extreme[i] ? number[i] : extreme[i];
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        extreme[i] = number[i] > extreme[i] ? number[i] : extreme[i];
    }
}

static void extremes_of_signed(
    int64_t *restrict extreme, const int64_t *restrict number, size_t n, bool is_min)
{
    for (size_t i = 0; i < n; i++) {
        const bool is_beyond = is_min ? number[i] < extreme[i] : number[i] > extreme[i];
        extreme[i] = is_beyond ? number[i] : extreme[i];
    }
}

static void extremes_of_unsigned(
    uint64_t *restrict extreme, const uint64_t *restrict number, size_t n, bool is_min)
{
    for (size_t i = 0; i < n; i++) {
        const bool is_beyond = is_min ? number[i] < extreme[i] : number[i] > extreme[i];
        extreme[i] = is_beyond ? number[i] : extreme[i];
    }
}

/* A missing element is neither less nor more than any other. */
static void find_extremes(
    const struct zd_reduce *reduce, uint64_t *extreme, const union lot *lot, size_t n)
{
    const bool is_min = reduce->op == ZD_REDUCE_MIN;
    union lot kept;
    switch (reduce->way) {
    case ZD_REDUCE_FLOATS:
        extremes_of_floats((double *)(void *)extreme, lot->number, n, is_min);
        return;
    case ZD_REDUCE_SIGNED:
        extremes_of_signed((int64_t *)extreme, lot->i64, n, is_min);
        return;
    case ZD_REDUCE_UNSIGNED:
        extremes_of_unsigned(extreme, lot->u64, n, is_min);
        return;
    case ZD_REDUCE_TICKS:
        break;
    }
    const int64_t neutral = (int64_t)zd_reduce_neutral(reduce);
    for (size_t i = 0; i < n; i++) {
        kept.i64[i] = lot->i64[i] == ZD_DTYPE_NAT ? neutral : lot->i64[i];
    }
    extremes_of_signed((int64_t *)extreme, kept.i64, n, is_min);
}

static void add_integers_each(
    const struct zd_reduce *reduce, zd_i128 *whole, const union lot *lot, size_t n)
{
    if (reduce->way == ZD_REDUCE_SIGNED) {
        for (size_t i = 0; i < n; i++) {
            whole[i] += lot->i64[i];
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        whole[i] += lot->u64[i];
    }
}

/* Count the NaN elements, and take them out of sums where they are skipped. */
static void count_missing_each(struct zd_reduce *reduce, uint64_t cell, union lot *lot, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        reduce->n_missing[cell + i] += is_missing(reduce, lot, i);
    }
    for (size_t i = 0; reduce->skips_nan && reduce->sum != NULL && reduce->first == NULL && i < n;
        i++) {
        lot->number[i] = is_missing(reduce, lot, i) ? 0 : lot->number[i];
    }
}

/* Sums of float32, the most usual ones, without a lot in between. @return false: some are NaN, and
 * nothing was added */
static bool add_singles_each(double *restrict sum, const uint8_t *restrict from, size_t n)
{
    float single;
    unsigned found = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&single, from + i * sizeof single, sizeof single);
        found |= single != single;
    }
    for (size_t i = 0; found == 0 && i < n; i++) {
        memcpy(&single, from + i * sizeof single, sizeof single);
        sum[i] += (double)single;
    }
    return found == 0;
}

static bool adds_singles(const struct zd_reduce *reduce)
{
    return reduce->sum != NULL && reduce->sum_rest == NULL && reduce->from.kind == ZD_DTYPE_FLOAT &&
           reduce->from.bytes == sizeof(float);
}

void zd_reduce_add_each(
    struct zd_reduce *reduce, uint64_t cell, const uint8_t *elements, uint64_t n)
{
    union lot lot;
    for (uint64_t at = 0; at < n; at += LOT) {
        const size_t n_lot = zd_min_u64(n - at, LOT);
        const uint64_t to = cell + at;
        const uint8_t *from = elements + at * reduce->from.bytes;
        if (adds_singles(reduce) && add_singles_each(reduce->sum + to, from, n_lot)) {
            continue;
        }
        load(reduce, elements + at * reduce->from.bytes, n_lot, &lot);
        if (zd_reduce_has_nan(reduce) && has_missing(reduce, &lot, n_lot)) {
            count_missing_each(reduce, to, &lot, n_lot);
        }
        if (reduce->whole != NULL) {
            add_integers_each(reduce, reduce->whole + to, &lot, n_lot);
        } else if (reduce->extreme != NULL) {
            find_extremes(reduce, reduce->extreme + to, &lot, n_lot);
        } else if (reduce->first != NULL) {
            add_spread_each(reduce, to, &lot, n_lot);
        } else if (reduce->sum_rest != NULL) {
            add_rests_each(reduce->sum + to, reduce->sum_rest + to, lot.number, n_lot);
        } else if (reduce->sum != NULL) {
            add_numbers_each(reduce->sum + to, lot.number, n_lot);
        }
    }
}

/* ---- all to one cell ---- */

static void add_one(struct sum *to, double number)
{
    const double after = to->sum + number;
    const double part = after - to->sum;
    to->rest += (to->sum - (after - part)) + (number - part);
    to->sum = after;
}

/* Sum numbers on several lanes. */
static struct sum sum_of(const double *number, size_t n)
{
    double sum[LANES] = {0};
    double rest[LANES] = {0};
    struct sum all = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        add_rests_each(sum, rest, number + i, LANES);
    }
    for (size_t k = 0; i + k < n; k++) {
        add_rests_each(sum + k, rest + k, number + i + k, 1);
    }
    for (size_t k = 0; k < LANES; k++) {
        add_one(&all, sum[k]);
        all.rest += rest[k];
    }
    return all;
}

/* The same where float64 is more than enough. */
static double plain_sum_of(const double *number, size_t n)
{
    double sum[LANES] = {0};
    double all = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            sum[k] += number[i + k];
        }
    }
    for (; i < n; i++) {
        all += number[i];
    }
    for (size_t k = 0; k < LANES; k++) {
        all += sum[k];
    }
    return all;
}

static void add_sum(double *sum, double *rest, struct sum more)
{
    struct sum all = {.sum = *sum, .rest = *rest};
    add_one(&all, more.sum);
    *sum = all.sum;
    *rest = all.rest + more.rest;
}

static void add_spread_all(struct zd_reduce *reduce, uint64_t cell, const union lot *lot, size_t n)
{
    struct spread spread;
    for (size_t i = 0; i < n && isnan(reduce->first[cell]); i++) {
        reduce->first[cell] = lot->number[i];
    }
    measure(reduce, lot->number, reduce->first + cell, 0, n, &spread);
    add_sum(reduce->sum + cell, reduce->sum_rest + cell, sum_of(spread.distance, n));
    add_sum(reduce->square + cell, reduce->square_rest + cell, sum_of(spread.square, n));
    reduce->sum_rest[cell] += plain_sum_of(spread.distance_rest, n);
    reduce->square_rest[cell] += plain_sum_of(spread.square_rest, n);
}

/* On as many lanes as there are, then these. */
static void add_extreme_all(struct zd_reduce *reduce, uint64_t cell, const union lot *lot, size_t n)
{
    union lot lane;
    union lot part;
    const uint64_t neutral = zd_reduce_neutral(reduce);
    for (size_t k = 0; k < LANES; k++) {
        lane.u64[k] = neutral;
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        memcpy(part.u64, lot->u64 + i, LANES * sizeof *part.u64);
        find_extremes(reduce, lane.u64, &part, LANES);
    }
    memcpy(part.u64, lot->u64 + i, (n - i) * sizeof *part.u64);
    find_extremes(reduce, lane.u64, &part, n - i);
    for (size_t k = 0; k < LANES; k++) {
        part.u64[0] = lane.u64[k];
        find_extremes(reduce, reduce->extreme + cell, &part, 1);
    }
}

static void add_integers_all(
    const struct zd_reduce *reduce, zd_i128 *whole, const union lot *lot, size_t n)
{
    const bool is_signed = reduce->way == ZD_REDUCE_SIGNED;
    if (reduce->usual.bytes < sizeof(uint64_t)) { /* a lot of them fits int64 */
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += lot->i64[i];
        }
        *whole += sum;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        *whole += is_signed ? (zd_i128)lot->i64[i] : (zd_i128)lot->u64[i];
    }
}

static void count_missing_all(struct zd_reduce *reduce, uint64_t cell, union lot *lot, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        reduce->n_missing[cell] += is_missing(reduce, lot, i);
    }
    for (size_t i = 0; reduce->skips_nan && reduce->sum != NULL && reduce->first == NULL && i < n;
        i++) {
        lot->number[i] = is_missing(reduce, lot, i) ? 0 : lot->number[i];
    }
}

void zd_reduce_add_all(struct zd_reduce *reduce, uint64_t cell, const uint8_t *elements, uint64_t n)
{
    union lot lot;
    for (uint64_t at = 0; at < n; at += LOT) {
        const size_t n_lot = zd_min_u64(n - at, LOT);
        load(reduce, elements + at * reduce->from.bytes, n_lot, &lot);
        if (zd_reduce_has_nan(reduce) && has_missing(reduce, &lot, n_lot)) {
            count_missing_all(reduce, cell, &lot, n_lot);
        }
        if (reduce->whole != NULL) {
            add_integers_all(reduce, reduce->whole + cell, &lot, n_lot);
        } else if (reduce->extreme != NULL) {
            add_extreme_all(reduce, cell, &lot, n_lot);
        } else if (reduce->first != NULL) {
            add_spread_all(reduce, cell, &lot, n_lot);
        } else if (reduce->sum_rest != NULL) {
            add_sum(reduce->sum + cell, reduce->sum_rest + cell, sum_of(lot.number, n_lot));
        } else if (reduce->sum != NULL) {
            reduce->sum[cell] += plain_sum_of(lot.number, n_lot);
        }
    }
}
