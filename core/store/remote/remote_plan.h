/* The plan of reads over a remote store: what its parts share. Thread: loop.
 *
 *     read -> absent? -> joins one under way? -> pending -> end of the turn: sorted, merged
 *                                                              |
 *     answered <- inner read(s), tried again and hedged <- a place at the endpoint */
#ifndef ZD_CORE_STORE_REMOTE_REMOTE_PLAN_H
#define ZD_CORE_STORE_REMOTE_REMOTE_PLAN_H

#include "core/store/remote/absent_keys.h"
#include "core/store/remote/endpoint.h"
#include "core/store/remote/remote.h"

#define ZD_REMOTE_PLAN_PARTS 64

struct zd_remote_plan {
    struct zd_store store;        /* first member */
    struct zd_remote *remote;     /* borrowed */
    struct zd_endpoint *endpoint; /* a reference */
    struct zd_endpoint_line line;
    uint64_t trusted_ms; /* a read may join one that began so long ago; UINT64_MAX = for ever */
    uint64_t absent_ms;  /* how long an absent key is trusted */
    struct zd_absent_keys absent;
    uint64_t n_changes[ZD_REMOTE_PLAN_PARTS]; /* that writes of ours have begun or ended, by a hash
                                                 of the key */
    struct zd_list pending; /* zd_store_read.op.link: asked in this turn of the loop */
    struct zd_timer turn_ends;
    uint64_t n_turns;
    struct zd_list
        under_way[ZD_REMOTE_PLAN_PARTS]; /* reads of the inner store, by a hash of the key */
};

/** The work on an operation of the plan, in its private_state: first member of the object that does
 * it. */
struct zd_remote_plan_work {
    void (*cancel)(struct zd_remote_plan_work *work, struct zd_store_op *op);
};

static inline struct zd_remote_plan *zd_remote_plan_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct zd_remote_plan, store);
}

void zd_remote_plan_init_reads(struct zd_remote_plan *plan);

/** The operations of the plan: remote_plan_read.c, remote_plan_relay.c. */
void zd_remote_plan_read(struct zd_store *store, struct zd_store_read *read);
void zd_remote_plan_status(struct zd_store *store, struct zd_store_status *status);
void zd_remote_plan_list(struct zd_store *store, struct zd_store_list *list);
void zd_remote_plan_write(struct zd_store *store, struct zd_store_write *write);
void zd_remote_plan_erase(struct zd_store *store, struct zd_store_write *erase);

/** Whether a key is known to be absent; sets the status, then nobody else answers. */
bool zd_remote_plan_knows_absent(
    struct zd_remote_plan *plan, const char *key, struct zd_store_op *op);

/** A number that is another one when a write of ours has begun or ended meanwhile. */
uint64_t zd_remote_plan_changes(const struct zd_remote_plan *plan, const char *key);

/** The store has said that a key is absent: it was asked at that time, in ms of the loop, and with
 * that number of changes. */
void zd_remote_plan_learn_absent(
    struct zd_remote_plan *plan, const char *key, uint64_t asked_ms, uint64_t n_changes);

/** A write of ours, by this store or another one, may change the key now: what was learnt before
 * says nothing any more. */
void zd_remote_plan_overtake(struct zd_remote_plan *plan, const char *key);

/** Nobody joins the reads of a key that are under way. */
void zd_remote_plan_leave_reads(struct zd_remote_plan *plan, const char *key);

/** How long the endpoint of a store is left alone from now on; 0: it is not, or the store is not
 * remote. */
uint64_t zd_remote_plan_paused_ms(const struct zd_store *store);

/** Whether an endpoint has enough to do without what nobody has asked for yet: it is left alone,
 * others wait for it, or half of its connections are taken. Also of a store that is not remote. */
bool zd_remote_plan_is_busy(const struct zd_store *store);

#endif
