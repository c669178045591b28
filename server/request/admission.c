/* Which requests may begin now: memory and places, budgeted before they are taken.
 *
 *   ask --> the lane has room, and its queue is empty: at once
 *       \-> queue of client and source --> deficit round robin --> bytes are free: done
 *                                      \-> the wait is over: done, refused
 */
#include "server/request/admission.h"

#include <assert.h>

#include "core/base/num.h"
#include "core/base/own.h"

#define WINDOW_MS     100 /* a rate is measured over at least that long */
#define RATE_MEMORY   4   /* windows that a rate remembers */
#define QUANTUM_PART  16  /* of a lane's bytes: what a client may take in one turn */
#define WAIT_PARTS    4   /* of the longest wait: a request that expects more than 3 is refused, */
#define WAIT_EXPECTED 3   /* as a rate of late is no promise, */
#define WAIT_KNOWN    1   /* once there has been a queue for 1: a rate of a moment is noise */
#define CLIENT_PART   2 /* of a lane, and of its queue: what a client may have while others wait */
#define RETRY_MAX_S   60
#define MS_PER_S      1000

/* A client with tickets that wait or hold bytes, in one lane. */
struct zd_admission_client {
    struct zd_map_entry map; /* key: peer */
    struct zd_peer peer;
    struct zd_list queues; /* struct zd_admission_queue: one for each source */
    uint64_t bytes;        /* that its admitted tickets hold */
};

/* Its tickets of one source: those who cannot begin for want of that source are passed by others.
 */
struct zd_admission_queue {
    struct zd_list link; /* among its client's */
    struct zd_admission_client *client;
    struct zd_admission_source *source;
    uint64_t n_holding;     /* tickets that were admitted */
    struct zd_list turn;    /* in the lane's turns, while it has tickets that wait */
    struct zd_list tickets; /* in the order of arrival */
    uint64_t n_waiting;
    uint64_t bytes_waiting;
    uint64_t deficit; /* bytes that it may take before other queues have their turn */
};

const char *zd_admission_lane_name(enum zd_lane_name name)
{
    static const char *const names[] = {"small", "large"};
    return names[name];
}

const char *zd_admission_shed_name(enum zd_shed shed)
{
    static const char *const names[] = {"queue_full", "wait_expected", "wait_over"};
    return names[shed];
}

void zd_admission_init(struct zd_admission *admission, const struct zd_admission_limits *limits)
{
    *admission = (struct zd_admission){.limits = *limits};
    zd_list_init(&admission->ages);
    for (size_t i = 0; i < ZD_LANES; i++) {
        struct zd_lane *lane = &admission->lane[i];
        assert(limits->bytes[i] > 0 && limits->places[i] > 0);
        lane->bytes_max = limits->bytes[i];
        lane->client_max =
            limits->client_bytes[i] == 0 ? limits->bytes[i] : limits->client_bytes[i];
        lane->places_max = limits->places[i];
        zd_map_init(&lane->clients);
        zd_list_init(&lane->turns);
        zd_list_init(&lane->sources);
        zd_list_push_back(&lane->sources, &lane->here.link);
    }
}

void zd_admission_done(struct zd_admission *admission)
{
    for (size_t i = 0; i < ZD_LANES; i++) {
        assert(admission->lane[i].n_waiting == 0);
        zd_map_done(&admission->lane[i].clients);
    }
}

/* ---- the rate at which a queue is served ---- */

static void close_window(struct zd_admission_source *source, uint64_t now_ms)
{
    const uint64_t elapsed_ms = now_ms - source->window_ms;
    if (source->n_waiting == 0 || elapsed_ms < WINDOW_MS) { /* what is idle has no rate */
        return;
    }
    const uint64_t seen = source->window_bytes * MS_PER_S / elapsed_ms;
    const uint64_t known = (source->rate * (RATE_MEMORY - 1) + seen) / RATE_MEMORY;
    source->rate = source->rate == 0 ? seen : zd_max_u64(known, 1);
    source->window_ms = now_ms;
    source->window_bytes = 0;
}

static uint64_t wait_ms(const struct zd_admission_source *source, uint64_t bytes_ahead)
{
    const double ms = (double)bytes_ahead * MS_PER_S / (double)zd_max_u64(source->rate, 1);
    return source->rate == 0 ? 0 : (uint64_t)ms;
}

/* Clients take turns: none of them gets ahead of this one with more than it asks for itself. */
static uint64_t expected_ms(const struct zd_admission_queue *queue, uint64_t bytes)
{
    const struct zd_admission_source *source = queue->source;
    const uint64_t own = bytes + queue->bytes_waiting;
    const uint64_t n_clients = source->n_queuing + (queue->n_waiting == 0 ? 1 : 0);
    return wait_ms(source, zd_min_u64(n_clients * own, source->bytes_waiting + bytes));
}

/* ---- clients ---- */

static struct zd_span key_of(const struct zd_peer *peer)
{
    return (struct zd_span){.ptr = (const uint8_t *)peer, .len = sizeof *peer};
}

static struct zd_admission_client *new_client(struct zd_lane *lane, const struct zd_peer *peer)
{
    struct zd_admission_client *client = zd_alloc_zero(1, sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    client->peer = *peer;
    client->map.key = key_of(&client->peer);
    zd_list_init(&client->queues);
    if (zd_map_put(&lane->clients, &client->map) != ZD_OK) {
        zd_free(client);
        return NULL;
    }
    return client;
}

/* NULL without memory. */
static struct zd_admission_client *client_of(struct zd_lane *lane, const struct zd_peer *peer)
{
    struct zd_map_entry *entry = zd_map_find(&lane->clients, key_of(peer));
    return entry == NULL ? new_client(lane, peer)
                         : ZD_CONTAINER(entry, struct zd_admission_client, map);
}

/* NULL: none of its requests waits or holds bytes. */
static struct zd_admission_source *find_source(struct zd_lane *lane, uint64_t id)
{
    for (struct zd_list *at = lane->sources.next; at != &lane->sources; at = at->next) {
        struct zd_admission_source *source = ZD_CONTAINER(at, struct zd_admission_source, link);
        if (source->id == id) {
            return source;
        }
    }
    return NULL;
}

/* NULL without memory. */
static struct zd_admission_source *source_of(struct zd_lane *lane, uint64_t id)
{
    struct zd_admission_source *source = find_source(lane, id);
    if (source == NULL && (source = zd_alloc_zero(1, sizeof *source)) != NULL) {
        source->id = id;
        zd_list_push_back(&lane->sources, &source->link);
    }
    return source;
}

/* Each goes with its last ticket, but for the source that is always there. */
static void drop_client(struct zd_lane *lane, struct zd_admission_client *client)
{
    if (client != NULL && zd_list_is_empty(&client->queues)) {
        zd_map_remove(&lane->clients, &client->map);
        zd_free(client);
    }
}

static void drop_source(struct zd_lane *lane, struct zd_admission_source *source)
{
    if (source != NULL && source->n_queues == 0 && source != &lane->here) {
        zd_list_remove(&source->link);
        zd_free(source);
    }
}

static void drop_queue(struct zd_lane *lane, struct zd_admission_queue *queue)
{
    if (queue->n_waiting == 0 && queue->n_holding == 0) {
        struct zd_admission_client *client = queue->client;
        struct zd_admission_source *source = queue->source;
        source->n_queues--;
        zd_list_remove(&queue->link);
        zd_free(queue);
        drop_client(lane, client);
        drop_source(lane, source);
    }
}

static struct zd_admission_queue *new_queue(
    struct zd_admission_client *client, struct zd_admission_source *source)
{
    struct zd_admission_queue *queue = zd_alloc_zero(1, sizeof *queue);
    if (queue != NULL) {
        queue->client = client;
        queue->source = source;
        source->n_queues++;
        zd_list_init(&queue->tickets);
        zd_list_push_back(&client->queues, &queue->link);
    }
    return queue;
}

static struct zd_admission_queue *find_queue(
    const struct zd_admission_client *client, const struct zd_admission_source *source)
{
    for (struct zd_list *at = client->queues.next; at != &client->queues; at = at->next) {
        struct zd_admission_queue *queue = ZD_CONTAINER(at, struct zd_admission_queue, link);
        if (queue->source == source) {
            return queue;
        }
    }
    return NULL;
}

/* NULL without memory. */
static struct zd_admission_queue *queue_of(
    struct zd_lane *lane, const struct zd_peer *peer, uint64_t id)
{
    struct zd_admission_client *client = client_of(lane, peer);
    struct zd_admission_source *source = source_of(lane, id);
    struct zd_admission_queue *queue = NULL;
    if (client != NULL && source != NULL) {
        queue = find_queue(client, source);
        queue = queue == NULL ? new_queue(client, source) : queue;
    }
    if (queue == NULL) {
        drop_client(lane, client);
        drop_source(lane, source);
    }
    return queue;
}

/* A queue without waiting requests loses its deficit: other queues would pay for it. */
static void leave_queue(struct zd_lane *lane, struct zd_ticket *ticket)
{
    struct zd_admission_queue *queue = ticket->queue;
    zd_list_remove(&ticket->link);
    zd_list_remove(&ticket->age);
    queue->n_waiting--;
    queue->bytes_waiting -= ticket->bytes;
    queue->source->n_waiting--;
    queue->source->bytes_waiting -= ticket->bytes;
    lane->n_waiting--;
    lane->bytes_waiting -= ticket->bytes;
    if (queue->n_waiting == 0) {
        zd_list_remove(&queue->turn);
        queue->deficit = 0;
        queue->source->n_queuing--;
    }
}

static void count_wait(struct zd_lane *lane, const struct zd_ticket *ticket, uint64_t now_ms)
{
    lane->n_waited++;
    lane->waited_ms += now_ms - ticket->asked_ms;
}

static void wait_in_queue(
    struct zd_admission *admission, struct zd_lane *lane, struct zd_ticket *ticket, uint64_t now_ms)
{
    struct zd_admission_queue *queue = ticket->queue;
    struct zd_admission_source *source = queue->source;
    if (source->n_waiting == 0) {
        source->queue_ms = now_ms;
        source->window_ms = now_ms;
        source->window_bytes = 0;
    }
    ticket->state = ZD_TICKET_WAITS;
    ticket->asked_ms = now_ms;
    if (queue->n_waiting == 0) {
        zd_list_push_back(&lane->turns, &queue->turn);
        source->n_queuing++;
    }
    zd_list_push_back(&queue->tickets, &ticket->link);
    zd_list_push_back(&admission->ages, &ticket->age);
    queue->n_waiting++;
    queue->bytes_waiting += ticket->bytes;
    source->n_waiting++;
    source->bytes_waiting += ticket->bytes;
    lane->n_waiting++;
    lane->bytes_waiting += ticket->bytes;
}

/* ---- admitting ---- */

static bool fits(const struct zd_lane *lane, uint64_t bytes)
{
    return bytes <= lane->bytes_max - lane->bytes;
}

/* Whether requests of that source may begin. A remote one leaves its part to others, but for what
 * the last of its requests takes: a bound without exception would let small ones of the source pass
 * a large one for ever. */
static bool has_place(const struct zd_lane *lane, const struct zd_admission_source *source)
{
    return source->n_working < lane->places_max &&
           (source == &lane->here || source->bytes < lane->client_max);
}

static void take(struct zd_lane *lane, struct zd_ticket *ticket)
{
    struct zd_admission_queue *queue = ticket->queue;
    ticket->state = ZD_TICKET_WORKS;
    queue->n_holding++;
    queue->client->bytes += ticket->bytes;
    queue->source->bytes += ticket->bytes;
    queue->source->n_working++;
    lane->bytes += ticket->bytes;
    lane->n_working++;
    lane->n_admitted++;
}

/* The opposite. */
static void stop_work(struct zd_lane *lane, struct zd_ticket *ticket)
{
    ticket->queue->source->n_working--;
    lane->n_working--;
}

static void give_back(struct zd_lane *lane, struct zd_ticket *ticket)
{
    struct zd_admission_queue *queue = ticket->queue;
    queue->n_holding--;
    queue->client->bytes -= ticket->bytes;
    queue->source->bytes -= ticket->bytes;
    lane->bytes -= ticket->bytes;
}

static uint64_t quantum_of(const struct zd_lane *lane)
{
    return zd_max_u64(lane->bytes_max / QUANTUM_PART, 1);
}

static struct zd_admission_queue *queue_at(struct zd_list *turn)
{
    return ZD_CONTAINER(turn, struct zd_admission_queue, turn);
}

static struct zd_ticket *first_ticket(const struct zd_admission_queue *queue)
{
    return ZD_CONTAINER(queue->tickets.next, struct zd_ticket, link);
}

/* Whether its client holds no more than its share with its next request. */
static bool keeps_to_share(const struct zd_lane *lane, const struct zd_admission_queue *queue)
{
    return queue->client->bytes + first_ticket(queue)->bytes <=
           zd_div_up(lane->bytes_max, CLIENT_PART);
}

/* Whether it would begin, if others gave back what they have: what its client holds leaves it room,
 * and its source a place. */
static bool may_begin(
    const struct zd_lane *lane, const struct zd_admission_queue *queue, uint64_t bytes)
{
    const uint64_t held = queue->client->bytes;
    const bool may_hold =
        held == 0 || (held <= lane->client_max && bytes <= lane->client_max - held);
    return may_hold && has_place(lane, queue->source);
}

static bool has_queue(const struct zd_lane *lane)
{
    for (struct zd_list *at = lane->turns.next; at != &lane->turns; at = at->next) {
        const struct zd_admission_queue *queue = queue_at(at);
        if (may_begin(lane, queue, first_ticket(queue)->bytes)) {
            return true;
        }
    }
    return false;
}

static bool any_keeps_to_share(const struct zd_lane *lane)
{
    for (struct zd_list *at = lane->turns.next; at != &lane->turns; at = at->next) {
        const struct zd_admission_queue *queue = queue_at(at);
        if (keeps_to_share(lane, queue) && has_place(lane, queue->source)) {
            return true;
        }
    }
    return false;
}

/* The next queue: the first one whose deficit covers its next request. While a queue is within its
 * share, queues beyond theirs get no turn. The rounds are few: no request takes more than
 * QUANTUM_PART quanta. There is a queue. */
static struct zd_admission_queue *next_queue(struct zd_lane *lane)
{
    const bool is_shared = any_keeps_to_share(lane);
    for (;;) {
        struct zd_admission_queue *queue = queue_at(lane->turns.next);
        const bool has_turn =
            may_begin(lane, queue, first_ticket(queue)->bytes) &&
            (!is_shared || queue->client->bytes == 0 || keeps_to_share(lane, queue));
        if (has_turn && queue->deficit >= first_ticket(queue)->bytes) {
            return queue;
        }
        queue->deficit += has_turn ? quantum_of(lane) : 0;
        zd_list_remove(&queue->turn);
        zd_list_push_back(&lane->turns, &queue->turn);
    }
}

static void serve(struct zd_lane *lane, uint64_t now_ms)
{
    while (has_queue(lane)) {
        struct zd_admission_queue *queue = next_queue(lane);
        struct zd_ticket *ticket = first_ticket(queue);
        if (!fits(lane, ticket->bytes)) {
            return;
        }
        queue->deficit -= ticket->bytes;
        queue->source->window_bytes += ticket->bytes;
        close_window(queue->source, now_ms);
        count_wait(lane, ticket, now_ms);
        leave_queue(lane, ticket);
        take(lane, ticket);
        zd_wait_end(ticket->wait, ZD_OK, NULL);
    }
}

static enum zd_verdict refuse(
    struct zd_admission *admission, struct zd_ticket *ticket, enum zd_shed why)
{
    admission->n_refused++;
    admission->lane[ticket->lane].n_shed[why]++;
    ticket->shed = why;
    return ZD_ADMISSION_NO;
}

/* Why a client may not wait in the queue; ZD_SHEDS: it may. */
static enum zd_shed judge_wait(
    const struct zd_admission *admission, const struct zd_ticket *ticket, uint64_t now_ms)
{
    const struct zd_admission_limits *limits = &admission->limits;
    const struct zd_admission_queue *queue = ticket->queue;
    const struct zd_admission_source *source = queue->source;
    if (source->n_waiting >= limits->waiting_max ||
        queue->n_waiting >= zd_div_up(limits->waiting_max, CLIENT_PART)) {
        return ZD_SHED_FULL;
    }
    const uint64_t part_ms = limits->wait_ms / WAIT_PARTS;
    return source->n_waiting > 0 && now_ms - source->queue_ms >= WAIT_KNOWN * part_ms &&
                   expected_ms(queue, ticket->bytes) > part_ms * WAIT_EXPECTED
               ? ZD_SHED_EXPECTED
               : ZD_SHEDS;
}

enum zd_verdict zd_admission_ask(struct zd_admission *admission, struct zd_ticket *ticket,
    const struct zd_peer *peer, uint64_t source, uint64_t bytes, uint64_t now_ms)
{
    assert(ticket->state == ZD_TICKET_NONE);
    const struct zd_admission_limits *limits = &admission->limits;
    const uint64_t small_bytes = zd_min_u64(limits->small_bytes, limits->bytes[ZD_LANE_SMALL]);
    ticket->lane = bytes <= small_bytes ? ZD_LANE_SMALL : ZD_LANE_LARGE;
    ticket->source = source;
    struct zd_lane *lane = &admission->lane[ticket->lane];
    if (bytes > lane->bytes_max) {
        return ZD_ADMISSION_NEVER;
    }
    ticket->bytes = bytes;
    struct zd_admission_queue *queue = queue_of(lane, peer, source);
    if (queue == NULL) {
        return refuse(admission, ticket, ZD_SHED_FULL);
    }
    ticket->queue = queue;
    if (queue->n_waiting == 0 && may_begin(lane, queue, bytes) && fits(lane, bytes) &&
        !has_queue(lane)) {
        take(lane, ticket);
        return ZD_ADMISSION_YES;
    }
    close_window(queue->source, now_ms);
    const enum zd_shed why = judge_wait(admission, ticket, now_ms);
    if (why != ZD_SHEDS) {
        drop_queue(lane, queue);
        return refuse(admission, ticket, why);
    }
    wait_in_queue(admission, lane, ticket, now_ms);
    return ZD_ADMISSION_WAITS;
}

void zd_admission_answered(
    struct zd_admission *admission, struct zd_ticket *ticket, uint64_t now_ms)
{
    struct zd_lane *lane = &admission->lane[ticket->lane];
    if (ticket->state == ZD_TICKET_WORKS) {
        ticket->state = ZD_TICKET_ANSWERED;
        stop_work(lane, ticket);
        serve(lane, now_ms);
    }
}

void zd_admission_release(struct zd_admission *admission, struct zd_ticket *ticket, uint64_t now_ms)
{
    struct zd_lane *lane = &admission->lane[ticket->lane];
    const enum zd_ticket_state state = ticket->state;
    ticket->state = ZD_TICKET_NONE;
    switch (state) {
    case ZD_TICKET_NONE:
        return;
    case ZD_TICKET_WAITS:
        leave_queue(lane, ticket);
        break;
    case ZD_TICKET_WORKS:
        stop_work(lane, ticket);
        give_back(lane, ticket);
        break;
    case ZD_TICKET_ANSWERED:
        give_back(lane, ticket);
        break;
    }
    drop_queue(lane, ticket->queue);
    serve(lane, now_ms); /* the ticket that leaves may have been the first */
}

/* ---- the end of a wait ---- */

uint64_t zd_admission_expires_ms(const struct zd_admission *admission)
{
    if (zd_list_is_empty(&admission->ages)) {
        return UINT64_MAX;
    }
    const struct zd_ticket *oldest = ZD_CONTAINER(admission->ages.next, struct zd_ticket, age);
    return oldest->asked_ms + admission->limits.wait_ms;
}

void zd_admission_expire(struct zd_admission *admission, uint64_t now_ms)
{
    while (zd_admission_expires_ms(admission) <= now_ms) {
        struct zd_ticket *ticket = ZD_CONTAINER(admission->ages.next, struct zd_ticket, age);
        struct zd_lane *lane = &admission->lane[ticket->lane];
        count_wait(lane, ticket, now_ms);
        leave_queue(lane, ticket);
        drop_queue(lane, ticket->queue);
        ticket->state = ZD_TICKET_NONE;
        (void)refuse(admission, ticket, ZD_SHED_LATE);
        zd_wait_end(ticket->wait, ZD_AGAIN, NULL);
        serve(lane, now_ms);
    }
}

uint32_t zd_admission_retry_s(
    struct zd_admission *admission, const struct zd_ticket *ticket, uint64_t now_ms)
{
    struct zd_lane *lane = &admission->lane[ticket->lane];
    struct zd_admission_source *source = find_source(lane, ticket->source);
    uint64_t busy_s = 1;
    if (source != NULL) {
        close_window(source, now_ms);
        busy_s = zd_max_u64(zd_div_up(wait_ms(source, source->bytes_waiting), MS_PER_S), 1);
    }
    const uint64_t spread_s = admission->n_refused % (busy_s + 1);
    return (uint32_t)zd_min_u64(busy_s + spread_s, RETRY_MAX_S);
}
