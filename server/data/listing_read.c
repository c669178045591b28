/* The stored listing of a group, in no cache. */
#include "server/data/listing_read.h"

#include <string.h>

#include "server/runtime/gather.h"
#include "server/runtime/server.h"

/* To judge a listing and to make its index; measured at 60 to 150 MB/s. */
#define PARSE_NS_PER_BYTE 15

struct zd_listing_read_load {
    struct zd_machine machine;
    struct zd_gather gather;
    struct zd_node *node; /* a reference */
    struct zd_store_read read[ZD_DOCUMENTS_MAX];
    struct zd_job job;
    struct zd_meta *meta; /* with its listing; a reference */
    enum zd_status status;
    struct zd_error err;
    struct zd_listing_read *want; /* NULL once it was released */
    enum zd_next (*step)(struct zd_listing_read_load *load);
};

uint64_t zd_listing_read_bytes(const struct zd_node *node)
{
    uint64_t n = 0;
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        n += zd_generation_is_set(node->stat[i].generation) ? node->stat[i].size : 0;
    }
    return n + node->meta->listing_index_bytes;
}

static void free_bytes(struct zd_listing_read_load *load)
{
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        zd_buf_unref(ZD_TAKE(load->read[i].bytes));
    }
}

static void free_load(struct zd_listing_read_load *load)
{
    free_bytes(load);
    zd_meta_unref(load->meta);
    zd_node_unref(load->node);
    zd_free(load);
}

static void give(struct zd_listing_read_load *load)
{
    struct zd_listing_read *want = load->want;
    if (load->status == ZD_OK && load->meta->listing != NULL) {
        want->listing = zd_stored_listing_ref(load->meta->listing);
    }
    want->load = NULL;
    zd_wait_answer(&want->wait, load->status, load->status == ZD_OK ? NULL : &load->err);
}

static enum zd_next step_parsed(struct zd_listing_read_load *load)
{
    (void)load;
    return ZD_DONE;
}

/* Pure work on what the load owns. */
static void parse(struct zd_job *job)
{
    struct zd_listing_read_load *load = ZD_CONTAINER(job, struct zd_listing_read_load, job);
    const struct zd_reading reading = zd_dataset_reading(load->node->dataset);
    struct zd_documents documents = {0};
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        if (load->read[i].bytes != NULL) {
            documents.text[i] = zd_buf_span(load->read[i].bytes);
            documents.present[i] = true;
            documents.bytes[i] = load->read[i].bytes;
        }
    }
    load->status = load->node->meta->dialect->parse(&documents, &reading, &load->meta, &load->err);
}

static enum zd_next step_parse(struct zd_listing_read_load *load)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        const struct zd_store_read *read = &load->read[i];
        n_bytes += read->bytes == NULL ? 0 : read->bytes->len;
        if (load->status == ZD_OK && read->op.status != ZD_OK) {
            load->err = read->op.err;
            /* It was there: another process has removed it. */
            load->status = read->op.status != ZD_NOT_FOUND ? read->op.status
                                                           : zd_fail(&load->err, ZD_PRECONDITION,
                                                                 "%s no longer exists", read->key);
        }
    }
    load->step = step_parsed;
    if (load->status != ZD_OK || load->want == NULL) {
        return ZD_DONE;
    }
    load->job = (struct zd_job){.work = parse, .wait = zd_machine_wait(&load->machine)};
    struct zd_workers *workers = &load->node->dataset->server->workers;
    return zd_workers_run(workers, &load->job, n_bytes * PARSE_NS_PER_BYTE);
}

/* Read only the generation that was found, so that the listing belongs to the node. */
static void start_read(struct zd_listing_read_load *load, uint32_t i)
{
    const struct zd_node *node = load->node;
    struct zd_store *store = node->dataset->store;
    struct zd_store_read *read = &load->read[i];
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    if (node->meta->dialect->document_key(node->path, i, &key) != ZD_OK) {
        read->op.status = zd_fail(&read->op.err, key.status, "no memory for the key of a document");
        return; /* it was read before under that key */
    }
    memcpy(read->key, key.at, key.len + 1);
    read->bytes_max = node->stat[i].size;
    read->only_generation = node->stat[i].generation;
    if (zd_store_read_now(store, read) == ZD_AGAIN) {
        zd_gather_await(&load->gather, &read->op);
        zd_store_read(store, read);
    }
}

static enum zd_next step_read(struct zd_listing_read_load *load)
{
    load->step = step_parse;
    zd_gather_begin(&load->gather);
    for (uint32_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        if (zd_generation_is_set(load->node->stat[i].generation)) {
            start_read(load, i);
        }
    }
    return zd_gather_end(&load->gather);
}

static enum zd_next step(struct zd_machine *machine)
{
    struct zd_listing_read_load *load = ZD_CONTAINER(machine, struct zd_listing_read_load, machine);
    return load->step(load);
}

static void end(struct zd_machine *machine)
{
    struct zd_listing_read_load *load = ZD_CONTAINER(machine, struct zd_listing_read_load, machine);
    struct zd_listing_read *want = load->want;
    if (want != NULL) {
        give(load);
    }
    free_load(load);
    if (want != NULL) {
        want->wait.done(&want->wait);
    }
}

enum zd_next zd_listing_read_want(struct zd_node *node, struct zd_listing_read *want)
{
    want->listing = NULL;
    want->load = NULL;
    struct zd_listing_read_load *load = zd_alloc_zero(1, sizeof *load);
    if (load == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for a listing");
        return ZD_NEXT;
    }
    load->machine.step = step;
    load->machine.end = end;
    load->gather.machine = &load->machine;
    load->node = zd_node_ref(node);
    load->step = step_read;
    load->want = want;
    want->load = load;
    if (zd_machine_begin(&load->machine) == ZD_WAIT) {
        return ZD_WAIT;
    }
    give(load);
    free_load(load);
    return ZD_NEXT;
}

void zd_listing_read_release(struct zd_listing_read *want)
{
    struct zd_listing_read_load *load = ZD_TAKE(want->load);
    zd_stored_listing_unref(ZD_TAKE(want->listing));
    if (load != NULL) {
        load->want = NULL; /* nothing is parsed any more */
    }
}
