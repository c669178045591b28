/* How lists of elements are nested in a text of numcodecs (json2, msgpack2). */
#ifndef ZD_CORE_CODEC_NESTING_H
#define ZD_CORE_CODEC_NESTING_H

#include "core/codec/codec.h"

struct zd_nesting {
    uint32_t rank;
    uint64_t length[ZD_RANK_MAX];  /* of the lists of dimension d */
    uint64_t n_items[ZD_RANK_MAX]; /* elements of such a list: product(length[d .. rank)) */
};

/** As the chunk is. Thread: any. */
void zd_nesting_init(struct zd_nesting *nesting, const struct zd_repr *decoded);

/** With its dimensions reversed: zarr-python nests a chunk in F order by the array's dimensions,
 * and what it reads of that are the elements one after the other in F order. Thread: any. */
void zd_nesting_init_turned(struct zd_nesting *nesting, const struct zd_repr *decoded);

#endif
