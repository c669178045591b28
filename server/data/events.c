/* What has changed in a dataset: a bounded window of events, and those who read it.
 *
 * Events are numbered, and kept as they go on the wire. Their ids have the window's own name in
 * front, so that an id of another run of the server is known to be unknown. The oldest go when the
 * window has events.window_bytes; a reader who has not read them by then has missed them. */
#include "server/data/events.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/emit.h"
#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/base/scan.h"
#include "server/runtime/server.h"

#define EVENT_BYTES_MAX (UINT64_C(1) << 20)
#define PART_BYTES      (16U << 10) /* of one event's indices: what is longer becomes several */
#define BEATS_PER_TIMER 2           /* it looks more often than a heartbeat is due */
#define RETRY_MS        1000        /* after which clients are to come back */

/* One event; the path and the text, both ended by NUL, are in the same piece of memory. */
struct event {
    struct zd_list link;
    uint64_t number;
    size_t bytes;     /* what it costs */
    bool takes_below; /* nodes below its path go with it */
    const char *path;
    const char *text; /* "event: ...\ndata: ...\n" */
};

struct zd_events {
    uint64_t name;
    uint64_t last;         /* the number of the newest one; 0: there was none */
    struct zd_list window; /* struct event: oldest first */
    size_t bytes;
    struct zd_list readers;
};

static const struct zd_settings *settings_of(const struct zd_dataset *dataset)
{
    return &dataset->server->config->settings;
}

/* A connection that sleeps for http.request_ms is given up. */
static uint64_t heartbeat_ms(const struct zd_settings *settings)
{
    return zd_min_u64(settings->events_heartbeat_ms, settings->http_request_ms / 2);
}

/* Made when it is first needed; NULL without memory. */
static struct zd_events *events_of(struct zd_dataset *dataset)
{
    if (dataset->events == NULL) {
        dataset->events = zd_alloc_zero(1, sizeof *dataset->events);
    }
    struct zd_events *events = dataset->events;
    if (events != NULL && events->name == 0) {
        events->name = zd_hash_random_seed() | 1;
        zd_list_init(&events->window);
        zd_list_init(&events->readers);
    }
    return events;
}

static struct event *event_of(struct zd_list *link)
{
    return ZD_CONTAINER(link, struct event, link);
}

/* ---- the window ---- */

static void drop_oldest(struct zd_events *events)
{
    struct event *event = event_of(zd_list_pop_front(&events->window));
    events->bytes -= event->bytes;
    zd_free(event);
}

static void drop_all(struct zd_events *events)
{
    while (!zd_list_is_empty(&events->window)) {
        drop_oldest(events);
    }
}

/* NULL without memory. */
static struct event *new_event(const char *path, const struct zd_text *text)
{
    const size_t path_size = strlen(path) + 1;
    struct event *event = zd_alloc_zero(1, sizeof *event + path_size + text->len + 1);
    if (event != NULL) {
        char *own_path = (char *)(event + 1);
        char *own_text = own_path + path_size;
        memcpy(own_path, path, path_size);
        memcpy(own_text, text->at, text->len + 1);
        event->path = own_path;
        event->text = own_text;
        event->bytes = sizeof *event + path_size + text->len + 1;
    }
    return event;
}

static void tell_readers(struct zd_events *events)
{
    for (struct zd_list *at = events->readers.next; at != &events->readers; at = at->next) {
        struct zd_events_reader *reader = ZD_CONTAINER(at, struct zd_events_reader, link);
        if (reader->waits) {
            reader->waits = false;
            reader->wait.done(&reader->wait);
        }
    }
}

/* What cannot be kept is missed by everybody, and so they learn that there was something. */
static void add_event(
    struct zd_dataset *dataset, const char *path, bool takes_below, const struct zd_text *text)
{
    struct zd_events *events = dataset->events;
    struct event *event = text->status == ZD_OK ? new_event(path, text) : NULL;
    events->last++;
    if (event == NULL) {
        drop_all(events);
    } else {
        event->number = events->last;
        event->takes_below = takes_below;
        events->bytes += event->bytes;
        zd_list_push_back(&events->window, &event->link);
    }
    while (events->bytes > settings_of(dataset)->events_window_bytes) {
        drop_oldest(events);
    }
    tell_readers(events);
}

/* ---- what happens ---- */

static void begin_data(
    struct zd_emit *emit, struct zd_text *text, const char *event_name, const char *path)
{
    zd_text_add(text, "event: ");
    zd_text_add(text, event_name);
    zd_text_add(text, "\ndata: ");
    zd_emit_init(emit, text, false);
    zd_emit_object(emit);
    zd_emit_member_string(emit, "path", path);
}

static void end_data(struct zd_emit *emit, const char *change)
{
    zd_emit_member_string(emit, "change", change);
    zd_emit_object_end(emit);
    zd_text_add(emit->text, "\n");
}

static const char *node_word(enum zd_node_change change)
{
    switch (change) {
    case ZD_NODE_CREATED:
        return "created";
    case ZD_NODE_CHANGED:
        return "changed";
    case ZD_NODE_DELETED:
        break;
    }
    return "deleted";
}

void zd_events_node(
    struct zd_dataset *dataset, const char *path, enum zd_node_change change, const char *etag)
{
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, EVENT_BYTES_MAX);
    if (events_of(dataset) == NULL) {
        return; /* nobody reads, and who comes later begins with what comes later */
    }
    begin_data(&emit, &text, "node", path);
    if (etag != NULL && etag[0] != '\0') {
        zd_emit_member_string(&emit, "etag", etag);
    }
    end_data(&emit, node_word(change));
    add_event(dataset, path, change == ZD_NODE_DELETED, &text);
}

static void emit_index(struct zd_emit *emit, uint32_t rank, const uint64_t *index)
{
    zd_emit_array(emit);
    for (uint32_t d = 0; d < rank; d++) {
        zd_emit_u64(emit, index[d]);
    }
    zd_emit_array_end(emit);
}

void zd_events_chunks(struct zd_dataset *dataset, const char *path, uint32_t rank,
    const uint64_t *indices, uint64_t n, enum zd_chunks_change change)
{
    if (events_of(dataset) == NULL) {
        return;
    }
    for (uint64_t i = 0; i < n;) {
        struct zd_emit emit;
        ZD_SCOPED_TEXT(text, EVENT_BYTES_MAX);
        begin_data(&emit, &text, "chunks", path);
        zd_emit_key(&emit, "indices");
        zd_emit_array(&emit);
        do {
            emit_index(&emit, rank, indices + i * rank);
            i++;
        } while (i < n && text.len < PART_BYTES && text.status == ZD_OK);
        zd_emit_array_end(&emit);
        end_data(&emit, change == ZD_CHUNKS_WRITTEN ? "written" : "erased");
        add_event(dataset, path, false, &text);
    }
}

/* ---- reading ---- */

static bool is_over(const struct zd_dataset *dataset)
{
    return dataset->is_retired || dataset->server->is_draining;
}

static bool is_at_or_below(const char *path, const char *below)
{
    const size_t len = strlen(path);
    return len == 0 ||
           (strncmp(path, below, len) == 0 && (below[len] == '/' || below[len] == '\0'));
}

static bool is_for(const struct zd_events_reader *reader, const struct event *event)
{
    return is_at_or_below(reader->path, event->path) ||
           (event->takes_below && is_at_or_below(event->path, reader->path));
}

static void add_id(const struct zd_events *events, uint64_t number, struct zd_text *text)
{
    zd_text_addf(text, "id: %016" PRIx64 "-%" PRIu64 "\n", events->name, number);
}

/* The number in an id of ours: what was the newest event then. False: it is no such id. */
static bool scan_id(const struct zd_events *events, const char *id, uint64_t *ret_number)
{
    ZD_SCOPED_TEXT(head, 32);
    zd_text_addf(&head, "%016" PRIx64 "-", events->name);
    if (head.status != ZD_OK || strncmp(id, head.at, head.len) != 0) {
        return false;
    }
    return zd_scan_whole_u64(zd_span_of(id + head.len), events->last, ret_number) == ZD_OK;
}

/* Whether the next event is known still, when there is one. */
static bool is_in_window(const struct zd_events *events, uint64_t next)
{
    const bool is_empty = zd_list_is_empty(&events->window);
    const uint64_t oldest = is_empty ? events->last + 1 : event_of(events->window.next)->number;
    return next >= oldest;
}

/* Where to begin, and what to say first. */
static void begin(struct zd_events_reader *reader, const char *last_id, struct zd_text *text)
{
    const struct zd_events *events = reader->dataset->events;
    uint64_t number = 0;
    zd_text_addf(text, "retry: %d\n", RETRY_MS);
    reader->next = events->last + 1;
    if (last_id != NULL && scan_id(events, last_id, &number) && is_in_window(events, number + 1)) {
        reader->next = number + 1;
    } else if (last_id != NULL) {
        zd_text_add(text, "event: reset\ndata: {}\n");
    }
    add_id(events, reader->next - 1, text);
    zd_text_add(text, "\n");
}

static void on_timer(uv_timer_t *timer);

static void arm(struct zd_server *server)
{
    struct zd_events_clock *clock = server->events;
    const struct zd_settings *settings = &server->config->settings;
    const uint64_t every_ms = 1 + heartbeat_ms(settings) / BEATS_PER_TIMER;
    if (!uv_is_active((uv_handle_t *)&clock->timer)) {
        uv_timer_start(&clock->timer, on_timer, every_ms, every_ms);
    }
}

enum zd_status zd_events_open(struct zd_dataset *dataset, const char *path, const char *last_id,
    struct zd_text *text, struct zd_events_reader *reader, struct zd_error *err)
{
    struct zd_server *server = dataset->server;
    const uint64_t n_max = settings_of(dataset)->events_readers;
    if (server->events->n_readers >= n_max) {
        const enum zd_status status = zd_fail(err, ZD_AGAIN,
            "%llu clients read events already: events.readers", (unsigned long long)n_max);
        zd_fact_limit(err, n_max, server->events->n_readers + 1);
        return status;
    }
    struct zd_events *events = events_of(dataset);
    char *own_path = events == NULL ? NULL : zd_strdup(path);
    if (own_path == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a reader of events");
    }
    reader->dataset = dataset;
    reader->path = own_path;
    reader->told_ms = uv_now(server->loop);
    zd_list_push_back(&events->readers, &reader->link);
    server->events->n_readers++;
    begin(reader, last_id, text);
    arm(server);
    return ZD_OK;
}

/* The event of that number, which is in the window: most who read are near its end. */
static struct event *find_event(struct zd_events *events, uint64_t number)
{
    struct zd_list *at = events->window.prev;
    while (event_of(at)->number > number) {
        at = at->prev;
    }
    return event_of(at);
}

static void add_events(struct zd_events_reader *reader, size_t len_max, struct zd_text *text)
{
    struct zd_events *events = reader->dataset->events;
    if (reader->next > events->last) {
        return;
    }
    const struct zd_list *at = &find_event(events, reader->next)->link;
    for (; at != &events->window && text->len < len_max; at = at->next) {
        const struct event *event = ZD_CONTAINER(at, const struct event, link);
        reader->next = event->number + 1;
        if (is_for(reader, event)) {
            zd_text_add(text, event->text);
            add_id(events, event->number, text);
            zd_text_add(text, "\n");
        }
    }
}

/* All that was read counts, also what was for others: whoever comes back need not fear to have
 * missed it. */
static void add_heartbeat(const struct zd_events_reader *reader, struct zd_text *text)
{
    zd_text_add(text, ":\n");
    add_id(reader->dataset->events, reader->next - 1, text);
    zd_text_add(text, "\n");
}

static bool is_beat_due(const struct zd_events_reader *reader)
{
    const struct zd_dataset *dataset = reader->dataset;
    return uv_now(dataset->server->loop) - reader->told_ms >= heartbeat_ms(settings_of(dataset));
}

enum zd_next zd_events_read(struct zd_events_reader *reader, size_t len_max, struct zd_text *text)
{
    const struct zd_dataset *dataset = reader->dataset;
    struct zd_error *err = &reader->wait.err;
    const size_t len = text->len;
    if (is_over(dataset)) {
        reader->wait.status = zd_fail(err, ZD_CANCELLED, "no more events will come");
        return ZD_NEXT;
    }
    if (!is_in_window(dataset->events, reader->next)) {
        reader->wait.status = zd_fail(err, ZD_TOO_LARGE, "the client reads too slowly");
        return ZD_NEXT;
    }
    add_events(reader, len_max, text);
    if (text->len == len && is_beat_due(reader)) {
        add_heartbeat(reader, text);
    }
    reader->waits = text->len == len;
    if (reader->waits) {
        return ZD_WAIT;
    }
    reader->told_ms = uv_now(dataset->server->loop);
    zd_wait_answer(&reader->wait, ZD_OK, NULL);
    return ZD_NEXT;
}

void zd_events_close(struct zd_events_reader *reader)
{
    if (reader->dataset == NULL) {
        return;
    }
    struct zd_events_clock *clock = reader->dataset->server->events;
    clock->n_readers--;
    if (clock->n_readers == 0) {
        uv_timer_stop(&clock->timer);
    }
    zd_list_remove(&reader->link);
    zd_free(reader->path);
    *reader = (struct zd_events_reader){.wait.done = reader->wait.done};
}

/* ---- the whole ---- */

static void tell_due(struct zd_events *events)
{
    for (struct zd_list *at = events->readers.next; at != &events->readers; at = at->next) {
        struct zd_events_reader *reader = ZD_CONTAINER(at, struct zd_events_reader, link);
        if (reader->waits && is_beat_due(reader)) {
            reader->waits = false;
            reader->wait.done(&reader->wait);
        }
    }
}

static void on_timer(uv_timer_t *timer)
{
    const struct zd_server *server = timer->data;
    for (size_t i = 0; i < server->n_datasets; i++) {
        if (server->dataset[i]->events != NULL) {
            tell_due(server->dataset[i]->events);
        }
    }
}

void zd_events_init(struct zd_server *server)
{
    server->events->n_readers = 0;
    uv_timer_init(server->loop, &server->events->timer);
    server->events->timer.data = server;
}

void zd_events_done(struct zd_server *server)
{
    uv_close((uv_handle_t *)&server->events->timer, NULL);
}

void zd_events_end(struct zd_dataset *dataset)
{
    if (dataset->events != NULL) {
        tell_readers(dataset->events);
    }
}

void zd_events_free(struct zd_dataset *dataset)
{
    if (dataset->events != NULL) {
        drop_all(dataset->events);
        zd_free(dataset->events);
        dataset->events = NULL;
    }
}
