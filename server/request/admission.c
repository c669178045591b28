/* Which requests may begin now: memory and places, budgeted before they are taken.
 *
 *   ask --> the lane has room, and its queue is empty: at once
 *       \-> client's queue --> deficit round robin --> bytes and a place are free: done
 *                          \-> the wait is over: done, refused
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
#define CLIENT_PART   2   /* of a lane's queue: what one client may fill */
#define RETRY_MAX_S   60
#define MS_PER_S      1000

/* A client with waiting tickets, in one lane. */
struct zd_queuer {
    struct zd_map_entry map; /* key: peer */
    struct zd_peer peer;
    struct zd_list turn;    /* in the lane's turns */
    struct zd_list tickets; /* in the order of arrival */
    uint64_t n_waiting;
    uint64_t bytes_waiting;
    uint64_t deficit; /* bytes that it may take before other clients have their turn */
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
        lane->places_max = limits->places[i];
        zd_map_init(&lane->queuers);
        zd_list_init(&lane->turns);
    }
}

void zd_admission_done(struct zd_admission *admission)
{
    for (size_t i = 0; i < ZD_LANES; i++) {
        assert(admission->lane[i].n_waiting == 0);
        zd_map_done(&admission->lane[i].queuers);
    }
}

/* ---- the rate at which a queue is served ---- */

static void close_window(struct zd_lane *lane, uint64_t now_ms)
{
    const uint64_t elapsed_ms = now_ms - lane->window_ms;
    if (lane->n_waiting == 0 || elapsed_ms < WINDOW_MS) { /* what is idle has no rate */
        return;
    }
    const uint64_t seen = lane->window_bytes * MS_PER_S / elapsed_ms;
    const uint64_t known = (lane->rate * (RATE_MEMORY - 1) + seen) / RATE_MEMORY;
    lane->rate = lane->rate == 0 ? seen : zd_max_u64(known, 1);
    lane->window_ms = now_ms;
    lane->window_bytes = 0;
}

static uint64_t wait_ms(const struct zd_lane *lane, uint64_t bytes_ahead)
{
    const double ms = (double)bytes_ahead * MS_PER_S / (double)zd_max_u64(lane->rate, 1);
    return lane->rate == 0 ? 0 : (uint64_t)ms;
}

/* Clients take turns: none of them gets ahead of this one with more than it asks for itself. */
static uint64_t expected_ms(
    const struct zd_lane *lane, const struct zd_queuer *queuer, uint64_t bytes)
{
    const uint64_t own = bytes + (queuer == NULL ? 0 : queuer->bytes_waiting);
    const uint64_t n_clients = lane->queuers.n_entries + (queuer == NULL ? 1 : 0);
    return wait_ms(lane, zd_min_u64(n_clients * own, lane->bytes_waiting + bytes));
}

/* ---- clients that wait ---- */

static struct zd_span key_of(const struct zd_peer *peer)
{
    return (struct zd_span){.ptr = (const uint8_t *)peer, .len = sizeof *peer};
}

static struct zd_queuer *find_queuer(const struct zd_lane *lane, const struct zd_peer *peer)
{
    struct zd_map_entry *entry = zd_map_find(&lane->queuers, key_of(peer));
    return entry == NULL ? NULL : ZD_CONTAINER(entry, struct zd_queuer, map);
}

static struct zd_queuer *new_queuer(struct zd_lane *lane, const struct zd_peer *peer)
{
    struct zd_queuer *queuer = zd_alloc_zero(1, sizeof *queuer);
    if (queuer == NULL) {
        return NULL;
    }
    queuer->peer = *peer;
    queuer->map.key = key_of(&queuer->peer);
    zd_list_init(&queuer->tickets);
    if (zd_map_put(&lane->queuers, &queuer->map) != ZD_OK) {
        zd_free(queuer);
        return NULL;
    }
    zd_list_push_back(&lane->turns, &queuer->turn);
    return queuer;
}

/* A client without waiting requests loses its deficit: other clients would pay for it. */
static void leave_queue(struct zd_lane *lane, struct zd_ticket *ticket)
{
    struct zd_queuer *queuer = ticket->queuer;
    zd_list_remove(&ticket->link);
    zd_list_remove(&ticket->age);
    queuer->n_waiting--;
    queuer->bytes_waiting -= ticket->bytes;
    lane->n_waiting--;
    lane->bytes_waiting -= ticket->bytes;
    if (queuer->n_waiting == 0) {
        zd_list_remove(&queuer->turn);
        zd_map_remove(&lane->queuers, &queuer->map);
        zd_free(queuer);
    }
}

static void count_wait(struct zd_lane *lane, const struct zd_ticket *ticket, uint64_t now_ms)
{
    lane->n_waited++;
    lane->waited_ms += now_ms - ticket->asked_ms;
}

static void wait_in_queue(struct zd_admission *admission, struct zd_lane *lane,
    struct zd_queuer *queuer, struct zd_ticket *ticket, uint64_t now_ms)
{
    if (lane->n_waiting == 0) {
        lane->queue_ms = now_ms;
        lane->window_ms = now_ms;
        lane->window_bytes = 0;
    }
    ticket->state = ZD_TICKET_WAITS;
    ticket->asked_ms = now_ms;
    ticket->queuer = queuer;
    zd_list_push_back(&queuer->tickets, &ticket->link);
    zd_list_push_back(&admission->ages, &ticket->age);
    queuer->n_waiting++;
    queuer->bytes_waiting += ticket->bytes;
    lane->n_waiting++;
    lane->bytes_waiting += ticket->bytes;
}

/* ---- admitting ---- */

static bool fits(const struct zd_lane *lane, uint64_t bytes)
{
    return lane->n_working < lane->places_max && bytes <= lane->bytes_max - lane->bytes;
}

static void take(struct zd_lane *lane, struct zd_ticket *ticket)
{
    ticket->state = ZD_TICKET_WORKS;
    lane->bytes += ticket->bytes;
    lane->n_working++;
    lane->n_admitted++;
}

static uint64_t quantum_of(const struct zd_lane *lane)
{
    return zd_max_u64(lane->bytes_max / QUANTUM_PART, 1);
}

/* Whose turn it is: the first client whose deficit covers its next request. The rounds are few:
 * no request takes more than QUANTUM_PART quanta. */
static struct zd_queuer *next_queuer(struct zd_lane *lane)
{
    for (;;) {
        struct zd_queuer *queuer = ZD_CONTAINER(lane->turns.next, struct zd_queuer, turn);
        const struct zd_ticket *first = ZD_CONTAINER(queuer->tickets.next, struct zd_ticket, link);
        if (queuer->deficit >= first->bytes) {
            return queuer;
        }
        queuer->deficit += quantum_of(lane);
        zd_list_remove(&queuer->turn);
        zd_list_push_back(&lane->turns, &queuer->turn);
    }
}

static void serve(struct zd_lane *lane, uint64_t now_ms)
{
    while (lane->n_waiting > 0) {
        struct zd_queuer *queuer = next_queuer(lane);
        struct zd_ticket *ticket = ZD_CONTAINER(queuer->tickets.next, struct zd_ticket, link);
        if (!fits(lane, ticket->bytes)) {
            return;
        }
        queuer->deficit -= ticket->bytes;
        lane->window_bytes += ticket->bytes;
        close_window(lane, now_ms);
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

enum zd_verdict zd_admission_ask(struct zd_admission *admission, struct zd_ticket *ticket,
    const struct zd_peer *peer, uint64_t bytes, uint64_t now_ms)
{
    assert(ticket->state == ZD_TICKET_NONE);
    const struct zd_admission_limits *limits = &admission->limits;
    const uint64_t small_bytes = zd_min_u64(limits->small_bytes, limits->bytes[ZD_LANE_SMALL]);
    ticket->lane = bytes <= small_bytes ? ZD_LANE_SMALL : ZD_LANE_LARGE;
    struct zd_lane *lane = &admission->lane[ticket->lane];
    if (bytes > lane->bytes_max) {
        return ZD_ADMISSION_NEVER;
    }
    ticket->bytes = bytes;
    if (lane->n_waiting == 0 && fits(lane, ticket->bytes)) {
        take(lane, ticket);
        return ZD_ADMISSION_YES;
    }
    struct zd_queuer *queuer = find_queuer(lane, peer);
    const uint64_t n_own = queuer == NULL ? 0 : queuer->n_waiting;
    if (lane->n_waiting >= limits->waiting_max ||
        n_own >= zd_div_up(limits->waiting_max, CLIENT_PART)) {
        return refuse(admission, ticket, ZD_SHED_FULL);
    }
    close_window(lane, now_ms);
    const uint64_t part_ms = limits->wait_ms / WAIT_PARTS;
    if (lane->n_waiting > 0 && now_ms - lane->queue_ms >= WAIT_KNOWN * part_ms &&
        expected_ms(lane, queuer, ticket->bytes) > part_ms * WAIT_EXPECTED) {
        return refuse(admission, ticket, ZD_SHED_EXPECTED);
    }
    queuer = queuer == NULL ? new_queuer(lane, peer) : queuer;
    if (queuer == NULL) {
        return refuse(admission, ticket, ZD_SHED_FULL);
    }
    wait_in_queue(admission, lane, queuer, ticket, now_ms);
    return ZD_ADMISSION_WAITS;
}

void zd_admission_answered(
    struct zd_admission *admission, struct zd_ticket *ticket, uint64_t now_ms)
{
    struct zd_lane *lane = &admission->lane[ticket->lane];
    if (ticket->state == ZD_TICKET_WORKS) {
        ticket->state = ZD_TICKET_ANSWERED;
        lane->n_working--;
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
        lane->n_working--;
        lane->bytes -= ticket->bytes;
        break;
    case ZD_TICKET_ANSWERED:
        lane->bytes -= ticket->bytes;
        break;
    }
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
        ticket->state = ZD_TICKET_NONE;
        (void)refuse(admission, ticket, ZD_SHED_LATE);
        zd_wait_end(ticket->wait, ZD_AGAIN, NULL);
        serve(lane, now_ms);
    }
}

uint32_t zd_admission_retry_s(
    struct zd_admission *admission, enum zd_lane_name name, uint64_t now_ms)
{
    struct zd_lane *lane = &admission->lane[name];
    close_window(lane, now_ms);
    const uint64_t busy_s = zd_max_u64(zd_div_up(wait_ms(lane, lane->bytes_waiting), MS_PER_S), 1);
    const uint64_t spread_s = admission->n_refused % (busy_s + 1);
    return (uint32_t)zd_min_u64(busy_s + spread_s, RETRY_MAX_S);
}
