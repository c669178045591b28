/*
 * The consolidated listing of a hierarchy.
 *
 *     walk -> [ a lot of rows ] -> rendered on a worker -> sent, the rows released -> walk on
 *     the stored listing, as text -> [ a lot of entries ] -> rendered on a worker -> sent -> ...
 *
 * A listing of one lot has an entity tag and is kept for the next request. A longer listing is
 * streamed as soon as it is known to be longer. A live one has no tag then: the nodes that it
 * depends on are known only when it has been sent.
 */
#include "server/handler/handler_tree.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/listing_read.h"
#include "server/data/walk.h"
#include "server/describe/tree.h"
#include "server/describe/tree_ask.h"
#include "server/describe/tree_text.h"
#include "server/http/accept.h"
#include "server/request/admit.h"
#include "server/request/dependence.h"
#include "server/request/handler.h"
#include "server/request/permission.h"
#include "server/request/task.h"
#include "server/runtime/server.h"

#define RENDER_NS      20000               /* of one node, estimated */
#define RENDERED_BYTES 2048                /* the same: its text, while that grows */
#define WINDOW_BYTES   (UINT64_C(2) << 20) /* of a streamed listing, at most */

/** Sizes of lots: how much is gathered before it is sent, or before more may be gathered. */
static const struct lot {
    uint64_t n_rows;
    uint64_t n_bytes; /* of their metadata, as caches count it: an upper bound */
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
    struct zd_node_memory_share share; /* for the rows of a lot */
    struct zd_listing_read read;       /* of the stored listing */
    uint32_t n_restarts;               /* since the stored listing has changed meanwhile */
    char *way;                         /* a path below the last group before the first row; owned */
    struct zd_hash hash;               /* of all that the answer depends on */
    uint64_t checked_ms;  /* when the store was asked about the first of it; loop time */
    bool is_uncertain;    /* the store could not tell of some node */
    bool may_show_stored; /* without being asked to */
    bool is_unlisted;     /* the store lists nothing: show its stored listing */
    uint64_t n_wanted;    /* live rows to show */
    uint64_t n_compared;  /* live rows, with check=1 */
    uint64_t nodes_max;
    uint32_t lot;       /* the one that is being gathered */
    uint64_t lot_bytes; /* of it so far */
    bool is_walking;    /* or has walked */
    bool is_last;       /* no live row follows */
    struct zd_tree_text text;
    enum zd_status status; /* of gathering, then of rendering */
    struct zd_error err;
};

enum mode {
    MODE_AUTO,
    MODE_LIVE,
    MODE_STORED,
};

static const char *const mode_names[] = {"auto", "live", "stored", NULL};
static const char *const format_names[] = {"json", "zarr", "zmetadata", NULL};

static zd_step step_gather;
static zd_step step_rows;
static zd_step step_walked;
static zd_step step_listing;
static zd_step step_listed;
static zd_step step_shown;
static zd_step step_rendered;
static zd_step step_give;

static void render(struct zd_task *task)
{
    struct listing *listing = ZD_CONTAINER(task, struct listing, task);
    struct zd_tree *tree = &listing->tree;
    listing->status = zd_tree_text_make(
        &listing->text, tree, lots[LOT_WHOLE].n_rows, listing->is_last, &listing->err);
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
    zd_tree_text_done(&listing->text);
    zd_free(listing);
}

static void leave(struct zd_request *req)
{
    struct listing *listing = req->state;
    zd_walk_release(&listing->walk);
    zd_node_memory_leave(&listing->share);
    zd_listing_read_release(&listing->read);
    zd_task_leave(&listing->task);
}

static enum zd_next choose_format(struct zd_request *req, struct listing *listing)
{
    static const enum zd_tree_format formats[] = {ZD_TREE_JSON, ZD_TREE_ZARR, ZD_TREE_ZMETADATA};
    uint32_t format = 0;
    if (zd_params_choice(&req->params, "format", format_names, &format, NULL) != ZD_OK) {
        const struct zd_problem problem = {
            .code = "not_acceptable",
            .allowed = format_names,
            .detail = "listings are available as json, zarr or zmetadata",
        };
        return zd_respond_problem(req, &problem);
    }
    listing->tree.ask.format = formats[format];
    return ZD_NEXT;
}

/* A listing of the request's path; NULL: the request is answered. */
static struct listing *new_listing(struct zd_request *req)
{
    struct listing *listing = zd_request_new_state(req, sizeof *listing, leave);
    if (listing == NULL) {
        return NULL;
    }
    const struct zd_settings *settings = &req->server->config->settings;
    zd_task_init(&listing->task, req, render, release);
    struct zd_tree_ask *ask = &listing->tree.ask;
    ask->pretty = zd_request_is_pretty(req);
    ask->bytes_max = settings->limits_tree_bytes;
    zd_tree_text_init(&listing->text);
    listing->nodes_max = settings->limits_tree_nodes;
    ask->path = zd_strdup(req->path);
    if (ask->path == NULL) {
        (void)zd_respond_no_memory(req, "a path");
        return NULL;
    }
    return listing;
}

static enum zd_next step_begin(struct zd_request *req)
{
    struct listing *listing = new_listing(req);
    struct zd_error err = {0};
    if (listing == NULL || choose_format(req, listing) != ZD_NEXT) {
        return ZD_DONE;
    }
    struct zd_tree_ask *ask = &listing->tree.ask;
    if (zd_tree_ask_parse(&req->params, listing->nodes_max, ask, &err) != ZD_OK) {
        return zd_respond_error(req, err.status == ZD_INVALID ? "bad_parameter" : NULL, &err);
    }
    return zd_request_want_node(req, step_gather);
}

enum zd_next zd_handler_tree_view(struct zd_request *req, enum zd_view_kind view)
{
    struct listing *listing = new_listing(req);
    if (listing == NULL) {
        return ZD_DONE;
    }
    struct zd_tree_ask *ask = &listing->tree.ask;
    ask->format = ZD_TREE_ZARR;
    ask->view = view;
    ask->type = ZD_NODE_UNKNOWN;
    ask->depth_max = UINT64_MAX;
    ask->limit = listing->nodes_max;
    return zd_request_want_node(req, step_gather);
}

/* Bounds the bytes of the metadata of a lot. */
static uint64_t lot_bytes(const struct listing *listing)
{
    const uint64_t bytes = lots[zd_max_u64(listing->lot, LOT_WHOLE)].n_bytes;
    const bool is_compared = listing->tree.ask.check && listing->tree.start->has_listing;
    return is_compared ? zd_min_u64(bytes, lots[LOT_STREAMED].n_bytes) : bytes;
}

/* A .zmetadata without a node says that the node is missing, which is unknown while the store
 * fails. */
static bool fails(struct listing *listing, const struct zd_walk_node *found)
{
    if (listing->tree.ask.format != ZD_TREE_ZMETADATA || found->node != NULL ||
        found->err->status == ZD_TOO_LARGE) {
        return false;
    }
    listing->status = found->err->status;
    listing->err = *found->err;
    return true;
}

/* Keep what a group says of the nodes below it. */
static enum zd_status note_group(struct listing *listing, const struct zd_walk_node *found)
{
    struct zd_meta *meta = found->node == NULL ? NULL : found->node->meta;
    if (meta == NULL || !zd_parent_groups_says_something(meta)) {
        return ZD_OK;
    }
    zd_hash_add_u64(&listing->hash, found->node->tag);
    return zd_parent_groups_add(&listing->tree.above, found->path, meta);
}

/* Add a node that is shown or compared. */
static enum zd_status keep(struct listing *listing, const struct zd_walk_node *found)
{
    struct zd_meta *meta = found->node == NULL ? NULL : found->node->meta;
    const bool can_slice = found->node != NULL && found->node->layout != NULL;
    if (found->node == NULL) {
        listing->is_uncertain = true;
    } else {
        listing->checked_ms = zd_min_u64(listing->checked_ms, found->node->checked_ms);
    }
    zd_hash_add(&listing->hash, zd_span_of(found->path));
    zd_hash_add_u64(&listing->hash, found->node == NULL ? 0 : found->node->tag);
    zd_hash_add(&listing->hash, zd_span_of(found->err == NULL ? "" : found->err->text));
    listing->lot_bytes += found->node == NULL ? 0 : found->node->entry.bytes;
    return zd_tree_add(&listing->tree.live, found->path, meta, can_slice, found->err);
}

/* A node of the walk. */
static bool visit(struct zd_walk_want *want, const struct zd_walk_node *found)
{
    struct listing *listing = ZD_CONTAINER(want, struct listing, walk);
    const struct zd_tree *tree = &listing->tree;
    if (fails(listing, found)) {
        return false;
    }
    const bool is_wanted = zd_tree_wants(
        &tree->ask, found->path, found->node == NULL ? ZD_NODE_UNKNOWN : found->node->meta->type);
    listing->n_wanted += is_wanted ? 1 : 0;
    listing->status = note_group(listing, found);
    if (listing->status == ZD_OK && (is_wanted || tree->ask.check)) {
        listing->status = keep(listing, found);
    }
    if (listing->status != ZD_OK) {
        listing->status = zd_fail(&listing->err, listing->status, "no memory for a listing");
        return false;
    }
    if (!is_wanted && !tree->ask.check) {
        return true;
    }
    if (tree->ask.check && ++listing->n_compared > listing->nodes_max) {
        listing->status = zd_fail_limit(&listing->err, listing->nodes_max, listing->n_compared,
            "check=1 cannot compare this many nodes");
        return false;
    }
    const struct lot *lot = &lots[listing->lot];
    want->rests = tree->live.n >= lot->n_rows ||
                  listing->lot_bytes >= zd_min_u64(lot->n_bytes, lot_bytes(listing));
    /* A row beyond the number asked for tells that there is a next page. */
    return tree->ask.check || listing->n_wanted <= tree->ask.limit;
}

/* Whether the request was admitted for the rows of a lot. */
static bool is_admitted(struct zd_request *req)
{
    struct listing *listing = req->state;
    const uint64_t bytes = req->ticket.state == ZD_TICKET_NONE ? 0 : lot_bytes(listing);
    zd_node_memory_admit(&req->server->parsed, bytes, &listing->share);
    return bytes > 0;
}

/* Whether the answer begins at once: it may be long. Where limits are too narrow for it, check=1 is
 * refused. */
static bool begins_early(const struct listing *listing)
{
    const uint64_t n = lots[LOT_WHOLE].n_rows;
    return listing->lot == LOT_FREE && zd_tree_ask_may_be_long(&listing->tree.ask, n) &&
           (!listing->tree.ask.check || listing->nodes_max > n);
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
        .is_admitted = is_admitted(req),
        .after = ask->after,
        .n_long = begins_early(listing) ? lots[LOT_WHOLE].n_rows : 0,
        .visit = visit,
    };
    listing->is_walking = true;
    req->step = step_walked;
    return zd_walk_want(&listing->walk);
}

/*
 * The stored listing is trusted only where nothing can have changed since it was written: in a
 * dataset that is declared immutable. Elsewhere nothing keeps it in step with the store, but there
 * is no other where the store has no listings. Where there is an entry point, groups need no
 * document, and a listing lacks the groups without one.
 */
static bool has_whole_listing(const struct zd_meta *meta)
{
    return meta->has_listing && !meta->dialect->has_entry;
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
    req->parent_groups.reader = zd_permission_reader(req);
    return zd_parent_groups_want(req->dataset, listing->way, &req->parent_groups);
}

static enum zd_next step_gather(struct zd_request *req)
{
    struct listing *listing = req->state;
    const struct zd_node *node = req->node;
    struct zd_error err = {0};
    uint32_t mode = 0;
    if (zd_params_choice(&req->params, "mode", mode_names, &mode, &err) != ZD_OK) {
        return zd_respond_error(req, "bad_parameter", &err);
    }
    if (mode == MODE_STORED && !node->meta->has_listing) {
        err.status = zd_fail_name(&err, "mode",
            "mode=stored: \"%s\" has no stored consolidated metadata; use mode=live", node->path);
        return zd_respond_error(req, "bad_parameter", &err);
    }
    if (listing->tree.ask.format != ZD_TREE_JSON &&
        zd_request_check_group(req, node->meta,
            "format=zarr and format=zmetadata apply to groups; this node is not a group") !=
            ZD_NEXT) {
        return ZD_DONE;
    }
    listing->may_show_stored = mode == MODE_AUTO && has_whole_listing(node->meta);
    return look_above(req,
        mode == MODE_STORED ||
            (listing->may_show_stored && (req->dataset->config.immutable || listing->is_unlisted)));
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

static uint64_t window_bytes(const struct zd_request *req)
{
    const uint64_t stream_bytes = req->server->config->settings.http_stream_bytes;
    return zd_min_u64(ZD_STREAM_WINDOW_TIMES * stream_bytes, WINDOW_BYTES);
}

/* Bounds the bytes held at once of the nodes and of the text. Beside a stored listing there are
 * fewer live nodes, and none where they are not compared. */
static uint64_t held_bytes(const struct zd_request *req)
{
    const struct listing *listing = req->state;
    const struct zd_tree_ask *ask = &listing->tree.ask;
    const uint64_t missing = ask->check ? ZD_TREE_MISSING_BYTES : 0;
    const uint64_t rows = ask->is_stored && !ask->check ? 0 : lot_bytes(listing);
    return rows + window_bytes(req) + ZD_TREE_TEXT_BYTES + missing;
}

static enum zd_next render_for(struct zd_request *req, zd_step *next)
{
    struct listing *listing = req->state;
    const struct zd_tree *tree = &listing->tree;
    const uint64_t n_stored =
        zd_min_u64(zd_stored_listing_count(tree->listing), lots[LOT_WHOLE].n_rows);
    req->step = next;
    return zd_task_run(&listing->task, (tree->live.n + n_stored) * RENDER_NS);
}

/* ---- the stored listing ---- */

static enum zd_next want_listing(struct zd_request *req)
{
    const struct listing *listing = req->state;
    const struct zd_tree_ask *ask = &listing->tree.ask;
    struct zd_representation answer = represent(req);
    if (!ask->check && zd_respond_renewed(req, &answer)) {
        return ZD_NEXT;
    }
    if (!ask->check && zd_respond_condition(req, &answer) == ZD_NOT_MODIFIED) {
        return zd_respond_not_modified(req, &answer);
    }
    return zd_admit_want(req,
        zd_admit_stream_bytes(req, zd_listing_read_bytes(req->node) + held_bytes(req)),
        step_listing);
}

static enum zd_next step_listing(struct zd_request *req)
{
    struct listing *listing = req->state;
    listing->read.wait = zd_machine_wait(&req->machine);
    req->step = step_listed;
    return zd_listing_read_want(req->node, &listing->read);
}

/* The documents have changed since the node was found: begin with the node that is there now. */
static enum zd_next restart(struct zd_request *req)
{
    struct listing *listing = req->state;
    struct zd_tree *tree = &listing->tree;
    zd_meta_unref(ZD_TAKE(tree->start));
    zd_parent_groups_done(&tree->above);
    zd_free(ZD_TAKE(listing->way));
    listing->hash = (struct zd_hash){0};
    zd_catalog_forget(req->dataset, zd_span_of(req->path));
    return zd_request_want_node(req, step_gather);
}

static enum zd_next step_listed(struct zd_request *req)
{
    struct listing *listing = req->state;
    struct zd_tree *tree = &listing->tree;
    const struct zd_wait *wait = &listing->read.wait;
    if (wait->status == ZD_PRECONDITION && listing->n_restarts++ < ZD_RESTARTS_MAX) {
        return restart(req);
    }
    if (wait->status != ZD_OK) {
        return zd_respond_error(req, NULL, &wait->err);
    }
    tree->listing = ZD_TAKE(listing->read.listing);
    if (!tree->ask.is_stored) {
        return walk(req);
    }
    listing->is_last = !tree->ask.check;
    return render_for(req, step_shown);
}

/* The groups above the first row are known, and the groups below them are met on the way. */
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
    const bool wants_listing = listing->tree.ask.is_stored || listing->tree.ask.check;
    return wants_listing && node->meta->has_listing ? want_listing(req) : walk(req);
}

static enum zd_next step_render(struct zd_request *req)
{
    return render_for(req, step_rendered);
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
    return zd_admit_want(req, listing->tree.live.n * RENDERED_BYTES, step_render);
}

static enum zd_next walk_on(struct zd_request *req)
{
    struct listing *listing = req->state;
    listing->walk.is_admitted = is_admitted(req);
    req->step = step_walked;
    return zd_walk_go_on(&listing->walk);
}

/* Represents a stream. Only a stored listing has a tag: a live one depends on nodes that are known
 * only when it has been sent. */
static struct zd_representation represent_stream(const struct zd_request *req)
{
    const struct listing *listing = req->state;
    const struct zd_tree_ask *ask = &listing->tree.ask;
    if (ask->is_stored && !ask->check) {
        return represent(req);
    }
    return (struct zd_representation){.media_type = "application/json"};
}

/* A listing of several lots has no tag: its conditions are judged now. */
static enum zd_next begin_stream(struct zd_request *req)
{
    struct listing *listing = req->state;
    struct zd_representation answer = represent_stream(req);
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
    const enum zd_coding coding = zd_accept_coding(zd_dependence_accept_encoding(req), UINT64_MAX);
    if (zd_tree_text_code(&listing->text, coding) != ZD_OK) {
        return zd_respond_no_memory(req, "a listing");
    }
    req->server->metrics.n_compressions += coding == ZD_PLAIN ? 0 : 1;
    zd_stream_init(&req->stream, window_bytes(req));
    return render_for(req, step_give);
}

/* The lot is full, or the listing is known to be long. */
static enum zd_next rest(struct zd_request *req)
{
    struct listing *listing = req->state;
    if (listing->lot == LOT_FREE) {
        listing->lot = LOT_WHOLE;
        return zd_admit_want(req, zd_admit_stream_bytes(req, held_bytes(req)),
            listing->walk.is_long ? begin_stream : walk_on);
    }
    return listing->lot == LOT_WHOLE ? begin_stream(req) : render_for(req, step_give);
}

/* The store has no listings, as the first lot shows: begin with its stored listing of the
 * hierarchy. */
static enum zd_next show_stored(struct zd_request *req)
{
    struct listing *listing = req->state;
    zd_walk_release(&listing->walk);
    listing->walk = (struct zd_walk_want){0};
    listing->is_walking = false;
    listing->is_unlisted = true;
    listing->n_wanted = 0;
    listing->lot_bytes = 0;
    return restart(req);
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
    if (listing->walk.is_incomplete && !listing->tree.is_incomplete) {
        if (listing->may_show_stored && !listing->tree.ask.check && listing->lot == LOT_FREE) {
            return show_stored(req);
        }
        listing->tree.is_incomplete = true;
        zd_hash_add(&listing->hash, zd_span_of("incomplete"));
    }
    if (listing->walk.rests) {
        return rest(req);
    }
    listing->is_last = true;
    return listing->lot == LOT_STREAMED ? render_for(req, step_give) : respond_whole(req);
}

/* The text that is there is the beginning of a longer one. */
static enum zd_next stream_text(struct zd_request *req)
{
    struct listing *listing = req->state;
    listing->text.is_made = true;
    return begin_stream(req);
}

static enum zd_next step_rendered(struct zd_request *req)
{
    struct listing *listing = req->state;
    if (listing->status != ZD_OK) {
        return zd_respond_error(req, NULL, &listing->err);
    }
    if (!listing->tree.has_ended) {
        return stream_text(req);
    }
    struct zd_representation answer = represent(req);
    return zd_respond_text(req, &listing->text.plain, &answer);
}

/* The first lot of a stored listing is rendered. */
static enum zd_next step_shown(struct zd_request *req)
{
    const struct listing *listing = req->state;
    if (listing->status == ZD_OK && !listing->tree.has_entries && !listing->is_last) {
        return walk(req);
    }
    return step_rendered(req);
}

/* The piece is given: go on with the rest. */
static enum zd_next go_on(struct zd_request *req)
{
    struct listing *listing = req->state;
    listing->lot_bytes = 0;
    if (listing->tree.has_ended) {
        return zd_request_end_stream(req);
    }
    if (listing->tree.has_entries || listing->is_last) {
        return render_for(req, step_give);
    }
    return listing->is_walking ? walk_on(req) : walk(req);
}

/* The head of a compressed listing. */
static void code(const struct listing *listing, struct zd_representation *answer)
{
    char plain[ZD_TAG_BYTES];
    if (listing->text.compressor == NULL) {
        return;
    }
    memcpy(plain, answer->etag, sizeof plain);
    zd_tag_code(answer->etag, plain, listing->text.coding);
    answer->header[0] = (struct zd_header){
        .name = "Content-Encoding", .value = zd_compress_name(listing->text.coding)};
    answer->n_headers = 1;
}

/* The lot is rendered. The head leaves with the first one: earlier failures get a status. */
static enum zd_next step_give(struct zd_request *req)
{
    struct listing *listing = req->state;
    struct zd_text *text = zd_tree_text_piece(&listing->text);
    struct zd_representation answer = represent_stream(req);
    struct zd_buf *piece = NULL;
    if (listing->status != ZD_OK) {
        return zd_respond_error(req, NULL, &listing->err);
    }
    if (zd_request_want_room(req, text->len) == ZD_WAIT) {
        return ZD_WAIT;
    }
    code(listing, &answer);
    const bool is_first = !zd_stream_is_open(&req->stream);
    if (is_first && zd_respond_stream(req, &answer) == ZD_DONE) {
        return ZD_DONE;
    }
    if (text->len == 0) { /* compressed */
        return go_on(req);
    }
    if (zd_text_buf(text, &piece) != ZD_OK) {
        return zd_respond_no_memory(req, "a listing");
    }
    zd_text_clear(text);
    zd_request_give(req, piece, 0, piece->len);
    return is_first ? zd_request_want_turn(req, go_on) : go_on(req);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/datasets/{d}/tree/{path}",
        .first = step_begin,
        .scope = ZD_SCOPE_READ,
        .reaches_below = true,
        .params = ZD_PARAMS(
            "depth", "match", "node_type", "fields", "limit", "cursor", "mode", "format", "check")},
};

const struct zd_handler zd_handler_tree = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
