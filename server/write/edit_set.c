/* Edits of many stored objects of one array. */
#include "server/write/edit_set.h"

#include <string.h>

#include "core/array/rewrite_edit.h"
#include "core/base/num.h"
#include "server/data/events.h"
#include "server/data/object_cache.h"

#define ELLIPSIS "..." /* stands for keys that are not named */

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
    for (uint64_t i = 0; i < set->n; i++) {
        zd_edit_release(&set->object[i].want);
    }
    zd_free(set->object);
    *set = (struct zd_edit_set){0};
}

/* ---- phases ---- */

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
    case ZD_EDIT_COMMIT:
    case ZD_EDIT_SETTLE:
        return set->is_dry ? 0 : set->n;
    case ZD_EDIT_LOCK:
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
    const bool is_staging = want->wait.context == &set->pass[ZD_EDIT_STAGE].gather;
    if (want->wait.status != ZD_OK && set->status == ZD_OK) {
        set->status = want->wait.status;
        set->err = want->wait.err;
    } else if (want->wait.status == ZD_OK && is_staging && object->frees_elements) {
        zd_buf_unref(ZD_TAKE(want->edit->bytes));
    }
}

static void arrived(struct zd_wait *wait)
{
    take(ZD_CONTAINER(wait, struct zd_edit_object, want.wait));
    zd_gather_wake(wait);
}

enum zd_next zd_edit_set_go_on(struct zd_edit_set *set, enum zd_edit_phase phase)
{
    const bool goes_through_all = phase == ZD_EDIT_SETTLE || phase == ZD_EDIT_UNDO;
    const uint64_t n = length_of(set, phase);
    struct zd_edit_pass *pass = &set->pass[phase];
    zd_gather_begin(&pass->gather);
    while (pass->n_begun < n && zd_gather_has_room(&pass->gather) &&
           (goes_through_all || set->status == ZD_OK)) {
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
    return zd_gather_end(&pass->gather);
}

/* ---- what became of them ---- */

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

enum zd_status zd_edit_set_key(
    const struct zd_edit_set *set, uint64_t number, struct zd_text *key, struct zd_error *err)
{
    const uint64_t *index = set->object[number].want.edit->part.chunk;
    char object_key[ZD_KEY_BYTES_MAX + 1];
    ZD_TRY(zd_object_key_of(set->node, 0, index, object_key, err));
    zd_text_clear(key);
    return zd_text_add(key, object_key);
}
