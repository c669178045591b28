/* The cost of a request in advance. */
#include "server/slice/slice_estimate.h"

#include <string.h>

#include "core/base/num.h"
#include "server/data/shard_lookup.h"
#include "server/data/speed.h"
#include "server/describe/node_json.h"
#include "server/http/escape.h"
#include "server/request/admit.h"
#include "server/request/client.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (64U << 10)
#define URL_BYTES_MAX      (16U << 10)
#define PARTS_AT_ONCE      1024 /* of a turn: some hundred microseconds */
#define COUNT_MAX          4096 /* chunks that HEAD looks for */
#define NS_PER_MS          1e6

struct zd_slice_estimate {
    struct zd_slice_estimate_terms terms;
    struct zd_seen_objects seen;
    uint64_t *size; /* of each object, bytes; owned */
    struct zd_plan plan;
    bool is_counted; /* what follows is known */
    bool is_exact;   /* read_bytes is no estimate */
    uint64_t n_cached;
    uint64_t n_absent;
    uint64_t n_read; /* chunks that would be read and decoded */
    uint64_t read_bytes;
    uint64_t decode_bytes;
};

static zd_step step_objects;
static zd_step step_parts;

static void free_price(struct zd_slice_estimate *price)
{
    zd_seen_objects_done(&price->seen);
    zd_free(price->size);
    zd_free(price);
}

/* ---- one chunk ---- */

/* The state of a chunk, known without a read. */
enum state {
    UNKNOWN, /* whether it is stored */
    STORED,
    ABSENT,
    CACHED,
};

/* @param object    that holds it
 * @param ret_bytes of an inner chunk that is stored: how many */
static enum state state_of(const struct zd_slice_read *read, const struct zd_part *part,
    const struct zd_seen_object *object, uint64_t *ret_bytes)
{
    static const struct zd_generation nothing = {0};
    bool is_absent;
    if (zd_generation_equal(object->generation, nothing)) {
        return ABSENT;
    }
    if (zd_chunks_find(read->node, part->chunk, object->generation, &is_absent)) {
        return is_absent ? ABSENT : CACHED;
    }
    if (read->node->layout->n_levels == 1) {
        return STORED;
    }
    if (!zd_shards_find(read->node, part->chunk, object->generation, ret_bytes)) {
        return UNKNOWN;
    }
    return *ret_bytes == 0 ? ABSENT : STORED;
}

bool zd_slice_estimate_count(
    const struct zd_slice_read *read, uint64_t *ret_n_chunks, uint64_t *ret_n_absent)
{
    const struct zd_slice_view view = zd_slice_read_view(read);
    struct zd_seen_objects seen = read->seen; /* looking for numbers moves it */
    const uint64_t n = zd_slice_view_chunks(&view);
    const bool is_stored_alone = read->node->layout->n_levels == 1;
    struct zd_plan plan;
    struct zd_part part;
    *ret_n_chunks = n;
    *ret_n_absent = 0;
    if (seen.n_known != seen.n) {
        return false;
    }
    if (is_stored_alone) {
        *ret_n_absent = zd_seen_objects_absent(&seen);
        return true;
    }
    zd_plan_init(&plan, &zd_layout_leaf(read->node->layout)->grid, &read->selection);
    while (n <= COUNT_MAX && zd_plan_next(&plan, &part)) {
        const uint64_t number = zd_seen_objects_number(&seen, part.chunk);
        uint64_t n_bytes;
        const enum state state = state_of(read, &part, &seen.object[number], &n_bytes);
        if (state == UNKNOWN) {
            return false;
        }
        *ret_n_absent += state == ABSENT;
    }
    return n <= COUNT_MAX;
}

/* ---- the answer ---- */

static void emit_known(struct zd_emit *emit, const char *name, bool is_known, uint64_t value)
{
    zd_emit_key(emit, name);
    if (is_known) {
        zd_emit_u64(emit, value);
    } else {
        zd_emit_null(emit);
    }
}

static bool is_among(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Parameters that the canonical URL implies or must not have. */
static bool is_left_out(const struct zd_slice_read *read, const char *name)
{
    static const char *const never[] = {"plan", "pretty", NULL};
    static const char *const found[] = {"slice", "sel", "isel", NULL};
    if (is_among(never, name) || read->price->terms.is_cut) {
        return is_among(never, name);
    }
    if (is_among(found, name)) {
        return true;
    }
    /* The URL names the level itself. */
    const bool has_level = read->multiscale.n > 0;
    return has_level &&
           (strcmp(name, "level") == 0 || (strcmp(name, "max_size") == 0 && !read->kind->shrinks));
}

/* The node that is read, and the selection that was found, with the other parameters as sent. */
static void add_url(const struct zd_slice_read *read, struct zd_text *url)
{
    const struct zd_request *req = read->task.req;
    const bool is_cut = read->price->terms.is_cut;
    const char *before = "?";
    zd_text_addf(url, "%s/v1/datasets/%s/%s/", zd_client_prefix(req),
        read->node->dataset->config.name, read->price->terms.resource);
    (void)zd_escape_percent_encode(zd_span_of(is_cut ? req->path : read->node->path), url);
    if (!is_cut) {
        zd_text_add(url, "?slice=");
        zd_selection_add(&read->asked, url);
        before = "&";
    }
    for (uint32_t i = 0; i < req->params.n; i++) {
        if (!is_left_out(read, req->params.name[i])) {
            zd_text_addf(url, "%s%s=", before, req->params.name[i]);
            (void)zd_escape_percent_encode(req->params.value[i], url);
            before = "&";
        }
    }
}

static void emit_expected(const struct zd_slice_read *read, struct zd_emit *emit)
{
    const struct zd_slice_estimate *price = read->price;
    const struct zd_level *leaf = zd_layout_leaf(read->node->layout);
    uint64_t foreseen_ns;
    if (ckd_mul(&foreseen_ns, price->n_read, leaf->decode_ns)) {
        foreseen_ns = UINT64_MAX;
    }
    const struct zd_speed_times times =
        zd_speed_expect(&read->node->dataset->speed, price->n_read, foreseen_ns);
    const double encode_ns = (double)price->terms.encode_ns;
    const double total_ns = (double)times.store_ns + (double)times.decode_ns + encode_ns;
    zd_emit_member_object(emit, "expected_ms");
    zd_emit_key(emit, "store");
    zd_emit_f64(emit, (double)times.store_ns / NS_PER_MS);
    zd_emit_key(emit, "decode");
    zd_emit_f64(emit, (double)times.decode_ns / NS_PER_MS);
    zd_emit_key(emit, "encode");
    zd_emit_f64(emit, encode_ns / NS_PER_MS);
    zd_emit_key(emit, "total");
    zd_emit_f64(emit, total_ns / NS_PER_MS);
    zd_emit_object_end(emit);
    zd_emit_member_bool(emit, "measured", times.is_measured);
}

static void emit_chunks(const struct zd_slice_read *read, struct zd_emit *emit)
{
    const struct zd_slice_estimate *price = read->price;
    const struct zd_slice_view view = zd_slice_read_view(read);
    zd_emit_member_object(emit, "chunks");
    zd_emit_member_u64(
        emit, "touched", price->terms.reads_nothing ? 0 : zd_slice_view_chunks(&view));
    emit_known(emit, "cached", price->is_counted, price->n_cached);
    emit_known(emit, "absent", price->is_counted, price->n_absent);
    zd_emit_object_end(emit);
}

static void emit_plan(const struct zd_slice_read *read, struct zd_emit *emit)
{
    const struct zd_slice_estimate *price = read->price;
    const struct zd_slice_estimate_terms *terms = &price->terms;
    uint64_t selected[ZD_RANK_MAX];
    const uint32_t rank = zd_selection_shape(&read->asked, selected);
    const bool has_shape = terms->shape != NULL;
    ZD_SCOPED_TEXT(url, URL_BYTES_MAX);
    add_url(read, &url);
    zd_emit_object(emit);
    if (strcmp(read->task.req->method, "POST") == 0 || url.status != ZD_OK) {
        zd_emit_member_string(emit, "url", NULL);
    } else {
        zd_emit_member_text(emit, "url", &url);
    }
    zd_emit_key(emit, "shape");
    zd_node_json_emit_lengths(
        emit, has_shape ? terms->shape : selected, has_shape ? terms->rank : rank);
    zd_emit_member_string(emit, "format", terms->format);
    emit_chunks(read, emit);
    emit_known(emit, "read_bytes", price->is_counted, price->read_bytes);
    zd_emit_member_bool(emit, "exact", price->is_counted && price->is_exact);
    emit_known(emit, "decode_bytes", price->is_counted, price->decode_bytes);
    emit_known(emit, "answer_bytes", terms->answer_bytes != ZD_SLICE_ESTIMATE_UNKNOWN,
        terms->answer_bytes);
    zd_emit_member_u64(emit, "memory_bytes", terms->memory_bytes);
    if (price->is_counted) {
        emit_expected(read, emit);
    }
    zd_emit_object_end(emit);
}

static enum zd_next step_answer(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    emit_plan(zd_slice_read_of(req), &emit);
    /* It is true of this moment only. */
    struct zd_representation answer = {
        .header = {{"Cache-Control", "no-store"}},
        .n_headers = 1,
    };
    return zd_respond_text(req, &text, &answer);
}

/* ---- counting ---- */

/* Only the index has the length of an inner chunk: take its share of the shard. */
static uint64_t share_of(const struct zd_layout *layout, uint64_t object_bytes)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i + 1 < layout->n_levels; i++) {
        for (uint32_t d = 0; d < layout->meta->grid.rank; d++) {
            n *= layout->level[i].ratio[d];
        }
    }
    return zd_div_up(object_bytes, zd_max_u64(n, 1));
}

static void count_part(struct zd_slice_read *read, const struct zd_part *part)
{
    struct zd_slice_estimate *price = read->price;
    const struct zd_layout *layout = read->node->layout;
    const uint64_t number = zd_seen_objects_number(&price->seen, part->chunk);
    uint64_t n_bytes = price->size[number];
    switch (state_of(read, part, &price->seen.object[number], &n_bytes)) {
    case ABSENT:
        price->n_absent++;
        return;
    case CACHED:
        price->n_cached++;
        return;
    case UNKNOWN:
        n_bytes = share_of(layout, price->size[number]);
        price->is_exact = false;
        break;
    case STORED:
        break;
    }
    price->n_read++;
    price->read_bytes += n_bytes;
    price->decode_bytes += zd_layout_chunk_bytes(layout, layout->n_levels - 1, part->chunk);
}

static enum zd_next step_parts(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_part part;
    for (uint32_t i = 0; i < PARTS_AT_ONCE; i++) {
        if (!zd_plan_next(&read->price->plan, &part)) {
            read->price->is_counted = true;
            req->step = step_answer;
            return ZD_NEXT;
        }
        count_part(read, &part);
    }
    return zd_request_want_turn(req, step_parts);
}

/* ---- the objects ---- */

/* The number of the object that a part of the plan over objects is of. A list may come to an object
 * several times, so that it is not that of the part. */
static uint64_t number_of(struct zd_slice_read *read, const struct zd_part *part)
{
    const struct zd_grid *leaf = &zd_layout_leaf(read->node->layout)->grid;
    uint64_t index[ZD_RANK_MAX];
    for (uint32_t d = 0; d < leaf->rank; d++) {
        const struct zd_axis *axis = &read->selection.axis[d];
        const uint64_t element = zd_axis_at(axis, part->to[axis->is_joint ? 0 : d]);
        index[d] = zd_grid_cell_at(leaf, d, element).index;
    }
    return zd_seen_objects_number(&read->price->seen, index);
}

/* The plan of the price goes through the same parts as that of the survey. */
static void see(struct zd_survey *survey, uint64_t i, struct zd_generation generation)
{
    struct zd_slice_read *read = ZD_CONTAINER(survey, struct zd_slice_read, survey);
    struct zd_slice_estimate *price = read->price;
    struct zd_part part;
    if (zd_plan_next(&price->plan, &part)) {
        const uint64_t number = number_of(read, &part);
        (void)zd_seen_objects_see(&price->seen, number, generation);
        price->size[number] = survey->want[i - survey->number].stat.size;
    }
}

static enum zd_next step_objects(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&read->survey, &next, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (!read->survey.is_done) {
        return next;
    }
    zd_plan_init(&read->price->plan, &zd_layout_leaf(read->node->layout)->grid, &read->selection);
    req->step = step_parts;
    return ZD_NEXT;
}

static enum zd_status begin(struct zd_slice_read *read, struct zd_error *err)
{
    struct zd_slice_estimate *price = read->price;
    struct zd_layout *layout = read->node->layout;
    ZD_TRY(zd_seen_objects_init(&price->seen, layout, &read->selection, err));
    price->size = zd_alloc_zero(zd_max_u64(price->seen.n, 1), sizeof *price->size);
    if (price->size == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the plan");
    }
    ZD_TRY(zd_survey_init(&read->survey, &read->task.req->machine, read->node,
        &layout->level[0].grid, &read->selection, err));
    read->survey.see = see;
    zd_plan_init(&price->plan, &layout->level[0].grid, &read->selection);
    return ZD_OK;
}

static enum zd_next step_begin(struct zd_request *req)
{
    struct zd_error err = {0};
    if (begin(zd_slice_read_of(req), &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    req->step = step_objects;
    return ZD_NEXT;
}

/* Chunks that a list comes to several times are read once, and counted each time. */
static bool has_list(const struct zd_selection *selection)
{
    for (uint32_t d = 0; d < selection->rank; d++) {
        if (selection->axis[d].list != NULL) {
            return true;
        }
    }
    return false;
}

enum zd_next zd_slice_estimate_want(
    struct zd_slice_read *read, const struct zd_slice_estimate_terms *terms)
{
    struct zd_request *req = read->task.req;
    const struct zd_slice_view view = zd_slice_read_view(read);
    const uint64_t chunks_max = req->server->config->settings.limits_slice_chunks;
    const uint64_t n = zd_slice_view_chunks(&view);
    read->price = zd_alloc_zero(1, sizeof *read->price);
    if (read->price == NULL) {
        return zd_respond_no_memory(req, "the plan");
    }
    read->price_free = free_price;
    read->price->terms = *terms;
    read->price->is_exact = !has_list(&read->selection);
    if (terms->reads_nothing || n > chunks_max) {
        read->price->is_counted = terms->reads_nothing;
        req->step = step_answer;
        return ZD_NEXT;
    }
    /* Objects are no more than chunks. */
    const uint64_t each = sizeof(struct zd_seen_object) + sizeof *read->price->size;
    return zd_admit_want(req, n * each, step_begin);
}
