/* The members of an array's final v3 document: judged, taken into the model, written back. */
#include "core/dialect/v3_array.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json_nonfinite.h"
#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/grid/scalar.h"

#define FOUND_BYTES 24 /* of the longest integer, with its sign and NUL */

/** One document under judgement. What is known of the array stands in meta once its flag is set. */
struct array_judge {
    const struct zd_json *document;
    struct zd_meta *meta;
    struct zd_faults *faults; /* of meta */
    enum zd_judgement judgement;
    bool has_shape;
    bool has_chunk;
    bool has_dtype;
    bool has_fill;
    uint32_t chunk_rank; /* that of the shape, unless one of them is faulty */
};

static const struct zd_pointer whole_document = {.text = ""};

/* What stands there, for messages: the value where it is short, else its type. */
static const char *found_of(const struct zd_json *json, char space[FOUND_BYTES])
{
    int64_t number = 0;
    uint64_t magnitude = 0;
    if (zd_json_u64(json, &magnitude)) {
        snprintf(space, FOUND_BYTES, "%" PRIu64, magnitude);
        return space;
    }
    if (zd_json_i64(json, &number)) {
        snprintf(space, FOUND_BYTES, "%" PRId64, number);
        return space;
    }
    return zd_json_is(json, ZD_JSON_STRING) ? zd_json_string(json) : zd_json_type_name(json);
}

/* A deviation that can mean only one thing: a warning on reading, a fault to be written. */
static enum zd_severity tolerated(const struct array_judge *judge)
{
    return judge->judgement == ZD_JUDGE_READ ? ZD_FAULT_WARNING : ZD_FAULT_INVALID;
}

/* A required member, or NULL with a fault. */
static const struct zd_json *required(const struct array_judge *judge, const char *name)
{
    const struct zd_json *value = zd_json_member(judge->document, name);
    if (value == NULL) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, name);
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "missing_member", name, &at, name, NULL,
            "the document of an array must have the member \"%s\"", name);
    }
    return value;
}

static void add_wrong_type(const struct array_judge *judge, const struct zd_pointer *at,
    const char *expected, const struct zd_json *json)
{
    char space[FOUND_BYTES];
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "wrong_type", NULL, at, expected,
        found_of(json, space), "expected %s, found %s", expected, zd_json_type_name(json));
}

static void add_unsupported(const struct array_judge *judge, enum zd_point point, const char *name,
    const struct zd_pointer *at)
{
    zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, zd_definition_unsupported_code(point), name,
        at, "a name that this server knows", name, "\"%s\" is not known to this server", name);
}

/* One length: an integer of 0 or more. */
static bool extent_at(const struct array_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t *ret_length)
{
    if (zd_json_u64(json, ret_length)) {
        return true;
    }
    if (!zd_json_is(json, ZD_JSON_INTEGER)) {
        add_wrong_type(judge, at, "an integer of 0 or more", json);
        return false;
    }
    char space[FOUND_BYTES];
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", NULL, at, "0 or more",
        found_of(json, space), "a length must not be negative");
    return false;
}

/* A list of lengths; every fault is reported. */
static bool extents(const struct array_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t ret_length[ZD_RANK_MAX], uint32_t *ret_rank)
{
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        add_wrong_type(judge, at, "an array of integers", json);
        return false;
    }
    const size_t n = zd_json_count(json);
    if (n > ZD_RANK_MAX) {
        zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, "unsupported_grid", NULL, at, NULL, NULL,
            "%zu dimensions; this server reads up to %d", n, ZD_RANK_MAX);
        return false;
    }
    bool good = true;
    for (size_t d = 0; d < n; d++) {
        const struct zd_pointer place = zd_pointer_element(at, d);
        good = extent_at(judge, zd_json_element(json, d), &place, &ret_length[d]) && good;
    }
    *ret_rank = (uint32_t)n;
    return good;
}

static void judge_shape(struct array_judge *judge)
{
    const struct zd_json *json = required(judge, "shape");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "shape");
    struct zd_grid *grid = &judge->meta->grid;
    if (json == NULL || !extents(judge, json, &at, grid->shape, &grid->rank)) {
        return;
    }
    uint64_t n_elements = 0;
    if (zd_product(&n_elements, grid->shape, grid->rank)) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "too_large", NULL, &at,
            "a product below 2^64", NULL, "the number of elements does not fit in 64 bits");
        return;
    }
    judge->has_shape = true;
}

/*
 * A required member that is an extension definition of which must_understand must not be false:
 * to be written that is a fault; on reading it matters only where the name is
 * unknown, and then the node is refused anyway.
 */
static bool definition_of(
    const struct array_judge *judge, const char *member, struct zd_definition *ret_definition)
{
    const struct zd_json *json = required(judge, member);
    if (json == NULL) {
        return false;
    }
    const struct zd_pointer at = zd_pointer_member(&whole_document, member);
    const bool strict = judge->judgement == ZD_JUDGE_WRITE;
    if (zd_definition_parse(json, &at, strict, ret_definition, judge->faults) != ZD_OK) {
        return false;
    }
    if (!ret_definition->must_understand) {
        const struct zd_pointer flag = zd_pointer_member(&at, "must_understand");
        zd_faults_add(judge->faults, tolerated(judge), "must_understand_false", member, &flag,
            "true", "false",
            "\"%s\" must not be ignored: must_understand false is not allowed here", member);
    }
    if (ret_definition->has_surplus) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "unknown_member", member, &at,
            "name, configuration", NULL, "\"%s\" has undefined members", member);
    }
    return true;
}

/* A configuration may have that one member, or none when `known` is NULL. */
static void judge_configuration(const struct array_judge *judge,
    const struct zd_json *configuration, const struct zd_pointer *definition_at, const char *known)
{
    const struct zd_pointer at = zd_pointer_member(definition_at, "configuration");
    for (void *iter = zd_json_next(configuration, NULL); iter != NULL;
        iter = zd_json_next(configuration, iter)) {
        const char *name = zd_json_iter_name(iter);
        if (known != NULL && strcmp(name, known) == 0) {
            continue;
        }
        const struct zd_pointer place = zd_pointer_member(&at, name);
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "unknown_member", name, &place,
            known == NULL ? "no members" : known, name, "this configuration has no member \"%s\"",
            name);
    }
}

/* Whether a name can only be meant as raw bits: 'r' and digits. */
static bool is_raw_bits(const char *name)
{
    return name[0] == 'r' && name[1] != '\0' && strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* Raw bits that zd_dtype_find does not know: malformed, or too large for this build. */
static bool is_malformed_raw_bits(const char *name)
{
    uint64_t n_bits = 0;
    const enum zd_status status = zd_scan_whole_u64(zd_span_of(name + 1), UINT64_MAX, &n_bits);
    return status == ZD_INVALID || (status == ZD_OK && (n_bits == 0 || n_bits % 8 != 0));
}

static void judge_data_type(struct array_judge *judge)
{
    struct zd_definition definition;
    if (!definition_of(judge, "data_type", &definition)) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&whole_document, "data_type");
    struct zd_dtype *dtype = &judge->meta->dtype;
    if (zd_dtype_find(definition.name, dtype) != ZD_OK) {
        if (is_raw_bits(definition.name) && is_malformed_raw_bits(definition.name)) {
            zd_faults_add(judge->faults, ZD_FAULT_INVALID, "bad_name", definition.name, &at,
                "r<N>, N a positive multiple of 8", definition.name,
                "\"%s\" is not a valid data type of raw bits", definition.name);
            return;
        }
        add_unsupported(judge, ZD_POINT_DATA_TYPE, definition.name, &at);
        return;
    }
    if (strcmp(dtype->name, definition.name) != 0) {
        zd_faults_add(judge->faults, ZD_FAULT_WARNING, "unregistered_name", definition.name, &at,
            dtype->name, definition.name, "\"%s\" is another name of \"%s\"", definition.name,
            dtype->name);
    }
    judge_configuration(judge, definition.configuration, &at, NULL);
    judge->has_dtype = true;
}

/* An edge of 0: once written for dimensions of length 0, which have no chunks anyway (reference
 * 1.6). */
static bool judge_chunk_edge(
    struct array_judge *judge, uint32_t d, const struct zd_pointer *chunk_shape_at)
{
    struct zd_grid *grid = &judge->meta->grid;
    if (grid->chunk[d] > 0) {
        return true;
    }
    const bool is_harmless = judge->has_shape && d < grid->rank && grid->shape[d] == 0;
    const enum zd_severity severity = is_harmless ? tolerated(judge) : ZD_FAULT_INVALID;
    const struct zd_pointer at = zd_pointer_element(chunk_shape_at, d);
    zd_faults_add(judge->faults, severity, "out_of_range", "chunk_shape", &at, "1 or more", "0",
        "a chunk must have at least one element along dimension %" PRIu32, d);
    grid->chunk[d] = 1;
    return severity == ZD_FAULT_WARNING;
}

static void judge_chunk_shape(
    struct array_judge *judge, const struct zd_json *json, const struct zd_pointer *at)
{
    struct zd_grid *grid = &judge->meta->grid;
    if (!extents(judge, json, at, grid->chunk, &judge->chunk_rank)) {
        return;
    }
    bool good = true;
    if (judge->has_shape && judge->chunk_rank != grid->rank) {
        char expected[FOUND_BYTES];
        char found[FOUND_BYTES];
        snprintf(expected, sizeof expected, "%" PRIu32, grid->rank);
        snprintf(found, sizeof found, "%" PRIu32, judge->chunk_rank);
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "rank_mismatch", "chunk_shape", at, expected,
            found, "chunk_shape has %s entries, the shape has %s", found, expected);
        good = false;
    }
    for (uint32_t d = 0; d < judge->chunk_rank; d++) {
        good = judge_chunk_edge(judge, d, at) && good;
    }
    judge->has_chunk = good;
}

static void judge_chunk_grid(struct array_judge *judge)
{
    struct zd_definition definition;
    if (!definition_of(judge, "chunk_grid", &definition)) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&whole_document, "chunk_grid");
    if (strcmp(definition.name, "regular") != 0) {
        add_unsupported(judge, ZD_POINT_CHUNK_GRID, definition.name, &at);
        return;
    }
    const struct zd_pointer configuration_at = zd_pointer_member(&at, "configuration");
    const struct zd_pointer chunk_shape_at = zd_pointer_member(&configuration_at, "chunk_shape");
    const struct zd_json *chunk_shape = zd_json_member(definition.configuration, "chunk_shape");
    judge_configuration(judge, definition.configuration, &at, "chunk_shape");
    if (chunk_shape == NULL) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "missing_member", "chunk_shape",
            &chunk_shape_at, "an array of integers", NULL,
            "a regular chunk grid must have a chunk_shape");
        return;
    }
    judge_chunk_shape(judge, chunk_shape, &chunk_shape_at);
}

static void judge_key_encoding(struct array_judge *judge)
{
    struct zd_definition definition;
    if (!definition_of(judge, "chunk_key_encoding", &definition)) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&whole_document, "chunk_key_encoding");
    struct zd_meta *meta = judge->meta;
    if (strcmp(definition.name, "default") == 0) {
        meta->key_encoding = ZD_KEYS_DEFAULT;
        meta->key_separator = '/';
    } else if (strcmp(definition.name, "v2") == 0) {
        meta->key_encoding = ZD_KEYS_V2;
        meta->key_separator = '.';
    } else {
        add_unsupported(judge, ZD_POINT_CHUNK_KEY_ENCODING, definition.name, &at);
        return;
    }
    judge_configuration(judge, definition.configuration, &at, "separator");
    const struct zd_json *separator = zd_json_member(definition.configuration, "separator");
    if (separator == NULL) {
        return;
    }
    const struct zd_pointer configuration_at = zd_pointer_member(&at, "configuration");
    const struct zd_pointer place = zd_pointer_member(&configuration_at, "separator");
    const struct zd_span text = zd_json_string_span(separator);
    if (!zd_json_is(separator, ZD_JSON_STRING)) {
        add_wrong_type(judge, &place, "\"/\" or \".\"", separator);
    } else if (!zd_span_is(text, "/") && !zd_span_is(text, ".")) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "separator", &place,
            "\"/\" or \".\"", zd_json_string(separator),
            "the separator of chunk keys must be \"/\" or \".\"");
    } else {
        meta->key_separator = (char)text.ptr[0];
    }
}

static void judge_fill_value(struct array_judge *judge)
{
    const struct zd_json *json = required(judge, "fill_value");
    struct zd_meta *meta = judge->meta;
    if (!judge->has_dtype) {
        return; /* what it may be depends on the data type */
    }
    /* Zero until it is known, so that the codecs can be judged beside a faulty fill value. */
    meta->fill = zd_alloc_zero(1, meta->dtype.bytes);
    if (meta->fill == NULL) {
        judge->faults->out_of_memory = true;
        return;
    }
    if (json == NULL) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&whole_document, "fill_value");
    struct zd_error err = {0};
    bool is_noted = false;
    const bool has_bare = zd_json_nonfinite_is_in(json); /* judged with the document */
    const bool is_tolerant = judge->judgement == ZD_JUDGE_READ || has_bare;
    const enum zd_status status =
        zd_scalar_parse(&meta->dtype, json, meta->fill, is_tolerant ? &is_noted : NULL, &err);
    if (status == ZD_NO_MEMORY) {
        judge->faults->out_of_memory = true;
    } else if (status != ZD_OK) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "bad_fill_value", meta->dtype.name, &at,
            err.facts.expected, err.facts.found, "%s", err.text);
    }
    judge->has_fill = status == ZD_OK;
    if (is_noted && !has_bare) {
        char space[FOUND_BYTES];
        zd_faults_add(judge->faults, ZD_FAULT_WARNING, "legacy_spelling", meta->dtype.name, &at,
            NULL, found_of(json, space), "a writer must not use this spelling of the fill value");
    }
}

/* The size of a chunk; a fault when it does not fit memory. */
static bool chunk_bytes(const struct array_judge *judge, uint64_t *ret_size)
{
    const struct zd_meta *meta = judge->meta;
    uint64_t size = 0;
    if (zd_product(&size, meta->grid.chunk, judge->chunk_rank) ||
        ckd_mul(&size, size, meta->dtype.bytes) || size > SIZE_MAX / 2) {
        const struct zd_pointer at = zd_pointer_member(&whole_document, "chunk_grid");
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "too_large", "chunk_shape", &at,
            "a chunk below 2^63 bytes", NULL, "the size of a chunk does not fit in 63 bits");
        return false;
    }
    *ret_size = size;
    return true;
}

/* What the codecs must decode to, as far as the document says it. */
static struct zd_repr chunk_repr(const struct array_judge *judge)
{
    const struct zd_meta *meta = judge->meta;
    const bool has_dtype = judge->has_dtype && meta->fill != NULL;
    struct zd_repr repr = {
        .dtype = meta->dtype,
        .rank = judge->chunk_rank,
        .fill = meta->fill,
        .size_is_exact = true,
        .lacks_dtype = !has_dtype,
        .lacks_shape = !judge->has_chunk,
    };
    if (zd_codec_repr_is_known(&repr)) {
        repr.lacks_shape = !chunk_bytes(judge, &repr.size);
    }
    memcpy(repr.shape, meta->grid.chunk, sizeof repr.shape);
    return repr;
}

static void judge_codecs(struct array_judge *judge)
{
    const struct zd_json *json = required(judge, "codecs");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "codecs");
    if (json == NULL) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        add_wrong_type(judge, &at, "an array of codecs", json);
        return;
    }
    const struct zd_repr repr = chunk_repr(judge);
    const struct zd_chain_config config = {
        .codecs = json, .at = at, .decoded = &repr, .judgement = judge->judgement};
    if (zd_chain_open(&config, &judge->meta->chain, judge->faults) == ZD_NO_MEMORY) {
        judge->faults->out_of_memory = true;
    }
}

/* One entry of dimension_names: a string or null. @param name where it is kept, or NULL */
static void judge_dimension_name(
    struct array_judge *judge, const struct zd_json *json, const struct zd_pointer *at, char **name)
{
    if (zd_json_is(json, ZD_JSON_NULL)) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_STRING)) {
        add_wrong_type(judge, at, "a string or null", json);
        return;
    }
    if (name != NULL) {
        *name = zd_strdup(zd_json_string(json));
        judge->faults->out_of_memory = judge->faults->out_of_memory || *name == NULL;
    }
}

/* How many there must be; true when they can be kept. */
static bool judge_name_count(
    struct array_judge *judge, const struct zd_json *json, const struct zd_pointer *at)
{
    const uint32_t rank = judge->meta->grid.rank;
    if (!judge->has_shape) {
        return false; /* that is not known */
    }
    if (zd_json_count(json) != rank) {
        char expected[FOUND_BYTES];
        char found[FOUND_BYTES];
        snprintf(expected, sizeof expected, "%" PRIu32, rank);
        snprintf(found, sizeof found, "%zu", zd_json_count(json));
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "rank_mismatch", "dimension_names", at,
            expected, found, "dimension_names has %s entries, the shape has %s", found, expected);
        return false;
    }
    judge->meta->dimension_name = (char **)zd_alloc_zero(rank, sizeof *judge->meta->dimension_name);
    judge->faults->out_of_memory =
        judge->faults->out_of_memory || judge->meta->dimension_name == NULL;
    return judge->meta->dimension_name != NULL;
}

static void judge_dimension_names(struct array_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "dimension_names");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "dimension_names");
    if (json == NULL) {
        return;
    }
    if (zd_json_is(json, ZD_JSON_NULL)) {
        zd_faults_add(judge->faults, tolerated(judge), "null_dimension_names", NULL, &at,
            "an array, or no such member", "null", "dimension_names is null; it is read as absent");
        return;
    }
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        add_wrong_type(judge, &at, "an array of strings and nulls", json);
        return;
    }
    const bool is_kept = judge_name_count(judge, json, &at);
    for (size_t d = 0; d < zd_json_count(json); d++) {
        const struct zd_pointer place = zd_pointer_element(&at, d);
        char **name = is_kept ? &judge->meta->dimension_name[d] : NULL;
        judge_dimension_name(judge, zd_json_element(json, d), &place, name);
    }
}

/* No storage transformer is defined (Zarr v3): each one is unknown. */
static void judge_storage_transformers(struct array_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "storage_transformers");
    const struct zd_pointer at = zd_pointer_member(&whole_document, "storage_transformers");
    const bool is_read = judge->judgement == ZD_JUDGE_READ;
    if (json == NULL) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        add_wrong_type(judge, &at, "an array of storage transformers", json);
        return;
    }
    for (size_t i = 0; i < zd_json_count(json); i++) {
        const struct zd_pointer place = zd_pointer_element(&at, i);
        struct zd_definition definition;
        if (zd_definition_parse(
                zd_json_element(json, i), &place, !is_read, &definition, judge->faults) != ZD_OK) {
            continue;
        }
        if (is_read && !definition.must_understand) {
            zd_faults_add(judge->faults, ZD_FAULT_WARNING, "ignored_extension", definition.name,
                &place, NULL, definition.name, "the storage transformer \"%s\" is ignored",
                definition.name);
        } else {
            add_unsupported(judge, ZD_POINT_STORAGE_TRANSFORMER, definition.name, &place);
        }
    }
}

bool zd_v3_array_parse(
    const struct zd_json *document, enum zd_judgement judgement, struct zd_meta *meta)
{
    struct array_judge judge = {
        .document = document,
        .meta = meta,
        .faults = &meta->faults,
        .judgement = judgement,
    };
    judge_shape(&judge);
    judge_data_type(&judge);
    judge_chunk_grid(&judge);
    judge_key_encoding(&judge);
    judge_fill_value(&judge);
    judge_codecs(&judge);
    judge_dimension_names(&judge);
    judge_storage_transformers(&judge);
    return judge.has_shape && judge.has_chunk && judge.has_fill;
}

static ZD_RESULT set_extents(
    struct zd_json *object, const char *name, const uint64_t *length, uint32_t n)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (uint32_t d = 0; list != NULL && d < n; d++) {
        ZD_TRY(zd_json_append(list, zd_json_new_u64(length[d])));
    }
    return zd_json_set(object, name, ZD_TAKE(list));
}

/* Takes over `configuration`. */
static ZD_RESULT set_definition(
    struct zd_json *document, const char *member, const char *name, struct zd_json *configuration)
{
    ZD_AUTO(zd_json) held = configuration;
    ZD_AUTO(zd_json) definition = zd_json_new_object();
    if (definition == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(definition, "name", zd_json_new_text(name)));
    ZD_TRY(zd_json_set(definition, "configuration", ZD_TAKE(held)));
    return zd_json_set(document, member, ZD_TAKE(definition));
}

static ZD_RESULT set_chunk_grid(const struct zd_meta *meta, struct zd_json *document)
{
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(set_extents(configuration, "chunk_shape", meta->grid.chunk, meta->grid.rank));
    return set_definition(document, "chunk_grid", "regular", ZD_TAKE(configuration));
}

static ZD_RESULT set_key_encoding(const struct zd_meta *meta, struct zd_json *document)
{
    const char separator[2] = {meta->key_separator, '\0'};
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_set(configuration, "separator", zd_json_new_text(separator)));
    return set_definition(document, "chunk_key_encoding",
        meta->key_encoding == ZD_KEYS_DEFAULT ? "default" : "v2", ZD_TAKE(configuration));
}

enum zd_status zd_v3_array_render(const struct zd_meta *meta, struct zd_json *document)
{
    ZD_TRY(set_extents(document, "shape", meta->grid.shape, meta->grid.rank));
    ZD_TRY(zd_json_set(document, "data_type", zd_json_new_text(meta->dtype.name)));
    ZD_TRY(set_chunk_grid(meta, document));
    ZD_TRY(set_key_encoding(meta, document));
    ZD_TRY(zd_json_set(document, "fill_value", zd_scalar_json(&meta->dtype, meta->fill)));
    return zd_json_set(document, "codecs", zd_chain_json(meta->chain));
}

enum zd_status zd_v3_array_render_names(const struct zd_meta *meta, struct zd_json *document)
{
    if (meta->dimension_name == NULL) {
        return ZD_OK;
    }
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (uint32_t d = 0; list != NULL && d < meta->grid.rank; d++) {
        const char *name = meta->dimension_name[d];
        ZD_TRY(zd_json_append(list, name == NULL ? zd_json_new_null() : zd_json_new_text(name)));
    }
    return zd_json_set(document, "dimension_names", ZD_TAKE(list));
}
