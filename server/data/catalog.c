/* Nodes through the metadata cache.
 *
 *     check -> compare -> read -> parse -> fill      of a node that was found before
 *                         read -> parse -> fill      of a new one
 *
 * The documents of all dialects are read at once; the dialect with the highest bid parses its own.
 * A known node is checked first: only when the generation of a document has changed are they read
 * again. */
#include "server/data/catalog.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/data/tag.h"
#include "server/runtime/gather.h"
#include "server/runtime/server.h"

/* The JSON library needs 13 to 77 times the bytes of a document, the shorter its values the more;
 * metadata is short numbers, and it is kept normalised beside its attributes. */
#define MEMORY_PER_DOCUMENT_BYTE 48

/* Reading JSON and judging it: measured at 50 to 100 MB/s. */
#define PARSE_NS_PER_BYTE 20

#define NO_CANDIDATE UINT32_MAX /* no store has its key */

/* One key that some dialect has documents under. */
struct candidate {
    struct zd_generation generation; /* as checked or read last; zero = absent */
    struct zd_store_read read;       /* its bytes are owned */
    struct zd_store_status check;
};

struct node_load {
    struct zd_flight flight;
    struct zd_gather gather; /* of store operations */
    struct zd_node *entry;   /* the flight's entry: the node in the table */
    struct zd_node *node;    /* the outcome: the entry itself, or what replaces it; a reference */
    bool is_new;             /* the entry was never filled */
    struct candidate *candidate; /* n_candidates of them; owned */
    uint32_t n_candidates;
    uint32_t *document; /* of all dialects in turn: which candidate, or NO_CANDIDATE; owned */
    const struct zd_dialect *dialect; /* the highest bidder, or NULL */
    uint32_t dialect_at;              /* where its documents begin */
    size_t document_bytes;
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

/* The candidate of that key, made when there is none. */
static uint32_t candidate_of(struct node_load *load, const char *key)
{
    if (!zd_key_is_valid(key)) {
        return NO_CANDIDATE;
    }
    for (uint32_t i = 0; i < load->n_candidates; i++) {
        if (strcmp(load->candidate[i].read.key, key) == 0) {
            return i;
        }
    }
    struct candidate *candidate = &load->candidate[load->n_candidates];
    (void)snprintf(candidate->read.key, sizeof candidate->read.key, "%s", key);
    (void)snprintf(candidate->check.key, sizeof candidate->check.key, "%s", key);
    return load->n_candidates++;
}

static enum zd_status new_candidates(struct node_load *load)
{
    size_t n_max = 0;
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        n_max += (*dialect)->n_documents;
    }
    load->candidate = zd_alloc_zero(n_max, sizeof *load->candidate);
    load->document = zd_alloc_zero(n_max, sizeof *load->document);
    return load->candidate == NULL || load->document == NULL ? ZD_NO_MEMORY : ZD_OK;
}

/* Every document of every dialect, each key once: some dialects share theirs. */
static enum zd_status find_candidates(struct node_load *load)
{
    ZD_TRY(new_candidates(load));
    uint32_t n = 0;
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        for (uint32_t i = 0; i < (*dialect)->n_documents; i++) {
            zd_text_clear(&key);
            const enum zd_status status = (*dialect)->document_key(load->entry->path, i, &key);
            if (status != ZD_OK && status != ZD_TOO_LARGE) {
                return status;
            }
            load->document[n++] = status == ZD_OK ? candidate_of(load, key.at) : NO_CANDIDATE;
        }
    }
    return ZD_OK;
}

/* What the store said of a candidate; the first fault is the flight's. */
static void note(struct node_load *load, struct candidate *candidate, const struct zd_store_op *op,
    const struct zd_stat *stat)
{
    const struct zd_generation absent = {0};
    candidate->generation = op->status == ZD_OK ? stat->generation : absent;
    if (load->flight.status == ZD_OK && op->status != ZD_OK && op->status != ZD_NOT_FOUND) {
        load->flight.status = op->status;
        load->flight.err = op->err;
    }
}

/* @param at where the dialect's documents begin among all */
static struct zd_documents documents_of(const struct node_load *load,
    const struct zd_dialect *dialect, uint32_t at, struct zd_stat ret_stat[ZD_DOCUMENTS_MAX])
{
    struct zd_documents documents = {0};
    for (uint32_t i = 0; i < dialect->n_documents; i++) {
        const uint32_t number = load->document[at + i];
        ret_stat[i] = (struct zd_stat){0};
        if (number != NO_CANDIDATE && load->candidate[number].read.bytes != NULL) {
            documents.text[i] = zd_buf_span(load->candidate[number].read.bytes);
            documents.present[i] = true;
            ret_stat[i] = load->candidate[number].read.stat;
        }
    }
    return documents;
}

static void choose_dialect(struct node_load *load)
{
    struct zd_stat stat[ZD_DOCUMENTS_MAX];
    int highest = 0;
    uint32_t at = 0;
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        const struct zd_documents documents = documents_of(load, *dialect, at, stat);
        const int bid = (*dialect)->bid(&documents);
        if (bid > highest) {
            highest = bid;
            load->dialect = *dialect;
            load->dialect_at = at;
        }
        at += (*dialect)->n_documents;
    }
}

/* Pure work on what the load owns. */
static void parse(struct zd_job *job)
{
    struct node_load *load = ZD_CONTAINER(job, struct node_load, job);
    const struct zd_documents documents =
        documents_of(load, load->dialect, load->dialect_at, load->node->stat);
    load->flight.status = zd_node_parse(load->node, load->dialect, &documents, &load->flight.err);
}

static enum zd_status note_seen(struct node_load *load)
{
    struct zd_node *node = load->node;
    node->seen = zd_alloc_zero(load->n_candidates, sizeof *node->seen);
    if (node->seen == NULL) {
        return zd_fail(&load->flight.err, ZD_NO_MEMORY, "no memory for a node");
    }
    node->n_seen = load->n_candidates;
    for (uint32_t i = 0; i < load->n_candidates; i++) {
        node->seen[i] = load->candidate[i].generation;
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

static enum zd_next step_fill(struct node_load *load)
{
    struct zd_node *node = load->node;
    if (load->flight.status == ZD_OK) {
        load->flight.status = note_seen(load);
    }
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    zd_node_set_stat(node, node->stat, load->dialect == NULL ? 0 : load->dialect->n_documents);
    node->status = load->dialect == NULL ? ZD_NOT_FOUND : ZD_OK;
    node->checked_ms = load->flight.began_ms;
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

static enum zd_next step_parse(struct node_load *load)
{
    struct zd_server *server = load->entry->dataset->server;
    for (uint32_t i = 0; i < load->n_candidates; i++) {
        struct candidate *candidate = &load->candidate[i];
        const struct zd_buf *bytes = candidate->read.bytes;
        note(load, candidate, &candidate->read.op, &candidate->read.stat);
        load->document_bytes += bytes == NULL ? 0 : bytes->len;
    }
    if (load->flight.status == ZD_OK) {
        load->flight.status = make_node(load);
    }
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    choose_dialect(load);
    load->step = step_fill;
    if (load->dialect == NULL) {
        return ZD_NEXT;
    }
    const uint64_t cost_ns = load->document_bytes * PARSE_NS_PER_BYTE;
    load->job = (struct zd_job){.work = parse, .wait = zd_machine_wait(&load->flight.machine)};
    return zd_workers_run(&server->workers, &load->job, cost_ns);
}

static enum zd_next step_read(struct node_load *load)
{
    const struct zd_dataset *dataset = load->entry->dataset;
    load->step = step_parse;
    zd_gather_begin(&load->gather);
    for (uint32_t i = 0; i < load->n_candidates; i++) {
        struct zd_store_read *read = &load->candidate[i].read;
        read->bytes_max = dataset->server->config->settings.limits_consolidated_bytes;
        if (zd_store_read_now(dataset->store, read) == ZD_AGAIN) {
            zd_gather_await(&load->gather, &read->op);
            zd_store_read(dataset->store, read);
        }
    }
    return zd_gather_end(&load->gather);
}

static enum zd_next step_compare(struct node_load *load)
{
    struct zd_node *node = load->entry;
    bool is_same = node->n_seen == load->n_candidates;
    for (uint32_t i = 0; i < load->n_candidates; i++) {
        struct candidate *candidate = &load->candidate[i];
        note(load, candidate, &candidate->check.op, &candidate->check.stat);
        is_same = is_same && zd_generation_equal(node->seen[i], candidate->generation);
    }
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    if (!is_same) {
        load->step = step_read;
        return ZD_NEXT;
    }
    load->node = zd_node_ref(node);
    node->checked_ms = load->flight.began_ms;
    return ZD_DONE;
}

static enum zd_next step_check(struct node_load *load)
{
    struct zd_store *store = load->entry->dataset->store;
    load->step = step_compare;
    zd_gather_begin(&load->gather);
    for (uint32_t i = 0; i < load->n_candidates; i++) {
        struct zd_store_status *check = &load->candidate[i].check;
        if (zd_store_status_now(store, check) == ZD_AGAIN) {
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
        size_t bytes = sizeof *node + node->entry.map.key.len + sizeof *node->seen * node->n_seen;
        bytes += node->layout == NULL ? 0 : sizeof *node->layout;
        zd_cache_charge(
            cache, &node->entry, bytes + load->document_bytes * MEMORY_PER_DOCUMENT_BYTE);
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

static enum zd_next want_node(struct zd_dataset *dataset, struct zd_span path,
    enum zd_freshness freshness, struct zd_node_want *want);

static enum zd_next ask_again(struct zd_flight *flight, struct zd_wait *wait)
{
    const struct zd_node *node = load_of(flight)->entry;
    return want_node(node->dataset, zd_span_of(node->path), ZD_JOINING,
        ZD_CONTAINER(wait, struct zd_node_want, wait));
}

static void release_load(struct zd_flight *flight)
{
    struct node_load *load = load_of(flight);
    for (uint32_t i = 0; i < load->n_candidates; i++) {
        zd_buf_unref(load->candidate[i].read.bytes);
    }
    zd_free(load->candidate);
    zd_free(load->document);
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
static enum zd_next start(struct zd_node *node, bool is_new, struct zd_node_want *want)
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
    load->step = is_new ? step_read : step_check;
    load->flight.status = find_candidates(load);
    load->flight.err.status = load->flight.status;
    return zd_flight_begin(&load->flight, &want->wait);
}

void zd_catalog_forget(struct zd_dataset *dataset, struct zd_span path)
{
    struct zd_node_key memory;
    zd_cache_forget(&dataset->server->nodes, zd_node_cache_key(&memory, dataset, path));
}

static enum zd_next want_node(struct zd_dataset *dataset, struct zd_span path,
    enum zd_freshness freshness, struct zd_node_want *want)
{
    struct zd_cache *cache = &dataset->server->nodes;
    struct zd_node_key memory;
    want->node = NULL;
    if (path.len > ZD_KEY_BYTES_MAX) {
        want->wait.status =
            zd_fail(&want->wait.err, ZD_NOT_FOUND, "no key of a store is as long as that path");
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
        return start(node, true, want);
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
    return start(zd_node_ref(node), false, want);
}

static struct zd_span span_of_path(const char *path)
{
    return (struct zd_span){(const uint8_t *)path, strnlen(path, ZD_KEY_BYTES_MAX + 1)};
}

enum zd_next zd_catalog_want(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want)
{
    return want_node(dataset, span_of_path(path), ZD_TRUSTED, want);
}

enum zd_next zd_catalog_want_fresh(
    struct zd_dataset *dataset, const char *path, struct zd_node_want *want)
{
    return want_node(dataset, span_of_path(path), ZD_FRESH, want);
}

void zd_catalog_release(struct zd_node_want *want)
{
    zd_wait_cancel(&want->wait);
    zd_node_unref(ZD_TAKE(want->node));
}
