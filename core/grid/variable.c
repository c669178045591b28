/* Elements of variable length: in memory each is a span, and its bytes are somewhere else. */
#include "core/grid/variable.h"

#include <string.h>

#include "core/base/num.h"

/* More than sensible writers put into a chunk; a chunk of few elements may have long ones. */
#define CHUNK_BYTES_MIN   (UINT64_C(4) << 20)
#define CHUNK_BYTES_MAX   (UINT64_C(64) << 20)
#define ELEMENT_BYTES_MAX 4096 /* on an average */

static_assert(sizeof(struct zd_span) == ZD_VARIABLE_BYTES, "an element is a span");

uint64_t zd_variable_bytes_max(uint64_t n_elements)
{
    const uint64_t n = zd_min_u64(n_elements, CHUNK_BYTES_MAX / ELEMENT_BYTES_MAX);
    return zd_max_u64(n * ELEMENT_BYTES_MAX, CHUNK_BYTES_MIN);
}

struct zd_span zd_variable_at(const uint8_t *elements, uint64_t i)
{
    struct zd_span bytes;
    memcpy(&bytes, elements + i * sizeof bytes, sizeof bytes);
    return bytes;
}

void zd_variable_put(uint8_t *elements, uint64_t i, struct zd_span bytes)
{
    memcpy(elements + i * sizeof bytes, &bytes, sizeof bytes);
}

/* Whether element i has the bytes of the one before it. */
static bool is_shared(const uint8_t *elements, uint64_t i)
{
    if (i == 0) {
        return false;
    }
    const struct zd_span before = zd_variable_at(elements, i - 1);
    const struct zd_span bytes = zd_variable_at(elements, i);
    return before.ptr == bytes.ptr && before.len == bytes.len;
}

/* Bytes that are not shared; UINT64_MAX when they do not fit. */
static uint64_t count_bytes(const uint8_t *elements, uint64_t n_elements)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n_elements; i++) {
        const uint64_t len = is_shared(elements, i) ? 0 : zd_variable_at(elements, i).len;
        if (ckd_add(&sum, sum, len)) {
            return UINT64_MAX;
        }
    }
    return sum;
}

enum zd_status zd_variable_pack(const uint8_t *elements, uint64_t n_elements, uint64_t bytes_max,
    struct zd_buf **ret_packed, struct zd_error *err)
{
    const uint64_t n_bytes = count_bytes(elements, n_elements);
    uint64_t size;
    if (n_bytes > bytes_max) {
        return zd_fail_limit(err, bytes_max, n_bytes,
            "the elements of the chunk have %llu bytes in total; the limit is %llu",
            (unsigned long long)n_bytes, (unsigned long long)bytes_max);
    }
    struct zd_buf *packed = NULL;
    if (!ckd_mul(&size, n_elements, (uint64_t)ZD_VARIABLE_BYTES) &&
        !ckd_add(&size, size, n_bytes)) {
        packed = zd_buf_new(size);
    }
    if (packed == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for %llu elements of variable length",
            (unsigned long long)n_elements);
    }
    packed->len = n_elements * ZD_VARIABLE_BYTES;
    for (uint64_t i = 0; i < n_elements; i++) {
        struct zd_span bytes = zd_variable_at(elements, i);
        if (bytes.len == 0) {
            bytes.ptr = NULL;
        } else if (is_shared(elements, i)) {
            bytes = zd_variable_at(packed->data, i - 1);
        } else {
            memcpy(packed->data + packed->len, bytes.ptr, bytes.len);
            bytes.ptr = packed->data + packed->len;
            packed->len += bytes.len;
        }
        zd_variable_put(packed->data, i, bytes);
    }
    *ret_packed = packed;
    return ZD_OK;
}

enum zd_status zd_variable_join(const uint8_t *elements, uint64_t n_elements, struct zd_span bytes,
    struct zd_buf **ret_packed, struct zd_error *err)
{
    uint64_t size;
    struct zd_buf *packed = NULL;
    if (!ckd_mul(&size, n_elements, (uint64_t)ZD_VARIABLE_BYTES) &&
        !ckd_add(&size, size, bytes.len)) {
        packed = zd_buf_new(size);
    }
    if (packed == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for %llu elements of variable length",
            (unsigned long long)n_elements);
    }
    packed->len = n_elements * ZD_VARIABLE_BYTES;
    if (bytes.len > 0) {
        memcpy(packed->data + packed->len, bytes.ptr, bytes.len);
    }
    for (uint64_t i = 0; i < n_elements; i++) {
        const size_t len = zd_variable_at(elements, i).len;
        const uint8_t *at = len == 0 ? NULL : packed->data + packed->len;
        zd_variable_put(packed->data, i, (struct zd_span){.ptr = at, .len = len});
        packed->len += len;
    }
    assert(packed->len == size);
    *ret_packed = packed;
    return ZD_OK;
}

uint64_t zd_variable_count(
    const uint8_t *elements, uint64_t n_elements, uint64_t extra, uint64_t bytes_max)
{
    uint64_t sum = 0;
    uint64_t n = 0;
    while (n < n_elements && !ckd_add(&sum, sum, zd_variable_at(elements, n).len) &&
           !ckd_add(&sum, sum, extra) && sum <= bytes_max) {
        n++;
    }
    return zd_max_u64(n, zd_min_u64(n_elements, 1));
}

uint8_t *zd_variable_new(struct zd_span bytes)
{
    uint8_t *element = zd_alloc_zero(1, ZD_VARIABLE_BYTES + bytes.len);
    if (element != NULL && bytes.len > 0) {
        uint8_t *at = element + ZD_VARIABLE_BYTES;
        memcpy(at, bytes.ptr, bytes.len);
        zd_variable_put(element, 0, (struct zd_span){.ptr = at, .len = bytes.len});
    }
    return element;
}
