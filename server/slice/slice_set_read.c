/* Several slices in one body: that they are of one moment, and their turns. */
#include <string.h>

#include "core/base/num.h"
#include "server/request/permission.h"
#include "server/request/respond.h"
#include "server/slice/slice_set.h"

static zd_step step_round;
static zd_step step_check;

static struct zd_slice *slice_at(const struct zd_slice_set *set, uint32_t i)
{
    return set->part[i].slice;
}

static const struct zd_slice_params *ask_of(const struct zd_slice_set *set)
{
    return &slice_at(set, 0)->read.ask;
}

static bool has_tag(const struct zd_slice_set *set)
{
    return strcmp(set->req->method, "POST") != 0;
}

/* ---- one moment ---- */

/* Goes through the objects of the current part. */
static enum zd_next survey_part(struct zd_slice_set *set)
{
    struct zd_slice_read *read = &zd_slice_set_take(set, set->current)->read;
    struct zd_error err = {0};
    zd_survey_done(&set->survey);
    if (zd_survey_init(&set->survey, &set->req->machine, read->node,
            &read->node->layout->level[0].grid, &read->selection, &err) != ZD_OK) {
        return zd_respond_error(set->req, NULL, &err);
    }
    set->req->step = step_round;
    return ZD_NEXT;
}

enum zd_next zd_slice_set_survey(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    set->current = 0;
    set->is_second = false;
    set->has_changed = false;
    return survey_part(set);
}

static enum zd_next judge(struct zd_slice_set *set)
{
    struct zd_representation answer;
    struct zd_error err = {0};
    struct zd_request *req = set->req;
    struct zd_slice_read *read = &zd_slice_set_take(set, 0)->read;
    if (set->has_changed) {
        return zd_slice_set_again(req);
    }
    if (zd_slice_set_describe(read, &answer, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (req->is_head || zd_respond_condition(req, &answer) != ZD_OK) {
        return zd_respond(req, &answer); /* without its body: 200, 304 or 412 */
    }
    return set->kind->accept(req, &answer);
}

static enum zd_next survey_next(struct zd_slice_set *set)
{
    set->current++;
    if (set->current < set->n_parts) {
        return survey_part(set);
    }
    set->current = 0;
    if (set->is_second) {
        return judge(set);
    }
    set->is_second = true;
    set->req->step = step_check;
    return ZD_NEXT;
}

static enum zd_next step_round(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    set->survey.is_fresh = set->is_second;
    set->survey.seen = &slice_at(set, set->current)->read.seen;
    if (zd_survey_round(&set->survey, &next, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    set->has_changed = set->has_changed || set->survey.has_changed;
    return set->survey.is_done ? survey_next(set) : next;
}

/* Whether a changed array can be planned again by the same parameters. */
static bool is_like(const struct zd_meta *a, const struct zd_meta *b)
{
    bool is_like =
        !zd_meta_is_refused(b) && b->type == ZD_NODE_ARRAY && a->grid.rank == b->grid.rank;
    for (uint32_t d = 0; is_like && d < a->grid.rank; d++) {
        const char *before = a->dimension_name == NULL ? NULL : a->dimension_name[d];
        const char *now = b->dimension_name == NULL ? NULL : b->dimension_name[d];
        is_like = (before == NULL) == (now == NULL) && (before == NULL || strcmp(before, now) == 0);
    }
    return is_like;
}

static enum zd_next respond_changed(struct zd_slice_set *set)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_PRECONDITION,
        "the arrays changed during each of %u attempts to read them: retry later",
        ZD_ANSWER_RESTARTS_MAX + 1);
    return zd_respond_error(set->req, "changed", &err);
}

static enum zd_next step_checked(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    ZD_AUTO(zd_node) node = ZD_TAKE(set->want.node);
    const struct zd_wait *wait = &set->want.wait;
    const struct zd_node *before = slice_at(set, set->current)->read.node;
    const bool is_named = set->current < set->n_named; /* coordinates are looked for again */
    if (wait->status == ZD_NOT_FOUND && is_named) {
        return zd_slice_set_refuse_missing(set, set->current);
    }
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return zd_respond_error(req, NULL, &wait->err);
    }
    if (node == NULL || node->tag != before->tag) {
        set->has_other_nodes = true;
        if (ask_of(set)->has_level || ask_of(set)->has_max_size ||
            (is_named && (!is_like(before->meta, node->meta) || node->layout == NULL))) {
            return respond_changed(set);
        }
        if (is_named) {
            zd_slice_set_put(set, set->current, node);
        }
    }
    set->current++;
    req->step = step_check;
    return ZD_NEXT;
}

/* The nodes, now. */
static enum zd_next step_check(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    if (set->current == set->n_parts) {
        set->current = 0;
        return set->has_other_nodes ? zd_slice_set_again(req) : survey_part(set);
    }
    set->want = (struct zd_node_want){.wait = zd_machine_wait(&req->machine)};
    req->step = step_checked;
    return zd_catalog_want_fresh(req->dataset, set->part[set->current].path, &set->want);
}

enum zd_next zd_slice_set_again(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    if (set->n_restarts == ZD_ANSWER_RESTARTS_MAX) {
        return respond_changed(set);
    }
    set->n_restarts++;
    set->n_chunks = 0;
    set->n_absent = 0;
    set->is_read = false;
    zd_dataset_distrust(req->dataset);
    zd_survey_done(&set->survey);
    for (uint32_t i = 0; i < set->n_parts; i++) {
        zd_seen_objects_forget(&slice_at(set, i)->read.seen);
        zd_slice_rest(slice_at(set, i));
    }
    if (!set->has_other_nodes) {
        req->step = zd_slice_set_survey;
        return ZD_NEXT;
    }
    set->has_other_nodes = false;
    return zd_slice_set_plan(set);
}

bool zd_slice_set_leave_times(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    if (!slice_at(set, set->current)->result.is_beyond || zd_stream_is_open(&req->stream)) {
        return false;
    }
    for (uint32_t i = 0; i < set->n_parts; i++) {
        slice_at(set, i)->read.ask.leaves_times = true;
    }
    set->has_other_nodes = true; /* all is planned again */
    return true;
}

/* ---- the answer ---- */

static uint64_t hash_of(const struct zd_slice_set *set)
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, zd_permission_tag(set->req, set->node));
    for (uint32_t i = 0; i < set->n_parts; i++) {
        struct zd_slice_view view = zd_slice_read_view(&slice_at(set, i)->read);
        view.result = slice_at(set, i)->result.hash;
        zd_hash_add(&hash, zd_span_of(set->part[i].name));
        zd_hash_add_u64(&hash, zd_slice_view_hash(&view));
    }
    return hash.value;
}

/* Absent chunks are known if the chunks are objects. */
static bool count_seen(const struct zd_slice_set *set, uint64_t *ret_n, uint64_t *ret_n_absent)
{
    uint64_t n = 0;
    uint64_t n_absent = 0;
    for (uint32_t i = 0; i < set->n_parts; i++) {
        const struct zd_slice_read *read = &slice_at(set, i)->read;
        if (read->node->layout->n_levels > 1) {
            return false;
        }
        n += read->seen.n;
        n_absent += zd_seen_objects_absent(&read->seen);
    }
    *ret_n = n;
    *ret_n_absent = n_absent;
    return true;
}

static void add_chunks(struct zd_slice_set *set, struct zd_headers *headers)
{
    uint64_t n = set->n_chunks;
    uint64_t n_absent = set->n_absent;
    const bool is_counted = set->is_read && !set->shared.is_large;
    if (is_counted || count_seen(set, &n, &n_absent)) {
        zd_text_addf(zd_headers_add(headers, "Zarr-Chunks"), "%llu/%llu", (unsigned long long)n,
            (unsigned long long)n_absent);
    }
}

enum zd_status zd_slice_set_describe(
    struct zd_slice_read *read, struct zd_representation *ret_answer, struct zd_error *err)
{
    struct zd_slice_set *set = zd_slice_set_of(read->task.req);
    struct zd_headers *headers = &slice_at(set, 0)->read.headers;
    const struct zd_slice_params *ask = ask_of(set);
    const struct zd_slice_form form = {
        .format = set->format,
        .style = ask->style,
        .pretty = zd_request_is_pretty(set->req),
    };
    *ret_answer = (struct zd_representation){
        .media_type = set->format->media_type,
        .length_is_known = set->length_is_known,
        .length = set->length,
    };
    if (has_tag(set)) {
        zd_slice_view_form_tag(hash_of(set), &form, ret_answer->etag);
    }
    if (set->is_read || set->req->is_head) {
        add_chunks(set, headers);
    }
    return zd_headers_give(headers, ret_answer, err);
}

uint64_t zd_slice_set_held_bytes(const struct zd_request *req)
{
    const struct zd_slice_set *set = zd_slice_set_of(req);
    uint64_t most = 0;
    for (uint32_t i = 0; i < set->n_parts; i++) {
        most = zd_max_u64(most, zd_slice_held_bytes(slice_at(set, i)));
    }
    return most + set->n_parts * sizeof(struct zd_slice);
}

enum zd_status zd_slice_set_open(struct zd_request *req, struct zd_error *err)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    struct zd_slice *first = zd_slice_set_take(set, 0);
    if (set->state != NULL) {
        set->format->close(ZD_TAKE(set->state));
    }
    first->answer.state = NULL;
    ZD_TRY(zd_format_open(set->format, &first->answer, err));
    set->state = first->answer.state;
    for (uint32_t i = 1; i < set->n_parts; i++) {
        slice_at(set, i)->answer.state = set->state;
    }
    set->is_read = true;
    return ZD_OK;
}

bool zd_slice_set_next(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    struct zd_slice *slice = slice_at(set, set->current);
    set->n_chunks += slice->read.fetch.n_parts;
    set->n_absent += slice->read.fetch.n_absent;
    zd_slice_rest(slice);
    if (slice->is_last) {
        return false;
    }
    struct zd_slice *next = zd_slice_set_take(set, set->current + 1);
    if (!set->shared.is_large) {
        zd_text_done(&next->text);
        next->text = slice->text;
        zd_text_init(&slice->text, 0);
    }
    return true;
}
