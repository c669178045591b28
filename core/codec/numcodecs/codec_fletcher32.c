/* The codec `fletcher32` of numcodecs: HDF5's checksum, over words of 16 bits, behind the data. */
#include "core/base/num.h"
#include "core/codec/checksum.h"

#define NAME         "numcodecs.fletcher32"
#define BYTES_PER_US 1500 /* the copy included */
#define WORD_BYTES   2U
#define RUN_WORDS    360U /* so many sums cannot overflow */

/* A sum of words, whose carry comes back at the lower end. */
static uint32_t folded(uint32_t sum)
{
    return (sum & 0xffffU) + (sum >> 16);
}

static uint32_t word_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t fletcher32_of(const void *state, struct zd_span data)
{
    (void)state;
    uint32_t sum = 0;
    uint32_t sum_of_sums = 0;
    size_t n_left = data.len / WORD_BYTES;
    const uint8_t *at = data.ptr;
    while (n_left > 0) {
        const size_t n = zd_min_u64(n_left, RUN_WORDS);
        for (size_t i = 0; i < n; i++) {
            sum += word_at(at + i * WORD_BYTES);
            sum_of_sums += sum;
        }
        at += n * WORD_BYTES;
        n_left -= n;
        sum = folded(sum);
        sum_of_sums = folded(sum_of_sums);
    }
    if (data.len % WORD_BYTES != 0) { /* the upper half of a word */
        sum = folded(sum + ((uint32_t)*at << 8));
        sum_of_sums = folded(sum_of_sums + sum);
    }
    return folded(sum_of_sums) << 16 | folded(sum);
}

static enum zd_status fletcher32_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const struct zd_checksum_kind kind = {.codec = NAME, .of = fletcher32_of};
    static const char *const names[] = {NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    ZD_TRY(zd_parameters_status(&parameters));
    struct zd_checksum *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct zd_checksum){.kind = &kind, .decoded = *config->decoded};
    *ret_encoded = zd_checksum_encoded(config->decoded);
    *ret_state = state;
    return ZD_OK;
}

static const char *const aliases[] = {"https://codec.zarrs.dev/bytes_to_bytes/fletcher32", NULL};

const struct zd_codec zd_codec_fletcher32 = {
    .name = NAME,
    .aliases = aliases,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"additionalProperties\":false}",
    .open = fletcher32_open,
    .close = zd_free,
    .decode = zd_checksum_decode,
    .encode = zd_checksum_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = zd_checksum_configuration,
};
