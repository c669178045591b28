/* A codec chain: opened and judged as a whole, then run in either direction. */
#include "core/codec/chain.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/num.h"
#include "core/codec/vlen.h"
#include "core/codec/refusal.h"
#include "core/extension/extension.h"
#include "core/grid/struct_fields.h"

/* An open codec. */
struct link {
    const struct zd_codec *codec;
    void *state;
    struct zd_repr encoded; /* what it encodes to */
};

struct zd_chain {
    _Atomic uint32_t refs;
    uint32_t depth;
    uint32_t array_bytes; /* the place of the array->bytes codec */
    bool is_partial;
    const char *only_read; /* a codec without encode, of this chain or of its shards; or NULL */
    uint8_t *fill;         /* one element; owned */
    struct zd_repr decoded;
    uint32_t n_links;
    struct link link[];
};

/* A codec as the document names it. */
struct entry {
    const struct zd_codec *codec; /* NULL: unknown, or its definition is faulty */
    const struct zd_json *configuration;
    struct zd_pointer at;
};

/* A chain while it is judged. */
struct opening {
    const struct zd_chain_config *config;
    struct zd_faults *faults;
    uint32_t n_entries;
    uint32_t n_dropped;
    struct entry dropped; /* the first one */
    const char *dropped_name;
    bool has_gap;            /* an entry without a codec */
    struct zd_json *implied; /* configuration of an implied codec; owned */
    /* Translated configurations of codecs that the document spells otherwise; owned; the first
     * n_translated. */
    struct zd_json *translated[ZD_CHAIN_CODECS_MAX];
    uint32_t n_translated;
    bool lacks_memory;
    struct zd_repr flow; /* what reaches the next codec to be opened */
    struct entry entry[ZD_CHAIN_CODECS_MAX];
};

static void opening_done(struct opening *opening)
{
    zd_json_unref(opening->implied);
    for (uint32_t i = 0; i < opening->n_translated; i++) {
        zd_json_unref(opening->translated[i]);
    }
}

static void add_unsupported(struct opening *opening, const char *name, const struct zd_pointer *at)
{
    const char *why = zd_refusal_find(name);
    zd_faults_add(opening->faults, ZD_FAULT_UNSUPPORTED,
        zd_definition_unsupported_code(ZD_POINT_CODEC), name, at, "a name that this server knows",
        name, "the codec \"%s\" is not supported%s%s", name, why == NULL ? "" : ": ",
        why == NULL ? "" : why);
}

/* Reference 2.3: when reading, an unknown codec that need not be understood is passed over; but not
 * in index_codecs, whose size it would change, nor where it is known that it changes the bytes. */
static bool may_drop(const struct opening *opening, const struct zd_definition *definition)
{
    return !definition->must_understand && opening->config->judgement == ZD_JUDGE_READ &&
           !opening->config->fixed && zd_refusal_find(definition->name) == NULL;
}

static void drop_entry(struct opening *opening, const struct entry *entry, const char *name)
{
    if (opening->n_dropped++ == 0) {
        opening->dropped = *entry;
        opening->dropped_name = name;
    }
    zd_faults_add(opening->faults, ZD_FAULT_WARNING, "ignored_codec", name, &entry->at, NULL, name,
        "the unknown codec \"%s\" is ignored: its must_understand is false", name);
}

/* Reference 2.4: puts the codec that has the same bytes in place of another spelling. A faulty one
 * is no codec. */
static void translate_entry(struct opening *opening, struct entry *entry)
{
    const struct zd_chain_config *config = opening->config;
    struct zd_json *configuration = NULL;
    const struct zd_codec_config codec_config = {
        .configuration = entry->configuration,
        .at = entry->at,
        .judgement = config->judgement,
        .depth = config->depth,
    };
    const struct zd_codec *codec = NULL;
    const enum zd_status status =
        entry->codec->translate(&codec_config, 1, &codec, &configuration, opening->faults);
    opening->lacks_memory = opening->lacks_memory || status == ZD_NO_MEMORY;
    if (status == ZD_OK && codec != entry->codec) {
        zd_faults_add(opening->faults, ZD_FAULT_WARNING, "unregistered_name", entry->codec->name,
            &entry->at, codec->name, entry->codec->name,
            "the name \"%s\" is not registered; the codec is read as \"%s\"", entry->codec->name,
            codec->name);
    }
    entry->codec = codec;
    entry->configuration = configuration;
    if (status == ZD_OK) {
        opening->translated[opening->n_translated++] = configuration;
    }
}

static void read_entry(struct opening *opening, size_t i)
{
    const struct zd_chain_config *config = opening->config;
    struct entry entry = {.at = zd_pointer_element(&config->at, i)};
    struct zd_definition definition;
    const bool strict = config->judgement == ZD_JUDGE_WRITE;
    if (zd_definition_parse(zd_json_element(config->codecs, i), &entry.at, strict, &definition,
            opening->faults) == ZD_OK) {
        entry.codec = zd_codec_find(definition.name);
        entry.configuration = definition.configuration;
        if (entry.codec == NULL && may_drop(opening, &definition)) {
            drop_entry(opening, &entry, definition.name);
            return;
        }
        if (entry.codec == NULL) {
            add_unsupported(opening, definition.name, &entry.at);
        } else if (entry.codec->translate != NULL) {
            translate_entry(opening, &entry);
        }
    }
    opening->has_gap = opening->has_gap || entry.codec == NULL;
    opening->entry[opening->n_entries++] = entry;
}

static void add_too_many(struct opening *opening, size_t n)
{
    zd_faults_add(opening->faults, ZD_FAULT_UNSUPPORTED, "out_of_range", NULL, &opening->config->at,
        "32 codecs at most", NULL, "%zu codecs; at most %d are supported", n, ZD_CHAIN_CODECS_MAX);
    opening->has_gap = true;
}

static void read_entries(struct opening *opening)
{
    const struct zd_chain_config *config = opening->config;
    const struct zd_json *codecs = config->codecs;
    if (!zd_json_is(codecs, ZD_JSON_ARRAY)) {
        zd_faults_add(opening->faults, ZD_FAULT_INVALID,
            codecs == NULL ? "missing_member" : "wrong_type", NULL, &config->at, "a list of codecs",
            zd_json_type_name(codecs), "codecs must be a list");
        opening->has_gap = true;
        return;
    }
    const size_t n = zd_json_count(codecs);
    if (n > ZD_CHAIN_CODECS_MAX) {
        add_too_many(opening, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        read_entry(opening, i);
    }
}

static const char *const kind_names[] = {
    [ZD_CODEC_ARRAY_ARRAY] = "array->array",
    [ZD_CODEC_ARRAY_BYTES] = "array->bytes",
    [ZD_CODEC_BYTES_BYTES] = "bytes->bytes",
};

/* Zarr v3, codecs: array->array codecs, exactly one array->bytes codec, bytes->bytes codecs. */
static void judge_order(struct opening *opening, uint32_t *ret_n_array_bytes)
{
    const struct entry *before = NULL;
    uint32_t n_array_bytes = 0;
    for (uint32_t i = 0; i < opening->n_entries; i++) {
        const struct entry *entry = &opening->entry[i];
        if (entry->codec == NULL) {
            continue;
        }
        const enum zd_codec_kind kind = entry->codec->kind;
        n_array_bytes += kind == ZD_CODEC_ARRAY_BYTES;
        const bool is_second = kind == ZD_CODEC_ARRAY_BYTES && n_array_bytes > 1;
        if (before != NULL && (is_second || kind < before->codec->kind)) {
            zd_faults_add(opening->faults, ZD_FAULT_INVALID, "codec_order", entry->codec->name,
                &entry->at, "array->array codecs, one array->bytes codec, bytes->bytes codecs",
                kind_names[kind], "the %s codec \"%s\" cannot follow the %s codec \"%s\"",
                kind_names[kind], entry->codec->name, kind_names[before->codec->kind],
                before->codec->name);
            continue;
        }
        before = entry;
    }
    *ret_n_array_bytes = n_array_bytes;
}

/* Reference 1.9 and 13.1, row 1: what zarrita.js writes as an empty list means `bytes` little. */
static enum zd_status imply_bytes(struct opening *opening)
{
    if (opening->n_entries == ZD_CHAIN_CODECS_MAX) {
        add_too_many(opening, opening->n_entries + 1);
        return ZD_OK;
    }
    opening->implied = zd_json_new_object();
    if (opening->implied == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(opening->implied, "endian", zd_json_new_text("little")));
    uint32_t place = 0;
    while (
        place < opening->n_entries && opening->entry[place].codec->kind == ZD_CODEC_ARRAY_ARRAY) {
        place++;
    }
    memmove(&opening->entry[place + 1], &opening->entry[place],
        (opening->n_entries - place) * sizeof opening->entry[0]);
    opening->entry[place] = (struct entry){
        .codec = zd_codec_find("bytes"),
        .configuration = opening->implied,
        .at = opening->config->at,
    };
    opening->n_entries++;
    zd_faults_add(opening->faults, ZD_FAULT_WARNING, "implied_bytes", "bytes", &opening->config->at,
        "an array->bytes codec", NULL,
        "the list has no array->bytes codec; `bytes`, little-endian, is assumed");
    return ZD_OK;
}

/* Judge a list without an array->bytes codec. */
static enum zd_status judge_absence(struct opening *opening)
{
    const struct zd_chain_config *config = opening->config;
    if (opening->has_gap) {
        return ZD_OK; /* it may be the codec that is unknown: nothing can be said */
    }
    if (opening->n_dropped > 0) {
        /* Nothing is implied where an unknown codec was dropped: it may be the missing one. */
        add_unsupported(opening, opening->dropped_name, &opening->dropped.at);
        return ZD_OK;
    }
    if (config->judgement == ZD_JUDGE_READ && !config->fixed) {
        return imply_bytes(opening);
    }
    zd_faults_add(opening->faults, ZD_FAULT_INVALID, "missing_codec", NULL, &config->at,
        "exactly one array->bytes codec", NULL, "the list has no array->bytes codec");
    return ZD_OK;
}

/* The representation that a codec decodes to. */
static const struct zd_repr *decoded_of(const struct zd_chain *chain, uint32_t i)
{
    return i == 0 ? &chain->decoded : &chain->link[i - 1].encoded;
}

/* Stand-ins for a codec's unknown input. */
static const struct zd_repr unknown_array = {.lacks_dtype = true, .lacks_shape = true};
static const struct zd_repr unknown_bytes = {
    .is_bytes = true, .lacks_dtype = true, .lacks_shape = true};

/* The input of a codec of that kind, after codecs that may be faulty or out of order. */
static const struct zd_repr *input_of(const struct opening *opening, enum zd_codec_kind kind)
{
    const bool wants_bytes = kind == ZD_CODEC_BYTES_BYTES;
    if (opening->flow.is_bytes == wants_bytes) {
        return &opening->flow;
    }
    return wants_bytes ? &unknown_bytes : &unknown_array;
}

static void add_variable_size(struct opening *opening, const struct entry *entry)
{
    zd_faults_add(opening->faults, ZD_FAULT_INVALID, "variable_size", entry->codec->name,
        &entry->at, "a codec with output of a fixed size", entry->codec->name,
        "the output of the codec \"%s\" has no fixed size, which a shard index requires",
        entry->codec->name);
}

static bool is_variable(const struct zd_repr *repr)
{
    return !repr->is_bytes && !repr->lacks_dtype && zd_dtype_is_variable(&repr->dtype);
}

static void add_variable_elements(
    struct opening *opening, const struct entry *entry, const struct zd_repr *decoded)
{
    const char *expected = zd_vlen_name(&decoded->dtype);
    zd_faults_add(opening->faults, ZD_FAULT_INVALID, "wrong_data_type", entry->codec->name,
        &entry->at, expected, entry->codec->name,
        "the codec \"%s\" does not support elements of variable length, such as %s; %s does",
        entry->codec->name, decoded->dtype.name, expected);
}

/* Opens one codec. A faulty one leaves what flows behind it unknown. */
static enum zd_status open_link(
    struct opening *opening, struct zd_chain *chain, const struct entry *entry)
{
    const struct zd_chain_config *config = opening->config;
    struct link *link = &chain->link[chain->n_links];
    if (entry->codec == NULL) {
        opening->flow = unknown_array;
        return ZD_OK;
    }
    const struct zd_repr decoded = *input_of(opening, entry->codec->kind);
    if (is_variable(&decoded) && !entry->codec->takes_variable) {
        add_variable_elements(opening, entry, &decoded);
        opening->flow = entry->codec->kind == ZD_CODEC_ARRAY_ARRAY ? unknown_array : unknown_bytes;
        return ZD_OK;
    }
    const struct zd_codec_config codec_config = {
        .configuration = entry->configuration,
        .at = entry->at,
        .decoded = &decoded,
        .judgement = config->judgement,
        .depth = config->depth,
        .is_n5 = config->is_n5,
    };
    const enum zd_status status =
        entry->codec->open(&codec_config, &link->encoded, &link->state, opening->faults);
    if (status == ZD_NO_MEMORY) {
        return status;
    }
    if (status != ZD_OK) {
        opening->flow = entry->codec->kind == ZD_CODEC_ARRAY_ARRAY ? unknown_array : unknown_bytes;
        return ZD_OK;
    }
    link->codec = entry->codec;
    opening->flow = link->encoded;
    if (entry->codec->kind == ZD_CODEC_ARRAY_BYTES) {
        chain->array_bytes = chain->n_links;
    }
    chain->n_links++;
    if (config->fixed && !link->encoded.size_is_exact) {
        add_variable_size(opening, entry);
    }
    return ZD_OK;
}

/* A chain whose inner chunks cannot be encoded cannot encode either. */
static void judge_encoding(struct zd_chain *chain)
{
    const struct link *link = &chain->link[chain->array_bytes];
    if (link->codec->shard != NULL) {
        const struct zd_chain *inner = link->codec->shard(link->state)->inner;
        chain->is_partial = chain->is_partial || inner->is_partial;
        chain->only_read = inner->only_read;
    }
    for (uint32_t i = 0; i < chain->n_links; i++) {
        if (chain->link[i].codec->encode == NULL) {
            chain->only_read = chain->link[i].codec->name;
        }
    }
}

static struct zd_chain *chain_new(const struct opening *opening)
{
    const struct zd_chain_config *config = opening->config;
    const uint32_t n = opening->n_entries;
    struct zd_chain *chain = zd_alloc_zero(1, sizeof *chain + n * sizeof chain->link[0]);
    if (chain == NULL) {
        return NULL;
    }
    atomic_init(&chain->refs, 1);
    chain->depth = config->depth;
    chain->is_partial = opening->n_dropped > 0;
    chain->decoded = *config->decoded;
    if (!config->decoded->lacks_dtype) {
        (void)zd_struct_fields_ref(chain->decoded.dtype.fields);
    }
    chain->fill = config->decoded->lacks_dtype
                      ? zd_alloc_zero(1, 1)
                      : zd_dtype_copy(&config->decoded->dtype, config->decoded->fill);
    if (chain->fill == NULL) {
        zd_chain_unref(chain);
        return NULL;
    }
    chain->decoded.fill = chain->fill;
    return chain;
}

static enum zd_status open_links(struct opening *opening, struct zd_chain **ret_chain)
{
    ZD_AUTO(zd_chain) chain = chain_new(opening);
    if (chain == NULL) {
        return ZD_NO_MEMORY;
    }
    opening->flow = chain->decoded;
    for (uint32_t i = 0; i < opening->n_entries; i++) {
        ZD_TRY(open_link(opening, chain, &opening->entry[i]));
    }
    *ret_chain = ZD_TAKE(chain);
    return ZD_OK;
}

static enum zd_status judge_and_open(struct opening *opening, struct zd_chain **ret_chain)
{
    uint32_t n_array_bytes;
    read_entries(opening);
    if (opening->lacks_memory) {
        return ZD_NO_MEMORY;
    }
    judge_order(opening, &n_array_bytes);
    if (n_array_bytes == 0) {
        ZD_TRY(judge_absence(opening));
    }
    return open_links(opening, ret_chain);
}

enum zd_status zd_chain_open(
    const struct zd_chain_config *config, struct zd_chain **ret_chain, struct zd_faults *faults)
{
    assert(!config->decoded->is_bytes);
    assert(config->decoded->lacks_dtype || config->decoded->fill != NULL);
    assert(config->depth <= ZD_CODEC_DEPTH_MAX);
    const size_t n_invalid = faults->n_invalid;
    const size_t n_unsupported = faults->n_unsupported;
    struct opening *opening = zd_alloc_zero(1, sizeof *opening);
    if (opening == NULL) {
        return ZD_NO_MEMORY;
    }
    opening->config = config;
    opening->faults = faults;
    ZD_AUTO(zd_chain) chain = NULL;
    const enum zd_status status = judge_and_open(opening, &chain);
    opening_done(opening);
    zd_free(opening);
    if (status != ZD_OK || faults->out_of_memory) {
        return ZD_NO_MEMORY;
    }
    if (faults->n_invalid > n_invalid || !zd_codec_repr_is_known(config->decoded)) {
        return ZD_INVALID;
    }
    if (faults->n_unsupported > n_unsupported) {
        return ZD_UNSUPPORTED;
    }
    judge_encoding(chain);
    *ret_chain = ZD_TAKE(chain);
    return ZD_OK;
}

struct zd_chain *zd_chain_ref(struct zd_chain *chain)
{
    atomic_fetch_add_explicit(&chain->refs, 1, memory_order_relaxed);
    return chain;
}

void zd_chain_unref(struct zd_chain *chain)
{
    if (chain == NULL || atomic_fetch_sub_explicit(&chain->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (uint32_t i = chain->n_links; i-- > 0;) {
        chain->link[i].codec->close(chain->link[i].state);
    }
    zd_free(chain->fill);
    if (!chain->decoded.lacks_dtype) {
        zd_struct_fields_unref(chain->decoded.dtype.fields);
    }
    zd_free(chain);
}

enum zd_status zd_chain_decode(const struct zd_chain *chain, struct zd_buf *encoded,
    struct zd_buf **ret_decoded, struct zd_error *err)
{
    ZD_AUTO(zd_buf) data = zd_buf_ref(encoded);
    for (uint32_t i = chain->n_links; i-- > 0;) {
        const struct link *link = &chain->link[i];
        struct zd_buf *decoded;
        ZD_TRY(link->codec->decode(link->state, data, &decoded, err));
        zd_buf_unref(data);
        data = decoded;
    }
    assert(zd_codec_repr_has(&chain->decoded, data));
    *ret_decoded = ZD_TAKE(data);
    return ZD_OK;
}

/* The only codec behind the array->bytes codec; NULL when there is another number of them. */
static const struct link *only_compressor(const struct zd_chain *chain)
{
    return chain->array_bytes + 2 == chain->n_links ? &chain->link[chain->n_links - 1] : NULL;
}

bool zd_chain_has_parts(const struct zd_chain *chain)
{
    const struct link *link = only_compressor(chain);
    const bool is_linear = chain->link[chain->array_bytes].codec->is_swapped != NULL;
    return is_linear && link != NULL && link->codec->decode_part != NULL;
}

uint64_t zd_chain_part_ns(const struct zd_chain *chain, struct zd_byte_range run)
{
    const struct link *link = only_compressor(chain);
    assert(zd_chain_has_parts(chain));
    return link->codec->part_ns(link->state, run);
}

enum zd_status zd_chain_decode_part(const struct zd_chain *chain, struct zd_buf *encoded,
    struct zd_byte_range run, struct zd_buf **ret_bytes, struct zd_error *err)
{
    const struct link *link = only_compressor(chain);
    assert(zd_chain_has_parts(chain));
    assert(run.len > 0 && run.len <= chain->decoded.size);
    assert(run.first <= chain->decoded.size - run.len);
    return link->codec->decode_part(link->state, encoded, run, ret_bytes, err);
}

enum zd_status zd_chain_check_encodes(const struct zd_chain *chain, struct zd_error *err)
{
    if (chain->is_partial) {
        return zd_fail(err, ZD_UNSUPPORTED,
            "this server does not know a codec of the array, and cannot write its chunks");
    }
    if (chain->only_read != NULL) {
        const enum zd_status status = zd_fail(
            err, ZD_UNSUPPORTED, "%s: chunks with this codec are read-only", chain->only_read);
        zd_fact_name(err, chain->only_read);
        return status;
    }
    return ZD_OK;
}

enum zd_status zd_chain_encode(const struct zd_chain *chain, struct zd_buf *decoded,
    struct zd_buf **ret_encoded, struct zd_error *err)
{
    ZD_TRY(zd_chain_check_encodes(chain, err));
    if (!zd_codec_repr_has(&chain->decoded, decoded)) {
        return zd_fail(err, ZD_INVALID, "found %zu bytes; a chunk has %" PRIu64, decoded->len,
            chain->decoded.size);
    }
    ZD_AUTO(zd_buf) data = zd_buf_ref(decoded);
    for (uint32_t i = 0; i < chain->n_links; i++) {
        const struct link *link = &chain->link[i];
        struct zd_buf *encoded;
        ZD_TRY(link->codec->encode(link->state, data, &encoded, err));
        zd_buf_unref(data);
        data = encoded;
    }
    *ret_encoded = ZD_TAKE(data);
    return ZD_OK;
}

static uint64_t link_ns(const struct zd_chain *chain, uint32_t i)
{
    const struct link *link = &chain->link[i];
    const uint64_t rate = zd_codec_bytes_per_us(link->codec, link->state);
    return zd_codec_ns(decoded_of(chain, i)->size, rate);
}

uint64_t zd_chain_decode_ns(const struct zd_chain *chain)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < chain->n_links; i++) {
        if (ckd_add(&sum, sum, link_ns(chain, i))) {
            return UINT64_MAX;
        }
    }
    return sum;
}

const struct zd_repr *zd_chain_decoded(const struct zd_chain *chain)
{
    return &chain->decoded;
}

const struct zd_repr *zd_chain_encoded(const struct zd_chain *chain)
{
    return &chain->link[chain->n_links - 1].encoded;
}

uint64_t zd_chain_encoded_max(const struct zd_chain *chain)
{
    const struct zd_repr *encoded = zd_chain_encoded(chain);
    return encoded->size_is_exact ? encoded->size : zd_codec_bound(encoded->size);
}

uint32_t zd_chain_count(const struct zd_chain *chain)
{
    return chain->n_links;
}

const struct zd_codec *zd_chain_codec(const struct zd_chain *chain, uint32_t i)
{
    assert(i < chain->n_links);
    return chain->link[i].codec;
}

const void *zd_chain_state(const struct zd_chain *chain, uint32_t i)
{
    assert(i < chain->n_links);
    return chain->link[i].state;
}

bool zd_chain_is_partial(const struct zd_chain *chain)
{
    return chain->is_partial;
}

/* Zarr v3, extension definitions: an empty configuration may be left out. For codecs of numcodecs
 * zarr-python opens no document without one. */
static bool needs_configuration(const struct zd_codec *codec)
{
    return strncmp(codec->name, "numcodecs.", strlen("numcodecs.")) == 0;
}

static enum zd_status append_codec(struct zd_json *list, const struct link *link)
{
    ZD_AUTO(zd_json) configuration = NULL;
    ZD_TRY(link->codec->configuration(link->state, &configuration));
    if (configuration == NULL && needs_configuration(link->codec)) {
        configuration = zd_json_new_object();
    }
    ZD_AUTO(zd_json) codec = zd_json_new_object();
    if (codec == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(codec, "name", zd_json_new_text(link->codec->name)));
    if (configuration != NULL) {
        ZD_TRY(zd_json_set(codec, "configuration", ZD_TAKE(configuration)));
    }
    return zd_json_append(list, ZD_TAKE(codec));
}

struct zd_json *zd_chain_json(const struct zd_chain *chain)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (uint32_t i = 0; list != NULL && i < chain->n_links; i++) {
        if (append_codec(list, &chain->link[i]) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(list);
}

bool zd_chain_order(const struct zd_chain *chain, uint32_t ret_order[ZD_RANK_MAX])
{
    const uint32_t rank = chain->decoded.rank;
    uint32_t order[ZD_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = i;
    }
    for (uint32_t n = 0; n < chain->array_bytes; n++) {
        const struct link *link = &chain->link[n];
        if (link->codec->order == NULL) {
            return false;
        }
        const uint32_t *step = link->codec->order(link->state);
        uint32_t next[ZD_RANK_MAX];
        for (uint32_t i = 0; i < rank; i++) {
            next[i] = order[step[i]];
        }
        memcpy(order, next, rank * sizeof order[0]);
    }
    memcpy(ret_order, order, rank * sizeof order[0]);
    return true;
}

uint32_t zd_chain_depth(const struct zd_chain *chain)
{
    return chain->depth;
}

uint32_t zd_chain_array_bytes(const struct zd_chain *chain)
{
    return chain->array_bytes;
}
