/* Which requests may begin now: memory and places, budgeted before they are taken. A fair queue in
 * front of each lane. The caller gives the time. admit.h asks this module for requests. Thread:
 * loop. */
#ifndef ZD_REQUEST_ADMISSION_H
#define ZD_REQUEST_ADMISSION_H

#include "core/base/list.h"
#include "core/base/map.h"
#include "server/runtime/wait.h"

/** Small requests have a lane of their own, with its own share: they never wait for large ones. */
enum zd_lane_name {
    ZD_LANE_SMALL,
    ZD_LANE_LARGE,
    ZD_LANES,
};

/** Which connections count as one client: an IPv4 address, or the /64 of an IPv6 address. All zero:
 * nobody's, of what no client asked for. */
struct zd_peer {
    uint64_t family;
    uint64_t prefix;
};

enum zd_ticket_state {
    ZD_TICKET_NONE,
    ZD_TICKET_WAITS,
    ZD_TICKET_WORKS,    /* holds its bytes and a place */
    ZD_TICKET_ANSWERED, /* holds its bytes until they are sent */
};

/** Why a request was refused. */
enum zd_shed {
    ZD_SHED_FULL,     /* the queue, or this client's half of it */
    ZD_SHED_EXPECTED, /* it would wait for too long, or nearly so */
    ZD_SHED_LATE,     /* it did wait for too long */
    ZD_SHEDS,
};

struct zd_admission;
struct zd_admission_queue;

/** The wish of one request: embedded in it; zeroed at first. */
struct zd_ticket {
    struct zd_wait *wait; /* of its request; ends after ZD_ADMISSION_WAITS, unless it is released
                             before: ZD_OK, or ZD_AGAIN: refused */
    enum zd_ticket_state state;
    enum zd_lane_name lane;
    enum zd_shed shed;                /* why it was refused */
    uint64_t source;                  /* what it was asked with */
    uint64_t bytes;                   /* what it takes */
    uint64_t asked_ms;                /* when it began to wait */
    struct zd_admission_queue *queue; /* of its client, while it waits or holds bytes */
    struct zd_list link;              /* among the waiting tickets of the queue */
    struct zd_list age;               /* among all waiting tickets */
};

/** The source that requests of a lane read: a remote endpoint, or all local stores together. Each
 * has places of its own, so that requests that wait for one endpoint do not delay others. */
struct zd_admission_source {
    struct zd_list link; /* in the lane's sources */
    uint64_t id;
    uint64_t n_queues; /* of clients with tickets that wait or hold bytes */
    uint64_t n_working;
    uint64_t bytes;         /* held by its admitted requests */
    uint64_t n_queuing;     /* clients that wait */
    uint64_t n_waiting;     /* tickets */
    uint64_t bytes_waiting; /* of them */
    uint64_t queue_ms;      /* since when there has been a queue */
    uint64_t rate;          /* bytes that leave the queue in a second; 0 = not known yet */
    uint64_t window_ms;     /* since when it is measured */
    uint64_t window_bytes;  /* what left the queue since then */
};

/** The clients of one lane, and what is under way in it. */
struct zd_lane {
    uint64_t bytes_max;
    uint64_t client_max; /* of them, that one client may hold, but for a single request; once a
                            remote source holds as much, no further request of it begins */
    uint64_t bytes;      /* held by admitted requests */
    uint64_t places_max; /* of each source */
    uint64_t n_working;
    struct zd_map clients;           /* by peer: they wait, or hold bytes */
    struct zd_list sources;          /* struct zd_admission_source: `here`, and those in use */
    struct zd_admission_source here; /* 0: no remote store */
    struct zd_list turns;   /* queues with tickets that wait: the next one to be served is first */
    uint64_t n_waiting;     /* tickets */
    uint64_t bytes_waiting; /* of them */
    uint64_t n_admitted;    /* since the start, like the next three */
    uint64_t n_waited;      /* tickets that left the queue */
    uint64_t waited_ms;     /* how long, all of them together */
    uint64_t n_shed[ZD_SHEDS];
};

struct zd_admission_limits {
    uint64_t bytes[ZD_LANES];        /* at least 1 */
    uint64_t client_bytes[ZD_LANES]; /* that one client may hold, unless by one request; 0: all */
    uint64_t places[ZD_LANES];       /* of each source; at least 1 */
    uint64_t small_bytes;            /* what takes no more is small */
    uint64_t waiting_max; /* tickets of a source in a lane; one client alone gets half of it */
    uint64_t wait_ms;     /* the longest wait */
};

struct zd_admission {
    struct zd_admission_limits limits;
    struct zd_lane lane[ZD_LANES];
    struct zd_list ages; /* struct zd_ticket: waiting, the oldest first */
    uint64_t n_refused;
};

void zd_admission_init(struct zd_admission *admission, const struct zd_admission_limits *limits);

/** Free it; no request is waiting. Accepts a zeroed one. */
void zd_admission_done(struct zd_admission *admission);

enum zd_verdict {
    ZD_ADMISSION_YES,
    ZD_ADMISSION_WAITS, /* the wait ends in a later call of this module */
    ZD_ADMISSION_NO,    /* it would wait too long */
    ZD_ADMISSION_NEVER, /* it is more than the large lane has */
};

/**
 * Ask for bytes and a place.
 *
 * A request that finds room in its lane, and no queue, begins at once. Else the clients take turns
 * by deficit round robin over bytes, each in its own order. One that would hold more than half of
 * the lane has no turn while another one would not; alone, it may hold client_bytes: what clients
 * are slow to take is left to others in part, whoever comes first. Who is next waits until
 * its bytes are free, and no other passes it: a request that takes all of the lane begins when it
 * is alone, and one that takes more never begins. What the lane of small ones has no room for is a
 * large one. Who waits because all places of its source are taken, or because a remote source holds
 * its part of the lane, is in nobody's way but that of others with the same source.
 *
 * @param ticket in state ZD_TICKET_NONE
 * @param source zd_store.endpoint of what it reads: 0 = no remote store
 * @param bytes  that it will hold at the same time
 */
enum zd_verdict zd_admission_ask(struct zd_admission *admission, struct zd_ticket *ticket,
    const struct zd_peer *peer, uint64_t source, uint64_t bytes, uint64_t now_ms);

/** The work is done, what is left is to be sent: the place is free. Accepts any state. */
void zd_admission_answered(
    struct zd_admission *admission, struct zd_ticket *ticket, uint64_t now_ms);

/** Give back all of it, or stop waiting. Accepts any state; it is ZD_TICKET_NONE again. */
void zd_admission_release(
    struct zd_admission *admission, struct zd_ticket *ticket, uint64_t now_ms);

/** Refuse the tickets that have waited too long. */
void zd_admission_expire(struct zd_admission *admission, uint64_t now_ms);

/** When to call that next; UINT64_MAX: no ticket waits. */
uint64_t zd_admission_expires_ms(const struct zd_admission *admission);

/**
 * When a refused request may be sent again, in whole seconds from 1 to 60: the time in which the
 * queue empties at its recent rate, and up to as much again, another for each request, so that not
 * all of them come back at once.
 *
 * @param ticket of the refused request
 */
uint32_t zd_admission_retry_s(
    struct zd_admission *admission, const struct zd_ticket *ticket, uint64_t now_ms);

/** "small", "large"; "queue_full", "wait_expected", "wait_over": for /metrics. */
const char *zd_admission_lane_name(enum zd_lane_name name);
const char *zd_admission_shed_name(enum zd_shed shed);

#endif
