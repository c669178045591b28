/* Numbers into the colours of a palette. Thread: any. */
#ifndef ZD_CORE_PICTURE_SHADE_H
#define ZD_CORE_PICTURE_SHADE_H

#include <stdbool.h>
#include <stdint.h>

#define ZD_SHADE_COLORS  255             /* of numbers */
#define ZD_SHADE_MISSING ZD_SHADE_COLORS /* the colour of what is missing */

/** How the position between both ends becomes a colour. */
enum zd_stretch {
    ZD_STRETCH_LINEAR,
    ZD_STRETCH_SQRT,
    ZD_STRETCH_LOG,
};

/** The ends: what lies outside has their colours, infinities too. From > to turns the map round. */
struct zd_shade {
    double from; /* finite */
    double to;   /* finite; with ZD_STRETCH_LOG both are > 0 */
    enum zd_stretch stretch;
};

/** The range of some numbers. Begin with zd_shade_no_range. */
struct zd_shade_range {
    double min; /* of the finite ones; more than max when there is none */
    double max;
    bool has_missing; /* NaN is among them */
};

struct zd_shade_range zd_shade_no_range(void);
void zd_shade_range_add(struct zd_shade_range *range, const double *value, uint64_t n);

/**
 * The colours of n numbers: 0 .. ZD_SHADE_COLORS - 1, or ZD_SHADE_MISSING for NaN. A number on both
 * ends, when these are equal, has the first.
 */
void zd_shade_colors(const struct zd_shade *shade, const double *value, uint64_t n, uint8_t *to);

#endif
