/* The members of an array's final v3 document: judged, taken into the model, written back. */
#include "core/dialect/v3/v3_array.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json_nonfinite.h"
#include "core/base/num.h"
#include "core/dialect/dialect.h"
#include "core/dialect/v3/v3_grid.h"
#include "core/dialect/v3/v3_judge.h"
#include "core/dialect/v3/v3_keys.h"
#include "core/extension/data_type.h"
#include "core/grid/scalar.h"

static void judge_shape(struct zd_v3_judge *judge)
{
    const struct zd_json *json = zd_v3_judge_required(judge, "shape");
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "shape");
    struct zd_grid *grid = &judge->meta->grid;
    if (json == NULL || !zd_v3_judge_extents(judge, json, &at, grid->shape, &grid->rank)) {
        return;
    }
    uint64_t n_elements = 0;
    if (zd_product_overflows(&n_elements, grid->shape, grid->rank)) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "too_large", NULL, &at,
            "a product below 2^64", NULL, "the number of elements does not fit in 64 bits");
        return;
    }
    judge->has_shape = true;
}

static void judge_data_type(struct zd_v3_judge *judge)
{
    struct zd_definition definition;
    if (!zd_v3_judge_definition(judge, "data_type", &definition)) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "data_type");
    const struct zd_data_type_rules rules = {
        .is_strict = judge->judgement == ZD_JUDGE_WRITE,
        .is_translated = strcmp(judge->meta->dialect->name, "v3") != 0,
    };
    const enum zd_status status =
        zd_data_type_parse(&definition, &at, &rules, &judge->meta->dtype, judge->faults);
    judge->has_dtype = status == ZD_OK;
    judge->faults->out_of_memory = judge->faults->out_of_memory || status == ZD_NO_MEMORY;
}

static void judge_fill_value(struct zd_v3_judge *judge)
{
    const struct zd_json *json = zd_v3_judge_required(judge, "fill_value");
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
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "fill_value");
    struct zd_error err = {0};
    bool is_noted = false;
    const bool has_bare = zd_json_nonfinite_is_in(json); /* judged with the document */
    const bool is_tolerant = judge->judgement == ZD_JUDGE_READ || has_bare;
    const enum zd_status status =
        zd_scalar_replace(&meta->dtype, json, &meta->fill, is_tolerant ? &is_noted : NULL, &err);
    if (status == ZD_NO_MEMORY) {
        judge->faults->out_of_memory = true;
    } else if (status != ZD_OK) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "bad_fill_value", meta->dtype.name, &at,
            err.facts.expected, err.facts.found, "%s", err.text);
    }
    judge->has_fill = status == ZD_OK;
    if (is_noted && !has_bare) {
        char space[ZD_V3_FOUND_BYTES];
        zd_faults_add(judge->faults, ZD_FAULT_WARNING, "legacy_spelling", meta->dtype.name, &at,
            NULL, zd_v3_judge_found(json, space),
            "a writer must not use this spelling of the fill value");
    }
}

/* The size of a chunk; a fault when it does not fit memory. */
static bool chunk_bytes(const struct zd_v3_judge *judge, uint64_t *ret_size)
{
    const struct zd_meta *meta = judge->meta;
    uint64_t size = 0;
    if (zd_product_overflows(&size, meta->grid.chunk, judge->chunk_rank) ||
        ckd_mul(&size, size, meta->dtype.bytes) || size > SIZE_MAX / 2) {
        const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "chunk_grid");
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "too_large", "chunk_shape", &at,
            "a chunk below 2^63 bytes", NULL, "the size of a chunk does not fit in 63 bits");
        return false;
    }
    *ret_size = size;
    return true;
}

/* The representation that the codecs must decode to, as far as the document says it. */
static struct zd_repr chunk_repr(const struct zd_v3_judge *judge)
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

/* Keep the refusals among the findings about chunks of another shape; the warnings came before. */
static void take_refusals(const struct zd_v3_judge *judge, const struct zd_faults *faults)
{
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        if (fault->severity != ZD_FAULT_WARNING) {
            struct zd_pointer at;
            snprintf(at.text, sizeof at.text, "%s", fault->pointer);
            zd_faults_add(judge->faults, fault->severity, fault->code, fault->name, &at,
                fault->expected, fault->found, "%s; the codecs must accept every chunk of the grid",
                fault->detail);
        }
    }
    judge->faults->out_of_memory = judge->faults->out_of_memory || faults->out_of_memory;
}

/* Codecs that suit the largest chunk must suit all. What they want of a shape is that something
 * divides its lengths: then it divides what all lengths of a dimension have in common. */
static void judge_other_chunks(struct zd_v3_judge *judge, const struct zd_chain_config *largest)
{
    const struct zd_grid *grid = &judge->meta->grid;
    struct zd_repr repr = *largest->decoded;
    for (uint32_t d = 0; d < grid->rank; d++) {
        const struct zd_edge_axis *edges = zd_grid_edges(grid, d);
        if (edges != NULL) {
            repr.shape[d] = zd_max_u64(zd_edges_common(edges), 1);
        }
    }
    const bool overflows = zd_codec_repr_overflows(&repr, &repr.size);
    assert(!overflows); /* the largest chunk does not */
    (void)overflows;
    struct zd_chain_config config = *largest;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_chain) chain = NULL;
    config.decoded = &repr;
    const enum zd_status status = zd_chain_open(&config, &chain, &faults);
    judge->faults->out_of_memory = judge->faults->out_of_memory || status == ZD_NO_MEMORY;
    take_refusals(judge, &faults);
    zd_faults_done(&faults);
}

static void judge_codecs(struct zd_v3_judge *judge)
{
    const struct zd_json *json = zd_v3_judge_required(judge, "codecs");
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "codecs");
    if (json == NULL) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        zd_v3_judge_wrong_type(judge, &at, "an array of codecs", json);
        return;
    }
    const struct zd_repr repr = chunk_repr(judge);
    const struct zd_chain_config config = {.codecs = json,
        .at = at,
        .decoded = &repr,
        .judgement = judge->judgement,
        .is_n5 = judge->meta->dialect->is_n5};
    const enum zd_status status = zd_chain_open(&config, &judge->meta->chain, judge->faults);
    judge->faults->out_of_memory = judge->faults->out_of_memory || status == ZD_NO_MEMORY;
    if (status == ZD_OK && judge->meta->grid.edges != NULL) {
        judge_other_chunks(judge, &config);
    }
}

/* Judge an entry of dimension_names: a string or null. @param name keeps it; may be NULL */
static void judge_dimension_name(
    struct zd_v3_judge *judge, const struct zd_json *json, const struct zd_pointer *at, char **name)
{
    if (zd_json_is(json, ZD_JSON_NULL)) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_STRING)) {
        zd_v3_judge_wrong_type(judge, at, "a string or null", json);
        return;
    }
    if (name != NULL) {
        *name = zd_strdup(zd_json_string(json));
        judge->faults->out_of_memory = judge->faults->out_of_memory || *name == NULL;
    }
}

/* How many there must be; true when they can be kept. */
static bool judge_name_count(
    struct zd_v3_judge *judge, const struct zd_json *json, const struct zd_pointer *at)
{
    const uint32_t rank = judge->meta->grid.rank;
    if (!judge->has_shape) {
        return false; /* that is not known */
    }
    if (zd_json_count(json) != rank) {
        char expected[ZD_V3_FOUND_BYTES];
        char found[ZD_V3_FOUND_BYTES];
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

static void judge_dimension_names(struct zd_v3_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "dimension_names");
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "dimension_names");
    if (json == NULL) {
        return;
    }
    if (zd_json_is(json, ZD_JSON_NULL)) {
        zd_faults_add(judge->faults, zd_v3_judge_tolerated(judge), "null_dimension_names", NULL,
            &at, "an array, or no such member", "null",
            "dimension_names is null; it is read as absent");
        return;
    }
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        zd_v3_judge_wrong_type(judge, &at, "an array of strings and nulls", json);
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
static void judge_storage_transformers(struct zd_v3_judge *judge)
{
    const struct zd_json *json = zd_json_member(judge->document, "storage_transformers");
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "storage_transformers");
    const bool is_read = judge->judgement == ZD_JUDGE_READ;
    if (json == NULL) {
        return;
    }
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        zd_v3_judge_wrong_type(judge, &at, "an array of storage transformers", json);
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
            zd_v3_judge_unsupported(judge, ZD_POINT_STORAGE_TRANSFORMER, definition.name, &place);
        }
    }
}

bool zd_v3_array_parse(
    const struct zd_json *document, enum zd_judgement judgement, struct zd_meta *meta)
{
    struct zd_v3_judge judge = {
        .document = document,
        .meta = meta,
        .faults = &meta->faults,
        .judgement = judgement,
    };
    judge_shape(&judge);
    judge_data_type(&judge);
    zd_v3_grid_judge(&judge);
    zd_v3_keys_judge(&judge);
    judge_fill_value(&judge);
    judge_codecs(&judge);
    judge_dimension_names(&judge);
    judge_storage_transformers(&judge);
    return judge.has_shape && judge.has_chunk && judge.has_fill;
}

enum zd_status zd_v3_array_render(const struct zd_meta *meta, struct zd_json *document)
{
    ZD_TRY(zd_v3_judge_set_extents(document, "shape", meta->grid.shape, meta->grid.rank));
    ZD_TRY(zd_json_set(document, "data_type", zd_data_type_json(&meta->dtype)));
    ZD_TRY(zd_v3_grid_render(meta, document));
    ZD_TRY(zd_v3_keys_render(meta, document));
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
