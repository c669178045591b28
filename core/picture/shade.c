/* Numbers into the colours of a palette. */
#include "core/picture/shade.h"

#include <math.h>

#define LANES 4

struct zd_shade_range zd_shade_no_range(void)
{
    return (struct zd_shade_range){.min = INFINITY, .max = -INFINITY};
}

/* Several ranges side by side: none waits for the comparison before. */
struct lanes {
    double min[LANES];
    double max[LANES];
    uint64_t n_missing[LANES];
};

static inline void add_to_lane(struct lanes *lanes, uint64_t i, double value)
{
    /* NaN is neither less nor greater. */
    const double low = value > -INFINITY ? value : INFINITY;
    const double high = value < INFINITY ? value : -INFINITY;
    lanes->min[i] = low < lanes->min[i] ? low : lanes->min[i];
    lanes->max[i] = high > lanes->max[i] ? high : lanes->max[i];
    lanes->n_missing[i] += value != value;
}

void zd_shade_range_add(struct zd_shade_range *range, const double *value, uint64_t n)
{
    const uint64_t n_whole = n - n % LANES;
    struct lanes lanes = {0};
    for (uint64_t k = 0; k < LANES; k++) {
        lanes.min[k] = range->min;
        lanes.max[k] = range->max;
    }
    for (uint64_t i = 0; i < n_whole; i += LANES) {
        for (uint64_t k = 0; k < LANES; k++) {
            add_to_lane(&lanes, k, value[i + k]);
        }
    }
    for (uint64_t i = n_whole; i < n; i++) {
        add_to_lane(&lanes, 0, value[i]);
    }
    for (uint64_t k = 0; k < LANES; k++) {
        range->min = lanes.min[k] < range->min ? lanes.min[k] : range->min;
        range->max = lanes.max[k] > range->max ? lanes.max[k] : range->max;
        range->has_missing = range->has_missing || lanes.n_missing[k] > 0;
    }
}

/* A position 0 .. 1 as a colour; what is beyond either end has its colour. */
static uint8_t color_at(double position)
{
    const double color = position * ZD_SHADE_COLORS;
    const double above = color > 0 ? color : 0; /* NaN, too: of a number on two equal ends */
    return (uint8_t)(int)(above < ZD_SHADE_COLORS - 1 ? above : ZD_SHADE_COLORS - 1);
}

/* The distance of both ends may be more than a double holds: then all is halved. */
static void shade_linear(double low, double high, const double *value, uint64_t n, uint8_t *to)
{
    const double part = isinf(high - low) ? 0.5 : 1;
    const double span = high * part - low * part;
    for (uint64_t i = 0; i < n; i++) {
        to[i] = color_at((value[i] * part - low * part) / span);
    }
}

static void shade_sqrt(double low, double high, const double *value, uint64_t n, uint8_t *to)
{
    const double part = isinf(high - low) ? 0.5 : 1;
    const double span = high * part - low * part;
    for (uint64_t i = 0; i < n; i++) {
        const double position = (value[i] * part - low * part) / span;
        to[i] = color_at(sqrt(position > 0 ? position : 0));
    }
}

static void shade_log(double low, double high, const double *value, uint64_t n, uint8_t *to)
{
    const double from = log(low);
    const double span = log(high) - from;
    for (uint64_t i = 0; i < n; i++) {
        to[i] = color_at(value[i] > 0 ? (log(value[i]) - from) / span : 0);
    }
}

void zd_shade_colors(const struct zd_shade *shade, const double *value, uint64_t n, uint8_t *to)
{
    const bool is_turned = shade->from > shade->to;
    const double low = is_turned ? shade->to : shade->from;
    const double high = is_turned ? shade->from : shade->to;
    switch (shade->stretch) {
    case ZD_STRETCH_LINEAR:
        shade_linear(low, high, value, n, to);
        break;
    case ZD_STRETCH_SQRT:
        shade_sqrt(low, high, value, n, to);
        break;
    case ZD_STRETCH_LOG:
        shade_log(low, high, value, n, to);
        break;
    }
    const uint8_t turn = is_turned ? ZD_SHADE_COLORS - 1 : 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t color = is_turned ? (uint8_t)(turn - to[i]) : to[i];
        to[i] = value[i] != value[i] ? ZD_SHADE_MISSING : color;
    }
}
