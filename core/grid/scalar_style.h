/* How an answer wants its elements spelled. */
#ifndef ZD_CORE_GRID_SCALAR_STYLE_H
#define ZD_CORE_GRID_SCALAR_STYLE_H

#include <stdbool.h>

struct zd_scalar_style {
    bool nan_null;     /* NaN and infinities as null, not as strings; NaT, too */
    bool ints_string;  /* 64-bit integers as strings */
    bool bare_strings; /* no quotes around NaN and infinities (CSV) */
};

#endif
