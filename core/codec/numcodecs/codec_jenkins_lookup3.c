/* The codec `jenkins_lookup3` of numcodecs: the hash "lookup3" by Bob Jenkins, as HDF5 has it,
 * behind the data. */
#include <string.h>

#include "core/base/num.h"
#include "core/codec/checksum.h"

#define NAME         "numcodecs.jenkins_lookup3"
#define BYTES_PER_US 1200 /* the copy included */
#define BEGINNING    0xdeadbeefU
#define STEP_BYTES   12U

struct jenkins {
    struct zd_checksum checksum; /* first */
    uint32_t initval;
};

struct words {
    uint32_t a;
    uint32_t b;
    uint32_t c;
};

static uint32_t rotated(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static void mix(struct words *w)
{
    w->a = (w->a - w->c) ^ rotated(w->c, 4);
    w->c += w->b;
    w->b = (w->b - w->a) ^ rotated(w->a, 6);
    w->a += w->c;
    w->c = (w->c - w->b) ^ rotated(w->b, 8);
    w->b += w->a;
    w->a = (w->a - w->c) ^ rotated(w->c, 16);
    w->c += w->b;
    w->b = (w->b - w->a) ^ rotated(w->a, 19);
    w->a += w->c;
    w->c = (w->c - w->b) ^ rotated(w->b, 4);
    w->b += w->a;
}

static void mix_last(struct words *w)
{
    w->c = (w->c ^ w->b) - rotated(w->b, 14);
    w->a = (w->a ^ w->c) - rotated(w->c, 11);
    w->b = (w->b ^ w->a) - rotated(w->a, 25);
    w->c = (w->c ^ w->b) - rotated(w->b, 16);
    w->a = (w->a ^ w->c) - rotated(w->c, 4);
    w->b = (w->b ^ w->a) - rotated(w->a, 14);
    w->c = (w->c ^ w->b) - rotated(w->b, 24);
}

static void add(struct words *w, const uint8_t *step)
{
    w->a += zd_load_u32(step);
    w->b += zd_load_u32(step + 4);
    w->c += zd_load_u32(step + 8);
}

static uint32_t jenkins_of(const void *state, struct zd_span data)
{
    const struct jenkins *jenkins = state;
    /* The length counts modulo 2^32. */
    const uint32_t beginning = BEGINNING + (uint32_t)data.len + jenkins->initval;
    struct words words = {.a = beginning, .b = beginning, .c = beginning};
    size_t at = 0;
    for (; data.len - at > STEP_BYTES; at += STEP_BYTES) {
        add(&words, data.ptr + at);
        mix(&words);
    }
    if (at < data.len) { /* the last 1 to 12 bytes, with zeros behind them */
        uint8_t last[STEP_BYTES] = {0};
        memcpy(last, data.ptr + at, data.len - at);
        add(&words, last);
        mix_last(&words);
    }
    return words.c;
}

/* numcodecs can put bytes in front of the data, but no document can hold them. */
static void judge_prefix(const struct zd_parameters *parameters)
{
    const struct zd_json *prefix = zd_parameter_find(parameters, "prefix");
    if (prefix != NULL && !zd_json_is(prefix, ZD_JSON_NULL)) {
        const struct zd_pointer at = zd_parameter_at(parameters, "prefix");
        zd_parameter_fault(parameters, "prefix", &at, "out_of_range", "null", prefix);
    }
}

static enum zd_status jenkins_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    static const struct zd_checksum_kind kind = {.codec = NAME, .of = jenkins_of};
    static const char *const names[] = {"initval", "prefix", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    int64_t initval = 0;
    if (zd_parameter_find(&parameters, "initval") != NULL) {
        (void)zd_parameter_i64(&parameters, "initval", 0, UINT32_MAX, &initval);
    }
    judge_prefix(&parameters);
    ZD_TRY(zd_parameters_status(&parameters));
    struct jenkins *state = zd_alloc(sizeof *state);
    if (state == NULL) {
        return ZD_NO_MEMORY;
    }
    *state = (struct jenkins){
        .checksum = {.kind = &kind, .decoded = *config->decoded}, .initval = (uint32_t)initval};
    *ret_encoded = zd_checksum_encoded(config->decoded);
    *ret_state = state;
    return ZD_OK;
}

static enum zd_status jenkins_configuration(const void *state, struct zd_json **ret_json)
{
    const struct jenkins *jenkins = state;
    return zd_json_wrap("initval", zd_json_new_u64(jenkins->initval), ret_json);
}

const struct zd_codec zd_codec_jenkins_lookup3 = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"initval\":{\"type\":\"integer\",\"minimum\":"
              "0,\"maximum\":4294967295},\"prefix\":{\"type\":\"null\"}},"
              "\"additionalProperties\":false}",
    .open = jenkins_open,
    .close = zd_free,
    .decode = zd_checksum_decode,
    .encode = zd_checksum_encode,
    .bytes_per_us = BYTES_PER_US,
    .configuration = jenkins_configuration,
};
