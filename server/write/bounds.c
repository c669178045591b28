/* The bounds in an array's document that must hold before elements are stored.
 *
 *     waiting -> served: one change of the document for all -> the fresh node -> answered
 *        ^                                                                          |
 *        +---------------- writers that have arrived meanwhile ---------------------+
 *
 * This is no server/runtime/flight: an arrival must not join the change under way, which does not
 * cover its elements. */
#include "server/write/bounds.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/catalog.h"
#include "server/data/dataset.h"
#include "server/runtime/machine.h"
#include "server/runtime/server.h"

/* An array whose document is being changed. */
struct bounds_work {
    struct zd_machine machine;
    struct zd_map_entry map;    /* in server->bounds */
    struct zd_dataset *dataset; /* a reference */
    const char *path;           /* in memory of its own with the map's key */
    enum zd_next (*step)(struct bounds_work *work);
    struct zd_list waiting;        /* struct zd_bounds_want */
    struct zd_list served;         /* by the change that is under way */
    struct zd_bounds_want *caller; /* its call is under way, and returns its end; or NULL */
    struct zd_written written;     /* by all that are served */
    struct zd_metadata_want change;
    struct zd_node_want found;
};

static enum zd_next step_change(struct bounds_work *work);

static struct zd_bounds_want *first_of(const struct zd_list *list)
{
    return zd_list_is_empty(list) ? NULL
                                  : ZD_CONTAINER(list->next, struct zd_bounds_want, wait.link);
}

/* ---- memory ---- */

static enum zd_next step(struct zd_machine *machine)
{
    struct bounds_work *work = ZD_CONTAINER(machine, struct bounds_work, machine);
    return work->step(work);
}

static void end(struct zd_machine *machine)
{
    struct bounds_work *work = ZD_CONTAINER(machine, struct bounds_work, machine);
    assert(zd_list_is_empty(&work->waiting) && zd_list_is_empty(&work->served));
    zd_map_remove(&work->dataset->server->bounds, &work->map);
    zd_dataset_unref(work->dataset);
    zd_free(work);
}

/* A single allocation holds the work, its map's key and a NUL. */
static struct bounds_work *new_work(struct zd_dataset *dataset, struct zd_span map_key)
{
    struct bounds_work *work = zd_alloc_zero(1, sizeof *work + map_key.len + 1);
    if (work == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(work + 1);
    memcpy(own_key, map_key.ptr, map_key.len);
    work->map.key = (struct zd_span){.ptr = own_key, .len = map_key.len};
    if (zd_map_put(&dataset->server->bounds, &work->map) != ZD_OK) {
        zd_free(work);
        return NULL;
    }
    work->path = (const char *)own_key + sizeof dataset->id;
    work->dataset = zd_dataset_ref(dataset);
    work->machine = (struct zd_machine){.step = step, .end = end};
    work->step = step_change;
    zd_list_init(&work->waiting);
    zd_list_init(&work->served);
    return work;
}

/* ---- the steps ---- */

static void answer(struct zd_bounds_want *want, enum zd_status status, const struct zd_error *err)
{
    want->is_under_way = false;
    zd_wait_answer(&want->wait, status, err);
}

static enum zd_next settle(
    struct bounds_work *work, enum zd_status status, const struct zd_error *err)
{
    ZD_AUTO(zd_node) node = ZD_TAKE(work->found.node);
    zd_metadata_release(&work->change);
    for (struct zd_bounds_want *want; (want = first_of(&work->served)) != NULL;) {
        zd_list_remove(&want->wait.link);
        if (status == ZD_OK) {
            zd_node_unref(want->node);
            want->node = zd_node_ref(node);
        }
        answer(want, status, err);
        if (want != work->caller) {
            want->wait.done(&want->wait);
        }
    }
    work->step = step_change;
    return zd_list_is_empty(&work->waiting) ? ZD_DONE : ZD_NEXT;
}

static enum zd_next step_found(struct bounds_work *work)
{
    const struct zd_wait *wait = &work->found.wait;
    struct zd_error err = {0};
    if (wait->status != ZD_OK) {
        return settle(work, wait->status, &wait->err);
    }
    if (work->found.node->layout == NULL) {
        err.status = zd_fail(&err, ZD_NOT_FOUND, "'%.256s' is no longer an array", work->path);
    }
    return settle(work, err.status, &err);
}

static enum zd_next step_changed(struct bounds_work *work)
{
    const struct zd_wait *wait = &work->change.wait;
    struct zd_error err = {0};
    if (wait->status == ZD_PRECONDITION) { /* not of a client's condition */
        err.status = zd_fail(&err, ZD_STORE, "bounds: %.256s", wait->err.text);
        return settle(work, err.status, &err);
    }
    if (wait->status != ZD_OK) {
        return settle(work, wait->status, &wait->err);
    }
    work->found = (struct zd_node_want){.wait = zd_machine_wait(&work->machine)};
    work->step = step_found;
    return zd_catalog_want_fresh(work->dataset, work->path, &work->found);
}

/* Another process may have replaced the array: not all elements are of the same type. */
static bool joins(const struct bounds_work *work, const struct zd_bounds_want *want)
{
    return zd_dtype_equal(&work->written.summary.dtype, &want->written->summary.dtype);
}

static void serve(struct bounds_work *work, struct zd_bounds_want *want)
{
    zd_list_remove(&want->wait.link);
    zd_list_push_back(&work->served, &want->wait.link);
}

static void take_waiting(struct bounds_work *work)
{
    struct zd_bounds_want *want = first_of(&work->waiting);
    work->written = *want->written;
    serve(work, want);
    while ((want = first_of(&work->waiting)) != NULL && joins(work, want)) {
        zd_written_join(&work->written, want->written);
        serve(work, want);
    }
}

static enum zd_next step_change(struct bounds_work *work)
{
    take_waiting(work);
    const struct zd_metadata_input input = {
        .kind = ZD_METADATA_PATCH,
        .place = work->path,
        .written = &work->written,
        .has_lock = true,
    };
    work->change = (struct zd_metadata_want){.wait = zd_machine_wait(&work->machine)};
    work->step = step_changed;
    return zd_metadata_want(work->dataset, &input, &work->change);
}

/* ---- the calls ---- */

/* The work on that array, made when there is none. */
static struct bounds_work *claim_work(struct zd_node *node, bool *ret_is_new)
{
    struct zd_dataset *dataset = node->dataset;
    uint8_t name[sizeof dataset->id + ZD_KEY_BYTES_MAX];
    const size_t len = strlen(node->path);
    assert(len <= ZD_KEY_BYTES_MAX); /* its documents have longer keys */
    zd_store_u32(name, dataset->id);
    memcpy(name + sizeof dataset->id, node->path, len);
    const struct zd_span key = {.ptr = name, .len = sizeof dataset->id + len};
    struct zd_map_entry *entry = zd_map_find(&dataset->server->bounds, key);
    *ret_is_new = entry == NULL;
    return entry == NULL ? new_work(dataset, key) : ZD_CONTAINER(entry, struct bounds_work, map);
}

/* The call that begins the work returns the end of its own want; the work may go on with others. */
static enum zd_next begin(struct bounds_work *work, struct zd_bounds_want *want)
{
    work->caller = want;
    if (zd_machine_begin(&work->machine) == ZD_DONE) {
        end(&work->machine);
    } else {
        work->caller = NULL;
    }
    return want->is_under_way ? ZD_WAIT : ZD_NEXT;
}

enum zd_next zd_bounds_want(struct zd_bounds_want *want)
{
    struct zd_error err = {0};
    ZD_AUTO(zd_json) extensions = NULL;
    const enum zd_status status =
        zd_written_before(want->written, want->node->meta, &extensions, &err);
    if (status != ZD_OK || extensions == NULL) {
        answer(want, status, &err);
        return ZD_NEXT;
    }
    bool is_new = false;
    struct bounds_work *work = claim_work(want->node, &is_new);
    if (work == NULL) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory to change the bounds of an array");
        answer(want, err.status, &err);
        return ZD_NEXT;
    }
    want->is_under_way = true;
    zd_list_push_back(&work->waiting, &want->wait.link);
    return is_new ? begin(work, want) : ZD_WAIT;
}
