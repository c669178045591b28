/* What the extensions of an array must say before elements are stored.
 *
 *     waiting -> served: one change of the document for all -> the fresh node -> answered
 *        ^                                                                          |
 *        +-------------------- those that have arrived meanwhile -------------------+
 *
 * This is no server/runtime/flight: an arrival must not join the change under way, which does not
 * cover its elements. */
#include "server/write/bounds.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/catalog.h"
#include "server/data/datasets.h"
#include "server/runtime/machine.h"
#include "server/runtime/server.h"

/* What is under way for one array. */
struct widening {
    struct zd_machine machine;
    struct zd_map_entry map;    /* in server->widenings */
    struct zd_dataset *dataset; /* a reference */
    const char *path;           /* in memory of its own with the map's key */
    enum zd_next (*step)(struct widening *widening);
    struct zd_list waiting;        /* struct zd_bounds_want */
    struct zd_list served;         /* by the change that is under way */
    struct zd_bounds_want *caller; /* its call is under way, and returns its end; or NULL */
    struct zd_written written;     /* by all that are served */
    struct zd_metadata_want change;
    struct zd_node_want found;
};

static enum zd_next step_change(struct widening *widening);

static struct zd_bounds_want *first_of(const struct zd_list *list)
{
    return zd_list_is_empty(list) ? NULL
                                  : ZD_CONTAINER(list->next, struct zd_bounds_want, wait.link);
}

/* ---- memory ---- */

static enum zd_next step(struct zd_machine *machine)
{
    struct widening *widening = ZD_CONTAINER(machine, struct widening, machine);
    return widening->step(widening);
}

static void end(struct zd_machine *machine)
{
    struct widening *widening = ZD_CONTAINER(machine, struct widening, machine);
    assert(zd_list_is_empty(&widening->waiting) && zd_list_is_empty(&widening->served));
    zd_map_remove(&widening->dataset->server->widenings, &widening->map);
    zd_dataset_unref(widening->dataset);
    zd_free(widening);
}

/* One allocation holds the widening, its map's key and a NUL. */
static struct widening *new_widening(struct zd_dataset *dataset, struct zd_span map_key)
{
    struct widening *widening = zd_alloc_zero(1, sizeof *widening + map_key.len + 1);
    if (widening == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(widening + 1);
    memcpy(own_key, map_key.ptr, map_key.len);
    widening->map.key = (struct zd_span){.ptr = own_key, .len = map_key.len};
    if (zd_map_put(&dataset->server->widenings, &widening->map) != ZD_OK) {
        zd_free(widening);
        return NULL;
    }
    widening->path = (const char *)own_key + sizeof dataset->id;
    widening->dataset = zd_dataset_ref(dataset);
    widening->machine = (struct zd_machine){.step = step, .end = end};
    widening->step = step_change;
    zd_list_init(&widening->waiting);
    zd_list_init(&widening->served);
    return widening;
}

/* ---- the steps ---- */

static void answer(struct zd_bounds_want *want, enum zd_status status, const struct zd_error *err)
{
    want->is_under_way = false;
    zd_wait_answer(&want->wait, status, err);
}

static enum zd_next settle(
    struct widening *widening, enum zd_status status, const struct zd_error *err)
{
    ZD_AUTO(zd_node) node = ZD_TAKE(widening->found.node);
    zd_metadata_release(&widening->change);
    for (struct zd_bounds_want *want; (want = first_of(&widening->served)) != NULL;) {
        zd_list_remove(&want->wait.link);
        if (status == ZD_OK) {
            zd_node_unref(want->node);
            want->node = zd_node_ref(node);
        }
        answer(want, status, err);
        if (want != widening->caller) {
            want->wait.done(&want->wait);
        }
    }
    widening->step = step_change;
    return zd_list_is_empty(&widening->waiting) ? ZD_DONE : ZD_NEXT;
}

static enum zd_next step_found(struct widening *widening)
{
    const struct zd_wait *wait = &widening->found.wait;
    struct zd_error err = {0};
    if (wait->status != ZD_OK) {
        return settle(widening, wait->status, &wait->err);
    }
    if (widening->found.node->layout == NULL) {
        err.status = zd_fail(&err, ZD_NOT_FOUND, "'%.256s' is no longer an array", widening->path);
    }
    return settle(widening, err.status, &err);
}

static enum zd_next step_changed(struct widening *widening)
{
    const struct zd_wait *wait = &widening->change.wait;
    struct zd_error err = {0};
    if (wait->status == ZD_PRECONDITION) { /* not of a client's condition */
        err.status = zd_fail(&err, ZD_STORE, "bounds: %.256s", wait->err.text);
        return settle(widening, err.status, &err);
    }
    if (wait->status != ZD_OK) {
        return settle(widening, wait->status, &wait->err);
    }
    widening->found = (struct zd_node_want){.wait = zd_machine_wait(&widening->machine)};
    widening->step = step_found;
    return zd_catalog_want_fresh(widening->dataset, widening->path, &widening->found);
}

/* Another process may have replaced the array: not all elements are of the same type. */
static bool joins(const struct widening *widening, const struct zd_bounds_want *want)
{
    return strcmp(widening->written.summary.dtype.name, want->written->summary.dtype.name) == 0;
}

static void serve(struct widening *widening, struct zd_bounds_want *want)
{
    zd_list_remove(&want->wait.link);
    zd_list_push_back(&widening->served, &want->wait.link);
}

static void take_waiting(struct widening *widening)
{
    struct zd_bounds_want *want = first_of(&widening->waiting);
    widening->written = *want->written;
    serve(widening, want);
    while ((want = first_of(&widening->waiting)) != NULL && joins(widening, want)) {
        zd_written_join(&widening->written, want->written);
        serve(widening, want);
    }
}

static enum zd_next step_change(struct widening *widening)
{
    take_waiting(widening);
    const struct zd_metadata_input input = {
        .kind = ZD_METADATA_PATCH,
        .place = widening->path,
        .written = &widening->written,
        .has_lock = true,
    };
    widening->change = (struct zd_metadata_want){.wait = zd_machine_wait(&widening->machine)};
    widening->step = step_changed;
    return zd_metadata_want(widening->dataset, &input, &widening->change);
}

/* ---- the calls ---- */

void zd_bounds_init(struct zd_server *server)
{
    zd_map_init(&server->widenings);
}

void zd_bounds_done(struct zd_server *server)
{
    assert(server->widenings.n_entries == 0);
    zd_map_done(&server->widenings);
}

/* What is under way for that array, made when there is none. */
static struct widening *claim_widening(struct zd_node *node, bool *ret_is_new)
{
    struct zd_dataset *dataset = node->dataset;
    uint8_t name[sizeof dataset->id + ZD_KEY_BYTES_MAX];
    const size_t len = strlen(node->path);
    assert(len <= ZD_KEY_BYTES_MAX); /* its documents have longer keys */
    zd_store_u32(name, dataset->id);
    memcpy(name + sizeof dataset->id, node->path, len);
    const struct zd_span key = {.ptr = name, .len = sizeof dataset->id + len};
    struct zd_map_entry *entry = zd_map_find(&dataset->server->widenings, key);
    *ret_is_new = entry == NULL;
    return entry == NULL ? new_widening(dataset, key) : ZD_CONTAINER(entry, struct widening, map);
}

/* The end of the first want is what its call returns; the widening may go on with others. */
static enum zd_next begin(struct widening *widening, struct zd_bounds_want *want)
{
    widening->caller = want;
    if (zd_machine_begin(&widening->machine) == ZD_DONE) {
        end(&widening->machine);
    } else {
        widening->caller = NULL;
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
    struct widening *widening = claim_widening(want->node, &is_new);
    if (widening == NULL) {
        err.status = zd_fail(&err, ZD_NO_MEMORY, "no memory to widen the bounds of an array");
        answer(want, err.status, &err);
        return ZD_NEXT;
    }
    want->is_under_way = true;
    zd_list_push_back(&widening->waiting, &want->wait.link);
    return is_new ? begin(widening, want) : ZD_WAIT;
}

void zd_bounds_release(struct zd_bounds_want *want)
{
    assert(!want->is_under_way);
    zd_node_unref(ZD_TAKE(want->node));
}
