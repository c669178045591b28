/* The numbers of an array in a picture: its elements, or their decoded values (decode=cf). Thread:
 * any. */
#ifndef ZD_PICTURE_PICTURE_NUMBERS_H
#define ZD_PICTURE_PICTURE_NUMBERS_H

#include "core/compute/cf_decode.h"
#include "core/dialect/meta.h"

#define ZD_PICTURE_NUMBERS_NS 3 /* to decode one */

struct zd_picture_numbers {
    struct zd_dtype dtype; /* of them */
    bool are_decoded;      /* else they are the elements */
    struct zd_cf_decode decode;
};

/**
 * @param meta    of the array; its attributes are borrowed
 * @param decodes as they say: times stay numbers, of their units
 * @retval ZD_INVALID an attribute is not what it must be
 */
ZD_RESULT zd_picture_numbers_init(struct zd_picture_numbers *numbers, const struct zd_meta *meta,
    bool decodes, struct zd_error *err);

/** The bytes of room that n of them take; UINT64_MAX: more than 64 bits can say. */
uint64_t zd_picture_numbers_bytes(const struct zd_picture_numbers *numbers, uint64_t n);

/** Numbers of n elements: these, or what is made in the room. */
const uint8_t *zd_picture_numbers_of(
    const struct zd_picture_numbers *numbers, const uint8_t *elements, uint64_t n, uint8_t *room);

#endif
