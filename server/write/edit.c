/* The merged form of edits: the calls, and which run an edit joins. */
#include "server/write/edit.h"

#include <assert.h>

#include "server/runtime/server.h"
#include "server/write/edit_run.h"
#include "server/write/edit_staged.h"

void zd_edit_init(struct zd_server *server)
{
    zd_map_init(&server->edits);
}

void zd_edit_done(struct zd_server *server)
{
    assert(server->edits.n_entries == 0);
    zd_map_done(&server->edits);
}

static void end(struct zd_machine *machine)
{
    struct zd_edit_run *run = ZD_CONTAINER(machine, struct zd_edit_run, machine);
    zd_map_remove(&run->dataset->server->edits, &run->map);
    zd_edit_run_free(run);
}

static struct zd_edit_run *new_run(struct zd_dataset *dataset, struct zd_span name)
{
    struct zd_edit_run *run = zd_edit_run_new(dataset, name);
    if (run != NULL && zd_map_put(&dataset->server->edits, &run->map) != ZD_OK) {
        zd_edit_run_free(run);
        return NULL;
    }
    if (run != NULL) {
        run->machine.end = end;
    }
    return run;
}

/* The end of the first edit is what its call returns; its run may go on with others. */
static enum zd_next begin(struct zd_edit_run *run, struct zd_edit_want *want)
{
    run->caller = want;
    if (zd_machine_begin(&run->machine) == ZD_DONE) {
        end(&run->machine);
    } else {
        run->caller = NULL;
    }
    return want->load == NULL ? ZD_NEXT : ZD_WAIT;
}

enum zd_next zd_edit_want(struct zd_node *node, struct zd_edit_want *want)
{
    struct zd_edit_run_name name;
    want->load = NULL;
    want->wait.status = zd_edit_run_name_object(node, want->edit, &name, &want->wait.err);
    if (want->wait.status != ZD_OK) {
        return ZD_NEXT;
    }
    struct zd_map_entry *entry = zd_map_find(&node->dataset->server->edits, name.key);
    struct zd_edit_run *run = entry == NULL ? new_run(node->dataset, name.key)
                                            : ZD_CONTAINER(entry, struct zd_edit_run, map);
    if (run == NULL) {
        return zd_edit_run_no_memory(want);
    }
    if (zd_edit_run_add(run, &run->waiting, node, want) == NULL) {
        if (entry == NULL) {
            end(&run->machine);
        }
        return zd_edit_run_no_memory(want);
    }
    return entry == NULL ? begin(run, want) : ZD_WAIT;
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
    if (load->run->is_staged) {
        zd_edit_staged_leave(load);
    } else if (!load->has_begun) {
        zd_list_remove(&load->link);
        zd_edit_run_free_load(load);
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
