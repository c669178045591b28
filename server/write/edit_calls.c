/* Edits of stored objects: the calls, and which run an edit joins. */
#include "server/write/edit.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/object_cache.h"
#include "server/runtime/server.h"
#include "server/write/edit_run.h"

void zd_edit_init(struct zd_server *server)
{
    zd_map_init(&server->edits);
}

void zd_edit_done(struct zd_server *server)
{
    assert(server->edits.n_entries == 0);
    zd_map_done(&server->edits);
}

/* ---- runs ---- */

static void end_merged(struct zd_machine *machine)
{
    struct zd_edit_run *run = ZD_CONTAINER(machine, struct zd_edit_run, machine);
    zd_map_remove(&run->dataset->server->edits, &run->map);
    zd_edit_run_free(run);
}

/* The object of a released want is freed when it comes to a stop. */
static void end_staged(struct zd_machine *machine)
{
    struct zd_edit_run *run = ZD_CONTAINER(machine, struct zd_edit_run, machine);
    struct zd_edit_want *want = zd_edit_run_first(&run->batch)->want;
    if (want == NULL) {
        zd_edit_run_free(run);
    } else {
        want->wait.done(&want->wait);
    }
}

static struct zd_edit_run *new_run(
    struct zd_dataset *dataset, struct zd_span map_key, bool is_staged)
{
    struct zd_edit_run *run = zd_edit_run_new(dataset, map_key);
    if (run == NULL) {
        return NULL;
    }
    run->is_staged = is_staged;
    run->machine.end = is_staged ? end_staged : end_merged;
    if (!is_staged && zd_map_put(&dataset->server->edits, &run->map) != ZD_OK) {
        zd_edit_run_free(run);
        return NULL;
    }
    return run;
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
    struct zd_edit_load *load = zd_edit_run_new_load(node, want);
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
    if (zd_machine_begin(&run->machine) == ZD_DONE) {
        end_merged(&run->machine);
    } else {
        run->caller = NULL;
    }
    return want->load == NULL ? ZD_NEXT : ZD_WAIT;
}

enum zd_next zd_edit_staged(
    struct zd_node *node, struct zd_edit_want *want, enum zd_edit_phase phase)
{
    if (phase == ZD_EDIT_LOCK && join_run(node, want, true) == NULL) {
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
        zd_edit_run_free(run); /* else it ends by itself */
    }
}

bool zd_edit_give_up(struct zd_edit_want *want)
{
    const struct zd_edit_load *load = want->load;
    if (load != NULL && load->has_begun) {
        return false;
    }
    zd_edit_release(want);
    return true;
}
