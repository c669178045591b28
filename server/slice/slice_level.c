/* Slices of groups: which of a group's levels answers. */
#include "server/slice/slice_level.h"

#include "server/request/node_check.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

bool zd_slice_level_refuse(struct zd_request *req)
{
    return !zd_multiscale_has(zd_request_node(req)->meta) && zd_node_check(req);
}

/* What the slice would be of each level. @param err of the first of which there is none */
static void count(
    const struct zd_slice_read *read, struct zd_choice_level *level, struct zd_error *err)
{
    const struct zd_multiscale *multiscale = &read->multiscale;
    for (uint32_t i = 0; i < multiscale->n; i++) {
        const struct zd_node *node = multiscale->node[i];
        struct zd_selection asked;
        struct zd_selection stored;
        struct zd_error why = {0};
        level[i].is_array = node != NULL && node->layout != NULL;
        if (!level[i].is_array) {
            continue;
        }
        level[i].is_counted =
            zd_slice_params_select(&read->ask, node->meta, &asked, &stored, &why) == ZD_OK;
        if (!level[i].is_counted && err->status == ZD_OK) {
            *err = why;
        }
        if (level[i].is_counted && zd_selection_overflows(&asked, &level[i].n_elements)) {
            level[i].n_elements = UINT64_MAX;
        }
    }
}

static bool is_any_counted(const struct zd_choice *choice)
{
    for (uint32_t i = 0; i < choice->n_levels; i++) {
        if (choice->level[i].is_counted) {
            return true;
        }
    }
    return false;
}

static enum zd_next respond_missing(struct zd_request *req, uint32_t level)
{
    struct zd_error err = {0};
    err.status =
        zd_fail(&err, ZD_NOT_FOUND, "the group '%.200s' lists level '%.200s', which does not exist",
            zd_request_node(req)->path, zd_request_node(req)->meta->view.level[level]);
    return zd_respond_error(req, "node_not_found", &err);
}

static enum zd_next take_level(struct zd_slice_read *read, uint32_t level)
{
    struct zd_request *req = read->task.req;
    struct zd_node *node = read->multiscale.node[level];
    if (node == NULL) {
        return respond_missing(req, level);
    }
    zd_text_addf(zd_headers_add(&read->headers, "Zarr-Level"), "%u", (unsigned)level);
    zd_request_set_node(req, node);
    zd_node_unref(read->node);
    read->node = zd_node_ref(node);
    if (zd_node_check(req)) {
        return ZD_DONE;
    }
    req->step = read->after_level;
    return ZD_NEXT;
}

static enum zd_next choose(struct zd_slice_read *read, struct zd_choice_level *levels)
{
    struct zd_request *req = read->task.req;
    struct zd_error err = {0};
    uint32_t level = 0;
    count(read, levels, &err);
    const struct zd_choice choice = {
        .has_number = read->ask.has_level,
        .number = read->ask.level,
        .n_elements_max = read->ask.max_size,
        .level = levels,
        .n_levels = read->multiscale.n,
    };
    if (!choice.has_number && !is_any_counted(&choice)) {
        return err.status == ZD_OK ? respond_missing(req, 0)
                                   : zd_respond_error(req, zd_slice_params_code(err.status), &err);
    }
    const enum zd_status status =
        zd_applied_select(&zd_request_node(req)->meta->applied, &choice, &level, &err);
    if (status != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return take_level(read, level);
}

static enum zd_next step_choose(struct zd_request *req)
{
    struct zd_slice_read *read = zd_slice_read_of(req);
    const struct zd_multiscale *multiscale = &read->multiscale;
    if (multiscale->wait.status != ZD_OK) {
        return zd_respond_error(req, NULL, &multiscale->wait.err);
    }
    struct zd_choice_level *levels = zd_alloc_zero(multiscale->n, sizeof *levels);
    if (levels == NULL) {
        const struct zd_error err = {.status = ZD_NO_MEMORY, .text = "no memory for the levels"};
        return zd_respond_error(req, NULL, &err);
    }
    const enum zd_next next = choose(read, levels);
    zd_free(levels);
    return next;
}

static enum zd_next refuse_parameter(struct zd_request *req, const char *name, const char *text)
{
    struct zd_error err = {0};
    err.status = zd_fail(&err, ZD_INVALID, "%s", text);
    zd_fact_name(&err, name);
    return zd_respond_error(req, "bad_parameter", &err);
}

enum zd_next zd_slice_level_want(struct zd_slice_read *read, zd_step *next)
{
    struct zd_request *req = read->task.req;
    const struct zd_slice_params *ask = &read->ask;
    if (ask->has_level && ask->has_max_size) {
        return refuse_parameter(req, "max_size", "level and max_size cannot be combined");
    }
    if (zd_multiscale_has(read->node->meta)) {
        read->after_level = next;
        read->multiscale.wait = zd_machine_wait(&req->machine);
        req->step = step_choose;
        return zd_multiscale_want(&read->multiscale, read->node);
    }
    if (ask->has_level || ask->has_max_size) {
        return refuse_parameter(req, ask->has_level ? "level" : "max_size",
            "level and max_size apply to multiscale groups; this node is an array");
    }
    req->step = next;
    return ZD_NEXT;
}
