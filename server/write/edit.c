/* Changes of stored objects that hold chunks: the calls, and who is merged with whom. */
#include "server/write/edit.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/datasets.h"
#include "server/write/edit_run.h"
#include "server/runtime/server.h"
#include "server/data/shards.h"

void zd_edit_init(struct zd_server *server)
{
    zd_map_init(&server->edits);
}

void zd_edit_done(struct zd_server *server)
{
    assert(server->edits.n_entries == 0);
    zd_map_done(&server->edits);
}

enum zd_next zd_edit_no_memory(struct zd_edit_want *want)
{
    want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory to change a chunk");
    return ZD_NEXT;
}

enum zd_status zd_edit_name_object(const struct zd_node *node, const struct zd_edit *edit,
    struct zd_edit_object_name *name, struct zd_error *err)
{
    char *key = (char *)name->byte + sizeof node->dataset->id;
    ZD_TRY(zd_shards_key(node, edit->level, edit->part.chunk, key, err));
    zd_store_u32(name->byte, node->dataset->id);
    name->key = (struct zd_span){.ptr = name->byte, .len = sizeof node->dataset->id + strlen(key)};
    return ZD_OK;
}

/* The run of that object, made when there is none. */
static struct zd_edit_run *claim_run(
    struct zd_dataset *dataset, struct zd_span name, bool *ret_is_new)
{
    struct zd_map *edits = &dataset->server->edits;
    struct zd_map_entry *entry = zd_map_find(edits, name);
    *ret_is_new = entry == NULL;
    if (entry != NULL) {
        return ZD_CONTAINER(entry, struct zd_edit_run, map);
    }
    struct zd_edit_run *run = zd_edit_run_new(dataset, name);
    if (run != NULL && zd_map_put(edits, &run->map) != ZD_OK) {
        run->is_staged = true; /* as those that are in no map */
        zd_edit_run_free(run);
        return NULL;
    }
    return run;
}

enum zd_next zd_edit_want(struct zd_node *node, struct zd_edit_want *want)
{
    struct zd_edit_object_name name;
    bool is_new = false;
    want->load = NULL;
    want->wait.status = zd_edit_name_object(node, want->edit, &name, &want->wait.err);
    if (want->wait.status != ZD_OK) {
        return ZD_NEXT;
    }
    struct zd_edit_load *load = zd_edit_load_new(node, want);
    struct zd_edit_run *run = load == NULL ? NULL : claim_run(node->dataset, name.key, &is_new);
    if (run == NULL) {
        if (load != NULL) {
            zd_edit_load_free(load);
        }
        return zd_edit_no_memory(want);
    }
    load->run = run;
    zd_list_push_back(&run->waiting, &load->link);
    return is_new ? zd_edit_run_begin(run, want) : ZD_WAIT;
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
    struct zd_edit_run *run = load->run;
    load->want = NULL;
    if (run->is_staged) {
        zd_edit_leave_staged(run);
    } else if (!load->has_begun) {
        zd_list_remove(&load->link);
        zd_edit_load_free(load);
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
