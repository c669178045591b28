/*
 * The consolidated listing of a hierarchy.
 *
 *     walk -> [ a lot of rows ] -> rendered on a worker -> sent, the rows released -> walk on
 *
 * A listing that is one lot has an entity tag and is kept for the next request. A longer one is
 * streamed, without a tag: what it depends on is known when it has been sent.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/path.h"
#include "server/data/walk.h"
#include "server/describe/tree.h"
#include "server/http/accept.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/request/task.h"
#include "server/runtime/server.h"

#define RENDER_NS      20000               /* of one node, estimated */
#define RENDERED_BYTES 2048                /* the same: its text, while that grows */
#define WINDOW_BYTES   (UINT64_C(2) << 20) /* of a streamed listing, at most */
#define TEXT_BYTES     (UINT64_C(4) << 20) /* of a lot of it, estimated */

/** How much is gathered before it is sent, or before more may be. */
static const struct lot {
    uint64_t n_rows;
    uint64_t n_bytes; /* of their metadata, as caches count it: at most what it takes */
} lots[] = {
    {.n_rows = 64, .n_bytes = UINT64_C(2) << 20},    /* not admitted yet */
    {.n_rows = 1024, .n_bytes = UINT64_C(24) << 20}, /* sent whole if this is all */
    {.n_rows = 512, .n_bytes = UINT64_C(8) << 20},   /* streamed */
};

enum {
    LOT_FREE,
    LOT_WHOLE,
    LOT_STREAMED,
};

/** A listing on its way. */
struct listing {
    struct zd_task task; /* renders */
    struct zd_tree tree;
    struct zd_walk_want walk;
    char *way;           /* a path below the last group before the first row; owned */
    struct zd_hash hash; /* of all that the answer depends on */
    uint64_t checked_ms; /* when the store was asked about the first of it; loop time */
    bool is_uncertain;   /* the store could not tell of some node */
    uint64_t n_wanted;   /* live rows to show */
    uint64_t nodes_max;
    uint32_t lot;       /* the one that is being gathered */
    uint64_t lot_bytes; /* of it so far */
    bool has_begun;     /* rendering */
    bool is_last;       /* no row follows */
    struct zd_text text;
    enum zd_coding coding; /* of a streamed listing */
    struct zd_compress_stream *compressor;
    struct zd_text coded;  /* the text of the lot, compressed */
    enum zd_status status; /* of gathering, then of rendering */
    struct zd_error err;
};

enum mode {
    MODE_AUTO,
    MODE_LIVE,
    MODE_STORED,
};

enum format {
    FORMAT_JSON,
    FORMAT_ZARR,
    FORMAT_ZMETADATA,
};

static const char *const mode_names[] = {"auto", "live", "stored", NULL};
static const char *const format_names[] = {"json", "zarr", "zmetadata", NULL};
static const char *const possible_formats[] = {"json", "zarr", NULL};
static const char *const type_names[] = {"all", "group", "array", NULL};

static zd_step step_gather;
static zd_step step_rows;
static zd_step step_walked;
static zd_step step_respond;
static zd_step step_give;

static void compress(struct listing *listing)
{
    listing->status = zd_compress_piece(
        listing->compressor, zd_text_span(&listing->text), listing->is_last, &listing->coded);
    zd_text_clear(&listing->text);
    if (listing->status != ZD_OK) {
        listing->status = zd_fail(&listing->err, listing->status, "no memory to compress");
    }
}

static void render(struct zd_task *task)
{
    struct listing *listing = ZD_CONTAINER(task, struct listing, task);
    struct zd_tree *tree = &listing->tree;
    listing->status = ZD_OK;
    if (!listing->has_begun) {
        listing->has_begun = true;
        listing->status = zd_tree_begin(tree, &listing->text, &listing->err);
    }
    if (listing->status == ZD_OK) {
        listing->status = zd_tree_go_on(tree, &listing->err);
    }
    listing->is_last = listing->is_last || tree->has_more;
    if (listing->status == ZD_OK && listing->is_last) {
        listing->status = zd_tree_end(tree, &listing->err);
    }
    if (listing->status == ZD_OK && listing->compressor != NULL) {
        compress(listing);
    }
    if (tree->live.n > 0) {
        zd_parent_groups_keep(&tree->above, tree->live.row[tree->live.n - 1].path);
    }
    /* Here, not on the loop: a tenth of a second for 10,000. */
    zd_tree_release_rows(&listing->tree);
}

static void release(struct zd_task *task)
{
    struct listing *listing = ZD_CONTAINER(task, struct listing, task);
    zd_tree_done(&listing->tree);
    zd_free(listing->way);
    zd_text_done(&listing->text);
    zd_text_done(&listing->coded);
    zd_compress_end(listing->compressor);
    zd_free(listing);
}

static void leave(struct zd_request *req)
{
    struct listing *listing = req->state;
    zd_walk_release(&listing->walk);
    zd_task_leave(&listing->task);
}

/* Paths that a cursor or a pattern names belong to the listing. */
static ZD_RESULT read_texts(
    const struct zd_params *params, struct zd_tree_ask *ask, struct zd_error *err)
{
    struct zd_span value = {.len = 0};
    if (zd_params_find(params, "match", &value)) {
        ask->match = zd_strndup(value.len == 0 ? "" : (const char *)value.ptr, value.len);
        if (ask->match == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a pattern");
        }
    }
    if (zd_params_find(params, "cursor", &value)) {
        ZD_TRY(zd_tree_cursor_parse(value, &ask->after, err));
        if (strcmp(ask->after, ask->path) != 0 && !zd_path_is_below(ask->after, ask->path)) {
            return zd_fail_name(err, "cursor", "cursor belongs to another listing");
        }
    }
    if (!zd_params_find(params, "fields", &value)) {
        return ZD_OK;
    }
    ZD_TRY(zd_fields_parse(value, zd_node_fields, &ask->fields, err));
    if (ask->fields.n > 0 && ask->fields.n < ZD_FIELDS_MAX) {
        /* A row without its path would be of no use. */
        ask->fields.field[ask->fields.n++] = "path";
    }
    return ZD_OK;
}

/* Combinations that could not be answered truly. */
static ZD_RESULT judge_ask(
    const struct zd_params *params, const struct zd_tree_ask *ask, struct zd_error *err)
{
    if (ask->check && ask->after != NULL) {
        return zd_fail(err, ZD_INVALID, "check=1 goes with the first page only, not with cursor");
    }
    if (ask->format != ZD_TREE_ZARR) {
        return ZD_OK;
    }
    static const char *const senseless[] = {"limit", "cursor", "fields", "check"};
    for (size_t i = 0; i < ZD_COUNT_OF(senseless); i++) {
        struct zd_span value;
        if (zd_params_find(params, senseless[i], &value)) {
            return zd_fail_name(err, senseless[i],
                "format=zarr is one whole document: %s does not go with it", senseless[i]);
        }
    }
    return ZD_OK;
}

static ZD_RESULT read_ask(
    const struct zd_request *req, struct listing *listing, struct zd_error *err)
{
    const struct zd_params *params = &req->params;
    const uint64_t nodes_max = listing->nodes_max;
    const struct zd_params_range depths = {.initial = UINT64_MAX, .most = UINT64_MAX};
    const struct zd_params_range limits = {.initial = nodes_max, .least = 1, .most = nodes_max};
    static const enum zd_node_type types[] = {ZD_NODE_UNKNOWN, ZD_NODE_GROUP, ZD_NODE_ARRAY};
    uint32_t type = 0;
    struct zd_tree_ask *ask = &listing->tree.ask;
    ask->path = zd_strdup(req->path);
    if (ask->path == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a path");
    }
    ask->pretty = zd_request_is_pretty(req);
    ZD_TRY(zd_params_u64(params, "depth", depths, &ask->depth_max, err));
    ZD_TRY(zd_params_u64(params, "limit", limits, &ask->limit, err));
    ZD_TRY(zd_params_flag(params, "check", false, &ask->check, err));
    ZD_TRY(zd_params_choice(params, "node_type", type_names, &type, err));
    ask->type = types[type];
    ZD_TRY(read_texts(params, ask, err));
    return judge_ask(params, ask, err);
}

/* The format; false when the request is answered. */
static bool choose_format(struct zd_request *req, struct listing *listing)
{
    uint32_t format = 0;
    const bool is_known =
        zd_params_choice(&req->params, "format", format_names, &format, NULL) == ZD_OK;
    if (!is_known || format == FORMAT_ZMETADATA) {
        const struct zd_problem problem = {
            .code = "not_acceptable",
            .allowed = possible_formats,
            .detail = is_known ? "the v2 form of consolidated metadata cannot express v3 documents"
                               : "a listing has the formats json and zarr",
        };
        (void)zd_respond_problem(req, &problem);
        return false;
    }
    listing->tree.ask.format = format == FORMAT_ZARR ? ZD_TREE_ZARR : ZD_TREE_JSON;
    return true;
}

static enum zd_next step_begin(struct zd_request *req)
{
    struct listing *listing = zd_request_new_state(req, sizeof *listing, leave);
    struct zd_error err = {0};
    if (listing == NULL) {
        return ZD_DONE;
    }
    const struct zd_settings *settings = &req->server->config->settings;
    zd_task_init(&listing->task, req, render, release);
    listing->tree.ask.bytes_max = settings->limits_tree_bytes;
    zd_text_init(&listing->text, SIZE_MAX);
    zd_text_init(&listing->coded, SIZE_MAX);
    listing->nodes_max = settings->limits_tree_nodes;
    if (!choose_format(req, listing)) {
        return ZD_DONE;
    }
    if (read_ask(req, listing, &err) != ZD_OK) {
        return zd_respond_error(req, err.status == ZD_INVALID ? "bad_parameter" : NULL, &err);
    }
    return zd_request_want_node(req, step_gather);
}

/* A node of the walk. Kept when it is shown or compared. */
static bool visit(struct zd_walk_want *want, const struct zd_walk_node *found)
{
    struct listing *listing = ZD_CONTAINER(want, struct listing, walk);
    struct zd_tree *tree = &listing->tree;
    struct zd_meta *meta = found->node == NULL ? NULL : found->node->meta;
    if (meta != NULL && zd_parent_groups_says_something(meta)) {
        listing->status = zd_parent_groups_add(&tree->above, found->path, meta);
        zd_hash_add_u64(&listing->hash, found->node->tag);
        if (listing->status != ZD_OK) {
            listing->status = zd_fail(&listing->err, listing->status, "no memory for a listing");
            return false;
        }
    }
    const bool is_wanted =
        zd_tree_wants(&tree->ask, found->path, meta == NULL ? ZD_NODE_UNKNOWN : meta->type);
    listing->n_wanted += is_wanted ? 1 : 0;
    if (!is_wanted && !tree->ask.check) {
        return true;
    }
    const bool can_slice = found->node != NULL && found->node->layout != NULL;
    if (found->node == NULL) {
        listing->is_uncertain = true;
    } else {
        listing->checked_ms = zd_min_u64(listing->checked_ms, found->node->checked_ms);
    }
    zd_hash_add(&listing->hash, zd_span_of(found->path));
    zd_hash_add_u64(&listing->hash, found->node == NULL ? 0 : found->node->tag);
    zd_hash_add(&listing->hash, zd_span_of(found->err == NULL ? "" : found->err->text));
    listing->status = zd_tree_add(&tree->live, found->path, meta, can_slice, found->err);
    if (listing->status != ZD_OK) {
        listing->status = zd_fail(&listing->err, listing->status, "no memory for a listing");
        return false;
    }
    if (tree->ask.check && tree->live.n > listing->nodes_max) {
        listing->status = zd_fail_limit(&listing->err, listing->nodes_max, tree->live.n,
            "check=1 cannot compare so many nodes");
        return false;
    }
    listing->lot_bytes += found->node == NULL ? 0 : found->node->entry.bytes;
    const struct lot *lot = &lots[listing->lot];
    want->rests =
        !tree->ask.check && (tree->live.n >= lot->n_rows || listing->lot_bytes >= lot->n_bytes);
    /* One more than asked for tells that there is a next page. */
    return tree->ask.check || listing->n_wanted <= tree->ask.limit;
}

static enum zd_next walk(struct zd_request *req)
{
    struct listing *listing = req->state;
    const struct zd_tree_ask *ask = &listing->tree.ask;
    listing->walk = (struct zd_walk_want){
        .wait = zd_machine_wait(&req->machine),
        .start = req->node,
        /* All nodes are compared, whatever is shown. */
        .depth_max = ask->check ? UINT64_MAX : ask->depth_max,
        .after = ask->after,
        .visit = visit,
    };
    req->step = step_walked;
    return zd_walk_want(&listing->walk);
}

/*
 * The stored listing is trusted only where nothing can have changed since it was written: in a
 * dataset that is declared immutable. Elsewhere nothing keeps it in step with the store.
 */
static bool is_stored_fresh(const struct zd_request *req)
{
    return req->dataset->config.immutable && req->node->meta->consolidated != NULL;
}

static enum zd_next look_above(struct zd_request *req, bool is_stored)
{
    struct listing *listing = req->state;
    struct zd_tree_ask *ask = &listing->tree.ask;
    ask->is_stored = is_stored;
    ZD_SCOPED_TEXT(way, SIZE_MAX);
    zd_text_addf(&way, "%s/", ask->after == NULL ? ask->path : ask->after);
    listing->way = way.status == ZD_OK ? zd_strdup(way.at) : NULL;
    if (listing->way == NULL) {
        return zd_respond_no_memory(req, "a path");
    }
    req->step = step_rows;
    req->parent_groups.wait = zd_machine_wait(&req->machine);
    return zd_parent_groups_want(req->dataset, listing->way, &req->parent_groups);
}

static enum zd_next step_gather(struct zd_request *req)
{
    const struct listing *listing = req->state;
    const struct zd_node *node = req->node;
    struct zd_error err = {0};
    uint32_t mode = 0;
    if (zd_params_choice(&req->params, "mode", mode_names, &mode, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    if (mode == MODE_STORED && node->meta->consolidated == NULL) {
        err.status = zd_fail_name(&err, "mode",
            "mode=stored: \"%s\" has no stored consolidated metadata; use mode=live", node->path);
        return zd_respond_error(req, "bad_parameter", &err);
    }
    if (listing->tree.ask.format == ZD_TREE_ZARR &&
        zd_request_check_group(
            req, node->meta, "format=zarr is the document of a group; this node is none")) {
        return ZD_DONE;
    }
    return look_above(req, mode == MODE_STORED || (mode == MODE_AUTO && is_stored_fresh(req)));
}

/* The groups above the first row are known: those below are met on the way. */
static enum zd_next step_rows(struct zd_request *req)
{
    struct listing *listing = req->state;
    const struct zd_node *node = req->node;
    listing->tree.above = req->parent_groups.groups;
    req->parent_groups.groups = (struct zd_parent_groups){0};
    listing->tree.start = zd_meta_ref(node->meta);
    listing->tree.reading = zd_dataset_reading(req->dataset);
    listing->tree.is_writable = req->dataset->config.writable;
    listing->checked_ms = zd_min_u64(req->parent_groups.checked_ms, node->checked_ms);
    zd_hash_add_u64(&listing->hash, listing->tree.above.tag);
    zd_hash_add(&listing->hash, zd_span_of(req->target));
    zd_hash_add_u64(&listing->hash, node->tag);
    if (listing->tree.ask.is_stored && !listing->tree.ask.check) {
        req->step = step_walked;
        return ZD_NEXT;
    }
    return walk(req);
}

static struct zd_representation represent(const struct zd_request *req)
{
    const struct listing *listing = req->state;
    struct zd_representation answer = {.media_type = "application/json"};
    zd_tag_format(answer.etag, listing->hash.value, "tree");
    if (!listing->is_uncertain) {
        answer.keep_until_ms = zd_dataset_trusts_until(req->dataset, listing->checked_ms);
    }
    return answer;
}

static uint64_t n_rows(const struct listing *listing)
{
    const struct zd_tree *tree = &listing->tree;
    return tree->live.n + zd_json_count(tree->start->consolidated);
}

static enum zd_next render_for(struct zd_request *req, zd_step *next)
{
    struct listing *listing = req->state;
    req->step = next;
    return zd_task_run(&listing->task, n_rows(listing) * RENDER_NS);
}

static enum zd_next step_render(struct zd_request *req)
{
    return render_for(req, step_respond);
}

/* All nodes are known, and with them the tag: an unchanged listing is not made again. */
static enum zd_next respond_whole(struct zd_request *req)
{
    const struct listing *listing = req->state;
    struct zd_representation answer = represent(req);
    if (zd_respond_renewed(req, &answer)) {
        return ZD_NEXT;
    }
    if (zd_respond_condition(req, &answer) == ZD_NOT_MODIFIED) {
        return zd_respond_not_modified(req, &answer);
    }
    return zd_admit_want(req, n_rows(listing) * RENDERED_BYTES, step_render);
}

static uint64_t window_bytes(const struct zd_request *req)
{
    const uint64_t stream_bytes = req->server->config->settings.http_stream_bytes;
    return zd_min_u64(ZD_STREAM_WINDOW_TIMES * stream_bytes, WINDOW_BYTES);
}

static enum zd_next walk_on(struct zd_request *req)
{
    struct listing *listing = req->state;
    req->step = step_walked;
    return zd_walk_go_on(&listing->walk);
}

/* More nodes than a whole listing has: what conditions say without a tag is judged now. */
static enum zd_next begin_stream(struct zd_request *req)
{
    struct listing *listing = req->state;
    struct zd_representation answer = {.media_type = "application/json"};
    listing->lot = LOT_STREAMED;
    switch (zd_respond_condition(req, &answer)) {
    case ZD_NOT_MODIFIED:
        return zd_respond_not_modified(req, &answer);
    case ZD_PRECONDITION:
        return zd_respond_precondition(req, answer.etag);
    default:
        break;
    }
    if (req->is_head) {
        return zd_respond(req, &answer);
    }
    listing->coding = zd_accept_coding(req->accept_encoding, UINT64_MAX);
    if (listing->coding != ZD_PLAIN) {
        listing->compressor = zd_compress_begin(listing->coding);
        if (listing->compressor == NULL) {
            return zd_respond_no_memory(req, "a listing");
        }
        req->server->metrics.n_compressions++;
    }
    zd_stream_init(&req->stream, window_bytes(req));
    return render_for(req, step_give);
}

/* The lot is full. */
static enum zd_next rest(struct zd_request *req)
{
    struct listing *listing = req->state;
    if (listing->lot == LOT_FREE) {
        const uint64_t bytes = lots[LOT_WHOLE].n_bytes + window_bytes(req) + TEXT_BYTES;
        listing->lot = LOT_WHOLE;
        return zd_admit_want(req, zd_admit_stream_bytes(req, bytes), walk_on);
    }
    return listing->lot == LOT_WHOLE ? begin_stream(req) : render_for(req, step_give);
}

/* The nodes of a lot are known. */
static enum zd_next step_walked(struct zd_request *req)
{
    struct listing *listing = req->state;
    if (listing->status == ZD_OK && listing->walk.wait.status != ZD_OK) {
        listing->status = listing->walk.wait.status;
        listing->err = listing->walk.wait.err;
    }
    if (listing->status != ZD_OK) {
        return zd_respond_error(req, NULL, &listing->err);
    }
    if (listing->walk.rests) {
        return rest(req);
    }
    listing->is_last = true;
    return listing->lot == LOT_STREAMED ? render_for(req, step_give) : respond_whole(req);
}

static enum zd_next step_respond(struct zd_request *req)
{
    struct listing *listing = req->state;
    if (listing->status != ZD_OK) {
        return zd_respond_error(req, NULL, &listing->err);
    }
    struct zd_representation answer = represent(req);
    return zd_respond_text(req, &listing->text, &answer);
}

/* The lot is rendered. The head leaves with the first one: earlier failures get a status. */
static enum zd_next step_give(struct zd_request *req)
{
    struct listing *listing = req->state;
    struct zd_text *text = listing->compressor == NULL ? &listing->text : &listing->coded;
    const struct zd_representation answer = {
        .media_type = "application/json",
        .header = {{.name = "Content-Encoding", .value = zd_compress_name(listing->coding)}},
        .n_headers = listing->compressor == NULL ? 0 : 1,
    };
    struct zd_buf *piece = NULL;
    if (listing->status != ZD_OK) {
        return zd_respond_error(req, NULL, &listing->err);
    }
    if (zd_request_want_room(req, text->len) == ZD_WAIT) {
        return ZD_WAIT;
    }
    if (!zd_stream_is_open(&req->stream) && zd_respond_stream(req, &answer) == ZD_DONE) {
        return ZD_DONE;
    }
    if (zd_text_buf(text, &piece) != ZD_OK) {
        return zd_respond_no_memory(req, "a listing");
    }
    zd_text_clear(text);
    zd_request_give(req, piece, 0, piece->len);
    listing->lot_bytes = 0;
    return listing->is_last ? zd_request_end_stream(req) : walk_on(req);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/tree/{path}",
        .first = step_begin,
        .params = ZD_PARAMS(
            "depth", "match", "node_type", "fields", "limit", "cursor", "mode", "format", "check")},
};

const struct zd_handler zd_handler_tree = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
