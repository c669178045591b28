/* Arrays for tests, from the JSON of their codecs. */
#include "tests/support/array.h"

#include <string.h>

#include "tests/support/codec.h"

struct zd_meta *zd_unit_meta(const struct zd_unit_array *array)
{
    static const uint8_t zero[ZD_DTYPE_BYTES_MAX];
    return zd_unit_meta_filled(array, zero);
}

struct zd_meta *zd_unit_meta_filled(const struct zd_unit_array *array, const void *fill)
{
    struct zd_meta *meta = zd_meta_new(NULL);
    ck_assert_ptr_nonnull(meta);
    meta->type = ZD_NODE_ARRAY;
    ck_assert_int_eq(zd_dtype_find(array->data_type, &meta->dtype), ZD_OK);
    meta->fill = zd_alloc(meta->dtype.bytes);
    ck_assert_ptr_nonnull(meta->fill);
    memcpy(meta->fill, fill, meta->dtype.bytes);
    struct zd_unit_chain chain = {
        .codecs = array->codecs, .dtype = array->data_type, .rank = array->rank, .fill = fill};
    memcpy(chain.shape, array->chunk, sizeof chain.shape);
    meta->chain = zd_unit_chain(&chain);
    meta->grid.rank = array->rank;
    memcpy(meta->grid.shape, array->shape, sizeof meta->grid.shape);
    memcpy(meta->grid.chunk, array->chunk, sizeof meta->grid.chunk);
    return meta;
}
