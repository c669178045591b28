/* A server's data plane without its HTTP: caches, one dataset on a fresh store. */
#ifndef ZD_TESTS_SUPPORT_PLANE_H
#define ZD_TESTS_SUPPORT_PLANE_H

#include "core/store/contract/store_impl.h"
#include "server/data/chunks.h"
#include "server/data/events.h"
#include "server/runtime/server.h"
#include "server/write/lock.h"
#include "server/write/idle_writer.h"
#include "tests/support/store.h"

struct zd_test_plane {
    struct zd_test_store store;
    struct zd_config config;
    struct zd_server server;
    struct zd_locks locks;
    struct zd_idle_writers rests;
    struct zd_events_clock events;
    struct zd_dataset dataset;
    struct zd_dataset *table[1];
    struct zd_store_ops ops; /* of the store: a test may change them */
};

/** A mem store that is asked again after revalidate_ms; it answers at once unless
 * zd_test_plane_slow. */
void zd_test_plane_open(struct zd_test_plane *plane, uint64_t revalidate_ms);
void zd_test_plane_close(struct zd_test_plane *plane);

/** From now on the store answers in a later turn of the loop. */
void zd_test_plane_slow(struct zd_test_plane *plane);

/** From now on reads, statuses and listings end in ZD_STORE, in a later turn of the loop. */
void zd_test_plane_break(struct zd_test_plane *plane);

/** From now on all is well again. */
void zd_test_plane_mend(struct zd_test_plane *plane);

/** The next read or status is done, but nobody is told before zd_test_plane_release. Answers come
 * in later turns of the loop from now on. One at a time. */
void zd_test_plane_hold(struct zd_test_plane *plane);
void zd_test_plane_release(struct zd_test_plane *plane);

/** Forget what the caches hold. */
void zd_test_plane_forget(struct zd_test_plane *plane);

/** Run the loop until nothing is under way. */
void zd_test_plane_run(struct zd_test_plane *plane);

/** Put text, or bytes, under a key. */
void zd_test_plane_put(struct zd_test_plane *plane, const char *key, const char *text);
void zd_test_plane_put_bytes(struct zd_test_plane *plane, const char *key, struct zd_buf *bytes);

/** The node at a path, which exists; a reference. */
struct zd_node *zd_test_plane_node(struct zd_test_plane *plane, const char *path);

#endif
