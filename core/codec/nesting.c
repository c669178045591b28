/* How lists of elements are nested in a text of numcodecs. */
#include "core/codec/nesting.h"

#include "core/base/num.h"

static void count_items(struct zd_nesting *nesting)
{
    for (uint32_t d = 0; d < nesting->rank; d++) {
        /* No more than the elements of the chunk, or nothing. */
        (void)zd_product(&nesting->n_items[d], nesting->length + d, nesting->rank - d);
    }
}

void zd_nesting_init(struct zd_nesting *nesting, const struct zd_repr *decoded)
{
    *nesting = (struct zd_nesting){.rank = decoded->rank};
    for (uint32_t d = 0; d < decoded->rank; d++) {
        nesting->length[d] = decoded->shape[d];
    }
    count_items(nesting);
}

void zd_nesting_init_turned(struct zd_nesting *nesting, const struct zd_repr *decoded)
{
    *nesting = (struct zd_nesting){.rank = decoded->rank};
    for (uint32_t d = 0; d < decoded->rank; d++) {
        nesting->length[d] = decoded->shape[decoded->rank - 1 - d];
    }
    count_items(nesting);
}
