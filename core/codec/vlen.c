/* Elements of variable length one after the other: what `vlen-utf8`, `vlen-bytes` and `vlen-array`
 * have in common. */
#include "core/codec/vlen.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/codec/parameter.h"
#include "core/grid/variable.h"

#define WORD_BYTES   sizeof(uint32_t)
#define BYTES_PER_US 1000

static const char *dtype_name(enum zd_dtype_kind kind)
{
    return kind == ZD_DTYPE_STRING ? "string" : "bytes";
}

/* The encoded representation: any length up to a bound. */
static bool overflows(const struct zd_vlen *vlen, struct zd_repr *ret_encoded)
{
    uint64_t size;
    *ret_encoded = (struct zd_repr){.is_bytes = true};
    if (vlen->n_elements > UINT32_MAX || ckd_mul(&size, vlen->n_elements + 1, WORD_BYTES) ||
        ckd_add(&size, size, vlen->bytes_max)) {
        return true;
    }
    ret_encoded->size = size;
    return false;
}

static void judge_input(
    const struct zd_vlen *vlen, const struct zd_codec_config *config, struct zd_faults *faults)
{
    const struct zd_repr *decoded = config->decoded;
    if (!decoded->lacks_dtype && decoded->dtype.kind != vlen->kind) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "wrong_data_type", vlen->name, &config->at,
            dtype_name(vlen->kind), decoded->dtype.name,
            "the codec \"%s\" encodes elements of %s, not of %s", vlen->name,
            dtype_name(vlen->kind), decoded->dtype.name);
    }
}

void zd_vlen_prepare(struct zd_vlen *vlen, const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, struct zd_faults *faults)
{
    if (!zd_codec_repr_is_known(config->decoded)) {
        return;
    }
    vlen->n_elements = config->decoded->size / config->decoded->dtype.bytes;
    vlen->bytes_max = zd_variable_bytes_max(vlen->n_elements);
    if (overflows(vlen, ret_encoded)) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "out_of_range", vlen->name, &config->at,
            "less than 2^32 elements in a chunk", NULL,
            "the codec \"%s\" counts the elements of a chunk in 32 bits", vlen->name);
    }
}

enum zd_status zd_vlen_open(const char *name, enum zd_dtype_kind kind,
    const struct zd_codec_config *config, struct zd_repr *ret_encoded, void **ret_state,
    struct zd_faults *faults)
{
    static const char *const names[] = {NULL};
    struct zd_parameters parameters;
    struct zd_vlen vlen = {.name = name, .kind = kind};
    zd_parameters_init(&parameters, name, config, names, faults);
    judge_input(&vlen, config, faults);
    zd_vlen_prepare(&vlen, config, ret_encoded, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_vlen *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = vlen;
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status corrupt(const struct zd_vlen *vlen, struct zd_error *err, const char *what,
    uint64_t expected, uint64_t found)
{
    const enum zd_status status = zd_fail(err, ZD_CORRUPT, "%s: %s: %" PRIu64 ", expected %" PRIu64,
        vlen->name, what, found, expected);
    zd_fact_name(err, vlen->name);
    zd_fact_expected(err, "%" PRIu64, expected);
    zd_fact_found(err, "%" PRIu64, found);
    return status;
}

/* Read an element. @param at the position of its length; moved behind it */
static enum zd_status read_element(const struct zd_vlen *vlen, struct zd_span encoded, size_t *at,
    struct zd_span *ret_bytes, struct zd_error *err)
{
    const size_t n_left = encoded.len - *at;
    if (n_left < WORD_BYTES) {
        return corrupt(vlen, err, "bytes left for the length of an element", WORD_BYTES, n_left);
    }
    const uint32_t len = zd_load_u32(encoded.ptr + *at);
    if (len > n_left - WORD_BYTES) {
        return corrupt(vlen, err, "bytes left for an element", len, n_left - WORD_BYTES);
    }
    *ret_bytes = (struct zd_span){.ptr = encoded.ptr + *at + WORD_BYTES, .len = len};
    *at += WORD_BYTES + len;
    return ZD_OK;
}

/* The elements, which borrow their bytes from the encoded ones. */
static enum zd_status read_elements(
    const struct zd_vlen *vlen, struct zd_span encoded, uint8_t *elements, struct zd_error *err)
{
    size_t at = WORD_BYTES;
    if (encoded.len < WORD_BYTES) {
        return corrupt(vlen, err, "bytes left for the number of elements", WORD_BYTES, encoded.len);
    }
    if (zd_load_u32(encoded.ptr) != vlen->n_elements) {
        return corrupt(vlen, err, "elements", vlen->n_elements, zd_load_u32(encoded.ptr));
    }
    for (uint64_t i = 0; i < vlen->n_elements; i++) {
        struct zd_span bytes;
        ZD_TRY(read_element(vlen, encoded, &at, &bytes, err));
        if (vlen->kind == ZD_DTYPE_STRING && !zd_scan_is_utf8(bytes)) {
            const enum zd_status status =
                zd_fail(err, ZD_CORRUPT, "%s: element %" PRIu64 " is not UTF-8", vlen->name, i);
            zd_fact_name(err, vlen->name);
            zd_fact_expected(err, "UTF-8");
            return status;
        }
        zd_variable_put(elements, i, bytes);
    }
    return at == encoded.len
               ? ZD_OK
               : corrupt(vlen, err, "bytes after the last element", 0, encoded.len - at);
}

enum zd_status zd_vlen_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct zd_vlen *vlen = state;
    ZD_AUTO(zd_buf) elements = zd_buf_new(vlen->n_elements * ZD_VARIABLE_BYTES);
    if (elements == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory for %" PRIu64 " elements", vlen->name,
            vlen->n_elements);
    }
    ZD_TRY(read_elements(vlen, zd_buf_span(encoded), elements->data, err));
    return zd_variable_pack(elements->data, vlen->n_elements, vlen->bytes_max, ret_decoded, err);
}

/* The size of the encoded chunk. */
static enum zd_status measure(const uint8_t *elements, uint64_t n_elements, uint64_t bytes_max,
    uint64_t *ret_size, struct zd_error *err)
{
    const uint64_t words = (n_elements + 1) * WORD_BYTES;
    const uint64_t size_max = words + bytes_max;
    uint64_t size = words;
    for (uint64_t i = 0; i < n_elements; i++) {
        const uint64_t len = zd_variable_at(elements, i).len;
        if (len > size_max - size) {
            return zd_fail_limit(err, bytes_max, size - words + len,
                "the elements of the chunk have more than %" PRIu64 " bytes in total", bytes_max);
        }
        size += len;
    }
    *ret_size = size;
    return ZD_OK;
}

enum zd_status zd_vlen_write(
    const uint8_t *elements, uint64_t n_elements, struct zd_buf **ret_encoded, struct zd_error *err)
{
    uint64_t size = 0;
    ZD_TRY(measure(elements, n_elements, zd_variable_bytes_max(n_elements), &size, err));
    struct zd_buf *encoded = zd_buf_new(size);
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate %" PRIu64 " bytes for a chunk", size);
    }
    uint8_t *to = encoded->data;
    zd_store_u32(to, (uint32_t)n_elements);
    to += WORD_BYTES;
    for (uint64_t i = 0; i < n_elements; i++) {
        const struct zd_span bytes = zd_variable_at(elements, i);
        zd_store_u32(to, (uint32_t)bytes.len); /* within the bytes of a chunk */
        to += WORD_BYTES;
        if (bytes.len > 0) {
            memcpy(to, bytes.ptr, bytes.len);
            to += bytes.len;
        }
    }
    encoded->len = size;
    *ret_encoded = encoded;
    return ZD_OK;
}

enum zd_status zd_vlen_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct zd_vlen *vlen = state;
    return zd_vlen_write(decoded->data, vlen->n_elements, ret_encoded, err);
}

uint64_t zd_vlen_bytes_per_us(const void *state)
{
    (void)state;
    return BYTES_PER_US;
}

enum zd_status zd_vlen_configuration(const void *state, struct zd_json **ret_json)
{
    (void)state;
    *ret_json = NULL;
    return ZD_OK;
}
