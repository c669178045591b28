/* Several slices in one body: which arrays, and what is planned of each. */
#include "server/slice/slice_set.h"

#include <string.h>

#include "core/store/contract/path.h"
#include "server/request/permission.h"
#include "server/request/respond.h"

#define ARRAYS_MAX 256 /* of one answer, without their coordinates */
#define PARTS_MAX  1024

static zd_step step_find;
static zd_step step_plan;
static zd_step step_coordinate;

struct zd_slice_set *zd_slice_set_of(const struct zd_request *req)
{
    struct zd_slice *slice = req->state;
    return ZD_CONTAINER(slice->shared, struct zd_slice_set, shared);
}

struct zd_slice *zd_slice_set_take(struct zd_slice_set *set, uint32_t i)
{
    struct zd_slice *slice = set->part[i].slice;
    set->current = i;
    set->req->state = slice;
    zd_request_set_node(set->req, slice->read.node);
    return slice;
}

/* ---- the set ---- */

/* No task uses it any more. */
static void release(struct zd_slice_shared *shared)
{
    struct zd_slice_set *set = ZD_CONTAINER(shared, struct zd_slice_set, shared);
    for (uint32_t i = 0; i < set->n_parts; i++) {
        zd_free(set->part[i].path);
    }
    zd_slice_set_close(set);
    zd_free(set->part);
    zd_node_unref(set->node);
    zd_free(set);
}

static void drop(struct zd_slice_set *set)
{
    if (--set->shared.n_held == 0) {
        release(&set->shared);
    }
}

/* The request has ended. */
static void leave(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    zd_catalog_release(&set->want);
    zd_survey_done(&set->survey);
    zd_suggest_nodes_release(&set->near);
    for (uint32_t i = 0; i < set->n_parts; i++) {
        if (set->part[i].slice != NULL) {
            zd_slice_read_end(&set->part[i].slice->read);
        }
    }
    drop(set);
}

static void share(struct zd_slice_set *set, struct zd_slice *slice)
{
    slice->shared = &set->shared;
    slice->read.kind = set->kind;
    set->shared.n_held++;
    set->req->state_free = leave;
}

/* The first slice becomes the state of a set. NULL without memory. */
static struct zd_slice_set *new_set(struct zd_slice *slice, const struct zd_slice_read_kind *kind)
{
    struct zd_slice_set *set = zd_alloc_zero(1, sizeof *set);
    if (set == NULL) {
        return NULL;
    }
    set->shared.n_held = 1;
    set->shared.release = release;
    set->req = slice->read.task.req;
    set->node = zd_node_ref(set->req->node);
    set->kind = kind;
    return set;
}

/* A part without a slice. @return false: no memory */
static bool add_part(struct zd_slice_set *set, const char *path, size_t name_at)
{
    struct zd_slice_set_part *parts = zd_realloc(set->part, (set->n_parts + 1) * sizeof *set->part);
    if (parts == NULL) {
        return false;
    }
    set->part = parts;
    char *own = zd_strdup(path);
    if (own == NULL) {
        return false;
    }
    set->part[set->n_parts++] = (struct zd_slice_set_part){.path = own, .name = own + name_at};
    return true;
}

static bool has_path(const struct zd_slice_set *set, const char *path)
{
    for (uint32_t i = 0; i < set->n_parts; i++) {
        if (strcmp(set->part[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the names ---- */

static enum zd_next refuse(struct zd_slice_set *set, const char *code, const struct zd_error *err)
{
    return zd_respond_error(set->req, code, err);
}

static const char *rival_of(const struct zd_slice_params *ask)
{
    return ask->has_slice    ? "slice"
           : ask->has_level  ? "level"
           : ask->has_shape  ? "expected_shape"
           : ask->is_table   ? "layout=table"
           : ask->has_header ? "header"
           : ask->wants_plan ? "plan"
                             : NULL;
}

/* Where the names of arrays begin in their paths. */
static size_t names_at(const struct zd_slice_set *set)
{
    const size_t len = strlen(set->node->path);
    return len == 0 ? 0 : len + 1;
}

static enum zd_status bad_name(const char *name, const char *why, struct zd_error *err)
{
    const enum zd_status status = zd_fail_name(err, "arrays", "arrays: '%.100s' %s", name, why);
    zd_fact_expected(err, "names of arrays below the group, without repetition");
    zd_fact_found(err, "%.100s", name);
    return status;
}

static enum zd_status add_name(struct zd_slice_set *set, const char *name, struct zd_error *err)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (!zd_key_is_valid(name)) {
        return bad_name(name, "is not a valid path", err);
    }
    if (zd_multiscale_add_path(set->node->path, name, &path) != ZD_OK) {
        return bad_name(name, "is too long", err);
    }
    if (has_path(set, path.at)) {
        return bad_name(name, "is named twice", err);
    }
    return add_part(set, path.at, names_at(set))
               ? ZD_OK
               : zd_fail(err, ZD_NO_MEMORY, "no memory for the names of the arrays");
}

static enum zd_status add_names(
    struct zd_slice_set *set, const struct zd_slice_params *ask, struct zd_error *err)
{
    const char *name = ask->arrays.at;
    const char *rival = rival_of(ask);
    if (rival != NULL) {
        return zd_fail_name(err, rival, "arrays and %s cannot be combined", rival);
    }
    if (ask->n_arrays > ARRAYS_MAX) {
        return zd_fail_limit(err, ARRAYS_MAX, ask->n_arrays,
            "%u arrays are requested; at most %u are allowed", (unsigned)ask->n_arrays,
            (unsigned)ARRAYS_MAX);
    }
    for (uint32_t i = 0; i < ask->n_arrays; i++) {
        ZD_TRY(add_name(set, name, err));
        name += strlen(name) + 1;
    }
    return ZD_OK;
}

enum zd_next zd_slice_set_begin(struct zd_slice *slice, const struct zd_slice_read_kind *kind)
{
    struct zd_request *req = slice->read.task.req;
    const struct zd_slice_params *ask = &slice->read.ask;
    struct zd_slice_set *set = new_set(slice, kind);
    struct zd_error err = {0};
    if (set == NULL) {
        return zd_respond_no_memory(req, "several arrays");
    }
    const enum zd_status status = add_names(set, ask, &err);
    if (status != ZD_OK) {
        drop(set);
        return zd_respond_error(req, status == ZD_INVALID ? "bad_parameter" : NULL, &err);
    }
    set->n_named = set->n_parts;
    set->has_coordinates = ask->coords;
    set->part[0].slice = slice;
    share(set, slice);
    set->current = 0;
    req->step = step_find;
    return ZD_NEXT;
}

/* ---- the nodes ---- */

static enum zd_next step_nearest(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    const struct zd_slice_set_part *part = &set->part[set->current];
    struct zd_error err = {0};
    err.status = zd_fail_name(&err, "arrays", "there is no array '%.256s'", part->path);
    return zd_respond_suggestions(req, "node_not_found", &err, &set->near.nearest);
}

enum zd_next zd_slice_set_refuse_missing(struct zd_slice_set *set, uint32_t i)
{
    set->current = i;
    set->near.wait = zd_machine_wait(&set->req->machine);
    set->req->step = step_nearest;
    if (!zd_permission_reaches(set->req, "")) {
        return ZD_NEXT;
    }
    return zd_suggest_nodes_want(&set->near, set->req->dataset, set->part[i].path);
}

/* It must be an array that can be read. */
static enum zd_next check_node(
    struct zd_slice_set *set, const char *name, const struct zd_node *node)
{
    struct zd_error err = {0};
    if (zd_meta_is_refused(node->meta)) {
        err.status =
            zd_fail(&err, ZD_UNSUPPORTED, "the array '%.200s' cannot be interpreted", name);
        return zd_respond_faults(set->req, &node->meta->faults, &err);
    }
    if (node->meta->type != ZD_NODE_ARRAY) {
        err.status = zd_fail_name(&err, "arrays", "'%.200s' is a group, not an array", name);
        return refuse(set, "not_an_array", &err);
    }
    return node->fault == NULL ? ZD_NEXT : refuse(set, "unsupported_grid", node->fault);
}

/* A slice of a node with the parameters of the request; the state. NULL: the request is answered */
static struct zd_slice *new_slice(struct zd_slice_set *set, struct zd_node *node)
{
    struct zd_request *req = set->req;
    void *before = req->state;
    zd_request_set_node(req, node);
    struct zd_slice *slice = zd_slice_new(req, set->kind);
    if (slice == NULL) {
        req->state = before;
        zd_respond_no_memory(req, "several arrays");
        return NULL;
    }
    share(set, slice);
    return slice;
}

static enum zd_next read_params(struct zd_slice_set *set, struct zd_slice_params *ask)
{
    struct zd_request *req = set->req;
    struct zd_error err = {0};
    const char *code;
    const enum zd_status status = req->json == NULL
                                      ? zd_slice_params_query(ask, &req->params, &code, &err)
                                      : zd_slice_params_body(ask, req->json, &code, &err);
    zd_text_done(&ask->arrays);
    return status == ZD_OK ? ZD_NEXT : refuse(set, code, &err);
}

static enum zd_next check_dims(struct zd_slice_set *set)
{
    struct zd_slice_params ask;
    struct zd_error err = {0};
    zd_slice_params_init(&ask, set->req->server);
    enum zd_next next = read_params(set, &ask);
    if (next == ZD_NEXT && zd_slice_set_check_dims(set, &ask, &err) != ZD_OK) {
        next = zd_slice_set_refuse_dims(set, &err);
    }
    zd_slice_params_done(&ask);
    return next;
}

void zd_slice_set_put(struct zd_slice_set *set, uint32_t i, struct zd_node *node)
{
    struct zd_slice_read *read = &set->part[i].slice->read;
    zd_node_unref(read->node);
    read->node = zd_node_ref(node);
}

static enum zd_next take_named(struct zd_slice_set *set, struct zd_node *node)
{
    struct zd_slice_set_part *part = &set->part[set->current];
    if (check_node(set, part->name, node) != ZD_NEXT) {
        return ZD_DONE;
    }
    if (part->slice != NULL) {
        zd_slice_set_put(set, set->current, node);
    } else {
        part->slice = new_slice(set, node);
        if (part->slice == NULL || read_params(set, &part->slice->read.ask) != ZD_NEXT) {
            return ZD_DONE;
        }
    }
    zd_slice_set_keep_dims(set, &part->slice->read.ask, node->meta);
    return ZD_NEXT;
}

static enum zd_next step_found(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    ZD_AUTO(zd_node) node = ZD_TAKE(set->want.node);
    const struct zd_wait *wait = &set->want.wait;
    if (wait->status == ZD_NOT_FOUND) {
        return zd_slice_set_refuse_missing(set, set->current);
    }
    if (wait->status != ZD_OK) {
        return refuse(set, NULL, &wait->err);
    }
    if (take_named(set, node) != ZD_NEXT) {
        return ZD_DONE;
    }
    set->current++;
    if (set->current < set->n_named) {
        req->step = step_find;
        return ZD_NEXT;
    }
    set->current = 0;
    req->step = step_plan;
    return check_dims(set);
}

static enum zd_next step_find(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    const char *path = set->part[set->current].path;
    if (!zd_permission_reads(req, path)) {
        return zd_permission_refuse_reading(req, path);
    }
    set->want = (struct zd_node_want){.wait = zd_machine_wait(&req->machine)};
    req->step = step_found;
    return zd_catalog_want(req->dataset, path, &set->want);
}

/* ---- what is planned of each ---- */

static enum zd_next step_plan(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    return zd_slice_read_want_level(&zd_slice_set_take(set, set->current)->read);
}

enum zd_next zd_slice_set_plan(struct zd_slice_set *set)
{
    /* The state may be one of those that go. */
    struct zd_headers *headers = &zd_slice_set_take(set, 0)->read.headers;
    zd_headers_done(headers);
    zd_headers_init(headers);
    while (set->n_parts > set->n_named) {
        struct zd_slice_set_part *part = &set->part[--set->n_parts];
        zd_slice_read_end(&part->slice->read);
        zd_free(part->path);
    }
    set->req->step = step_plan;
    return ZD_NEXT;
}

static void begin_dimension(struct zd_slice_set *set, uint32_t part, uint32_t dim)
{
    set->current = part;
    set->dim = dim;
    set->len = zd_path_parent_len(set->part[part].path);
    set->is_moving = false;
}

enum zd_next zd_slice_set_planned(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    struct zd_slice *slice = req->state;
    uint32_t i = 0;
    while (set->part[i].slice != slice) {
        i++;
    }
    zd_slice_prepare_answer(slice, set->part[i].name);
    if (i + 1 < set->n_named) {
        set->current = i + 1;
        req->step = step_plan;
        return ZD_NEXT;
    }
    if (i + 1 == set->n_named) {
        begin_dimension(set, 0, 0);
    }
    req->step = set->has_coordinates ? step_coordinate : zd_slice_set_prepare;
    return ZD_NEXT;
}

/* ---- coordinates ---- */

/* Whether a node is the coordinate of the dimension that is looked for. */
static bool is_coordinate(const struct zd_slice_set *set, const struct zd_node *node)
{
    const struct zd_slice *slice = set->part[set->current].slice;
    uint64_t shape[ZD_RANK_MAX];
    uint64_t length[ZD_RANK_MAX];
    zd_meta_shape(slice->read.node->meta, shape);
    zd_meta_shape(node->meta, length);
    return length[0] == shape[slice->answer.dim[set->dim]];
}

static bool may_be_coordinate(const struct zd_node *node)
{
    return node->layout != NULL && node->meta->grid.rank == 1;
}

/* The elements of a coordinate that belong to those of a dimension of an answer; of a block its
 * first. */
static void select_coordinate(
    struct zd_slice *coordinate, const struct zd_slice *array, uint32_t dim)
{
    const uint8_t d = array->answer.dim[dim];
    struct zd_slice_read *read = &coordinate->read;
    read->asked = (struct zd_selection){.rank = 1, .axis = {array->read.asked.axis[d]}};
    read->selection = read->asked;
    if (!array->read.ask.is_of_stored && read->asked.axis[0].count > 0) {
        read->selection.axis[0].start += read->node->meta->view.origin[0];
    }
    read->ask.style = array->read.ask.style;
    read->ask.decodes = array->read.ask.decodes;
    read->ask.leaves_times = array->read.ask.leaves_times;
    coordinate->is_selected = true;
    if (array->answer.block != NULL && array->answer.block[dim] > 1) {
        zd_text_addf(&read->ask.coarsen, "0:%llu", (unsigned long long)array->answer.block[dim]);
        zd_text_add_char(&read->ask.coarsen, '\0');
        read->ask.has_coarsen = true;
        read->ask.has_agg = true;
        read->ask.agg = ZD_SLICE_AGG_NEAREST;
    }
}

/* A new part, which is planned next. */
static enum zd_next take_coordinate(
    struct zd_slice_set *set, const char *path, struct zd_node *node)
{
    struct zd_slice *array = set->part[set->current].slice;
    const size_t len = names_at(set);
    const bool is_below = !set->is_of_one && strncmp(path, set->node->path, len) == 0;
    const char *slash = strrchr(path, '/');
    const size_t name_at = is_below ? len : slash == NULL ? 0 : (size_t)(slash + 1 - path);
    struct zd_slice *slice = new_slice(set, node);
    if (slice == NULL) {
        return ZD_DONE;
    }
    if (!add_part(set, path, name_at)) {
        set->req->state = array;
        zd_slice_read_end(&slice->read);
        return zd_respond_no_memory(set->req, "coordinates");
    }
    set->part[set->n_parts - 1].slice = slice;
    select_coordinate(slice, array, set->dim);
    set->is_moving = true;
    set->req->step = set->kind->plan;
    return ZD_NEXT;
}

/* The path of what may be the coordinate, in the group that is looked in. @return false: there is
 * no such path */
static bool add_candidate(const struct zd_slice_set *set, struct zd_text *path)
{
    const struct zd_slice_set_part *part = &set->part[set->current];
    const char *name = zd_format_answer_dimension(&part->slice->answer, set->dim);
    if (name == NULL || !zd_key_segment_is_valid(zd_span_of(name))) {
        return false;
    }
    zd_text_add_bytes(path, part->path, set->len);
    zd_text_add(path, set->len == 0 ? "" : "/");
    return zd_text_add(path, name) == ZD_OK;
}

static enum zd_next step_looked(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    ZD_AUTO(zd_node) node = ZD_TAKE(set->want.node);
    const struct zd_wait *wait = &set->want.wait;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return refuse(set, NULL, &wait->err);
    }
    req->step = step_coordinate;
    if (node == NULL || !may_be_coordinate(node)) { /* perhaps the group above has it */
        char cut[ZD_KEY_BYTES_MAX + 1];
        const char *of = set->part[set->current].path;
        set->is_moving = set->len == 0;
        set->len = zd_path_parent_len(zd_path_cut(of, set->len, cut));
        return ZD_NEXT;
    }
    set->is_moving = true;
    return add_candidate(set, &path) && is_coordinate(set, node)
               ? take_coordinate(set, path.at, node)
               : ZD_NEXT;
}

/* To a dimension that is left. @return false: there is none */
static bool move(struct zd_slice_set *set)
{
    if (set->is_moving) {
        begin_dimension(set, set->current, set->dim + 1);
    }
    while (set->current < set->n_named && set->dim >= set->part[set->current].slice->answer.rank) {
        if (set->current + 1 == set->n_named) {
            return false;
        }
        begin_dimension(set, set->current + 1, 0);
    }
    return true;
}

static enum zd_next step_coordinate(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (!move(set) || set->n_parts == PARTS_MAX) {
        req->step = zd_slice_set_prepare;
        return ZD_NEXT;
    }
    if (!add_candidate(set, &path) || has_path(set, path.at)) {
        set->is_moving = true;
        return ZD_NEXT;
    }
    if (!zd_permission_reads(req, path.at)) { /* no array further up stands in for it */
        set->is_moving = true;
        return set->part[0].slice->read.ask.coords ? zd_permission_refuse_reading(req, path.at)
                                                   : ZD_NEXT;
    }
    set->want = (struct zd_node_want){.wait = zd_machine_wait(&req->machine)};
    req->step = step_looked;
    return zd_catalog_want(req->dataset, path.at, &set->want);
}

enum zd_next zd_slice_set_go_alone(struct zd_slice_set *set)
{
    struct zd_request *req = set->req;
    struct zd_slice *slice = set->part[0].slice;
    slice->read.kind = set->alone_kind;
    slice->shared = NULL;
    zd_seen_objects_done(&slice->read.seen); /* when it still had coordinates */
    slice->answer = (struct zd_answer){0};
    req->state_free = set->alone_free;
    req->step = set->alone;
    set->shared.n_held--;
    drop(set);
    return ZD_NEXT;
}

enum zd_next zd_slice_set_adopt(
    struct zd_slice *slice, const struct zd_slice_read_kind *kind, zd_step *alone)
{
    struct zd_request *req = slice->read.task.req;
    const char *path = slice->read.node->path;
    const char *slash = strrchr(path, '/');
    struct zd_slice_set *set = new_set(slice, kind);
    if (set == NULL || !add_part(set, path, slash == NULL ? 0 : (size_t)(slash + 1 - path))) {
        if (set != NULL) {
            drop(set);
        }
        return zd_respond_no_memory(req, "an array with its coordinates");
    }
    set->n_named = 1;
    set->is_of_one = true;
    set->has_coordinates = true;
    set->alone = alone;
    set->alone_kind = slice->read.kind;
    set->alone_free = req->state_free;
    set->format = slice->format;
    set->part[0].slice = slice;
    if (path[0] == '\0') {
        set->part[0].name = zd_node_name(slice->read.node);
    }
    share(set, slice);
    return zd_slice_set_planned(req);
}
