/* What has changed in a dataset: a bounded window of events, and those who read it.
 * Thread: loop.
 *
 *     zd_events_node, zd_events_chunks --> [ oldest ... newest ] --> zd_events_read, one a reader
 *                                             window                 waits when it has read all
 */
#ifndef ZD_DATA_EVENTS_H
#define ZD_DATA_EVENTS_H

#include "server/data/catalog.h"

enum zd_node_change {
    ZD_NODE_CREATED,
    ZD_NODE_CHANGED,
    ZD_NODE_DELETED, /* with all below it, of which nothing is told */
};

enum zd_chunks_change {
    ZD_CHUNKS_WRITTEN,
    ZD_CHUNKS_ERASED,
};

/**
 * Tell that the documents of a node have changed. Told when the write is acknowledged, not before;
 * once each.
 *
 * @param path borrowed
 * @param etag of GET nodes, quoted, from now on; NULL or "" when it is not known
 */
void zd_events_node(
    struct zd_dataset *dataset, const char *path, enum zd_node_change change, const char *etag);

/**
 * Tell that chunks of an array have changed; many in one call where they are one change.
 *
 * @param path    of the array; borrowed
 * @param rank    numbers of an index
 * @param indices n * rank numbers, in the grid of stored objects (level 0); borrowed
 */
void zd_events_chunks(struct zd_dataset *dataset, const char *path, uint32_t rank,
    const uint64_t *indices, uint64_t n, enum zd_chunks_change change);

/** One who reads the events of a dataset, in order. */
struct zd_events_reader {
    struct zd_wait wait; /* done: it is worth to read again */
    /* its own */
    struct zd_dataset *dataset; /* borrowed: the reader's request holds it; NULL: does not read */
    struct zd_list link;        /* among all readers of the dataset */
    char *path;                 /* owned; "" = all */
    uint64_t next;              /* the number of the event to read next */
    uint64_t told_ms;           /* loop time when something was read last */
    bool waits;
};

/**
 * Begin to read: what comes from now on, or after an event that was read before.
 *
 * @param path    only events of this node and of those below it; and of those above it that take it
 *                with them
 * @param last_id of the last event that was read, or NULL
 * @param text    what a stream begins with is appended: the id to come back with, and before it
 *                `event: reset` when last_id is unknown, or what came after it is known no more
 * @param reader  zeroed but for wait.done
 * @retval ZD_AGAIN     there are events.readers already
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_events_open(struct zd_dataset *dataset, const char *path, const char *last_id,
    struct zd_text *text, struct zd_events_reader *reader, struct zd_error *err);

/**
 * Append the next events as they go on the wire, until the text has about len_max bytes; when there
 * were none for events.heartbeat_ms, a comment, so that a client that is gone is noticed.
 * wait.status: ZD_OK: the text has grown; ZD_TOO_LARGE: the reader was too slow, and what it should
 * read is known no more; ZD_CANCELLED: nothing will come any more: the server stops, or the dataset
 * is served no more.
 *
 * @return ZD_NEXT, or ZD_WAIT: there is nothing to read
 */
enum zd_next zd_events_read(struct zd_events_reader *reader, size_t len_max, struct zd_text *text);

/** Stop reading. Accepts a zeroed reader. */
void zd_events_close(struct zd_events_reader *reader);

/** What server->events points to. */
struct zd_events_clock {
    uv_timer_t timer; /* while there are readers: of their heartbeats */
    uint64_t n_readers;
};

void zd_events_init(struct zd_server *server);
void zd_events_done(struct zd_server *server); /* closes the timer; nobody reads */

/** The dataset is retired, or the server stops: who waits is told. */
void zd_events_end(struct zd_dataset *dataset);

/** Release the window; nobody reads. */
void zd_events_free(struct zd_dataset *dataset);

#endif
