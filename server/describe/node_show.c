/* A node as GET nodes answers it: its children, its entity tag, its links. */
#include "server/describe/node_show.h"

#include <string.h>

#include "core/base/num.h"
#include "server/http/escape.h"
#include "server/request/client.h"
#include "server/request/permission.h"
#include "server/runtime/server.h"

#define LINK_BYTES_MAX 8192
#define DATASETS       "/v1/datasets/"

void zd_node_show_init(struct zd_node_show *show, struct zd_request *req)
{
    *show = (struct zd_node_show){.req = req, .gather.machine = &req->machine};
    zd_text_init(&show->children, req->server->config->settings.limits_tree_bytes);
    zd_emit_init(&show->emit, &show->children, false);
}

void zd_node_show_done(struct zd_node_show *show)
{
    zd_walk_release(&show->walk);
    zd_parent_groups_release(&show->parent_groups);
    zd_multiscale_release(&show->multiscale);
    zd_shadowed_release(&show->shadowed);
    zd_faults_done(&show->found);
    zd_text_done(&show->children);
    zd_fields_done(&show->fields);
    *show = (struct zd_node_show){0};
}

static bool wants(const struct zd_node_show *show, const char *path)
{
    return zd_fields_match(&show->fields, path) != ZD_FIELD_OUT;
}

/* Add a child of a group: name and type. */
static bool visit(struct zd_walk_want *want, const struct zd_walk_node *found)
{
    struct zd_node_show *show = ZD_CONTAINER(want, struct zd_node_show, walk);
    const char *slash = strrchr(found->path, '/');
    const bool is_hidden = show->req->is_limited && !zd_permission_reads(show->req, found->path);
    if (found->depth == 0 || is_hidden) {
        return true;
    }
    const enum zd_node_type type = found->node == NULL ? ZD_NODE_UNKNOWN : found->node->meta->type;
    zd_emit_object(&show->emit);
    zd_emit_member_string(&show->emit, "name", slash == NULL ? found->path : slash + 1);
    zd_emit_member_string(&show->emit, "node_type", zd_node_json_type_name(type));
    zd_emit_object_end(&show->emit);
    if (found->node == NULL) {
        show->is_partial = true;
    } else {
        show->checked_ms = zd_min_u64(show->checked_ms, found->node->checked_ms);
    }
    return true;
}

static bool has_children(const struct zd_node *node)
{
    return node->meta->type == ZD_NODE_GROUP && !zd_meta_is_refused(node->meta);
}

static enum zd_next walk(struct zd_node_show *show, struct zd_node *node)
{
    show->walk = (struct zd_walk_want){
        .wait = zd_gather_wait(&show->gather),
        .start = node,
        .depth_max = 1,
        .visit = visit,
    };
    zd_emit_array(&show->emit);
    return zd_walk_want(&show->walk);
}

enum zd_next zd_node_show_gather(struct zd_node_show *show, struct zd_node *node)
{
    struct zd_gather *gather = &show->gather;
    show->checked_ms = zd_min_u64(uv_now(show->req->server->loop), node->checked_ms);
    zd_hash_add_u64(&show->hash, zd_permission_tag(show->req, node));
    zd_gather_begin(gather);
    if (has_children(node) && wants(show, "children")) {
        zd_gather_add(gather, walk(show, node));
    }
    if (wants(show, "tier")) {
        show->parent_groups.wait = zd_gather_wait(gather);
        show->parent_groups.reader = zd_permission_reader(show->req);
        zd_gather_add(
            gather, zd_parent_groups_want(node->dataset, node->path, &show->parent_groups));
    }
    if (zd_multiscale_has(node->meta) && (wants(show, "levels") || wants(show, "warnings"))) {
        show->multiscale.wait = zd_gather_wait(gather);
        show->multiscale.reader = zd_permission_reader(show->req);
        zd_gather_add(gather, zd_multiscale_want(&show->multiscale, node));
    }
    if (wants(show, "warnings") && zd_shadowed_ask(&show->shadowed, node, gather) != ZD_OK) {
        show->is_partial = true;
    }
    return zd_gather_end(gather);
}

void zd_node_show_no_children(struct zd_node_show *show)
{
    zd_text_add(&show->children, "[]");
}

/* The tag covers the children: the generation of the group does not. */
static ZD_RESULT add_children(struct zd_node_show *show, struct zd_error *err)
{
    if (show->walk.start != NULL) {
        if (show->walk.wait.status != ZD_OK) {
            if (err != NULL) {
                *err = show->walk.wait.err;
            }
            return show->walk.wait.status;
        }
        zd_emit_array_end(&show->emit);
    }
    const struct zd_text *children = &show->children;
    if (children->status != ZD_OK) {
        const enum zd_status status = zd_fail(
            err, children->status, "the list of children exceeds %zu bytes", children->len_max);
        zd_fact_limit(err, children->len_max, children->len_max);
        return status;
    }
    zd_hash_add(&show->hash, zd_text_span(children));
    if (show->walk.is_incomplete) { /* else the tag is the one that events carry */
        zd_hash_add(&show->hash, zd_span_of("incomplete"));
    }
    return ZD_OK;
}

/* The other nodes that the answer describes. */
static void add_others(struct zd_node_show *show)
{
    const struct zd_multiscale *multiscale = &show->multiscale;
    if (!zd_shadowed_judge(&show->shadowed, &show->found, &show->checked_ms)) {
        show->is_partial = true;
    }
    for (size_t i = 0; i < show->found.n_items; i++) {
        zd_hash_add(&show->hash, zd_span_of(show->found.item[i].detail));
    }
    if (wants(show, "tier")) {
        if (show->parent_groups.groups.n > 0) { /* else the tag is the one that events carry */
            zd_hash_add_u64(&show->hash, show->parent_groups.groups.tag);
        }
        show->is_partial = show->is_partial || show->parent_groups.checked_ms == 0;
        show->checked_ms = zd_min_u64(show->checked_ms, show->parent_groups.checked_ms);
    }
    if (multiscale->n > 0) {
        zd_hash_add_u64(&show->hash, multiscale->tag);
        show->is_partial = show->is_partial || multiscale->wait.status != ZD_OK;
        show->checked_ms = zd_min_u64(show->checked_ms, multiscale->checked_ms);
    }
}

enum zd_status zd_node_show_tag(
    struct zd_node_show *show, char ret_etag[ZD_TAG_BYTES], struct zd_error *err)
{
    ZD_TRY(add_children(show, err));
    add_others(show);
    zd_tag_format(ret_etag, show->hash.value, "node");
    return ZD_OK;
}

int64_t zd_node_show_mtime(const struct zd_node_show *show, const struct zd_node *node)
{
    const bool is_alone =
        show->walk.start == NULL && show->parent_groups.groups.n == 0 && show->multiscale.n == 0;
    return is_alone ? zd_permission_mtime(show->req, node) : 0;
}

/* Where a link leads: root, dataset, resource, path. */
struct node_link {
    const char *field; /* "links." and its name */
    const char *root;
    const char *resource;
};

static const struct node_link to_self = {"links.self", DATASETS, "/nodes"};
static const struct node_link to_tree = {"links.tree", DATASETS, "/tree"};
static const struct node_link to_slices = {"links.slices", DATASETS, "/slices"};
static const struct node_link to_chunks = {"links.chunks", DATASETS, "/chunks"};
static const struct node_link to_keys = {"links.keys", "/zarr/", ""};
static const struct node_link to_parent = {"links.parent", DATASETS, "/nodes"};

static void emit_link(const struct zd_node_show *show, const struct node_link *link,
    const char *path, struct zd_emit *emit)
{
    if (!wants(show, link->field)) {
        return;
    }
    ZD_SCOPED_TEXT(target, LINK_BYTES_MAX);
    zd_text_addf(&target, "%s%s%s%s/", zd_client_prefix(show->req), link->root,
        show->req->dataset->config.name, link->resource);
    zd_escape_percent_encode(zd_span_of(path), &target);
    zd_emit_member_text(emit, link->field + strlen("links."), &target);
}

static void emit_parent(const struct zd_node_show *show, const char *path, struct zd_emit *emit)
{
    const char *slash = strrchr(path, '/');
    ZD_SCOPED_TEXT(parent, ZD_KEY_BYTES_MAX);
    if (zd_text_add_bytes(&parent, path, slash == NULL ? 0 : (size_t)(slash - path)) != ZD_OK) {
        emit->text->status = parent.status;
        return;
    }
    emit_link(show, &to_parent, parent.at, emit);
}

static void emit_links(
    const struct zd_node_show *show, const struct zd_node_shown *node, struct zd_emit *emit)
{
    const bool is_array = zd_meta_is_array(node->meta);
    if (!wants(show, "links")) {
        return;
    }
    zd_emit_member_object(emit, "links");
    emit_link(show, &to_self, node->path, emit);
    emit_link(show, &to_tree, node->path, emit);
    if (is_array || zd_multiscale_has(node->meta)) {
        emit_link(show, &to_slices, node->path, emit);
    }
    if (is_array) {
        emit_link(show, &to_chunks, node->path, emit);
    }
    /* Drafts keep what is stored of a node below two other keys. */
    const bool has_keys = node->path[0] == '\0' || !node->meta->dialect->has_entry;
    if (show->req->dataset->config.allow_keys && has_keys) {
        emit_link(show, &to_keys, node->path, emit);
    }
    if (node->path[0] != '\0') {
        emit_parent(show, node->path, emit);
    }
    zd_emit_object_end(emit);
}

static void emit_level(const struct zd_multiscale *multiscale, uint32_t i, struct zd_emit *emit)
{
    const struct zd_node *node = multiscale->node[i];
    uint64_t shape[ZD_RANK_MAX];
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    const char *level = multiscale->meta->view.level[i];
    const bool is_path = zd_multiscale_add_path(multiscale->group, level, &path) == ZD_OK;
    zd_emit_object(emit);
    zd_emit_member_string(
        emit, "path", is_path ? path.at : level); /* else no store has such a key */
    zd_emit_key(emit, "shape");
    if (node == NULL || !zd_meta_is_array(node->meta)) {
        zd_emit_null(emit);
    } else {
        zd_meta_shape(node->meta, shape);
        zd_node_json_emit_lengths(emit, shape, node->meta->grid.rank);
    }
    zd_emit_object_end(emit);
}

/* The arrays through which a group can be sliced, the finest first. */
static void emit_levels(const struct zd_node_show *show, struct zd_emit *emit)
{
    if (show->multiscale.n == 0 || !wants(show, "levels")) {
        return;
    }
    zd_emit_member_array(emit, "levels");
    for (uint32_t i = 0; i < show->multiscale.n; i++) {
        emit_level(&show->multiscale, i, emit);
    }
    zd_emit_array_end(emit);
}

void zd_node_show_emit(
    const struct zd_node_show *show, const struct zd_node_shown *node, struct zd_text *text)
{
    struct zd_emit emit;
    struct zd_faults faults = {0};
    for (size_t i = 0; i < show->found.n_items; i++) {
        const struct zd_fault *fault = &show->found.item[i];
        const struct zd_pointer at = {.text = ""};
        zd_faults_add(&faults, fault->severity, fault->code, fault->name, &at, NULL, NULL, "%s",
            fault->detail);
    }
    if (show->multiscale.n > 0 && show->multiscale.wait.status == ZD_OK) {
        zd_multiscale_judge(&show->multiscale, ZD_FAULT_WARNING, &faults);
    }
    const struct zd_node_view view = {
        .path = node->path,
        .meta = node->meta,
        .warnings = node->warnings,
        .more_warnings = &faults,
        .tier = zd_parent_groups_listing(&show->parent_groups.groups, node->path).tier,
        .fields = &show->fields,
        .can_slice = node->can_slice,
        .is_writable = show->req->dataset->config.writable,
        .hides_listing = !zd_permission_reaches(show->req, node->path),
    };
    zd_emit_init(&emit, text, zd_request_is_pretty(show->req));
    zd_emit_object(&emit);
    zd_node_json_emit(&view, &emit);
    emit_levels(show, &emit);
    if (show->children.len > 0) {
        zd_emit_key(&emit, "children");
        zd_emit_raw(&emit, zd_text_span(&show->children));
        if (show->walk.is_incomplete) {
            zd_emit_member_bool(&emit, "complete", false);
        }
    }
    zd_node_json_emit_warnings(&view, &emit);
    emit_links(show, node, &emit);
    zd_emit_object_end(&emit);
    zd_faults_done(&faults);
}
