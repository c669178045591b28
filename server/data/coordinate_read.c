/* The labels of an array: read whole, ordered and kept. */
#include "server/data/coordinate_read.h"

#include <string.h>

#include "core/base/num.h"
#include "core/grid/label_order.h"
#include "core/grid/variable.h"
#include "server/data/fetch.h"
#include "server/data/survey.h"
#include "server/runtime/server.h"

#define KEY_BYTES_MAX    (2 * sizeof(uint64_t) + ZD_KEY_BYTES_MAX) /* of an entry */
#define FLIGHT_BYTES_MAX (UINT64_C(8) << 20)                       /* decoded chunks held at once */
#define SMALL_BYTES      (64U << 10) /* held by a load that is not counted */
#define COMPARE_NS       20          /* to see one label, or to sort it once */
#define PACK_NS          50          /* to make a text of one */
#define SORT_ROUNDS      24          /* of merging, about, where labels have no order */
#define TEXT_TIMES       4           /* what packing texts holds, to their elements */
#define TEXT_BYTES       48          /* and for each of them besides */

/* The kept labels of a coordinate array. */
struct kept {
    struct zd_cache_entry entry; /* first; key: dataset, tag of the documents, path */
    struct zd_dataset *dataset;
    struct zd_coordinate *coordinate; /* a reference; NULL until it is read */
    uint64_t objects;                 /* a hash of the generations of its stored objects */
    uint64_t checked_ms;
    uint64_t n_changes; /* of the dataset, when the store was asked */
};

/* The next job of a worker. */
enum work {
    COPY,
    PACK,
    ORDER,
    READY,
};

/* The reading of one. */
struct load {
    struct zd_flight flight;
    struct kept *kept;    /* the flight's entry */
    struct zd_node *node; /* a reference */
    enum zd_next (*step)(struct load *load);
    struct zd_selection selection; /* all that clients see */
    struct zd_allowance_want room;
    struct zd_seen_objects seen;
    struct zd_survey survey;
    struct zd_fetch fetch;
    struct zd_block block;
    struct zd_coordinate *coordinate; /* that is made; owned */
    struct zd_label_order order;
    struct zd_job job;
    enum work work;
    uint32_t n_restarts;
};

/* ---- what is kept ---- */

struct zd_coordinate *zd_coordinate_ref(struct zd_coordinate *coordinate)
{
    coordinate->refs++;
    return coordinate;
}

void zd_coordinate_unref(struct zd_coordinate *coordinate)
{
    if (coordinate == NULL || --coordinate->refs > 0) {
        return;
    }
    zd_labels_done(&coordinate->labels);
    zd_buf_unref(coordinate->elements);
    zd_free(coordinate);
}

void zd_coordinate_free(struct zd_cache_entry *entry)
{
    struct kept *kept = ZD_CONTAINER(entry, struct kept, entry);
    zd_coordinate_unref(kept->coordinate);
    zd_dataset_unref(kept->dataset);
    zd_free(kept);
}

static struct zd_cache *cache_of(const struct kept *kept)
{
    return &kept->dataset->server->coordinates;
}

static struct zd_span write_key(uint8_t key[KEY_BYTES_MAX], const struct zd_node *node)
{
    const uint64_t head[] = {node->dataset->id, node->tag};
    const size_t path_len = strlen(node->path);
    memcpy(key, head, sizeof head);
    memcpy(key + sizeof head, node->path, path_len);
    return (struct zd_span){.ptr = key, .len = sizeof head + path_len};
}

/* Whether the store was asked before something was changed. */
static bool is_before_change(const struct kept *kept)
{
    return kept->n_changes != kept->dataset->n_changes;
}

/* Borrowed, or NULL. An entry whose work began before a change is left to its waiters. */
static struct kept *find_kept(const struct zd_node *node)
{
    uint8_t memory[KEY_BYTES_MAX];
    struct zd_cache *cache = &node->dataset->server->coordinates;
    struct zd_cache_entry *entry = zd_cache_find(cache, write_key(memory, node));
    struct kept *kept = entry == NULL ? NULL : ZD_CONTAINER(entry, struct kept, entry);
    if (kept != NULL && entry->flight != NULL && is_before_change(kept)) {
        zd_cache_drop(cache, entry);
        return NULL;
    }
    return kept;
}

/* With the caller's reference; NULL without memory. */
static struct kept *new_kept(const struct zd_node *node)
{
    uint8_t memory[KEY_BYTES_MAX];
    const struct zd_span key = write_key(memory, node);
    struct kept *kept = zd_alloc_zero(1, sizeof *kept + key.len);
    if (kept == NULL) {
        return NULL;
    }
    uint8_t *own_key = (uint8_t *)(kept + 1);
    memcpy(own_key, key.ptr, key.len);
    kept->dataset = zd_dataset_ref(node->dataset);
    kept->entry.owner = node->dataset;
    kept->entry.map.key = (struct zd_span){.ptr = own_key, .len = key.len};
    if (zd_cache_put(cache_of(kept), &kept->entry) != ZD_OK) {
        zd_coordinate_free(&kept->entry);
        return NULL;
    }
    return kept;
}

static size_t cost_of(const struct kept *kept)
{
    const struct zd_coordinate *coordinate = kept->coordinate;
    const bool is_sorted = coordinate->labels.order != NULL;
    return sizeof *kept + kept->entry.map.key.len + sizeof *coordinate + coordinate->elements->cap +
           (is_sorted ? coordinate->labels.n * sizeof *coordinate->labels.order : 0);
}

/* ---- reading one ---- */

static const struct zd_settings *settings_of(const struct load *load)
{
    return &load->node->dataset->server->config->settings;
}

static uint64_t count_of(const struct load *load)
{
    return load->selection.axis[0].count;
}

static struct zd_span attribute(const struct zd_meta *meta, const char *name)
{
    return zd_json_string_span(zd_json_member(meta->attributes, name));
}

static enum zd_next fail(struct load *load, enum zd_status status)
{
    load->flight.status = status;
    return ZD_DONE;
}

static enum zd_status check_size(const struct load *load, struct zd_error *err)
{
    const struct zd_meta *meta = load->node->meta;
    const uint64_t most = zd_min_u64(
        settings_of(load)->limits_coordinate_bytes, (uint64_t)UINT32_MAX * meta->dtype.bytes);
    const uint64_t chunks_max = settings_of(load)->limits_slice_chunks;
    uint64_t bytes;
    uint64_t n_chunks;
    if (ckd_mul(&bytes, count_of(load), (uint64_t)meta->dtype.bytes)) {
        bytes = UINT64_MAX;
    }
    if (bytes > most) {
        return zd_fail_limit(err, most, bytes,
            "the coordinate '%.200s' has %llu bytes; limits.coordinate_bytes is %llu",
            load->node->path, (unsigned long long)bytes, (unsigned long long)most);
    }
    if (zd_plan_overflows(&zd_layout_leaf(load->node->layout)->grid, &load->selection, &n_chunks) ||
        n_chunks > chunks_max) {
        return zd_fail_limit(err, chunks_max, n_chunks,
            "the coordinate '%.200s' has %llu chunks; limits.slice_chunks is %llu",
            load->node->path, (unsigned long long)n_chunks, (unsigned long long)chunks_max);
    }
    return ZD_OK;
}

static uint64_t count_chunks(const struct load *load)
{
    uint64_t n = 0; /* they were counted */
    (void)zd_plan_overflows(&zd_layout_leaf(load->node->layout)->grid, &load->selection, &n);
    return n;
}

/* The bytes that reading it holds at the same time. */
static uint64_t held_bytes(const struct load *load)
{
    const struct zd_dtype *dtype = &load->node->meta->dtype;
    const uint64_t n = count_of(load);
    const bool is_text = zd_dtype_is_variable(dtype) || zd_labels_need_packing(dtype);
    const uint64_t elements = n * dtype->bytes;
    const uint64_t fetched = zd_fetch_held_bytes(load->node, count_chunks(load), FLIGHT_BYTES_MAX);
    const uint64_t texts = is_text ? TEXT_TIMES * elements + n * TEXT_BYTES : 0;
    return elements + texts + n * ZD_LABEL_ORDER_BYTES +
           count_chunks(load) * sizeof *load->seen.object + fetched +
           (zd_dtype_is_variable(dtype) ? fetched : 0);
}

static enum zd_status begin_coordinate(struct load *load, struct zd_error *err)
{
    const struct zd_meta *meta = load->node->meta;
    const uint64_t bytes = count_of(load) * meta->dtype.bytes;
    zd_coordinate_unref(load->coordinate);
    load->coordinate = zd_alloc_zero(1, sizeof *load->coordinate);
    struct zd_buf *elements = load->coordinate == NULL ? NULL : zd_buf_new(bytes);
    if (elements == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, "no memory for the coordinate '%.200s'", load->node->path);
    }
    elements->len = bytes;
    load->coordinate->refs = 1;
    load->coordinate->elements = elements;
    load->block = zd_block_of(&load->selection, &meta->dtype, elements->data);
    return zd_labels_init(&load->coordinate->labels, &meta->dtype, attribute(meta, "units"),
        attribute(meta, "calendar"), err);
}

static enum zd_next step_ask(struct load *load);

static enum zd_next step_ready(struct load *load)
{
    struct kept *kept = load->kept;
    struct zd_hash hash = {0};
    struct zd_hash objects = {0};
    if (load->flight.status != ZD_OK) {
        return ZD_DONE;
    }
    if (load->job.wait.status == ZD_CANCELLED) {
        return zd_flight_fail(&load->flight, &load->job.wait);
    }
    const bool is_seen = load->fetch.seen != NULL;
    if (is_seen) {
        zd_seen_objects_hash(&load->seen, &objects);
    }
    zd_hash_add_u64(&hash, load->node->tag);
    zd_hash_add_u64(&hash, objects.value);
    load->coordinate->tag = hash.value;
    zd_coordinate_unref(kept->coordinate);
    kept->coordinate = ZD_TAKE(load->coordinate);
    kept->objects = objects.value;
    kept->checked_ms = is_seen ? zd_min_u64(load->fetch.checked_ms, load->flight.began_ms) : 0;
    return ZD_DONE;
}

static uint64_t longest_text(const struct zd_labels *labels)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < labels->n; i++) {
        most = zd_max_u64(most, zd_variable_at(labels->element, i).len);
    }
    return most;
}

/* The elements become what labels refer to: nothing borrows from chunks any longer. */
static enum zd_status pack(struct load *load)
{
    struct zd_coordinate *coordinate = load->coordinate;
    const struct zd_dtype *dtype = &load->node->meta->dtype;
    const uint64_t n = count_of(load);
    const uint8_t *elements = coordinate->elements->data;
    struct zd_buf *packed = NULL;
    struct zd_error *err = &load->flight.err;
    if (zd_labels_need_packing(dtype)) {
        ZD_TRY(zd_labels_pack(dtype, elements, n, &packed, err));
    } else if (zd_dtype_is_variable(dtype)) {
        const uint64_t most = settings_of(load)->limits_coordinate_bytes;
        ZD_TRY(zd_variable_pack(elements, n, most, &packed, err));
    }
    if (packed != NULL) {
        zd_buf_unref(coordinate->elements);
        coordinate->elements = packed;
    }
    coordinate->labels.element = coordinate->elements->data;
    coordinate->labels.n = n;
    coordinate->text_max =
        coordinate->labels.kind == ZD_LABELS_TEXTS ? longest_text(&coordinate->labels) : 0;
    zd_label_order_init(&load->order, &coordinate->labels);
    return ZD_OK;
}

static void work(struct zd_job *job)
{
    struct load *load = ZD_CONTAINER(job, struct load, job);
    struct zd_error *err = &load->flight.err;
    const uint64_t n_steps = ZD_WORKERS_PIECE_NS / COMPARE_NS;
    bool has_more = false;
    switch (load->work) {
    case COPY:
        job->has_more = zd_fetch_copy(&load->fetch, &load->block);
        return;
    case PACK:
        load->flight.status = pack(load);
        load->work = ORDER;
        job->has_more = load->flight.status == ZD_OK;
        return;
    case ORDER:
        load->flight.status = zd_label_order_find(&load->order, n_steps, &has_more, err);
        job->has_more = load->flight.status == ZD_OK && has_more;
        return;
    case READY:
        break;
    }
}

static enum zd_next run(
    struct load *load, enum zd_next (*then)(struct load *load), uint64_t cost_ns)
{
    struct zd_server *server = load->node->dataset->server;
    load->step = then;
    load->job = (struct zd_job){
        .work = work,
        .wait = zd_machine_wait(&load->flight.machine),
        .owner = {.name = load, .is_large = true},
    };
    return zd_workers_run(&server->workers, &load->job, cost_ns);
}

static enum zd_next step_order(struct load *load)
{
    const uint64_t n = count_of(load);
    load->work = PACK;
    return run(load, step_ready, n * (PACK_NS + COMPARE_NS * SORT_ROUNDS));
}

static enum zd_next step_copied(struct load *load)
{
    if (load->job.wait.status == ZD_CANCELLED) {
        return zd_flight_fail(&load->flight, &load->job.wait);
    }
    zd_fetch_release(&load->fetch);
    load->step = load->fetch.is_last ? step_order : step_ask;
    return ZD_NEXT;
}

static enum zd_next step_read(struct load *load);

static enum zd_next step_arrived(struct load *load)
{
    bool is_stale;
    const enum zd_status status = zd_fetch_collect(&load->fetch, &is_stale, &load->flight.err);
    if (status != ZD_OK) {
        return fail(load, status);
    }
    if (is_stale) { /* after some times it is read without regard to changes, and not trusted */
        zd_fetch_release(&load->fetch);
        zd_seen_objects_forget(&load->seen);
        load->n_restarts++;
        load->step = step_read;
        return ZD_NEXT;
    }
    load->work = COPY;
    return run(load, step_copied, load->fetch.copy_ns);
}

static enum zd_next step_ask(struct load *load)
{
    load->step = step_arrived;
    return zd_fetch_ask(&load->fetch);
}

static enum zd_next step_read(struct load *load)
{
    struct zd_error *err = &load->flight.err;
    const struct zd_gather gather = {
        .machine = &load->flight.machine, .owner = {.name = load, .is_large = true}};
    enum zd_status status = begin_coordinate(load, err);
    if (status == ZD_OK && load->fetch.n_part == 0) {
        status = zd_fetch_init(
            &load->fetch, gather, load->node, count_chunks(load), FLIGHT_BYTES_MAX, err);
    }
    if (status != ZD_OK) {
        return fail(load, status);
    }
    load->fetch.seen = load->n_restarts > ZD_ANSWER_RESTARTS_MAX ? NULL : &load->seen;
    zd_fetch_begin(&load->fetch, &load->selection);
    load->step = count_of(load) == 0 ? step_order : step_ask;
    return ZD_NEXT;
}

static enum zd_next step_have_room(struct load *load)
{
    if (load->room.wait.status != ZD_OK) {
        return zd_flight_fail(&load->flight, &load->room.wait);
    }
    const enum zd_status status =
        zd_seen_objects_init(&load->seen, load->node->layout, &load->selection, &load->flight.err);
    if (status != ZD_OK) {
        return fail(load, status);
    }
    load->step = step_read;
    return ZD_NEXT;
}

/* Memory is there before anything is read. */
static enum zd_next step_begin(struct load *load)
{
    const enum zd_status status = check_size(load, &load->flight.err);
    if (status != ZD_OK) {
        return fail(load, status);
    }
    const uint64_t bytes = held_bytes(load);
    load->step = step_have_room;
    if (bytes <= SMALL_BYTES) {
        return ZD_NEXT;
    }
    load->room.wait = zd_machine_wait(&load->flight.machine);
    return zd_allowance_want(
        &load->node->dataset->server->documents, bytes, "a coordinate", &load->room);
}

/* ---- looking whether it is as it was ---- */

static enum zd_next step_surveyed(struct load *load)
{
    struct zd_hash objects = {0};
    zd_seen_objects_hash(&load->seen, &objects);
    if (objects.value == load->kept->objects) {
        load->kept->checked_ms = zd_min_u64(load->survey.checked_ms, load->flight.began_ms);
        return ZD_DONE;
    }
    zd_survey_done(&load->survey);
    zd_seen_objects_done(&load->seen);
    load->step = step_begin;
    return ZD_NEXT;
}

static enum zd_next step_round(struct load *load)
{
    enum zd_next next;
    const enum zd_status status = zd_survey_round(&load->survey, &next, &load->flight.err);
    if (status != ZD_OK) {
        return fail(load, status);
    }
    if (load->survey.is_done) {
        load->step = step_surveyed;
        return ZD_NEXT;
    }
    return next;
}

static enum zd_next step_check(struct load *load)
{
    struct zd_node *node = load->node;
    struct zd_error *err = &load->flight.err;
    enum zd_status status = zd_seen_objects_init(&load->seen, node->layout, &load->selection, err);
    if (status == ZD_OK) {
        status = zd_survey_init(&load->survey, &load->flight.machine, node,
            &node->layout->level[0].grid, &load->selection, err);
    }
    if (status != ZD_OK) {
        return fail(load, status);
    }
    load->survey.seen = &load->seen;
    load->step = step_round;
    return ZD_NEXT;
}

/* ---- the flight ---- */

static struct load *load_of(struct zd_flight *flight)
{
    return ZD_CONTAINER(flight, struct load, flight);
}

static enum zd_next step_load(struct zd_flight *flight)
{
    return load_of(flight)->step(load_of(flight));
}

static void give(const struct kept *kept, struct zd_coordinate_read *read)
{
    read->coordinate = zd_coordinate_ref(kept->coordinate);
    zd_wait_answer(&read->wait, ZD_OK, NULL);
}

static void give_waiter(struct zd_flight *flight, struct zd_wait *wait)
{
    give(load_of(flight)->kept, ZD_CONTAINER(wait, struct zd_coordinate_read, wait));
}

static void settle(struct zd_flight *flight)
{
    struct kept *kept = load_of(flight)->kept;
    if (flight->status == ZD_OK && !kept->dataset->is_retired) {
        zd_cache_charge(cache_of(kept), &kept->entry, cost_of(kept));
    } else {
        zd_cache_drop(cache_of(kept), &kept->entry);
    }
}

static enum zd_next read_array(
    struct zd_node *node, enum zd_freshness freshness, struct zd_coordinate_read *read);

static enum zd_next ask_again(struct zd_flight *flight, struct zd_wait *wait)
{
    return read_array(
        load_of(flight)->node, ZD_JOINING, ZD_CONTAINER(wait, struct zd_coordinate_read, wait));
}

static void release_load(struct zd_flight *flight)
{
    struct load *load = load_of(flight);
    zd_survey_done(&load->survey);
    zd_fetch_done(&load->fetch);
    zd_seen_objects_done(&load->seen);
    zd_label_order_done(&load->order);
    zd_coordinate_unref(load->coordinate);
    zd_allowance_release(&load->room);
    zd_node_unref(load->node);
}

static const struct zd_flight_ops ops = {
    .step = step_load,
    .give = give_waiter,
    .settle = settle,
    .again = ask_again,
    .done = release_load,
};

/* Takes a reference of the entry, which is idle. */
static enum zd_next start(struct kept *kept, struct zd_node *node, struct zd_coordinate_read *read)
{
    struct zd_server *server = node->dataset->server;
    const uint64_t n = node->meta->grid.shape[0] - node->meta->view.origin[0];
    struct load *load = zd_flight_new(sizeof *load, &ops, &server->coordinates, &kept->entry,
        uv_now(server->loop), &read->wait, "a coordinate");
    if (load == NULL) {
        return ZD_NEXT;
    }
    kept->n_changes = node->dataset->n_changes;
    load->kept = kept;
    load->node = zd_node_ref(node);
    zd_selection_whole(1, &n, &load->selection);
    load->selection.axis[0].start = n == 0 ? 0 : node->meta->view.origin[0];
    load->step = kept->coordinate == NULL ? step_begin : step_check;
    read->flight = &load->flight;
    return zd_flight_begin(&load->flight, &read->wait);
}

static enum zd_next read_array(
    struct zd_node *node, enum zd_freshness freshness, struct zd_coordinate_read *read)
{
    struct kept *kept = find_kept(node);
    if (kept == NULL) {
        kept = new_kept(node);
        if (kept == NULL) {
            read->wait.status =
                zd_fail(&read->wait.err, ZD_NO_MEMORY, "no memory for a coordinate");
            return ZD_NEXT;
        }
        return start(kept, node, read);
    }
    if (kept->entry.flight != NULL) {
        read->flight = kept->entry.flight;
        zd_dataset_join(node->dataset, read->flight, freshness, &read->wait);
        return ZD_WAIT;
    }
    if (kept->coordinate != NULL && !is_before_change(kept) &&
        zd_dataset_trusts(node->dataset, kept->checked_ms)) {
        give(kept, read);
        return ZD_NEXT;
    }
    (void)zd_cache_ref(&kept->entry);
    return start(kept, node, read);
}

enum zd_next zd_coordinate_read_want(struct zd_node *node, struct zd_coordinate_read *read)
{
    return read_array(node, ZD_TRUSTED, read);
}

void zd_coordinate_read_release(struct zd_coordinate_read *read)
{
    zd_flight_leave(read->flight, &read->wait);
    zd_coordinate_unref(ZD_TAKE(read->coordinate));
}
