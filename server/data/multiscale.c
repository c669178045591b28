/* The arrays through which a group can be sliced: look-up and checks. */
#include "server/data/multiscale.h"

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/runtime/server.h"

enum zd_status zd_multiscale_add_path(const char *group, const char *level, struct zd_text *path)
{
    if (group[0] != '\0') {
        zd_text_add(path, group);
        zd_text_add_char(path, '/');
    }
    return zd_text_add(path, level);
}

bool zd_multiscale_hides(const struct zd_multiscale *multiscale, uint32_t i)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    const char *level = multiscale->meta->view.level[i];
    return zd_multiscale_add_path(multiscale->group, level, &path) == ZD_OK &&
           !zd_reader_may(&multiscale->reader, path.at);
}

static void take(struct zd_multiscale *multiscale)
{
    struct zd_node *node = ZD_TAKE(multiscale->want.node);
    const struct zd_wait *wait = &multiscale->want.wait;
    struct zd_hash hash = {.value = multiscale->tag};
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND && multiscale->wait.status == ZD_OK) {
        zd_wait_answer(&multiscale->wait, wait->status, &wait->err);
    }
    if (node != NULL) {
        multiscale->checked_ms = zd_min_u64(multiscale->checked_ms, node->checked_ms);
    }
    zd_hash_add_u64(&hash, node == NULL ? 0 : node->tag);
    multiscale->tag = hash.value;
    multiscale->node[multiscale->n_taken++] = node;
}

/* Takes one level and asks for the next. */
static enum zd_next step(struct zd_machine *machine)
{
    struct zd_multiscale *multiscale = ZD_CONTAINER(machine, struct zd_multiscale, machine);
    struct zd_node_want *want = &multiscale->want;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (multiscale->is_asking) {
        take(multiscale);
    }
    multiscale->is_asking = multiscale->n_taken < multiscale->n;
    if (!multiscale->is_asking) {
        return ZD_DONE;
    }
    const char *level = multiscale->meta->view.level[multiscale->n_taken];
    const enum zd_status status = zd_multiscale_add_path(multiscale->group, level, &path);
    want->wait = zd_machine_wait(machine);
    if (status == ZD_NO_MEMORY) {
        want->wait.status = zd_fail(&want->wait.err, status, "no memory for the path of a level");
        return ZD_NEXT;
    }
    if (status != ZD_OK || !zd_reader_may(&multiscale->reader, path.at)) {
        want->wait.status = ZD_NOT_FOUND; /* no store has a key that is longer */
        return ZD_NEXT;
    }
    return multiscale->is_fresh ? zd_catalog_want_fresh(multiscale->dataset, path.at, want)
                                : zd_catalog_want(multiscale->dataset, path.at, want);
}

/* Set the inputs and keep the wait and the reader. */
static void reset(struct zd_multiscale *multiscale, struct zd_dataset *dataset, const char *group,
    struct zd_meta *meta)
{
    const struct zd_wait wait = {
        .done = multiscale->wait.done, .context = multiscale->wait.context};
    const struct zd_reader reader = multiscale->reader;
    zd_multiscale_release(multiscale);
    *multiscale = (struct zd_multiscale){
        .wait = wait,
        .reader = reader,
        .machine = {.step = step, .wait = &multiscale->wait},
        .dataset = dataset,
        .group = group,
        .meta = zd_meta_ref(meta),
    };
}

static enum zd_next begin(struct zd_multiscale *multiscale)
{
    const uint32_t n = multiscale->meta->view.n_levels;
    multiscale->checked_ms = uv_now(multiscale->dataset->server->loop);
    multiscale->node = (struct zd_node **)zd_alloc_zero(n, sizeof *multiscale->node);
    if (multiscale->node == NULL) {
        multiscale->wait.status =
            zd_fail(&multiscale->wait.err, ZD_NO_MEMORY, "no memory for a group's levels");
        return ZD_NEXT;
    }
    multiscale->n = n;
    return zd_machine_call(&multiscale->machine);
}

enum zd_next zd_multiscale_want(struct zd_multiscale *multiscale, struct zd_node *group)
{
    reset(multiscale, group->dataset, group->path, group->meta);
    return begin(multiscale);
}

enum zd_next zd_multiscale_want_fresh(struct zd_multiscale *multiscale, struct zd_dataset *dataset,
    const char *group, struct zd_meta *meta)
{
    reset(multiscale, dataset, group, meta);
    multiscale->is_fresh = true;
    return begin(multiscale);
}

void zd_multiscale_release(struct zd_multiscale *multiscale)
{
    zd_catalog_release(&multiscale->want);
    for (uint32_t i = 0; i < multiscale->n; i++) {
        zd_node_unref(multiscale->node[i]);
    }
    zd_free((void *)multiscale->node);
    zd_meta_unref(multiscale->meta);
    *multiscale = (struct zd_multiscale){0};
}

void zd_multiscale_judge(
    const struct zd_multiscale *multiscale, enum zd_severity severity, struct zd_faults *faults)
{
    const struct zd_view *view = &multiscale->meta->view;
    for (uint32_t i = 0; i < multiscale->n; i++) {
        const struct zd_node *node = multiscale->node[i];
        if ((node != NULL && node->meta->type == ZD_NODE_ARRAY) ||
            zd_multiscale_hides(multiscale, i)) {
            continue;
        }
        const struct zd_pointer at = zd_pointer_element(view->level_at, i);
        zd_faults_add(faults, severity, node == NULL ? "missing_array" : "not_an_array",
            view->level[i], &at, "the path of an array", view->level[i],
            node == NULL ? "there is no node at \"%s\"" : "the node at \"%s\" is no array",
            view->level[i]);
    }
}
