/* The changes of one dataset: a bounded window of events, and its readers. Thread: loop.
 *
 *     zd_events_node, zd_events_chunks --> [ oldest ... newest ] --> zd_events_read, one a reader
 *                                             window                 waits when it has read all
 */
#ifndef ZD_DATA_EVENTS_H
#define ZD_DATA_EVENTS_H

#include <uv.h>

#include "core/base/seal.h"
#include "core/base/text.h"
#include "server/runtime/wait.h"

struct zd_events;
struct zd_server;

enum zd_node_change {
    ZD_NODE_CREATED,
    ZD_NODE_CHANGED,
    ZD_NODE_DELETED, /* with all nodes below it, which have no events of their own */
};

enum zd_chunks_change {
    ZD_CHUNKS_WRITTEN,
    ZD_CHUNKS_ERASED,
};

/** The events of a dataset: none yet. @return owned; NULL without memory */
struct zd_events *zd_events_new(struct zd_server *server);
void zd_events_free(struct zd_events *events); /* no request may be reading; accepts NULL */

/** The dataset leaves the table, or the server stops: the readers read to the end and stop. */
void zd_events_end(struct zd_events *events);

/**
 * The documents of a node have changed: called once, when the write is acknowledged.
 *
 * @param path borrowed
 * @param etag of GET nodes, quoted, from now on; NULL or "" when it is not known
 */
void zd_events_node(
    struct zd_events *events, const char *path, enum zd_node_change change, const char *etag);

/**
 * Chunks of an array have changed; many in one call when they are one change.
 *
 * @param path    of the array; borrowed
 * @param rank    numbers of an index
 * @param indices n * rank numbers, in the grid of stored objects (level 0); borrowed
 */
void zd_events_chunks(struct zd_events *events, const char *path, uint32_t rank,
    const uint64_t *indices, uint64_t n, enum zd_chunks_change change);

/** A reader of a dataset's events, in order. */
struct zd_events_reader {
    struct zd_wait wait; /* done: read again */
    uint64_t client;     /* in: equal for readers of one address; 0: unknown, counted as one */
    /* its own */
    struct zd_list link;      /* of the clock's readers */
    struct zd_events *events; /* borrowed: the request holds the dataset; NULL: does not read */
    char *path;               /* owned; "" = all */
    uint64_t next;            /* the number of the event to read next */
    uint64_t read_ms;         /* loop time when something was read last */
    bool is_beat_due;         /* the timer says so, and nothing else does */
};

/**
 * Begin to read: the events from now on, or those after an event that was read before.
 *
 * @param path    only events of this node, of nodes below it, and deletions of nodes above it
 * @param last_id of the last event that was read, or NULL
 * @param text    the beginning of a stream is appended: the id to come back with, and before it
 *                `event: reset` if last_id or a later event is no longer in the window
 * @param reader  zeroed but for wait and client
 * @retval ZD_STORE     the system gives no random key
 * @retval ZD_AGAIN     there are events.readers already, or events.address_readers of this client
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_events_open(struct zd_events *events, const char *path, const char *last_id,
    struct zd_text *text, struct zd_events_reader *reader, struct zd_error *err);

/**
 * Append the next events as they go on the wire, until the text has about len_max bytes; without
 * any for events.heartbeat_ms, a comment, so that the server notices a client that is gone.
 * wait.status: ZD_OK: the text has grown; ZD_TOO_LARGE: the reader was too slow, the window lost
 * events it has not read; ZD_CANCELLED: no more events will come.
 *
 * @return ZD_NEXT, or ZD_WAIT: there is nothing to read
 */
enum zd_next zd_events_read(struct zd_events_reader *reader, size_t len_max, struct zd_text *text);

/** Stop reading. Accepts a zeroed reader. */
void zd_events_close(struct zd_events_reader *reader);

/** All events of a server: server->events points to it. */
struct zd_events_clock {
    uv_timer_t timer;       /* of heartbeats, while there are readers */
    struct zd_list readers; /* struct zd_events_reader; n_readers of them */
    uint64_t n_readers;
    struct zd_list all;   /* struct zd_events */
    struct zd_seal *seal; /* of ids; owned; NULL: nobody has read yet */
    uint32_t n_ids;       /* given so far: no two of them are alike */
};

void zd_events_init(struct zd_server *server);
void zd_events_done(struct zd_server *server); /* closes the timer; nobody reads */

#endif
