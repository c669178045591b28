/* The changes of one dataset: a bounded window of events, and its readers.
 *
 * Events are numbered, and kept as they go on the wire. An id is the window's random name, a nonce
 * and the number, encrypted: the window recognises its own, and a client cannot count the events
 * that it may not see. The oldest go when the window has events.window_bytes; a reader that has not
 * read them by then has missed them. */
#include "server/data/events.h"

#include <string.h>

#include "core/base/digest.h"
#include "core/base/emit.h"
#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/base/seal.h"
#include "server/runtime/server.h"

#define EVENT_BYTES_MAX (UINT64_C(1) << 20)
#define PART_BYTES      (16U << 10) /* of one event's indices: a longer list becomes several events */
#define BEATS_PER_TIMER 2           /* it looks more often than a heartbeat is due */
#define RETRY_MS        1000        /* after which clients are to come back */

/* An event; path and text, both ended by NUL, are in the same allocation. */
struct event {
    struct zd_list link;
    uint64_t number;
    size_t bytes;     /* what it costs */
    bool takes_below; /* nodes below its path go with it */
    const char *path;
    const char *text; /* "event: ...\ndata: ...\n" */
};

struct zd_events {
    struct zd_server *server;
    struct zd_list link; /* among all of the server */
    uint32_t name;
    uint64_t last;          /* the number of the newest event; 0: there was none */
    struct zd_list window;  /* struct event: oldest first */
    size_t bytes;           /* of the window */
    struct zd_list waiters; /* wait.link of readers that have read all */
    bool has_ended;         /* no more events will come */
};

/* An id before it is encrypted. */
struct id {
    uint32_t name;
    uint32_t nonce; /* two ids of one number differ: whoever comes back learns nothing from that */
    uint64_t number;
};

static const struct zd_settings *settings_of(const struct zd_events *events)
{
    return &events->server->config->settings;
}

/* A connection that sleeps for http.request_ms is given up. */
static uint64_t heartbeat_ms(const struct zd_events *events)
{
    const struct zd_settings *settings = settings_of(events);
    return zd_min_u64(settings->events_heartbeat_ms, settings->http_request_ms / 2);
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

/* An event that cannot be kept is missed by every reader: a reset reports that. */
static void add_event(
    struct zd_events *events, const char *path, bool takes_below, const struct zd_text *text)
{
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
    while (events->bytes > settings_of(events)->events_window_bytes) {
        drop_oldest(events);
    }
    zd_wait_tell(&events->waiters, ZD_OK, NULL);
}

/* ---- adding ---- */

static void begin_data(
    struct zd_emit *emit, struct zd_text *text, const char *event_name, const char *path)
{
    zd_text_addf(text, "event: %s\ndata: ", event_name);
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

static const char *const node_words[] = {
    [ZD_NODE_CREATED] = "created",
    [ZD_NODE_CHANGED] = "changed",
    [ZD_NODE_DELETED] = "deleted",
};

void zd_events_node(
    struct zd_events *events, const char *path, enum zd_node_change change, const char *etag)
{
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, EVENT_BYTES_MAX);
    begin_data(&emit, &text, "node", path);
    if (etag != NULL && etag[0] != '\0') {
        zd_emit_member_string(&emit, "etag", etag);
    }
    end_data(&emit, node_words[change]);
    add_event(events, path, change == ZD_NODE_DELETED, &text);
}

static void emit_index(struct zd_emit *emit, uint32_t rank, const uint64_t *index)
{
    zd_emit_array(emit);
    for (uint32_t d = 0; d < rank; d++) {
        zd_emit_u64(emit, index[d]);
    }
    zd_emit_array_end(emit);
}

void zd_events_chunks(struct zd_events *events, const char *path, uint32_t rank,
    const uint64_t *indices, uint64_t n, enum zd_chunks_change change)
{
    for (uint64_t i = 0; i < n;) {
        struct zd_emit emit;
        ZD_SCOPED_TEXT(text, EVENT_BYTES_MAX);
        begin_data(&emit, &text, "chunks", path);
        zd_emit_member_array(&emit, "indices");
        do {
            emit_index(&emit, rank, indices + i * rank);
            i++;
        } while (i < n && text.len < PART_BYTES && text.status == ZD_OK);
        zd_emit_array_end(&emit);
        end_data(&emit, change == ZD_CHUNKS_WRITTEN ? "written" : "erased");
        add_event(events, path, false, &text);
    }
}

/* ---- reading ---- */

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

/* The last line of an event, and the empty one behind it. */
static void add_id(const struct zd_events *events, uint64_t number, struct zd_text *text)
{
    struct zd_events_clock *clock = events->server->events;
    const struct id id = {.name = events->name, .nonce = clock->n_ids++, .number = number};
    uint8_t block[ZD_SEAL_BYTES];
    char hex[ZD_SEAL_CHARS + 1];
    memcpy(block, &id, sizeof block);
    if (zd_seal_shut(clock->seal, block, hex) == ZD_OK) {
        zd_text_addf(text, "id: %s\n\n", hex);
    } else {
        text->status = ZD_NO_MEMORY;
    }
}

/* The number in an id: the newest event then. False: this window did not make it. */
static bool scan_id(const struct zd_events *events, const char *text, uint64_t *ret_number)
{
    struct id id;
    uint8_t block[ZD_SEAL_BYTES];
    if (zd_seal_open(events->server->events->seal, zd_span_of(text), block) != ZD_OK) {
        return false;
    }
    memcpy(&id, block, sizeof id);
    *ret_number = id.number;
    return id.name == events->name && id.number <= events->last;
}

/* Whether the window still has the next event, if there is one. */
static bool is_in_window(const struct zd_events *events, uint64_t next)
{
    const bool is_empty = zd_list_is_empty(&events->window);
    const uint64_t oldest = is_empty ? events->last + 1 : event_of(events->window.next)->number;
    return next >= oldest;
}

/* Set where to begin, and append the beginning of the stream. */
static void begin(struct zd_events_reader *reader, const char *last_id, struct zd_text *text)
{
    const struct zd_events *events = reader->events;
    uint64_t number = 0;
    zd_text_addf(text, "retry: %d\n", RETRY_MS);
    reader->next = events->last + 1;
    if (last_id != NULL && scan_id(events, last_id, &number) && is_in_window(events, number + 1)) {
        reader->next = number + 1;
    } else if (last_id != NULL) {
        zd_text_add(text, "event: reset\ndata: {}\n");
    }
    add_id(events, reader->next - 1, text);
}

static void on_timer(uv_timer_t *timer);

static void arm(const struct zd_events *events)
{
    struct zd_events_clock *clock = events->server->events;
    const uint64_t every_ms = 1 + heartbeat_ms(events) / BEATS_PER_TIMER;
    if (!uv_is_active((uv_handle_t *)&clock->timer)) {
        uv_timer_start(&clock->timer, on_timer, every_ms, every_ms);
    }
}

static enum zd_status fail_share(
    uint64_t n_max, const char *whose, const char *setting, struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_AGAIN, "%llu event streams are already open%s; the setting %s limits them",
            (unsigned long long)n_max, whose, setting);
    zd_fact_limit(err, n_max, n_max + 1);
    return status;
}

/* Whether one more reader of a client may begin: one client alone cannot have all streams. */
static enum zd_status judge_share(
    const struct zd_events *events, uint64_t client, struct zd_error *err)
{
    const struct zd_events_clock *clock = events->server->events;
    const struct zd_settings *settings = settings_of(events);
    const uint64_t n_max = settings->events_address_readers;
    uint64_t n = 0;
    for (const struct zd_list *at = clock->readers.next; at != &clock->readers; at = at->next) {
        n += ZD_CONTAINER(at, const struct zd_events_reader, link)->client == client;
    }
    if (clock->n_readers >= settings->events_readers) {
        return fail_share(settings->events_readers, "", "events.readers", err);
    }
    return n_max == 0 || n < n_max
               ? ZD_OK
               : fail_share(n_max, " from this address", "events.address_readers", err);
}

/* A key for this run of the server. */
static enum zd_status make_seal(struct zd_events_clock *clock)
{
    uint8_t key[ZD_SEAL_BYTES];
    if (clock->seal != NULL) {
        return ZD_OK;
    }
    ZD_TRY(zd_digest_random(key, sizeof key));
    const enum zd_status status = zd_seal_new(key, &clock->seal);
    zd_digest_erase(key, sizeof key);
    return status;
}

enum zd_status zd_events_open(struct zd_events *events, const char *path, const char *last_id,
    struct zd_text *text, struct zd_events_reader *reader, struct zd_error *err)
{
    struct zd_events_clock *clock = events->server->events;
    ZD_TRY(judge_share(events, reader->client, err));
    const enum zd_status status = make_seal(clock);
    if (status != ZD_OK) {
        return zd_fail(err, status, "no key for the ids of events");
    }
    char *own_path = zd_strdup(path);
    if (own_path == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a reader of events");
    }
    reader->events = events;
    reader->path = own_path;
    reader->read_ms = uv_now(events->server->loop);
    clock->n_readers++;
    zd_list_push_back(&clock->readers, &reader->link);
    begin(reader, last_id, text);
    arm(events);
    return ZD_OK;
}

/* The event of that number, which is in the window: most readers are near its end. */
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
    struct zd_events *events = reader->events;
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
        }
    }
}

static bool is_silent(const struct zd_events_reader *reader)
{
    const struct zd_events *events = reader->events;
    return uv_now(events->server->loop) - reader->read_ms >= heartbeat_ms(events);
}

enum zd_next zd_events_read(struct zd_events_reader *reader, size_t len_max, struct zd_text *text)
{
    struct zd_events *events = reader->events;
    struct zd_error *err = &reader->wait.err;
    const size_t len = text->len;
    if (events->has_ended) {
        reader->wait.status = zd_fail(err, ZD_CANCELLED, "the event stream ends");
        return ZD_NEXT;
    }
    if (!is_in_window(events, reader->next)) {
        reader->wait.status = zd_fail(err, ZD_TOO_LARGE, "the client read too slowly");
        return ZD_NEXT;
    }
    add_events(reader, len_max, text);
    if (text->len == len && reader->is_beat_due) {
        /* Its id covers events of other paths too: a client that comes back has missed none. */
        zd_text_add(text, ":\n");
        add_id(events, reader->next - 1, text);
    }
    zd_wait_cancel(&reader->wait);
    if (text->len == len) {
        zd_list_push_back(&events->waiters, &reader->wait.link);
        return ZD_WAIT;
    }
    reader->is_beat_due = false;
    reader->read_ms = uv_now(events->server->loop);
    zd_wait_answer(&reader->wait, ZD_OK, NULL);
    return ZD_NEXT;
}

void zd_events_close(struct zd_events_reader *reader)
{
    if (reader->events == NULL) {
        return;
    }
    struct zd_events_clock *clock = reader->events->server->events;
    clock->n_readers--;
    zd_list_remove(&reader->link);
    if (clock->n_readers == 0) {
        uv_timer_stop(&clock->timer);
    }
    zd_wait_cancel(&reader->wait);
    zd_free(reader->path);
    reader->path = NULL;
    reader->events = NULL;
}

/* ---- all windows ---- */

/* Nothing else does: an event that a reader may not see would show in when its heartbeat comes. */
static void mark_due(struct zd_events_clock *clock)
{
    for (struct zd_list *at = clock->readers.next; at != &clock->readers; at = at->next) {
        struct zd_events_reader *reader = ZD_CONTAINER(at, struct zd_events_reader, link);
        reader->is_beat_due = is_silent(reader);
    }
}

static void wake_due(struct zd_events *events)
{
    struct zd_list due;
    struct zd_list *next = NULL;
    zd_list_init(&due);
    for (struct zd_list *at = events->waiters.next; at != &events->waiters; at = next) {
        next = at->next;
        if (ZD_CONTAINER(at, struct zd_events_reader, wait.link)->is_beat_due) {
            zd_list_remove(at);
            zd_list_push_back(&due, at);
        }
    }
    zd_wait_tell(&due, ZD_OK, NULL);
}

static void on_timer(uv_timer_t *timer)
{
    const struct zd_server *server = timer->data;
    const struct zd_list *all = &server->events->all;
    mark_due(server->events);
    for (struct zd_list *at = all->next; at != all; at = at->next) {
        wake_due(ZD_CONTAINER(at, struct zd_events, link));
    }
}

void zd_events_init(struct zd_server *server)
{
    server->events->n_readers = 0;
    server->events->n_ids = 0;
    server->events->seal = NULL;
    zd_list_init(&server->events->readers);
    zd_list_init(&server->events->all);
    uv_timer_init(server->loop, &server->events->timer);
    server->events->timer.data = server;
}

void zd_events_done(struct zd_server *server)
{
    uv_close((uv_handle_t *)&server->events->timer, NULL);
    zd_seal_free(ZD_TAKE(server->events->seal));
}

struct zd_events *zd_events_new(struct zd_server *server)
{
    struct zd_events *events = zd_alloc_zero(1, sizeof *events);
    if (events != NULL) {
        events->server = server;
        events->name = (uint32_t)zd_hash_random_seed();
        zd_list_init(&events->window);
        zd_list_init(&events->waiters);
        zd_list_push_back(&server->events->all, &events->link);
    }
    return events;
}

void zd_events_end(struct zd_events *events)
{
    events->has_ended = true;
    zd_wait_tell(&events->waiters, ZD_OK, NULL);
}

void zd_events_free(struct zd_events *events)
{
    if (events != NULL) {
        drop_all(events);
        zd_list_remove(&events->link);
        zd_free(events);
    }
}
