/* Arrays for tests, from the JSON of their codecs. */
#ifndef ZD_TESTS_SUPPORT_ARRAY_H
#define ZD_TESTS_SUPPORT_ARRAY_H

#include "core/dialect/meta.h"

/** An array of a test; the fill value is all zero. */
struct zd_unit_array {
    uint32_t rank;
    uint64_t shape[ZD_RANK_MAX];
    uint64_t chunk[ZD_RANK_MAX];
    const char *data_type;
    const char *codecs; /* JSON with ' for " */
};

/** The node, owned; fails the test when the array is not valid. */
struct zd_meta *zd_unit_meta(const struct zd_unit_array *array);

/** The same with another fill value: one element. */
struct zd_meta *zd_unit_meta_filled(const struct zd_unit_array *array, const void *fill);

#endif
