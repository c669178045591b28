/* The numbers of an array in a picture. */
#include "server/picture/picture_numbers.h"

#include <assert.h>

#include "core/base/num.h"
#include "server/slice/slice_result.h"

enum zd_status zd_picture_numbers_init(struct zd_picture_numbers *numbers,
    const struct zd_meta *meta, bool decodes, struct zd_error *err)
{
    const struct zd_cf_decode_array array = {
        .attributes = meta->attributes,
        .dtype = meta->dtype,
        .fill = zd_slice_result_missing_fill(meta),
        .leaves_times = true,
    };
    *numbers = (struct zd_picture_numbers){.dtype = meta->dtype};
    if (!decodes) {
        return ZD_OK;
    }
    ZD_TRY(zd_cf_decode_init(&numbers->decode, &array, err));
    numbers->are_decoded = numbers->decode.way != ZD_CF_DECODE_NOTHING;
    numbers->dtype = numbers->are_decoded ? numbers->decode.to : meta->dtype;
    return ZD_OK;
}

uint64_t zd_picture_numbers_bytes(const struct zd_picture_numbers *numbers, uint64_t n)
{
    uint64_t bytes;
    if (!numbers->are_decoded) {
        return 0;
    }
    return ckd_mul(&bytes, n, (uint64_t)numbers->dtype.bytes) ? UINT64_MAX : bytes;
}

const uint8_t *zd_picture_numbers_of(
    const struct zd_picture_numbers *numbers, const uint8_t *elements, uint64_t n, uint8_t *room)
{
    uint64_t place;
    if (!numbers->are_decoded) {
        return elements;
    }
    const bool is_made = zd_cf_decode_run(&numbers->decode, elements, n, room, &place);
    assert(is_made); /* only times may have no like */
    (void)is_made;
    return room;
}
