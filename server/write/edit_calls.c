/* Edits of stored objects: the calls, which run an edit joins, and edits of many objects. */
#include "server/write/edit.h"

#include <assert.h>
#include <string.h>

#include "core/array/rewrite_edit.h"
#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/data/events.h"
#include "server/data/object_cache.h"
#include "server/runtime/server.h"
#include "server/write/edit_run.h"

#define ELLIPSIS     "..." /* stands for keys that are not named */
#define TURN_OBJECTS 256   /* that begin a phase in one turn of the loop */
#define OBJECT_EXTRA 3584  /* bytes of an object: its keys, its lock, what the store keeps of it */

/* ---- runs ---- */

static void on_closed(uv_handle_t *timer)
{
    zd_free(ZD_CONTAINER(timer, struct zd_edit_run, timer));
}

/* Release all that it has: its lock too, and what is staged or kept. It is in no map. */
static void free_run(struct zd_edit_run *run)
{
    assert(!run->is_working && zd_list_is_empty(&run->waiting));
    for (struct zd_list *link; (link = zd_list_pop_front(&run->batch)) != NULL;) {
        zd_edit_run_free_load(ZD_CONTAINER(link, struct zd_edit_load, link));
    }
    zd_lock_release_kept(&run->lock);
    zd_edit_run_free_work(run);
    zd_store_write_release(&run->write);
    zd_buf_unref(run->rewrite.bytes);
    zd_dataset_unref(run->dataset);
    if (run->has_timer) {
        uv_close((uv_handle_t *)&run->timer, on_closed);
    } else {
        zd_free(run);
    }
}

/* The object of a released want is freed when it comes to a stop. */
static void end(struct zd_machine *machine)
{
    struct zd_edit_run *run = ZD_CONTAINER(machine, struct zd_edit_run, machine);
    struct zd_edit_want *want = run->is_staged ? zd_edit_run_first(&run->batch)->want : NULL;
    if (want != NULL) {
        want->wait.done(&want->wait);
        return;
    }
    if (!run->is_staged) {
        zd_map_remove(&run->dataset->server->edits, &run->map);
    }
    free_run(run);
}

/* A single allocation holds the run, the edits of its rewrite, its map's key and a NUL. */
static struct zd_edit_run *new_run(
    struct zd_dataset *dataset, struct zd_span map_key, bool is_staged)
{
    const size_t edits_bytes = (is_staged ? 1 : ZD_EDIT_TOGETHER_MAX) * sizeof(struct zd_edit *);
    struct zd_edit_run *run = zd_alloc_zero(1, sizeof *run + edits_bytes + map_key.len + 1);
    if (run == NULL) {
        return NULL;
    }
    run->edit = (struct zd_edit **)(run + 1);
    uint8_t *own_key = (uint8_t *)(run + 1) + edits_bytes;
    memcpy(own_key, map_key.ptr, map_key.len);
    run->map.key = (struct zd_span){.ptr = own_key, .len = map_key.len};
    if (!is_staged && zd_map_put(&dataset->server->edits, &run->map) != ZD_OK) {
        zd_free(run);
        return NULL;
    }
    run->key = (char *)own_key + sizeof dataset->id;
    run->dataset = zd_dataset_ref(dataset);
    run->is_staged = is_staged;
    run->machine = (struct zd_machine){.step = zd_edit_run_step, .end = end};
    zd_list_init(&run->waiting);
    zd_list_init(&run->batch);
    return run;
}

static struct zd_edit_load *new_load(struct zd_node *node, struct zd_edit_want *want)
{
    struct zd_edit_load *load = zd_alloc_zero(1, sizeof *load);
    if (load != NULL) {
        *load = (struct zd_edit_load){
            .want = want,
            .node = zd_node_ref(node),
            .edit = want->edit,
            .condition = want->condition,
            .generation = want->generation,
            .is_dry = want->is_dry,
            .drops_elements = want->drops_elements,
            .owner = want->owner,
        };
        want->load = load;
    }
    return load;
}

/* Add the edit to the run of its object: to the one under way, or to a new one. NULL: want->wait
 * says why. */
static struct zd_edit_run *join_run(struct zd_node *node, struct zd_edit_want *want, bool is_staged)
{
    struct zd_dataset *dataset = node->dataset;
    uint8_t name[sizeof dataset->id + ZD_KEY_BYTES_MAX + 1];
    char *key = (char *)name + sizeof dataset->id;
    want->load = NULL;
    want->wait.status =
        zd_object_key_of(node, want->edit->level, want->edit->part.chunk, key, &want->wait.err);
    if (want->wait.status != ZD_OK) {
        return NULL;
    }
    zd_store_u32(name, dataset->id);
    const struct zd_span map_key = {.ptr = name, .len = sizeof dataset->id + strlen(key)};
    struct zd_map_entry *entry = is_staged ? NULL : zd_map_find(&dataset->server->edits, map_key);
    struct zd_edit_load *load = new_load(node, want);
    struct zd_edit_run *run = load == NULL    ? NULL
                              : entry == NULL ? new_run(dataset, map_key, is_staged)
                                              : ZD_CONTAINER(entry, struct zd_edit_run, map);
    if (run == NULL) {
        zd_edit_run_free_load(load);
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to change a chunk");
        return NULL;
    }
    load->run = run;
    zd_list_push_back(is_staged ? &run->batch : &run->waiting, &load->link);
    return run;
}

/* ---- the calls ---- */

/* The end of the first edit is what its call returns; its run may go on with others. */
enum zd_next zd_edit_want(struct zd_node *node, struct zd_edit_want *want)
{
    struct zd_edit_run *run = join_run(node, want, false);
    if (run == NULL) {
        return ZD_NEXT;
    }
    if (run->has_begun) {
        return ZD_WAIT;
    }
    run->has_begun = true;
    run->caller = want;
    zd_edit_run_begin_phase(want->load, ZD_EDIT_LOCK);
    if (zd_machine_begin(&run->machine) == ZD_DONE) {
        end(&run->machine);
    } else {
        run->caller = NULL;
    }
    return want->load == NULL ? ZD_NEXT : ZD_WAIT;
}

enum zd_next zd_edit_staged(
    struct zd_node *node, struct zd_edit_want *want, enum zd_edit_phase phase)
{
    if (want->load == NULL && join_run(node, want, true) == NULL) {
        return ZD_NEXT;
    }
    assert(want->load->run->is_staged);
    zd_edit_run_begin_phase(want->load, phase);
    return zd_machine_call(&want->load->run->machine);
}

const char *zd_edit_key(const struct zd_edit_want *want)
{
    return want->load->run->key;
}

void zd_edit_release(struct zd_edit_want *want)
{
    struct zd_edit_load *load = want->load;
    struct zd_edit *edit = ZD_TAKE(want->edit);
    want->load = NULL;
    if (load == NULL) {
        zd_rewrite_edit_free(edit);
        return;
    }
    load->want = NULL;
    struct zd_edit_run *run = load->run;
    if (!run->is_staged && !load->has_begun) {
        zd_list_remove(&load->link);
        zd_edit_run_free_load(load);
    } else if (run->is_staged && (load->is_answered || !(run->is_working || run->is_committing))) {
        free_run(run); /* else it ends by itself */
    }
}

bool zd_edit_give_up(struct zd_edit_want *want)
{
    struct zd_edit_load *load = want->load;
    if (load != NULL && load->has_begun) {
        load->is_withdrawn = true;
        return false;
    }
    zd_edit_release(want);
    return true;
}

bool zd_edit_is_storing(const struct zd_edit_want *want)
{
    const struct zd_edit_load *load = want->load;
    return load != NULL && load->is_storing;
}

/* ---- many objects ---- */

uint64_t zd_edit_set_bytes(uint64_t n_objects)
{
    const uint64_t each = sizeof(struct zd_edit_object) + sizeof(struct zd_edit) +
                          sizeof(struct zd_edit_run) + sizeof(struct zd_edit_load) + OBJECT_EXTRA;
    uint64_t bytes;
    return ckd_mul(&bytes, n_objects, each) ? UINT64_MAX : bytes;
}

enum zd_status zd_edit_set_init(
    struct zd_edit_set *set, struct zd_machine *machine, uint32_t n_at_once, struct zd_error *err)
{
    const uint64_t n = set->seen->n;
    for (int i = 0; i < ZD_EDIT_PHASES; i++) {
        set->pass[i].gather =
            (struct zd_gather){.machine = machine, .n_at_once = i == ZD_EDIT_LOCK ? 1 : n_at_once};
    }
    set->object = zd_alloc_zero(n, sizeof *set->object);
    bool has_memory = set->object != NULL;
    for (; has_memory && set->n < n; set->n++) {
        struct zd_edit_object *object = &set->object[set->n];
        object->set = set;
        object->want.edit = zd_rewrite_edit_new();
        has_memory = object->want.edit != NULL;
    }
    return has_memory ? ZD_OK
                      : zd_fail(err, ZD_NO_MEMORY, "no memory to write %llu stored objects",
                            (unsigned long long)n);
}

void zd_edit_set_release(struct zd_edit_set *set)
{
    zd_wait_cancel(&set->turn);
    for (uint64_t i = 0; i < set->n; i++) {
        zd_edit_release(&set->object[i].want);
    }
    zd_free(set->object);
    *set = (struct zd_edit_set){0};
}

/* ---- the phases of a set ---- */

/* How many objects a phase has. */
static uint64_t length_of(const struct zd_edit_set *set, enum zd_edit_phase phase)
{
    if (!set->is_staged) {
        return phase == ZD_EDIT_COMMIT ? set->n : 0;
    }
    switch (phase) {
    case ZD_EDIT_STAGE:
        return set->n_ready;
    case ZD_EDIT_UNDO:
        return set->pass[ZD_EDIT_COMMIT].n_begun;
    case ZD_EDIT_LOCK:
    case ZD_EDIT_COMMIT:
    case ZD_EDIT_SETTLE:
        return set->is_dry ? 0 : set->n;
    case ZD_EDIT_PHASES:
        break;
    }
    return set->n;
}

/* The number of the object that is the i-th in the order of the grid. */
static uint64_t number_in_grid(const struct zd_seen_objects *seen, uint64_t i)
{
    uint64_t number = 0;
    uint64_t weight = 1;
    for (uint32_t d = seen->rank; d-- > 0;) {
        const struct zd_touch *touch = &seen->touch[d];
        const uint64_t at = i % touch->n;
        number += weight * (touch->axis.step < 0 ? touch->n - 1 - at : at);
        weight *= touch->n;
        i /= touch->n;
    }
    return number;
}

static struct zd_edit_object *object_of(
    const struct zd_edit_set *set, enum zd_edit_phase phase, uint64_t i)
{
    const uint64_t number = phase == ZD_EDIT_LOCK   ? number_in_grid(set->seen, i)
                            : phase == ZD_EDIT_UNDO ? length_of(set, phase) - 1 - i
                                                    : i;
    return &set->object[number];
}

static void take(struct zd_edit_object *object)
{
    struct zd_edit_set *set = object->set;
    struct zd_edit_want *want = &object->want;
    const struct zd_gather *phase = want->wait.context;
    const bool is_staging = phase == &set->pass[ZD_EDIT_STAGE].gather;
    if (want->wait.status != ZD_OK && set->status == ZD_OK) {
        set->status = want->wait.status;
        set->err = want->wait.err;
    } else if (want->wait.status == ZD_OK && is_staging && object->frees_elements) {
        zd_buf_unref(ZD_TAKE(want->edit->bytes));
    } else if (phase == &set->pass[ZD_EDIT_SETTLE].gather) {
        zd_edit_release(want);
    }
}

static void arrived(struct zd_wait *wait)
{
    take(ZD_CONTAINER(wait, struct zd_edit_object, want.wait));
    zd_gather_wake(wait);
}

/* The phase goes on in a later turn of the loop. */
static void wait_a_turn(struct zd_edit_set *set, struct zd_gather *gather)
{
    set->turn = zd_gather_wait(gather);
    zd_deferred_want(&set->node->dataset->server->later, &set->turn);
    zd_gather_add(gather, ZD_WAIT);
}

static void begin(struct zd_edit_set *set, enum zd_edit_phase phase)
{
    struct zd_edit_pass *pass = &set->pass[phase];
    struct zd_edit_object *object = object_of(set, phase, pass->n_begun);
    pass->n_begun++;
    object->want.wait = (struct zd_wait){.done = arrived, .context = &pass->gather};
    const enum zd_next next = set->is_staged ? zd_edit_staged(set->node, &object->want, phase)
                                             : zd_edit_want(set->node, &object->want);
    zd_gather_add(&pass->gather, next);
    if (next == ZD_NEXT) {
        take(object);
    }
}

static bool may_begin(const struct zd_edit_set *set, const struct zd_edit_pass *pass)
{
    const bool goes_through_all =
        pass == &set->pass[ZD_EDIT_SETTLE] || pass == &set->pass[ZD_EDIT_UNDO];
    return pass->n_begun < pass->n && zd_gather_has_room(&pass->gather) &&
           (goes_through_all || set->status == ZD_OK) && !zd_list_is_linked(&set->turn.link);
}

enum zd_next zd_edit_set_go_on(struct zd_edit_set *set, enum zd_edit_phase phase)
{
    struct zd_edit_pass *pass = &set->pass[phase];
    pass->n = length_of(set, phase);
    zd_gather_begin(&pass->gather);
    for (uint32_t i = 0; i < TURN_OBJECTS && may_begin(set, pass); i++) {
        begin(set, phase);
    }
    if (may_begin(set, pass)) {
        wait_a_turn(set, &pass->gather);
    }
    return zd_gather_end(&pass->gather);
}

/* ---- what became of a set ---- */

struct zd_edit_counts zd_edit_set_count(struct zd_edit_set *set)
{
    struct zd_edit_counts counts = {0};
    zd_seen_objects_forget(set->seen);
    for (uint64_t i = 0; i < set->n; i++) {
        const struct zd_edit_want *want = &set->object[i].want;
        counts.n_written += want->edit->counts.n_written;
        counts.n_erased += want->edit->counts.n_erased;
        counts.n_unchanged += want->edit->counts.n_unchanged;
        (void)zd_seen_objects_see(set->seen, i, want->stat.generation);
    }
    return counts;
}

static void report(const struct zd_edit_set *set, enum zd_chunks_change change)
{
    const uint32_t rank = set->seen->rank;
    uint64_t *index = zd_alloc(zd_max_u64(set->n * rank, 1) * sizeof *index);
    uint64_t n = 0;
    for (uint64_t i = 0; index != NULL && i < set->n; i++) {
        const struct zd_edit_want *want = &set->object[i].want;
        const bool is_erased = !zd_generation_is_set(want->stat.generation);
        const struct zd_edit_counts *counts = &want->edit->counts;
        if (counts->n_written + counts->n_erased > 0 && is_erased == (change == ZD_CHUNKS_ERASED)) {
            memcpy(index + n * rank, want->edit->part.chunk, rank * sizeof *index);
            n++;
        }
    }
    if (n > 0) {
        zd_events_chunks(set->node->dataset->events, set->node->path, rank, index, n, change);
    }
    zd_free(index);
}

void zd_edit_set_report(const struct zd_edit_set *set)
{
    if (set->is_staged && !set->is_dry) {
        report(set, ZD_CHUNKS_WRITTEN);
        report(set, ZD_CHUNKS_ERASED);
    }
}

/* Add a key while there is room for it. */
static void add_key(struct zd_text *keys, const char *key)
{
    const size_t n = strlen(ELLIPSIS);
    const char *separator = keys->len == 0 ? "" : ", ";
    if (keys->len + strlen(key) + strlen(", " ELLIPSIS) < keys->len_max) {
        zd_text_addf(keys, "%s%s", separator, key);
    } else if (keys->len < n || strcmp(keys->at + keys->len - n, ELLIPSIS) != 0) {
        zd_text_addf(keys, "%s" ELLIPSIS, separator);
    }
}

/* An object that another process has written since does not count. */
uint64_t zd_edit_set_remains(
    const struct zd_edit_set *set, struct zd_text *ret_keys, const struct zd_error **ret_why)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < set->pass[ZD_EDIT_UNDO].n_begun; i++) {
        const struct zd_edit_want *want = &set->object[i].want;
        if (want->wait.status != ZD_OK && want->wait.status != ZD_PRECONDITION) {
            *ret_why = n == 0 ? &want->wait.err : *ret_why;
            add_key(ret_keys, zd_edit_key(want));
            n++;
        }
    }
    return n;
}
