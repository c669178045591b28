/* Elements reduced to one of each cell: the types, the memory and the results of cells. */
#include "core/compute/reduce.h"

#include <math.h>
#include <string.h>

#include "core/base/own.h"
#include "core/codec/number.h"
#include "core/compute/convert.h"

#define LOT ZD_NUMBERS_MAX

const char *const zd_reduce_names[] = {"mean", "min", "max", "sum", "std", "var", "count", NULL};

/* ---- types ---- */

static bool is_extreme(enum zd_reduce_op op)
{
    return op == ZD_REDUCE_MIN || op == ZD_REDUCE_MAX;
}

bool zd_reduce_is_spread(const struct zd_reduce *reduce)
{
    return reduce->op == ZD_REDUCE_STD || reduce->op == ZD_REDUCE_VAR;
}

bool zd_reduce_has_nan(const struct zd_reduce *reduce)
{
    return reduce->way == ZD_REDUCE_FLOATS || reduce->way == ZD_REDUCE_TICKS;
}

static enum zd_reduce_way way_of(const struct zd_dtype *usual)
{
    if (zd_dtype_is_ticks(usual)) {
        return ZD_REDUCE_TICKS;
    }
    if (zd_number_is_float(usual)) {
        return ZD_REDUCE_FLOATS;
    }
    return usual->kind == ZD_DTYPE_INT ? ZD_REDUCE_SIGNED : ZD_REDUCE_UNSIGNED;
}

/* NULL: that of the elements. */
static const char *result_name(const struct zd_reduce *reduce)
{
    const bool is_float = reduce->way == ZD_REDUCE_FLOATS;
    if (is_extreme(reduce->op)) {
        return NULL;
    }
    if (reduce->op == ZD_REDUCE_COUNT) {
        return "int64";
    }
    if (reduce->op == ZD_REDUCE_SUM) {
        return is_float                              ? (reduce->usual.bytes == 8 ? NULL : "float32")
               : reduce->usual.kind == ZD_DTYPE_UINT ? "uint64"
                                                     : "int64"; /* of bool, as NumPy */
    }
    return is_float && reduce->usual.bytes == 4 ? NULL : "float64";
}

enum zd_status zd_reduce_plan(struct zd_reduce *reduce, enum zd_reduce_op op,
    const struct zd_dtype *from, bool skips_nan, struct zd_error *err)
{
    struct zd_reduce plan = {
        .op = op, .skips_nan = skips_nan, .from = *from, .usual = zd_convert_usual(from)};
    const bool is_ticks = zd_dtype_is_ticks(from);
    if (!(zd_number_is_real(&plan.usual) ||
            (is_ticks && (is_extreme(op) || op == ZD_REDUCE_COUNT)))) {
        return zd_fail(err, ZD_UNSUPPORTED, "%s is not available for %s%s", zd_reduce_names[op],
            from->name, is_ticks ? "; min, max and count are" : "");
    }
    plan.way = way_of(&plan.usual);
    plan.to = plan.usual;
    plan.has_rests = zd_reduce_is_spread(&plan) || plan.usual.bytes == sizeof(double);
    const char *name = result_name(&plan);
    if (name != NULL) {
        ZD_TRY(zd_dtype_find(name, &plan.to));
    }
    *reduce = plan;
    return ZD_OK;
}

/* ---- memory ---- */

static bool adds_integers(const struct zd_reduce *reduce)
{
    return (reduce->op == ZD_REDUCE_SUM || reduce->op == ZD_REDUCE_MEAN) &&
           !zd_reduce_has_nan(reduce);
}

static bool adds_numbers(const struct zd_reduce *reduce)
{
    return zd_reduce_is_spread(reduce) ||
           ((reduce->op == ZD_REDUCE_SUM || reduce->op == ZD_REDUCE_MEAN) &&
               zd_reduce_has_nan(reduce));
}

/* Give each array its place in memory. @return the bytes of a cell */
static uint64_t place_arrays(struct zd_reduce *reduce, uint64_t n_cells, uint8_t *memory)
{
    uint8_t *at = memory;
    uint64_t bytes = 0;
    const struct {
        bool is_there;
        void *array;
        uint64_t bytes;
    } arrays[] = {
        {adds_integers(reduce), &reduce->whole, sizeof *reduce->whole},
        {is_extreme(reduce->op), &reduce->extreme, sizeof *reduce->extreme},
        {zd_reduce_is_spread(reduce), &reduce->first, sizeof *reduce->first},
        {adds_numbers(reduce), &reduce->sum, sizeof *reduce->sum},
        {adds_numbers(reduce) && reduce->has_rests, &reduce->sum_rest, sizeof *reduce->sum_rest},
        {zd_reduce_is_spread(reduce), &reduce->square, sizeof *reduce->square},
        {zd_reduce_is_spread(reduce), &reduce->square_rest, sizeof *reduce->square_rest},
        {zd_reduce_has_nan(reduce), &reduce->n_missing, sizeof *reduce->n_missing},
    };
    for (size_t i = 0; i < ZD_COUNT_OF(arrays); i++) {
        if (arrays[i].is_there) {
            bytes += arrays[i].bytes;
            if (memory != NULL) {
                memcpy(arrays[i].array, &at, sizeof at);
                at += n_cells * arrays[i].bytes;
            }
        }
    }
    return bytes;
}

uint64_t zd_reduce_cell_bytes(const struct zd_reduce *reduce)
{
    struct zd_reduce any = *reduce;
    return place_arrays(&any, 0, NULL);
}

enum zd_status zd_reduce_init(struct zd_reduce *reduce, uint64_t n_cells, struct zd_error *err)
{
    uint64_t bytes;
    zd_reduce_done(reduce);
    if (!ckd_mul(&bytes, n_cells, zd_reduce_cell_bytes(reduce)) && bytes <= SIZE_MAX / 2) {
        reduce->memory = zd_alloc(bytes);
    }
    if (reduce->memory == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for %llu cells", (unsigned long long)n_cells);
    }
    (void)place_arrays(reduce, n_cells, reduce->memory);
    reduce->n_cells = n_cells;
    return ZD_OK;
}

void zd_reduce_done(struct zd_reduce *reduce)
{
    zd_free(ZD_TAKE(reduce->memory));
}

uint64_t zd_reduce_neutral(const struct zd_reduce *reduce)
{
    const bool is_min = reduce->op == ZD_REDUCE_MIN;
    const double beyond = is_min ? INFINITY : -INFINITY;
    uint64_t bits;
    switch (reduce->way) {
    case ZD_REDUCE_FLOATS:
        memcpy(&bits, &beyond, sizeof bits);
        return bits;
    case ZD_REDUCE_UNSIGNED:
        return is_min ? UINT64_MAX : 0;
    case ZD_REDUCE_SIGNED:
    case ZD_REDUCE_TICKS:
        break;
    }
    return is_min ? (uint64_t)INT64_MAX : (uint64_t)INT64_MIN;
}

void zd_reduce_clear(struct zd_reduce *reduce, uint64_t n_cells)
{
    assert(n_cells <= reduce->n_cells);
    if (reduce->extreme != NULL) {
        const uint64_t bits = zd_reduce_neutral(reduce);
        for (uint64_t i = 0; i < n_cells; i++) {
            reduce->extreme[i] = bits;
        }
    }
    for (uint64_t i = 0; reduce->first != NULL && i < n_cells; i++) {
        reduce->first[i] = (double)NAN;
    }
    void *const zeroed[] = {
        reduce->sum, reduce->sum_rest, reduce->square, reduce->square_rest, reduce->n_missing};
    for (size_t i = 0; i < ZD_COUNT_OF(zeroed); i++) {
        if (zeroed[i] != NULL) {
            memset(zeroed[i], 0, n_cells * sizeof(double));
        }
    }
    if (reduce->whole != NULL) {
        memset(reduce->whole, 0, n_cells * sizeof *reduce->whole);
    }
}

/* ---- results ---- */

static long double whole_sum(const double *sum, const double *rest, uint64_t cell)
{
    /* Beside an infinity the rest is none. */
    return rest != NULL && isfinite(sum[cell]) ? (long double)sum[cell] + (long double)rest[cell]
                                               : (long double)sum[cell];
}

static double spread_of(const struct zd_reduce *reduce, uint64_t cell, uint64_t n)
{
    const long double sum = whole_sum(reduce->sum, reduce->sum_rest, cell);
    const long double square = whole_sum(reduce->square, reduce->square_rest, cell);
    const long double variance = (square - sum * sum / (long double)n) / (long double)n;
    const long double bounded = variance < 0 ? 0 : variance; /* NaN stays */
    return (double)(reduce->op == ZD_REDUCE_STD ? sqrtl(bounded) : bounded);
}

/* A mean, a spread, or the sum of floats. @param n of the numbers that count */
static double number_of(const struct zd_reduce *reduce, uint64_t cell, uint64_t n)
{
    if (reduce->op == ZD_REDUCE_SUM) {
        return (double)whole_sum(reduce->sum, reduce->sum_rest, cell);
    }
    if (n == 0) {
        return (double)NAN;
    }
    if (zd_reduce_is_spread(reduce)) {
        return spread_of(reduce, cell, n);
    }
    const long double sum = reduce->whole != NULL ? (long double)reduce->whole[cell]
                                                  : whole_sum(reduce->sum, reduce->sum_rest, cell);
    return (double)(sum / (long double)n);
}

/* @return false: the sum does not fit */
static bool integer_of(const struct zd_reduce *reduce, uint64_t cell, uint64_t *ret_integer)
{
    const zd_i128 sum = reduce->whole[cell];
    const bool is_signed = reduce->to.kind == ZD_DTYPE_INT;
    *ret_integer = (uint64_t)sum;
    return is_signed ? sum >= INT64_MIN && sum <= INT64_MAX : sum <= (zd_i128)UINT64_MAX;
}

/* An extreme; NaN or NaT if there is none, or one counts. */
static void store_extreme(
    const struct zd_reduce *reduce, uint64_t cell, uint64_t n_added, uint8_t *to)
{
    const uint64_t n_missing = reduce->n_missing == NULL ? 0 : reduce->n_missing[cell];
    const bool is_none = n_missing == n_added || (n_missing > 0 && !reduce->skips_nan);
    double number;
    memcpy(&number, &reduce->extreme[cell], sizeof number);
    if (reduce->way == ZD_REDUCE_FLOATS) {
        number = is_none ? (double)NAN : number;
        zd_numbers_store(&reduce->to, &number, 1, to);
    } else if (reduce->way == ZD_REDUCE_TICKS) {
        zd_store_u64(to, is_none ? (uint64_t)ZD_DTYPE_NAT : reduce->extreme[cell]);
    } else {
        zd_numbers_store_integers(&reduce->to, &reduce->extreme[cell], 1, to);
    }
}

/* Numbers that count among those of a cell. */
static uint64_t n_counted(const struct zd_reduce *reduce, uint64_t cell, uint64_t n_added)
{
    const bool drops = reduce->skips_nan && reduce->n_missing != NULL;
    return n_added - (drops ? reduce->n_missing[cell] : 0);
}

/* An extreme, a count or a sum of integers. @return false: it does not fit */
static bool store(const struct zd_reduce *reduce, uint64_t cell, uint64_t n_added, uint8_t *to)
{
    uint64_t integer = n_counted(reduce, cell, n_added);
    if (reduce->extreme != NULL) {
        store_extreme(reduce, cell, n_added, to);
        return true;
    }
    const bool fits = reduce->op == ZD_REDUCE_COUNT || integer_of(reduce, cell, &integer);
    zd_store_u64(to, integer);
    return fits;
}

static void finish_numbers(const struct zd_reduce *reduce, uint64_t first, uint64_t n,
    const uint64_t *n_added, uint8_t *to)
{
    double number[LOT];
    for (uint64_t at = 0; at < n; at += LOT) {
        const size_t n_lot = zd_min_u64(n - at, LOT);
        for (size_t i = 0; i < n_lot; i++) {
            const uint64_t cell = first + at + i;
            number[i] = number_of(reduce, cell, n_counted(reduce, cell, n_added[at + i]));
        }
        zd_numbers_store(&reduce->to, number, n_lot, to + at * reduce->to.bytes);
    }
}

bool zd_reduce_finish(const struct zd_reduce *reduce, uint64_t first, uint64_t n,
    const uint64_t *n_added, uint8_t *to, uint64_t *ret_place)
{
    const bool is_integer =
        reduce->op == ZD_REDUCE_COUNT || (reduce->op == ZD_REDUCE_SUM && reduce->whole != NULL);
    if (reduce->extreme == NULL && !is_integer) {
        finish_numbers(reduce, first, n, n_added, to);
        return true;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!store(reduce, first + i, n_added[i], to + i * reduce->to.bytes)) {
            *ret_place = i;
            return false;
        }
    }
    return true;
}
