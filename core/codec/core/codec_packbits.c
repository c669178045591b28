/* The codec `packbits`: some bits of every element, one after the other.
 *
 * Bit b of the sequence is bit b % 8, from the least significant, of byte b / 8. Zeros fill the
 * last byte, and a byte in front of or behind the bits may say how many. */
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/codec/parameter.h"

#define NAME          "packbits"
#define BYTES_PER_US  600
#define BITS_PER_BYTE 8U
#define BITS_MAX      64U /* of one component */

enum padding {
    PADDING_NONE,
    PADDING_FIRST_BYTE,
    PADDING_LAST_BYTE,
};

static const char *const padding_words[] = {"none", "first_byte", "last_byte", NULL};

struct packbits {
    struct zd_dtype dtype;
    uint32_t n_bits; /* of a component, as the type has them */
    uint32_t first_bit;
    uint32_t last_bit;
    uint32_t padding;
    bool has_first_bit; /* in the document */
    bool has_last_bit;
    uint32_t unit_bytes; /* of a component in memory */
    uint64_t n_units;
    uint64_t packed_bytes; /* without the byte that tells the padding */
};

/* ---- the data type ---- */

static uint32_t components_of(const struct zd_dtype *dtype)
{
    return zd_dtype_is_complex(dtype) ? 2 : 1;
}

static bool is_signed(const struct zd_dtype *dtype)
{
    return dtype->kind == ZD_DTYPE_INT || zd_dtype_is_ticks(dtype);
}

static bool is_number(const struct zd_dtype *dtype)
{
    return is_signed(dtype) || dtype->kind == ZD_DTYPE_UINT || zd_dtype_is_float(dtype) ||
           zd_dtype_is_complex(dtype);
}

/* How many bits a component has: the number in the name of its type, as 4 of "int4" or of
 * "float4_e2m1fn"; in "complex64" it is that of both components. 0: there are none to pack. */
static uint32_t bits_of(const struct zd_dtype *dtype)
{
    uint64_t n_bits = 0;
    if (dtype->kind == ZD_DTYPE_BOOL) {
        return 1;
    }
    const size_t n_letters = strcspn(dtype->name, "0123456789");
    struct zd_scan scan = zd_scan_of(zd_span_of(dtype->name + n_letters));
    if (!is_number(dtype) || zd_scan_u64(&scan, 2 * (uint64_t)BITS_MAX, &n_bits) != ZD_OK) {
        return 0;
    }
    n_bits /= strchr(dtype->name, '_') == NULL ? components_of(dtype) : 1;
    const uint64_t memory_bits = UINT64_C(8) * (dtype->bytes / components_of(dtype));
    return n_bits <= memory_bits && memory_bits <= BITS_MAX ? (uint32_t)n_bits : 0;
}

/* ---- open ---- */

/* A member that may be missing or null; true when it is there. */
static bool read_bit(const struct zd_parameters *parameters, const char *name, uint32_t least,
    uint32_t most, uint32_t *bit)
{
    const struct zd_json *member = zd_parameter_find(parameters, name);
    int64_t value = 0;
    if (member == NULL || zd_json_is(member, ZD_JSON_NULL) ||
        !zd_parameter_i64(parameters, name, least, most, &value)) {
        return false;
    }
    *bit = (uint32_t)value;
    return true;
}

static void read_parameters(const struct zd_parameters *parameters, struct packbits *packbits)
{
    const uint32_t most = packbits->n_bits - 1;
    packbits->last_bit = most;
    packbits->has_first_bit = read_bit(parameters, "first_bit", 0, most, &packbits->first_bit);
    packbits->has_last_bit =
        read_bit(parameters, "last_bit", packbits->first_bit, most, &packbits->last_bit);
    if (zd_parameter_find(parameters, "padding_encoding") != NULL) {
        (void)zd_parameter_choice(
            parameters, "padding_encoding", padding_words, &packbits->padding);
    }
}

static uint32_t width_of(const struct packbits *packbits)
{
    return packbits->last_bit - packbits->first_bit + 1;
}

/* How many bits of the last byte are none of an element. */
static uint8_t padding_of(const struct packbits *packbits)
{
    const uint64_t n_bits = packbits->n_units * width_of(packbits);
    return (uint8_t)(packbits->packed_bytes * BITS_PER_BYTE - n_bits);
}

static uint64_t size_of(const struct packbits *packbits)
{
    return packbits->packed_bytes + (packbits->padding != PADDING_NONE);
}

static bool overflows(struct packbits *packbits, const struct zd_repr *decoded)
{
    uint64_t n_bits;
    packbits->unit_bytes = packbits->dtype.bytes / components_of(&packbits->dtype);
    packbits->n_units = decoded->size / decoded->dtype.bytes * components_of(&packbits->dtype);
    if (ckd_mul(&n_bits, packbits->n_units, width_of(packbits))) {
        return true;
    }
    packbits->packed_bytes = zd_div_up(n_bits, BITS_PER_BYTE);
    return false;
}

static enum zd_status packbits_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const char *const names[] = {"padding_encoding", "first_bit", "last_bit", NULL};
    struct zd_parameters parameters;
    struct packbits packbits = {.n_bits = BITS_MAX};
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (!config->decoded->lacks_dtype) {
        packbits.dtype = config->decoded->dtype;
        packbits.n_bits = bits_of(&packbits.dtype);
        if (packbits.n_bits == 0) {
            zd_parameters_refuse_input(
                &parameters, config, "bool, numbers, times, or pairs of numbers");
            return ZD_INVALID;
        }
    }
    read_parameters(&parameters, &packbits);
    ZD_TRY(zd_parameters_status(&parameters));
    if (overflows(&packbits, config->decoded)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "too_large", NAME, &config->at, NULL, NULL,
            "the number of bits of a chunk does not fit in 64 bits");
        return ZD_INVALID;
    }
    struct packbits *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = packbits;
    *ret_encoded =
        (struct zd_repr){.is_bytes = true, .size = size_of(state), .size_is_exact = true};
    *ret_state = state;
    return ZD_OK;
}

/* ---- bits ---- */

/* `width` bits from bit `first` on; within len bytes. */
static uint64_t read_bits(const uint8_t *bytes, uint64_t len, uint64_t first, uint32_t width)
{
    const uint64_t place = first / BITS_PER_BYTE;
    const uint32_t shift = first % BITS_PER_BYTE;
    uint64_t bits = 0;
    assert(width > 0 && width <= BITS_MAX);
    memcpy(&bits, bytes + place, zd_min_u64(len - place, sizeof bits));
    bits >>= shift;
    if (shift > 0 && shift + width > BITS_MAX) {
        bits |= (uint64_t)bytes[place + sizeof bits] << (BITS_MAX - shift);
    }
    return bits & UINT64_MAX >> (BITS_MAX - width);
}

/* The bits there are zero, and stay so where `bits` has none. */
static void write_bits(uint8_t *bytes, uint64_t first, uint64_t bits, uint32_t width)
{
    uint64_t place = first / BITS_PER_BYTE;
    uint32_t n_free = BITS_PER_BYTE - first % BITS_PER_BYTE;
    bytes[place] |= (uint8_t)(bits << (BITS_PER_BYTE - n_free));
    while (width > n_free) {
        bits >>= n_free;
        width -= n_free;
        n_free = BITS_PER_BYTE;
        bytes[++place] = (uint8_t)bits;
    }
}

/* Booleans are the most common by far. */
static void unpack_bools(const uint8_t *packed, uint64_t n, uint8_t *to)
{
    for (uint64_t i = 0; i < n; i++) {
        to[i] = packed[i / BITS_PER_BYTE] >> i % BITS_PER_BYTE & 1;
    }
}

static void unpack(const struct packbits *packbits, const uint8_t *packed, uint8_t *to)
{
    const uint32_t width = width_of(packbits);
    const uint64_t sign = is_signed(&packbits->dtype) ? UINT64_C(1) << packbits->last_bit : 0;
    for (uint64_t i = 0; i < packbits->n_units; i++) {
        uint64_t bits = read_bits(packed, packbits->packed_bytes, i * width, width);
        bits <<= packbits->first_bit;
        bits = (bits ^ sign) - sign; /* the sign fills what is above it */
        memcpy(to + i * packbits->unit_bytes, &bits, packbits->unit_bytes);
    }
}

static void pack(const struct packbits *packbits, const uint8_t *from, uint8_t *packed)
{
    const bool is_bool = packbits->dtype.kind == ZD_DTYPE_BOOL;
    const uint32_t width = width_of(packbits);
    for (uint64_t i = 0; i < packbits->n_units; i++) {
        uint64_t bits = 0;
        memcpy(&bits, from + i * packbits->unit_bytes, packbits->unit_bytes);
        bits = is_bool ? bits != 0 : bits;
        bits = bits >> packbits->first_bit & UINT64_MAX >> (BITS_MAX - width);
        write_bits(packed, i * width, bits, width);
    }
}

/* ---- chunks ---- */

static enum zd_status check_padding(
    const struct packbits *packbits, const struct zd_buf *encoded, struct zd_error *err)
{
    const size_t place = packbits->padding == PADDING_FIRST_BYTE ? 0 : encoded->len - 1;
    if (packbits->padding == PADDING_NONE || encoded->data[place] == padding_of(packbits)) {
        return ZD_OK;
    }
    const enum zd_status status =
        zd_fail(err, ZD_CORRUPT, NAME ": the header announces %u bits of padding, expected %u",
            encoded->data[place], padding_of(packbits));
    zd_fact_name(err, NAME);
    zd_fact_expected(err, "%u", padding_of(packbits));
    zd_fact_found(err, "%u", encoded->data[place]);
    return status;
}

static enum zd_status packbits_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct packbits *packbits = state;
    const struct zd_repr stored = {.size = size_of(packbits), .size_is_exact = true};
    ZD_TRY(zd_codec_repr_check(&stored, NAME, encoded->len, err));
    ZD_TRY(check_padding(packbits, encoded, err));
    struct zd_buf *decoded = zd_buf_new(packbits->n_units * packbits->unit_bytes);
    if (decoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    decoded->len = decoded->cap;
    const uint8_t *packed = encoded->data + (packbits->padding == PADDING_FIRST_BYTE);
    if (packbits->dtype.kind == ZD_DTYPE_BOOL) {
        unpack_bools(packed, packbits->n_units, decoded->data);
    } else {
        unpack(packbits, packed, decoded->data);
    }
    *ret_decoded = decoded;
    return ZD_OK;
}

static enum zd_status packbits_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct packbits *packbits = state;
    assert(decoded->len == packbits->n_units * packbits->unit_bytes);
    struct zd_buf *encoded = zd_buf_new(size_of(packbits));
    if (encoded == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate a chunk");
    }
    encoded->len = encoded->cap;
    memset(encoded->data, 0, encoded->len);
    pack(packbits, decoded->data, encoded->data + (packbits->padding == PADDING_FIRST_BYTE));
    if (packbits->padding != PADDING_NONE) {
        const size_t place = packbits->padding == PADDING_FIRST_BYTE ? 0 : encoded->len - 1;
        encoded->data[place] = padding_of(packbits);
    }
    *ret_encoded = encoded;
    return ZD_OK;
}

static enum zd_status packbits_configuration(const void *state, struct zd_json **ret_json)
{
    const struct packbits *packbits = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    if (packbits->padding != PADDING_NONE) {
        const char *word = padding_words[packbits->padding];
        ZD_TRY(zd_json_set(json, "padding_encoding", zd_json_new_text(word)));
    }
    if (packbits->has_first_bit) {
        ZD_TRY(zd_json_set(json, "first_bit", zd_json_new_u64(packbits->first_bit)));
    }
    if (packbits->has_last_bit) {
        ZD_TRY(zd_json_set(json, "last_bit", zd_json_new_u64(packbits->last_bit)));
    }
    *ret_json = zd_json_count(json) == 0 ? NULL : ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_packbits = {
    .name = NAME,
    .kind = ZD_CODEC_ARRAY_BYTES,
    .schema =
        "{\"type\":\"object\",\"properties\":{\"padding_encoding\":{\"enum\":[\"none\","
        "\"first_byte\",\"last_byte\"]},\"first_bit\":{\"type\":[\"integer\",\"null\"],"
        "\"minimum\":0,\"maximum\":63},\"last_bit\":{\"type\":[\"integer\",\"null\"],\"minimum\":0,"
        "\"maximum\":63}},\"additionalProperties\":false}",
    .open = packbits_open,
    .close = zd_free,
    .decode = packbits_decode,
    .encode = packbits_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = packbits_configuration,
};
