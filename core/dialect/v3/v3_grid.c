/* The chunk grid of a v3 document: judged, taken into the model, written back. */
#include "core/dialect/v3/v3_grid.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An edge of 0: once written for dimensions of length 0, which have no chunks anyway (reference
 * 1.6). */
static bool judge_chunk_edge(
    struct zd_v3_judge *judge, uint32_t d, const struct zd_pointer *chunk_shape_at)
{
    struct zd_grid *grid = &judge->meta->grid;
    if (grid->chunk[d] > 0) {
        return true;
    }
    const bool is_harmless = judge->has_shape && d < grid->rank && grid->shape[d] == 0;
    const enum zd_severity severity = is_harmless ? zd_v3_judge_tolerated(judge) : ZD_FAULT_INVALID;
    const struct zd_pointer at = zd_pointer_element(chunk_shape_at, d);
    zd_faults_add(judge->faults, severity, "out_of_range", "chunk_shape", &at, "1 or more", "0",
        "a chunk must have at least one element along dimension %" PRIu32, d);
    grid->chunk[d] = 1;
    return severity == ZD_FAULT_WARNING;
}

/* Whether there are as many entries as dimensions. */
static bool judge_rank(
    const struct zd_v3_judge *judge, const char *member, const struct zd_pointer *at)
{
    const uint32_t rank = judge->meta->grid.rank;
    if (!judge->has_shape || judge->chunk_rank == rank) {
        return true;
    }
    char expected[ZD_V3_FOUND_BYTES];
    char found[ZD_V3_FOUND_BYTES];
    snprintf(expected, sizeof expected, "%" PRIu32, rank);
    snprintf(found, sizeof found, "%" PRIu32, judge->chunk_rank);
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "rank_mismatch", member, at, expected, found,
        "%s has %s entries, the shape has %s", member, found, expected);
    return false;
}

static void judge_chunk_shape(
    struct zd_v3_judge *judge, const struct zd_json *json, const struct zd_pointer *at)
{
    struct zd_grid *grid = &judge->meta->grid;
    if (!zd_v3_judge_extents(judge, json, at, grid->chunk, &judge->chunk_rank)) {
        return;
    }
    bool good = judge_rank(judge, "chunk_shape", at);
    for (uint32_t d = 0; d < judge->chunk_rank; d++) {
        good = judge_chunk_edge(judge, d, at) && good;
    }
    judge->has_chunk = good;
}

/* ---- chunks that differ ---- */

/* The spellings: that of the registry, and the one before it (ZEP 3), which is only read. */
struct spelling {
    const char *member; /* the dimensions' chunks */
    bool has_runs;      /* a list may have pairs of length and count */
};

/* Chunks of 0 elements, or none of them; or fewer. */
static void add_too_small(
    const struct zd_v3_judge *judge, const struct zd_json *json, const struct zd_pointer *at)
{
    char space[ZD_V3_FOUND_BYTES];
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "chunk_grid", at, "1 or more",
        zd_v3_judge_found(json, space), "chunk lengths and their counts must be 1 or more");
}

static bool judge_positive(const struct zd_v3_judge *judge, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t *ret_number)
{
    if (zd_json_u64(json, ret_number) && *ret_number > 0) {
        return true;
    }
    if (zd_json_is(json, ZD_JSON_INTEGER)) {
        add_too_small(judge, json, at);
    } else {
        zd_v3_judge_wrong_type(judge, at, "an integer of 1 or more", json);
    }
    return false;
}

/* An element of a list: a length, or a pair of length and count. */
static bool read_run(const struct zd_v3_judge *judge, const struct spelling *spelling,
    const struct zd_json *json, const struct zd_pointer *at, uint64_t ret_run[2])
{
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        ret_run[1] = 1;
        return judge_positive(judge, json, at, &ret_run[0]);
    }
    if (!spelling->has_runs || zd_json_count(json) != 2) {
        zd_v3_judge_wrong_type(judge, at,
            spelling->has_runs ? "an integer, or a pair of length and count" : "an integer", json);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < 2; i++) {
        const struct zd_pointer place = zd_pointer_element(at, i);
        good = judge_positive(judge, zd_json_element(json, i), &place, &ret_run[i]) && good;
    }
    return good;
}

/* Adds an element's chunks; false with a fault. */
static bool add_run(
    const struct zd_v3_judge *judge, uint32_t d, const uint64_t run[2], const struct zd_pointer *at)
{
    switch (zd_edges_add(judge->meta->edges, d, run[0], run[1])) {
    case ZD_OK:
        return true;
    case ZD_NO_MEMORY:
        judge->faults->out_of_memory = true;
        return false;
    case ZD_TOO_LARGE:
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "too_large", "chunk_grid", at,
            "a sum below 2^64", NULL,
            "the chunks of dimension %" PRIu32 " have 2^64 elements or more", d);
        return false;
    default:
        zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, "unsupported_grid", "chunk_grid", at,
            NULL, NULL, "the chunk length changes more than %u times along dimension %" PRIu32,
            ZD_EDGE_RUNS_MAX, d);
        return false;
    }
}

/* Registry, rectilinear: the chunks reach the end of the array, or beyond it. */
static bool judge_sum(const struct zd_v3_judge *judge, uint32_t d, const struct zd_pointer *at)
{
    const uint64_t extent = judge->meta->edges->axis[d].extent;
    const uint64_t shape = judge->meta->grid.shape[d];
    if (!judge->has_shape || d >= judge->meta->grid.rank || extent >= shape) {
        return true;
    }
    char expected[ZD_V3_FOUND_BYTES];
    char found[ZD_V3_FOUND_BYTES];
    snprintf(expected, sizeof expected, "%" PRIu64, shape);
    snprintf(found, sizeof found, "%" PRIu64, extent);
    zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "chunk_grid", at, expected,
        found,
        "the chunks of dimension %" PRIu32 " end at %s, but the array ends at %s: first add chunk "
        "lengths to the grid without changing the shape",
        d, found, expected);
    return false;
}

static bool judge_list(struct zd_v3_judge *judge, const struct spelling *spelling,
    const struct zd_json *list, uint32_t d, const struct zd_pointer *at)
{
    bool good = zd_edges_add(judge->meta->edges, d, 1, 0) == ZD_OK;
    for (size_t i = 0; i < zd_json_count(list); i++) {
        uint64_t run[2];
        const struct zd_pointer place = zd_pointer_element(at, i);
        const struct zd_json *element = zd_json_element(list, i);
        good = read_run(judge, spelling, element, &place, run) && good &&
               add_run(judge, d, run, &place);
    }
    judge->meta->grid.chunk[d] = judge->meta->edges->axis[d].longest;
    if (judge->meta->grid.chunk[d] == 0) {
        judge->meta->grid.chunk[d] = 1; /* no chunks, of an array without elements */
    }
    return good && judge_sum(judge, d, at);
}

/* Judge a dimension: a length for all chunks, or a list. */
static bool judge_dimension(struct zd_v3_judge *judge, const struct spelling *spelling,
    const struct zd_json *json, uint32_t d, const struct zd_pointer *at)
{
    if (zd_json_is(json, ZD_JSON_ARRAY)) {
        judge->meta->grid.edges = judge->meta->edges;
        return judge_list(judge, spelling, json, d, at);
    }
    if (!zd_json_is(json, ZD_JSON_INTEGER)) {
        zd_v3_judge_wrong_type(judge, at, "an integer or a list", json);
        return false;
    }
    return judge_positive(judge, json, at, &judge->meta->grid.chunk[d]);
}

static void judge_dimensions(struct zd_v3_judge *judge, const struct spelling *spelling,
    const struct zd_json *json, const struct zd_pointer *at)
{
    struct zd_meta *meta = judge->meta;
    if (!zd_json_is(json, ZD_JSON_ARRAY)) {
        zd_v3_judge_wrong_type(judge, at, "an array, an entry for each dimension", json);
        return;
    }
    const size_t n = zd_json_count(json);
    if (n > ZD_RANK_MAX) {
        zd_faults_add(judge->faults, ZD_FAULT_UNSUPPORTED, "unsupported_grid", NULL, at, NULL, NULL,
            "the array has %zu dimensions; the limit is %d", n, ZD_RANK_MAX);
        return;
    }
    meta->edges = zd_edges_new();
    if (meta->edges == NULL) {
        judge->faults->out_of_memory = true;
        return;
    }
    judge->chunk_rank = (uint32_t)n;
    bool good = judge_rank(judge, spelling->member, at);
    for (uint32_t d = 0; d < n; d++) {
        const struct zd_pointer place = zd_pointer_element(at, d);
        good = judge_dimension(judge, spelling, zd_json_element(json, d), d, &place) && good;
    }
    judge->has_chunk = good;
}

static const struct zd_json *configuration_member(const struct zd_v3_judge *judge,
    const struct zd_definition *definition, const struct zd_pointer *configuration_at,
    const char *name)
{
    const struct zd_json *member = zd_json_member(definition->configuration, name);
    if (member == NULL) {
        const struct zd_pointer at = zd_pointer_member(configuration_at, name);
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "missing_member", name, &at, name, NULL,
            "a %s chunk grid must have the member \"%s\"", definition->name, name);
    }
    return member;
}

/* Registry: the chunks may also be listed elsewhere one day; `inline` says that they are not. */
static void judge_kind(const struct zd_v3_judge *judge, const struct zd_json *kind,
    const struct zd_pointer *configuration_at)
{
    const struct zd_pointer at = zd_pointer_member(configuration_at, "kind");
    if (kind != NULL && !zd_span_is(zd_json_string_span(kind), "inline")) {
        char space[ZD_V3_FOUND_BYTES];
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "out_of_range", "kind", &at, "\"inline\"",
            zd_v3_judge_found(kind, space), "the kind of a rectilinear grid must be \"inline\"");
    }
}

static void judge_rectilinear(
    struct zd_v3_judge *judge, const struct zd_definition *definition, const struct zd_pointer *at)
{
    static const char *const known[] = {"kind", "chunk_shapes", NULL};
    static const struct spelling spelling = {.member = "chunk_shapes", .has_runs = true};
    const struct zd_pointer inside = zd_pointer_member(at, "configuration");
    const struct zd_pointer shapes_at = zd_pointer_member(&inside, spelling.member);
    zd_v3_judge_configuration(judge, definition->configuration, at, known);
    judge_kind(judge, configuration_member(judge, definition, &inside, "kind"), &inside);
    const struct zd_json *shapes =
        configuration_member(judge, definition, &inside, spelling.member);
    if (shapes != NULL) {
        judge_dimensions(judge, &spelling, shapes, &shapes_at);
    }
}

static void judge_rectangular(
    struct zd_v3_judge *judge, const struct zd_definition *definition, const struct zd_pointer *at)
{
    static const char *const known[] = {"chunk_shape", NULL};
    static const struct spelling spelling = {.member = "chunk_shape"};
    const struct zd_pointer inside = zd_pointer_member(at, "configuration");
    const struct zd_pointer shape_at = zd_pointer_member(&inside, spelling.member);
    zd_v3_judge_configuration(judge, definition->configuration, at, known);
    zd_faults_add(judge->faults, zd_v3_judge_tolerated(judge), "legacy_spelling", "rectangular", at,
        "rectilinear", "rectangular",
        "\"rectangular\" is the name of the chunk grid \"rectilinear\" in a draft");
    const struct zd_json *shape = configuration_member(judge, definition, &inside, spelling.member);
    if (shape != NULL) {
        judge_dimensions(judge, &spelling, shape, &shape_at);
    }
}

/* ---- the grid ---- */

static void judge_regular(
    struct zd_v3_judge *judge, const struct zd_definition *definition, const struct zd_pointer *at)
{
    static const char *const known[] = {"chunk_shape", NULL};
    const struct zd_pointer configuration_at = zd_pointer_member(at, "configuration");
    const struct zd_pointer chunk_shape_at = zd_pointer_member(&configuration_at, "chunk_shape");
    const struct zd_json *chunk_shape = zd_json_member(definition->configuration, "chunk_shape");
    zd_v3_judge_configuration(judge, definition->configuration, at, known);
    if (chunk_shape == NULL) {
        zd_faults_add(judge->faults, ZD_FAULT_INVALID, "missing_member", "chunk_shape",
            &chunk_shape_at, "an array of integers", NULL,
            "a regular chunk grid must have a chunk_shape");
        return;
    }
    judge_chunk_shape(judge, chunk_shape, &chunk_shape_at);
}

void zd_v3_grid_judge(struct zd_v3_judge *judge)
{
    struct zd_definition definition;
    if (!zd_v3_judge_definition(judge, "chunk_grid", &definition)) {
        return;
    }
    const struct zd_pointer at = zd_pointer_member(&zd_v3_whole, "chunk_grid");
    if (strcmp(definition.name, "regular") == 0) {
        judge_regular(judge, &definition, &at);
    } else if (strcmp(definition.name, "rectilinear") == 0) {
        judge_rectilinear(judge, &definition, &at);
    } else if (strcmp(definition.name, "rectangular") == 0) {
        judge_rectangular(judge, &definition, &at);
    } else {
        zd_v3_judge_unsupported(judge, ZD_POINT_CHUNK_GRID, definition.name, &at);
    }
}

static enum zd_status append_u64(struct zd_json *list, uint64_t number)
{
    return zd_json_append(list, zd_json_new_u64(number));
}

/* A length where it stands once, else a pair of length and count. */
static enum zd_status append_run(struct zd_json *list, uint64_t edge, uint64_t count)
{
    if (count == 1) {
        return append_u64(list, edge);
    }
    ZD_AUTO(zd_json) pair = zd_json_new_array();
    if (pair == NULL) {
        return ZD_NO_MEMORY;
    }
    ZD_TRY(append_u64(pair, edge));
    ZD_TRY(append_u64(pair, count));
    return zd_json_append(list, ZD_TAKE(pair));
}

static enum zd_status append_dimension(
    struct zd_json *shapes, const struct zd_meta *meta, uint32_t d)
{
    const struct zd_edge_axis *axis = &meta->edges->axis[d];
    if (!axis->is_irregular) {
        return append_u64(shapes, meta->grid.chunk[d]);
    }
    ZD_AUTO(zd_json) list = zd_json_new_array();
    if (list == NULL) {
        return ZD_NO_MEMORY;
    }
    for (size_t i = 0; i < axis->n_runs; i++) {
        ZD_TRY(append_run(list, axis->run[i].edge, zd_edges_count(axis, &axis->run[i])));
    }
    return zd_json_append(shapes, ZD_TAKE(list));
}

enum zd_status zd_v3_grid_shapes(const struct zd_meta *meta, struct zd_json **ret_shapes)
{
    assert(meta->edges != NULL);
    ZD_AUTO(zd_json) shapes = zd_json_new_array();
    if (shapes == NULL) {
        return ZD_NO_MEMORY;
    }
    for (uint32_t d = 0; d < meta->grid.rank; d++) {
        ZD_TRY(append_dimension(shapes, meta, d));
    }
    *ret_shapes = ZD_TAKE(shapes);
    return ZD_OK;
}

enum zd_status zd_v3_grid_render(const struct zd_meta *meta, struct zd_json *document)
{
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (configuration == NULL) {
        return ZD_NO_MEMORY;
    }
    if (meta->edges == NULL) {
        ZD_TRY(zd_v3_judge_set_extents(
            configuration, "chunk_shape", meta->grid.chunk, meta->grid.rank));
        return zd_v3_judge_set_definition(
            document, "chunk_grid", "regular", ZD_TAKE(configuration));
    }
    struct zd_json *shapes = NULL;
    ZD_TRY(zd_json_set(configuration, "kind", zd_json_new_text("inline")));
    ZD_TRY(zd_v3_grid_shapes(meta, &shapes));
    ZD_TRY(zd_json_set(configuration, "chunk_shapes", shapes));
    return zd_v3_judge_set_definition(
        document, "chunk_grid", "rectilinear", ZD_TAKE(configuration));
}
