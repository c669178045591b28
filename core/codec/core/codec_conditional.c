/* The codec `conditional`: bytes->bytes codecs of which each chunk says which were applied (Zarr
 * registry).
 *
 *   header: bit i, from the lowest bit of the first byte on, says that codec i was applied | data
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/parameter.h"
#include "core/codec/refusal.h"
#include "core/extension/definition.h"

#define NAME "conditional"

#define HEADER_BITS_MAX 65536
#define BITS            8U
#define CODECS          "a list of at most 32 bytes->bytes codecs"

#define COPY_BYTES_PER_US 4000

/* An inner codec. */
struct branch {
    const struct zd_codec *codec;
    void *state;
    struct zd_repr decoded; /* whether or not those before it were applied */
    bool is_compressor;     /* what it makes has any size */
};

struct conditional {
    struct zd_repr decoded;
    struct zd_json *codecs; /* as in the document */
    size_t header_bytes;
    bool has_header_bits; /* the document says how many */
    uint32_t n;
    struct branch branch[ZD_CHAIN_CODECS_MAX];
};

static void conditional_close(void *state)
{
    struct conditional *conditional = state;
    if (conditional == NULL) {
        return;
    }
    for (uint32_t i = 0; i < conditional->n; i++) {
        conditional->branch[i].codec->close(conditional->branch[i].state);
    }
    zd_json_unref(conditional->codecs);
    zd_free(conditional);
}

/* ---- opening ---- */

static void refuse(
    const char *name, const char *why, const struct zd_pointer *at, struct zd_faults *faults)
{
    zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", name, at,
        "a name that this server knows", name, "the codec \"%s\" is not supported%s%s", name,
        why == NULL ? "" : ": ", why == NULL ? "" : why);
}

/* The codec that a document names; NULL and a fault when there is none. */
static const struct zd_codec *find_codec(
    const struct zd_definition *definition, const struct zd_pointer *at, struct zd_faults *faults)
{
    const struct zd_codec *codec = zd_codec_find(definition->name);
    if (codec == NULL) {
        refuse(definition->name, zd_refusal_find(definition->name), at, faults);
    } else if (codec->kind != ZD_CODEC_BYTES_BYTES) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "codec_order", codec->name, at,
            "a bytes->bytes codec", codec->name,
            "the codec \"%s\" is not a bytes->bytes codec, which \"%s\" requires", codec->name,
            NAME);
        return NULL;
    }
    return codec;
}

/* Opens the codec of an element of the list behind those that are open. */
static enum zd_status open_branch(const struct zd_codec_config *config, const struct zd_json *json,
    struct zd_pointer at, struct conditional *conditional, struct zd_repr *flow,
    struct zd_faults *faults)
{
    struct zd_definition definition;
    const bool is_strict = config->judgement == ZD_JUDGE_WRITE;
    ZD_TRY(zd_definition_parse(json, &at, is_strict, &definition, faults));
    const struct zd_codec *codec = find_codec(&definition, &at, faults);
    struct branch *branch = &conditional->branch[conditional->n];
    struct zd_codec_config inner = {
        .configuration = definition.configuration,
        .at = at,
        .judgement = config->judgement,
        .depth = config->depth + 1,
    };
    if (codec == NULL) {
        return ZD_UNSUPPORTED;
    }
    ZD_AUTO(zd_json) translated = NULL;
    if (codec->translate != NULL) {
        ZD_TRY(codec->translate(&inner, 1, &codec, &translated, faults));
        inner.configuration = translated;
    }
    struct zd_repr encoded = {0};
    inner.decoded = flow;
    ZD_TRY(codec->open(&inner, &encoded, &branch->state, faults));
    branch->codec = codec;
    branch->decoded = *flow;
    branch->is_compressor = flow->size_is_exact && !encoded.size_is_exact;
    conditional->n++;
    /* The next codec may get either representation. */
    encoded.size_is_exact =
        encoded.size_is_exact && flow->size_is_exact && encoded.size == flow->size;
    encoded.size = zd_max_u64(encoded.size, flow->size);
    *flow = encoded;
    return ZD_OK;
}

static enum zd_status open_branches(const struct zd_codec_config *config,
    const struct zd_parameters *parameters, struct conditional *conditional, struct zd_repr *flow)
{
    const struct zd_json *codecs = zd_parameter_array(parameters, "codecs");
    const struct zd_pointer at = zd_parameter_at(parameters, "codecs");
    if (codecs == NULL) {
        return ZD_INVALID;
    }
    if (zd_json_count(codecs) > ZD_CHAIN_CODECS_MAX) {
        zd_parameter_fault(parameters, "codecs", &at, "out_of_range", CODECS, codecs);
        return ZD_INVALID;
    }
    for (size_t i = 0; i < zd_json_count(codecs); i++) {
        const enum zd_status status = open_branch(config, zd_json_element(codecs, i),
            zd_pointer_element(&at, i), conditional, flow, parameters->faults);
        if (status == ZD_NO_MEMORY) {
            return status;
        }
    }
    conditional->codecs = zd_json_ref(codecs);
    return ZD_OK;
}

/* Registry, conditional: whole bytes, with a bit for each codec. */
static void read_header_bits(
    const struct zd_parameters *parameters, struct conditional *conditional)
{
    const size_t n = zd_json_count(conditional->codecs);
    int64_t n_bits = 0;
    conditional->header_bytes = zd_div_up(n, BITS);
    if (zd_parameter_find(parameters, "header_bits") == NULL ||
        !zd_parameter_i64(parameters, "header_bits", 0, HEADER_BITS_MAX, &n_bits)) {
        return;
    }
    conditional->has_header_bits = true;
    conditional->header_bytes = (size_t)n_bits / BITS;
    if ((size_t)n_bits % BITS != 0 || (size_t)n_bits < n) {
        const struct zd_pointer at = zd_parameter_at(parameters, "header_bits");
        zd_parameter_fault(parameters, "header_bits", &at, "out_of_range",
            "a multiple of 8, with at least one bit for each codec",
            zd_parameter_find(parameters, "header_bits"));
    }
}

static enum zd_status fill_state(const struct zd_codec_config *config,
    struct conditional *conditional, struct zd_repr *flow, struct zd_faults *faults)
{
    static const char *const names[] = {"codecs", "header_bits", NULL};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, NAME, config, names, faults);
    if (config->depth >= ZD_CODEC_DEPTH_MAX) {
        zd_faults_add(faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", NAME, &config->at,
            "at most 4 nested codecs", NULL, "codecs can be nested up to %d levels",
            ZD_CODEC_DEPTH_MAX);
        return ZD_UNSUPPORTED;
    }
    if (open_branches(config, &parameters, conditional, flow) == ZD_NO_MEMORY) {
        return ZD_NO_MEMORY;
    }
    read_header_bits(&parameters, conditional);
    return zd_parameters_status(&parameters);
}

static enum zd_status conditional_open(const struct zd_codec_config *config,
    struct zd_repr *ret_encoded, void **ret_state, struct zd_faults *faults)
{
    struct conditional *conditional = zd_alloc_zero(1, sizeof *conditional);
    if (conditional == NULL) {
        return ZD_NO_MEMORY;
    }
    conditional->decoded = *config->decoded;
    struct zd_repr encoded = *config->decoded;
    const enum zd_status status = fill_state(config, conditional, &encoded, faults);
    if (status != ZD_OK) {
        conditional_close(conditional);
        return status;
    }
    if (ckd_add(&encoded.size, encoded.size, conditional->header_bytes)) {
        encoded.size = UINT64_MAX;
        encoded.size_is_exact = false;
    }
    *ret_encoded = encoded;
    *ret_state = conditional;
    return ZD_OK;
}

/* ---- decoding ---- */

static bool is_applied(const uint8_t *header, uint32_t i)
{
    return (header[i / BITS] >> i % BITS & 1U) != 0;
}

static enum zd_status judge_header(
    const struct conditional *conditional, struct zd_span in, struct zd_error *err)
{
    if (in.len < conditional->header_bytes) {
        const enum zd_status status =
            zd_fail(err, ZD_CORRUPT, NAME ": the chunk has %zu bytes, fewer than its header of %zu",
                in.len, conditional->header_bytes);
        zd_fact_name(err, NAME);
        zd_fact_expected(err, "%zu bytes or more", conditional->header_bytes);
        zd_fact_found(err, "%zu bytes", in.len);
        return status;
    }
    for (uint32_t i = conditional->n; i < conditional->header_bytes * BITS; i++) {
        if (is_applied(in.ptr, i)) {
            const enum zd_status status = zd_fail(err, ZD_CORRUPT,
                NAME ": the header of the chunk applies codec %" PRIu32
                     ", but the number of codecs is %" PRIu32,
                i, conditional->n);
            zd_fact_name(err, NAME);
            zd_fact_expected(err, "0 in bit %" PRIu32, i);
            zd_fact_found(err, "1");
            return status;
        }
    }
    return ZD_OK;
}

static enum zd_status no_memory(struct zd_error *err, size_t n_bytes)
{
    return zd_fail(err, ZD_NO_MEMORY, NAME ": cannot allocate %zu bytes", n_bytes);
}

static enum zd_status conditional_decode(
    const void *state, struct zd_buf *encoded, struct zd_buf **ret_decoded, struct zd_error *err)
{
    const struct conditional *conditional = state;
    const size_t header_bytes = conditional->header_bytes;
    ZD_TRY(judge_header(conditional, zd_buf_span(encoded), err));
    ZD_AUTO(zd_buf)
    data = zd_buf_copy(
        (struct zd_span){.ptr = encoded->data + header_bytes, .len = encoded->len - header_bytes});
    if (data == NULL) {
        return no_memory(err, encoded->len - header_bytes);
    }
    for (uint32_t i = conditional->n; i-- > 0;) {
        const struct branch *branch = &conditional->branch[i];
        if (is_applied(encoded->data, i)) {
            struct zd_buf *decoded = NULL;
            ZD_TRY(branch->codec->decode(branch->state, data, &decoded, err));
            zd_buf_unref(data);
            data = decoded;
        }
    }
    ZD_TRY(zd_codec_repr_check(&conditional->decoded, NAME, data->len, err));
    *ret_decoded = ZD_TAKE(data);
    return ZD_OK;
}

/* ---- encoding: a compressor that makes a chunk no shorter is left out ---- */

/* Apply a codec if it pays. @param data replaced then */
static enum zd_status encode_branch(
    const struct branch *branch, struct zd_buf **data, bool *ret_is_applied, struct zd_error *err)
{
    struct zd_buf *encoded = NULL;
    ZD_TRY(branch->codec->encode(branch->state, *data, &encoded, err));
    *ret_is_applied = !branch->is_compressor || encoded->len < (*data)->len;
    zd_buf_unref(*ret_is_applied ? *data : encoded);
    *data = *ret_is_applied ? encoded : *data;
    return ZD_OK;
}

static enum zd_status conditional_encode(
    const void *state, struct zd_buf *decoded, struct zd_buf **ret_encoded, struct zd_error *err)
{
    const struct conditional *conditional = state;
    const size_t header_bytes = conditional->header_bytes;
    uint8_t header[ZD_CHAIN_CODECS_MAX / BITS] = {0};
    ZD_AUTO(zd_buf) data = zd_buf_ref(decoded);
    for (uint32_t i = 0; i < conditional->n; i++) {
        bool is_applied = false;
        ZD_TRY(encode_branch(&conditional->branch[i], &data, &is_applied, err));
        header[i / BITS] |= (uint8_t)((is_applied ? 1U : 0U) << i % BITS);
    }
    size_t n_bytes;
    struct zd_buf *encoded =
        ckd_add(&n_bytes, data->len, header_bytes) ? NULL : zd_buf_new(n_bytes);
    if (encoded == NULL) {
        return no_memory(err, data->len);
    }
    memset(encoded->data, 0, header_bytes);
    memcpy(encoded->data, header, zd_min_u64(header_bytes, sizeof header));
    memcpy(encoded->data + header_bytes, data->data, data->len);
    encoded->len = n_bytes;
    *ret_encoded = encoded;
    return ZD_OK;
}

/* All codecs, and a copy behind the header. */
static uint64_t conditional_bytes_per_us(const void *state)
{
    const struct conditional *conditional = state;
    uint64_t ns = zd_codec_ns(conditional->decoded.size, COPY_BYTES_PER_US);
    for (uint32_t i = 0; i < conditional->n; i++) {
        const struct branch *branch = &conditional->branch[i];
        const uint64_t rate = zd_codec_bytes_per_us(branch->codec, branch->state);
        if (ckd_add(&ns, ns, zd_codec_ns(branch->decoded.size, rate))) {
            return 1;
        }
    }
    return zd_max_u64(conditional->decoded.size / (1 + ns / 1000), 1);
}

static enum zd_status conditional_configuration(const void *state, struct zd_json **ret_json)
{
    const struct conditional *conditional = state;
    ZD_AUTO(zd_json) json = zd_json_new_object();
    if (json == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(json, "codecs", zd_json_ref(conditional->codecs)));
    if (conditional->has_header_bits) {
        ZD_TRY(zd_json_set(
            json, "header_bits", zd_json_new_u64((uint64_t)conditional->header_bytes * BITS)));
    }
    *ret_json = ZD_TAKE(json);
    return ZD_OK;
}

const struct zd_codec zd_codec_conditional = {
    .name = NAME,
    .kind = ZD_CODEC_BYTES_BYTES,
    .schema = "{\"type\":\"object\",\"properties\":{\"codecs\":{\"type\":\"array\"},"
              "\"header_bits\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":65536}},"
              "\"required\":[\"codecs\"],\"additionalProperties\":false}",
    .open = conditional_open,
    .close = conditional_close,
    .decode = conditional_decode,
    .encode = conditional_encode,
    .find_bytes_per_us = conditional_bytes_per_us,
    .configuration = conditional_configuration,
};
