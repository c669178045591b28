/* Nodes through the metadata cache.
 *
 *     check -> compare -> read -> choose -> measure -> parse -> fill   of a node found before
 *                         read -> choose -> measure -> parse -> fill   of a new one
 *                         read -> await -> read ...       of a document that is large, in its turn
 *                         read -> choose -> read ...      of a group that may have a listing
 *                         read -> choose -> unread -> ...         of one that is too long
 *                         read -> choose -> below -> above -> ...  of a group without documents
 *
 * Documents are read in stages, until a dialect knows the node: those of the dialects that come
 * first; those of all others, and of a group its listing; then, for drafts, the entry point of the
 * hierarchy, and where it is there, the documents of the drafts. The dialect with the highest bid
 * parses its own. A known node is checked first: only when the generation of a document that was
 * read has changed are they read again.
 *
 * What texts and tree take is counted first, and that of the tree as long as anybody has it. */
#include "server/data/catalog.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "server/data/key_list.h"
#include "server/data/node_documents.h"
#include "server/data/shadowed.h"
#include "server/runtime/gather.h"
#include "server/runtime/server.h"

/* Reading JSON and judging it: measured at 50 to 100 MB/s. */
#define PARSE_NS_PER_BYTE   20
#define MEASURE_NS_PER_BYTE 4

/* Longer ones are read when their turn comes: few texts at once. */
#define TEXT_BYTES_MAX (64 << 10)

struct node_load {
    struct zd_flight flight;
    struct zd_gather gather; /* of store operations */
    struct zd_node *entry;   /* the flight's entry: the node in the table */
    struct zd_node *node;    /* the outcome: the entry itself, or what replaces it; a reference */
    bool is_new;             /* the entry was never filled */
    struct zd_node_documents documents;
    struct zd_node_choice choice;
    const struct zd_dialect *beside; /* another one, whose entry point is there; or NULL */
    bool is_implied;                 /* no document makes it a node; what is below it may */
    struct zd_key_list below;        /* whether anything is */
    struct zd_node_want above;       /* whether that is a group, too */
    size_t document_bytes;
    uint64_t held_bytes;           /* that are counted in server->parsed for the load alone */
    bool is_admitted;              /* whatever there is left */
    uint64_t bytes_max;            /* of a document that is read now */
    uint64_t age_max_ms;           /* of an answer of the store */
    uint64_t age_ms;               /* of the oldest one */
    struct zd_allowance_want room; /* for large ones */
    uint32_t n_turns;              /* that were taken for it */
    struct zd_job job;
    enum zd_next (*step)(struct node_load *load);
};

static struct zd_node *put_new_node(struct zd_dataset *dataset, struct zd_span path)
{
    struct zd_node *node = zd_node_new(dataset, path);
    if (node != NULL && zd_cache_put(&dataset->server->nodes, &node->entry) != ZD_OK) {
        zd_node_free(&node->entry);
        return NULL;
    }
    return node;
}

/* Note the store's answer for a document; the first fault is the flight's. */
static void note(struct node_load *load, struct zd_node_document *document,
    const struct zd_store_op *op, const struct zd_stat *stat, uint64_t age_ms)
{
    const struct zd_generation absent = {0};
    document->generation = op->status == ZD_OK ? stat->generation : absent;
    load->age_ms = zd_max_u64(load->age_ms, age_ms);
    if (load->flight.status == ZD_OK && op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        load->flight.status = op->status;
        load->flight.err = op->err;
    }
}

static void measure(struct zd_job *job)
{
    struct node_load *load = ZD_CONTAINER(job, struct node_load, job);
    const struct zd_documents documents =
        zd_node_documents_of(&load->documents, &load->choice, load->node->stat);
    zd_node_measure(load->node, load->choice.dialect, &documents);
}

/* Pure work on what the load owns. */
static void parse(struct zd_job *job)
{
    struct node_load *load = ZD_CONTAINER(job, struct node_load, job);
    const struct zd_documents documents =
        zd_node_documents_of(&load->documents, &load->choice, load->node->stat);
    load->flight.status =
        zd_node_parse(load->node, load->choice.dialect, &documents, &load->flight.err);
    if (load->flight.status == ZD_OK && load->beside != NULL) {
        zd_shadowed_warn(load->beside, &load->node->meta->faults);
    }
}

static enum zd_status note_seen(struct node_load *load)
{
    struct zd_node *node = load->node;
    const uint32_t n = load->documents.n_asked;
    node->seen = zd_alloc_zero(n, sizeof *node->seen);
    if (node->seen == NULL) {
        return zd_fail(&load->flight.err, ZD_NO_MEMORY, "no memory for a node");
    }
    node->n_seen = n;
    for (uint32_t i = 0; i < n; i++) {
        node->seen[i] = load->documents.item[i].generation;
    }
    return ZD_OK;
}

/* The new node takes the place of the entry. */
static void replace_entry(struct node_load *load)
{
    struct zd_cache *cache = load->flight.cache;
    if (load->node != load->entry && load->entry->entry.in_table) {
        zd_cache_drop(cache, &load->entry->entry);
        if (zd_cache_put(cache, &load->node->entry) != ZD_OK) {
            return; /* the waiters get it all the same */
        }
    }
}

/* The memory of the tree is counted until its last holder releases it. */
static void hand_over(struct node_load *load)
{
    struct zd_node *node = load->node;
    if (node->meta != NULL) {
        load->held_bytes -= node->tree_bytes;
        zd_meta_be_counted(node->meta, &node->dataset->server->parsed.held, node->tree_bytes);
    }
}

static enum zd_next step_fill(struct node_load *load)
{
    struct zd_node *node = load->node;
    hand_over(load);
    if (load->flight.status == ZD_OK) {
        load->flight.status = note_seen(load);
    }
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    const struct zd_dialect *dialect = load->choice.dialect;
    zd_node_set_stat(node, node->stat, dialect == NULL ? 0 : dialect->n_documents);
    node->status = dialect == NULL ? ZD_NOT_FOUND : ZD_OK;
    node->is_implied = load->is_implied;
    node->checked_ms = zd_dataset_checked_ms(load->flight.began_ms, load->age_ms);
    replace_entry(load);
    return ZD_DONE;
}

/* The entry itself when it was never filled; nodes in use never change. */
static enum zd_status make_node(struct node_load *load)
{
    if (load->is_new) {
        load->node = zd_node_ref(load->entry);
        return ZD_OK;
    }
    load->node = zd_node_new(load->entry->dataset, zd_span_of(load->entry->path));
    return load->node == NULL ? zd_fail(&load->flight.err, ZD_NO_MEMORY, "no memory for a node")
                              : ZD_OK;
}

/* @return false: the flight has failed */
static bool take(struct node_load *load, uint64_t bytes)
{
    struct zd_node_memory *parsed = &load->entry->dataset->server->parsed;
    if (load->is_admitted) {
        zd_node_memory_take_admitted(parsed, bytes);
    } else {
        load->flight.status =
            zd_node_memory_take(parsed, bytes, "the metadata of the node", &load->flight.err);
    }
    load->held_bytes += load->flight.status == ZD_OK ? bytes : 0;
    return load->flight.status == ZD_OK;
}

static enum zd_next run(struct node_load *load, void (*work)(struct zd_job *job), uint64_t cost_ns)
{
    load->job = (struct zd_job){.work = work, .wait = zd_machine_wait(&load->flight.machine)};
    return zd_workers_run(&load->entry->dataset->server->workers, &load->job, cost_ns);
}

static enum zd_next step_parse(struct node_load *load)
{
    load->step = step_fill;
    return take(load, load->node->tree_bytes)
               ? run(load, parse, load->document_bytes * PARSE_NS_PER_BYTE)
               : ZD_DONE;
}

/* The texts of large documents are in an allowance of their own. */
static enum zd_next step_measure(struct node_load *load)
{
    load->flight.status = make_node(load);
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    if (load->choice.dialect == NULL) {
        load->step = step_fill;
        return ZD_NEXT;
    }
    load->step = step_parse;
    return load->n_turns > 0 || take(load, load->document_bytes)
               ? run(load, measure, load->document_bytes * MEASURE_NS_PER_BYTE)
               : ZD_DONE;
}

/* Below an array there are chunks, and no groups. */
static enum zd_next step_above(struct node_load *load)
{
    const struct zd_wait *wait = &load->above.wait;
    if (wait->status != ZD_OK && wait->status != ZD_NOT_FOUND) {
        return zd_flight_fail(&load->flight, wait);
    }
    const struct zd_meta *meta = wait->status == ZD_OK ? load->above.node->meta : NULL;
    if (meta == NULL || meta->type != ZD_NODE_GROUP || meta->dialect != load->choice.dialect) {
        load->choice.dialect = NULL;
    }
    zd_catalog_release(&load->above);
    load->step = step_measure;
    return ZD_NEXT;
}

static enum zd_next look_above(struct node_load *load)
{
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    const char *own = load->entry->path;
    const char *slash = strrchr(own, '/');
    if (zd_text_add_bytes(&path, own, slash == NULL ? 0 : (size_t)(slash - own)) != ZD_OK) {
        load->flight.status = zd_fail(&load->flight.err, ZD_NO_MEMORY, "no memory for a node");
        return ZD_DONE;
    }
    load->step = step_above;
    load->above = (struct zd_node_want){
        .wait = zd_machine_wait(&load->flight.machine), .is_admitted = load->is_admitted};
    return zd_catalog_want(load->entry->dataset, path.at, &load->above);
}

/* A group that no document names is there if anything is below it. */
static enum zd_next step_below(struct node_load *load)
{
    const enum zd_status status = load->below.wait.status;
    if (status != ZD_OK && status != ZD_NOT_FOUND) {
        return zd_flight_fail(&load->flight, &load->below.wait);
    }
    if (status == ZD_NOT_FOUND || load->below.list->n_entries == 0) {
        load->choice.dialect = NULL;
    }
    load->step = step_measure;
    /* Drafts keep chunks elsewhere. */
    const bool is_sure = load->choice.dialect == NULL || load->choice.dialect->has_entry;
    return is_sure ? ZD_NEXT : look_above(load);
}

static enum zd_next look_below(struct node_load *load)
{
    ZD_SCOPED_TEXT(prefix, ZD_KEY_BYTES_MAX + 1);
    load->flight.status = load->choice.dialect->children_prefix(load->entry->path, &prefix);
    if (load->flight.status == ZD_TOO_LARGE) {
        load->flight.status = ZD_OK;
        load->choice.dialect = NULL; /* no key is as long as one below it would be */
        load->step = step_measure;
        return ZD_NEXT;
    }
    if (load->flight.status != ZD_OK) {
        load->flight.status = zd_fail(&load->flight.err, ZD_NO_MEMORY, "no memory for a node");
        return ZD_DONE;
    }
    load->step = step_below;
    load->below = (struct zd_key_list){.wait = zd_machine_wait(&load->flight.machine)};
    return zd_key_list_want(load->entry->dataset, prefix.at, 1, &load->below);
}

static enum zd_next step_read(struct node_load *load);
static enum zd_next step_choose(struct node_load *load);

static const struct zd_settings *settings_of(const struct node_load *load)
{
    return &load->entry->dataset->server->config->settings;
}

static enum zd_next step_room(struct node_load *load)
{
    load->step = step_read;
    if (load->room.wait.status != ZD_OK) {
        load->flight.status = load->room.wait.status;
        load->flight.err = load->room.wait.err;
        return ZD_DONE;
    }
    return ZD_NEXT;
}

/* Few large documents are held at once. One past the limit is read to be refused. */
static enum zd_next want_room(struct node_load *load, uint64_t len)
{
    const uint64_t most = settings_of(load)->limits_consolidated_bytes;
    load->bytes_max = zd_min_u64(len, most);
    load->n_turns++;
    zd_node_documents_restart(&load->documents);
    zd_node_documents_free_bytes(&load->documents);
    zd_allowance_release(&load->room);
    if (len > most) {
        load->step = step_read;
        return ZD_NEXT;
    }
    load->step = step_room;
    load->room.wait = zd_machine_wait(&load->flight.machine);
    return zd_allowance_want(&load->entry->dataset->server->documents,
        zd_stored_listing_bytes_max(len), "a metadata document", &load->room);
}

/* An unread listing counts by its state alone. */
static enum zd_next step_unread(struct node_load *load)
{
    zd_node_documents_leave_unread(zd_node_documents_long_listing(&load->documents));
    load->step = step_choose;
    return ZD_NEXT;
}

static enum zd_next leave_unread(struct node_load *load, struct zd_node_document *listing)
{
    struct zd_store *store = load->entry->dataset->store;
    load->step = step_unread;
    listing->check.age_max_ms = 0;
    zd_gather_begin(&load->gather);
    if (zd_store_status_now(store, &listing->check) == ZD_AGAIN) {
        zd_gather_await(&load->gather, &listing->check.op);
        zd_store_status(store, &listing->check);
    }
    return zd_gather_end(&load->gather);
}

/* The node is known as soon as documents of a dialect make one. */
static enum zd_next step_choose(struct node_load *load)
{
    const uint64_t len = zd_node_documents_length_of_large(&load->documents);
    if (len > 0 && load->bytes_max < settings_of(load)->limits_consolidated_bytes &&
        load->n_turns < ZD_RESTARTS_MAX) {
        return want_room(load, len);
    }
    struct zd_node_document *listing = zd_node_documents_long_listing(&load->documents);
    if (listing != NULL) {
        return leave_unread(load, listing);
    }
    load->document_bytes = 0;
    for (uint32_t i = 0; i < load->documents.n_asked; i++) {
        struct zd_node_document *document = &load->documents.item[i];
        const struct zd_buf *bytes = document->read.bytes;
        note(load, document, &document->read.op, &document->read.stat, document->read.age_ms);
        load->document_bytes += bytes == NULL ? 0 : bytes->len;
    }
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    const bool is_root = load->entry->path[0] == '\0';
    load->choice = zd_node_documents_choose(&load->documents);
    load->step = load->choice.is_final ? step_measure : step_read;
    load->is_implied = load->choice.bid == ZD_BID_IMPLIED && !is_root;
    load->beside = NULL;
    if (is_root && load->choice.entry != load->choice.dialect) {
        load->beside = load->choice.entry;
    }
    return load->choice.is_final && load->is_implied ? look_below(load) : ZD_NEXT;
}

/* The next stage of them. */
static enum zd_next step_read(struct node_load *load)
{
    const struct zd_dataset *dataset = load->entry->dataset;
    const uint32_t first = zd_node_documents_next(&load->documents);
    load->step = step_choose;
    zd_gather_begin(&load->gather);
    for (uint32_t i = first; i < load->documents.n_asked; i++) {
        struct zd_store_read *read = &load->documents.item[i].read;
        read->bytes_max = load->bytes_max;
        read->age_max_ms = load->age_max_ms;
        if (zd_node_documents_asks(&load->documents, i) &&
            zd_store_read_now(dataset->store, read) == ZD_AGAIN) {
            zd_gather_await(&load->gather, &read->op);
            zd_store_read(dataset->store, read);
        }
    }
    return zd_gather_end(&load->gather);
}

static enum zd_next step_compare(struct node_load *load)
{
    struct zd_node *node = load->entry;
    bool is_same = true;
    for (uint32_t i = 0; i < load->documents.n_asked; i++) {
        struct zd_node_document *document = &load->documents.item[i];
        note(load, document, &document->check.op, &document->check.stat, document->check.age_ms);
        is_same = is_same && zd_generation_equal(node->seen[i], document->generation);
    }
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    if (!is_same) {
        zd_node_documents_restart(&load->documents);
        load->step = step_read;
        return ZD_NEXT;
    }
    load->node = zd_node_ref(node);
    node->checked_ms = zd_dataset_checked_ms(load->flight.began_ms, load->age_ms);
    return ZD_DONE;
}

/* Whether a listing of it was looked for. */
static bool was_listed(const struct zd_node *node)
{
    return node->status == ZD_OK && node->meta->type == ZD_NODE_GROUP &&
           node->meta->dialect->may_list != NULL;
}

static enum zd_next step_check(struct node_load *load)
{
    struct zd_store *store = load->entry->dataset->store;
    load->step = step_compare;
    load->documents.n_asked = load->entry->n_seen;
    load->documents.wants_listing = was_listed(load->entry);
    assert(load->documents.n_asked <= load->documents.n);
    zd_gather_begin(&load->gather);
    for (uint32_t i = 0; i < load->documents.n_asked; i++) {
        struct zd_store_status *check = &load->documents.item[i].check;
        check->age_max_ms = load->age_max_ms;
        if (zd_node_documents_asks(&load->documents, i) &&
            zd_store_status_now(store, check) == ZD_AGAIN) {
            zd_gather_await(&load->gather, &check->op);
            zd_store_status(store, check);
        }
    }
    return zd_gather_end(&load->gather);
}

/* ---- entries and their waiters ---- */

static struct node_load *load_of(struct zd_flight *flight)
{
    return ZD_CONTAINER(flight, struct node_load, flight);
}

static enum zd_next step(struct zd_flight *flight)
{
    return load_of(flight)->step(load_of(flight));
}

static void settle(struct zd_flight *flight)
{
    const struct node_load *load = load_of(flight);
    struct zd_cache *cache = &load->entry->dataset->server->nodes;
    struct zd_node *node = load->node;
    if (load->flight.status != ZD_OK) {
        if (load->is_new) {
            zd_cache_drop(cache, &load->entry->entry);
        }
        return;
    }
    if (load->document_bytes > 0 || node->entry.bytes == 0) {
        zd_cache_charge(cache, &node->entry, zd_node_cost(node));
    }
    if (node->dataset->is_retired) {
        zd_cache_drop(cache, &node->entry);
    }
}

static void give(struct zd_node *node, struct zd_node_want *want)
{
    if (node->status == ZD_OK) {
        want->node = zd_node_ref(node);
        zd_wait_answer(&want->wait, ZD_OK, NULL);
        return;
    }
    want->wait.status =
        zd_fail(&want->wait.err, node->status, "there is no node at \"%s\"", node->path);
}

static void give_waiter(struct zd_flight *flight, struct zd_wait *wait)
{
    give(load_of(flight)->node, ZD_CONTAINER(wait, struct zd_node_want, wait));
}

static enum zd_next want_node(struct zd_dataset *dataset, const char *name,
    enum zd_freshness freshness, struct zd_node_want *want);

static enum zd_next ask_again(struct zd_flight *flight, struct zd_wait *wait)
{
    const struct zd_node *node = load_of(flight)->entry;
    return want_node(
        node->dataset, node->path, ZD_JOINING, ZD_CONTAINER(wait, struct zd_node_want, wait));
}

static void release_load(struct zd_flight *flight)
{
    struct node_load *load = load_of(flight);
    zd_node_documents_done(&load->documents);
    zd_key_list_release(&load->below);
    zd_catalog_release(&load->above);
    zd_allowance_release(&load->room);
    zd_tally_sub(&load->entry->dataset->server->parsed.held, load->held_bytes);
    zd_node_unref(load->node);
}

static const struct zd_flight_ops ops = {
    .step = step,
    .give = give_waiter,
    .settle = settle,
    .again = ask_again,
    .done = release_load,
};

/* Takes a reference of the node. */
static enum zd_next start(
    struct zd_node *node, bool is_new, enum zd_freshness freshness, struct zd_node_want *want)
{
    struct zd_server *server = node->dataset->server;
    struct node_load *load = zd_flight_new(sizeof *load, &ops, &server->nodes, &node->entry,
        uv_now(server->loop), &want->wait, "a node");
    if (load == NULL) {
        return ZD_NEXT;
    }
    load->gather.machine = &load->flight.machine;
    load->entry = node;
    load->is_new = is_new;
    load->is_admitted = want->is_admitted;
    if (freshness == ZD_TRUSTED) {
        load->age_max_ms = zd_dataset_age_max(node->dataset, load->flight.began_ms);
    }
    load->flight.may_be_old = load->age_max_ms > 0;
    load->bytes_max =
        zd_min_u64(TEXT_BYTES_MAX, server->config->settings.limits_consolidated_bytes);
    load->step = is_new || node->is_implied ? step_read : step_check;
    load->documents.is_n5 = node->dataset->is_n5;
    load->flight.status = zd_node_documents_find(&load->documents, node->path);
    load->flight.err.status = load->flight.status;
    return zd_flight_begin(&load->flight, &want->wait);
}

void zd_catalog_forget(struct zd_dataset *dataset, struct zd_span path)
{
    struct zd_node_key memory;
    zd_cache_forget(&dataset->server->nodes, zd_node_cache_key(&memory, dataset, path));
}

static enum zd_next want_node(struct zd_dataset *dataset, const char *name,
    enum zd_freshness freshness, struct zd_node_want *want)
{
    const struct zd_span path = {(const uint8_t *)name, strnlen(name, ZD_KEY_BYTES_MAX + 1)};
    struct zd_cache *cache = &dataset->server->nodes;
    struct zd_node_key memory;
    want->node = NULL;
    if (path.len > ZD_KEY_BYTES_MAX) {
        want->wait.status =
            zd_fail(&want->wait.err, ZD_NOT_FOUND, "the path is longer than any key of a store");
        return ZD_NEXT;
    }
    const struct zd_span key = zd_node_cache_key(&memory, dataset, path);
    struct zd_cache_entry *entry = zd_cache_find(cache, key);
    if (entry == NULL) {
        struct zd_node *node = put_new_node(dataset, path);
        if (node == NULL) {
            want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for a node");
            return ZD_NEXT;
        }
        return start(node, true, freshness, want);
    }
    struct zd_node *node = ZD_CONTAINER(entry, struct zd_node, entry);
    if (entry->flight != NULL) {
        zd_dataset_join(dataset, entry->flight, freshness, &want->wait);
        return ZD_WAIT;
    }
    if (freshness == ZD_TRUSTED && zd_dataset_trusts(dataset, node->checked_ms)) {
        give(node, want);
        return ZD_NEXT;
    }
    return start(zd_node_ref(node), false, freshness, want);
}

enum zd_next zd_catalog_want(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want)
{
    return want_node(dataset, path, ZD_TRUSTED, want);
}

enum zd_next zd_catalog_want_fresh(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want)
{
    return want_node(dataset, path, ZD_FRESH, want);
}

void zd_catalog_release(struct zd_node_want *want)
{
    zd_wait_cancel(&want->wait);
    zd_node_unref(ZD_TAKE(want->node));
}
