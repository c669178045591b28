/* The range that all tiles of an array share. */
#include "server/picture/picture_range.h"

#include "core/base/num.h"
#include "server/request/admit.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define LOT 512 /* elements that are widened at once */

static struct zd_picture *picture_of(const struct zd_request *req)
{
    return req->state;
}

/* ---- the whole array in the place of the tile ---- */

static void select_whole(struct zd_slice_read *read)
{
    const struct zd_meta *meta = read->node->meta;
    const uint32_t rank = meta->grid.rank;
    uint64_t shape[ZD_RANK_MAX];
    zd_meta_shape(meta, shape);
    zd_selection_whole(rank, read->ask.is_of_stored ? meta->grid.shape : shape, &read->selection);
    for (uint32_t d = 0; !read->ask.is_of_stored && d < rank; d++) {
        read->selection.axis[d].start += meta->view.origin[d];
    }
    read->asked = read->selection;
}

static void take_place(struct zd_picture *picture, const struct zd_slice_read_kind *kind)
{
    struct zd_picture_whole *whole = &picture->whole;
    struct zd_slice_read *read = &picture->read;
    whole->kind = read->kind;
    whole->tile_node = read->node;
    whole->asked = read->asked;
    whole->selection = read->selection;
    read->kind = kind;
    read->task.work = kind->work;
    read->node = zd_node_ref(whole->node);
    select_whole(read);
}

static void give_place_back(struct zd_picture *picture)
{
    struct zd_picture_whole *whole = &picture->whole;
    struct zd_slice_read *read = &picture->read;
    zd_survey_done(&read->survey);
    zd_fetch_done(&read->fetch);
    read->fetch = (struct zd_fetch){0};
    zd_seen_objects_done(&read->seen);
    zd_buf_unref(ZD_TAKE(picture->room));
    zd_node_unref(read->node);
    read->node = ZD_TAKE(whole->tile_node);
    read->kind = whole->kind;
    read->task.work = whole->kind->work;
    read->asked = whole->asked;
    read->selection = whole->selection;
    read->is_tagless = false;
    read->n_restarts = 0;
}

/* ---- reading it ---- */

static void add_numbers(
    struct zd_picture_whole *whole, const struct zd_meta *meta, const uint8_t *elements, uint64_t n)
{
    const struct zd_picture_numbers *numbers = &whole->numbers;
    uint8_t room[LOT * ZD_CF_DECODE_ELEMENT_MAX];
    double number[LOT];
    for (uint64_t i = 0; i < n; i += LOT) {
        const uint64_t n_lot = zd_min_u64(n - i, LOT);
        const uint8_t *lot =
            zd_picture_numbers_of(numbers, elements + i * meta->dtype.bytes, n_lot, room);
        zd_raster_numbers(&numbers->dtype, lot, n_lot, number);
        zd_shade_range_add(&whole->range, number, n_lot);
    }
}

static void work(struct zd_task *task)
{
    struct zd_picture *picture = ZD_CONTAINER(task, struct zd_picture, read.task);
    const struct zd_meta *meta = picture->read.node->meta;
    uint32_t first;
    uint32_t end;
    task->job.has_more = zd_fetch_take_piece(&picture->read.fetch, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        uint64_t n;
        const uint8_t *elements =
            zd_fetch_elements(&picture->read.fetch, i, picture->room->data, &n);
        const bool is_fill = elements == NULL;
        add_numbers(&picture->whole, meta, is_fill ? meta->fill : elements, is_fill ? 1 : n);
    }
}

static enum zd_next finish(struct zd_request *req, const struct zd_value_ranges_found *found)
{
    struct zd_picture *picture = picture_of(req);
    give_place_back(picture);
    zd_picture_set_range(picture, found->min, found->max);
    req->step = picture->whole.next;
    zd_value_ranges_tell(req->server, &picture->whole.want, found);
    return ZD_NEXT;
}

static enum zd_next step_found(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    const struct zd_shade_range *range = &picture->whole.range;
    const bool is_any = range->min <= range->max;
    struct zd_value_ranges_found found = {
        .min = is_any ? range->min : 0,
        .max = is_any ? range->max : 1,
        .has_hash = !picture->read.is_tagless,
    };
    if (found.has_hash) {
        struct zd_hash hash = {0};
        zd_seen_objects_hash(&picture->read.seen, &hash);
        found.hash = hash.value;
    }
    return finish(req, &found);
}

static enum zd_next step_read(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    struct zd_error err = {0};
    picture->whole.range = zd_shade_no_range();
    return zd_picture_begin_fetch(picture, &err) == ZD_OK ? zd_slice_read_chunks(req)
                                                          : zd_respond_error(req, NULL, &err);
}

/* ---- what was found before ---- */

/* The array is as it was when its range was found. */
static enum zd_next judge_survey(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    struct zd_hash hash = {0};
    zd_seen_objects_hash(&picture->read.seen, &hash);
    if (hash.value == picture->whole.want.found.hash) {
        return finish(req, &picture->whole.want.found);
    }
    zd_seen_objects_forget(&picture->read.seen);
    req->step = step_read;
    return ZD_NEXT;
}

static enum zd_next step_survey(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&read->survey, &next, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return read->survey.is_done ? judge_survey(req) : next;
}

static enum zd_next begin_survey(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    struct zd_error err = {0};
    if (zd_survey_init(&read->survey, &req->machine, read->node, &read->node->layout->level[0].grid,
            &read->selection, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    read->survey.seen = &read->seen;
    req->step = step_survey;
    return ZD_NEXT;
}

/* ---- memory ---- */

static enum zd_status take(
    struct zd_slice_read *read, struct zd_buf **ret_room, struct zd_error *err)
{
    ZD_TRY(zd_seen_objects_init(&read->seen, read->node->layout, &read->selection, err));
    *ret_room = zd_buf_new(zd_layout_leaf(read->node->layout)->chunk_bytes);
    return *ret_room == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for a chunk's elements")
                             : ZD_OK;
}

static enum zd_next step_take(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    struct zd_error err = {0};
    if (take(&picture->read, &picture->room, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (picture->whole.want.found.has_hash) {
        return begin_survey(req);
    }
    req->step = step_read;
    return ZD_NEXT;
}

static enum zd_status check_limit(const struct zd_picture *picture, struct zd_error *err)
{
    const struct zd_slice_view view = zd_slice_read_view(&picture->read);
    const uint64_t most = view.node->dataset->server->config->settings.limits_stats_bytes;
    const uint64_t n = zd_slice_view_bytes(&view);
    return n <= most ? ZD_OK
                     : zd_fail_limit(err, most, n,
                           "tiles share the value range of the whole array; it has %llu bytes, but "
                           "limits.stats_bytes is %llu: give vmin and vmax",
                           (unsigned long long)n, (unsigned long long)most);
}

static const struct zd_slice_read_kind kind = {
    .work = work,
    .release = zd_picture_release,
    .cost_ns = zd_picture_cost_ns,
    .begin = step_read,
    .worked = step_found,
};

/* The request finds the range. What it takes is admitted together with what the tile takes. */
static enum zd_next begin(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    struct zd_error err = {0};
    const uint64_t tile_bytes = zd_picture_held_bytes(picture);
    take_place(picture, &kind);
    if (check_limit(picture, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    if (zd_picture_numbers_init(&picture->whole.numbers, picture->read.node->meta,
            picture->read.ask.decodes, &err) != ZD_OK) {
        return zd_respond_error(req, "invalid_metadata", &err);
    }
    const uint64_t bytes = zd_max_u64(tile_bytes, zd_picture_read_bytes(picture));
    return zd_admit_want(req, bytes, step_take);
}

static enum zd_next step_want(struct zd_request *req)
{
    struct zd_picture *picture = picture_of(req);
    struct zd_picture_whole *whole = &picture->whole;
    whole->want.wait.done = zd_machine_wake;
    whole->want.wait.context = &req->machine;
    const struct zd_value_ranges_of of = {
        .is_of_stored = picture->read.ask.is_of_stored, .is_decoded = picture->read.ask.decodes};
    if (zd_value_ranges_want(whole->node, of, &whole->want) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (whole->want.wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &whole->want.wait.err);
    }
    if (whole->want.leads) {
        return begin(req);
    }
    zd_value_ranges_leave(req->server, &whole->want);
    zd_picture_set_range(picture, whole->want.found.min, whole->want.found.max);
    req->step = whole->next;
    return ZD_NEXT;
}

enum zd_next zd_picture_range_want(struct zd_picture *picture, zd_step *next)
{
    struct zd_request *req = picture->read.task.req;
    picture->whole.next = next;
    req->step = picture->whole.node == NULL ? next : step_want;
    return ZD_NEXT;
}
