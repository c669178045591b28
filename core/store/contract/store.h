/* Stores: keys -> bytes, asynchronously. Files that implement one include
 * core/store/contract/store_impl.h. */
#ifndef ZD_CORE_STORE_CONTRACT_STORE_H
#define ZD_CORE_STORE_CONTRACT_STORE_H

#include <uv.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/list.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/store/contract/generation.h"
#include "core/store/contract/key.h"
#include "core/store/contract/remote_fault.h"

#define ZD_STORE_TRACE_BYTES 56 /* with NUL */

struct zd_remote;
struct zd_store;
struct zd_store_cursor;
struct zd_store_ops; /* core/store/contract/store_impl.h */

/** Which bytes of an object. */
enum zd_range_kind {
    ZD_RANGE_WHOLE,
    ZD_RANGE_FROM_TO, /* first, len: cut at the object's end */
    ZD_RANGE_SUFFIX,  /* the last len bytes but for the `first` behind them; cut at its beginning */
};

struct zd_range {
    enum zd_range_kind kind;
    uint64_t first;
    uint64_t len;
};

/** Memory that stores in memory share: its owner's, for as long as they are open. Thread: loop. */
struct zd_store_memory {
    uint64_t bytes_max;
    uint64_t bytes; /* that they hold */
};

/** How a store is configured. Borrowed during open, except for the inner store, the memory and
 * what remote stores share. */
struct zd_store_config {
    const char *location; /* as the user gave it, scheme included when there is one */
    uv_loop_t *loop;      /* the loop that owns the store and runs all its callbacks */
    bool writable;
    bool durable;     /* sync before a write is acknowledged */
    uint64_t lock_ms; /* how long a write waits for another process that has locked its key, then it
                         ends in ZD_TIMEOUT; 0 = for ever */
    struct zd_store_memory *memory; /* of stores in memory whose options do not say how much they
                                       may hold; NULL = no bound */
    uint64_t trusted_ms; /* how old an answer of a remote store may be: a read may join one that
                            began so long ago; UINT64_MAX = for ever */
    struct zd_remote *remote; /* what remote stores share (core/store/remote/remote.h): borrowed
                                 until close; NULL = none may be opened */
    const struct zd_json *options; /* an object that passes the schema of the store; NULL = none */
    struct zd_store *inner;        /* of a store over a store: taken over with ZD_OK; else NULL */
};

/**
 * An operation: the caller's memory, from start to done. Set the inputs, start it, and keep it
 * where it is until `done` runs: exactly once, on the loop thread, never inside the call that
 * started it. Then the outputs are valid.
 */
struct zd_store_op {
    struct zd_store *store; /* set by the call that starts it */
    void (*done)(struct zd_store_op *op);
    void *context;     /* of done; borrowed */
    const void *owner; /* for whom; those who wait for a remote store take turns; or NULL */
    char traceparent[ZD_STORE_TRACE_BYTES]; /* what a remote store is sent in the header of that
                                               name with a read; "" = nothing */
    enum zd_status status;
    struct zd_error err;          /* set unless status is ZD_OK, ZD_NOT_FOUND or ZD_NOT_MODIFIED */
    bool cancelled;               /* zd_store_cancel was called */
    struct zd_remote_fault fault; /* of a remote store; with ZD_STORE and ZD_TIMEOUT */
    uv_work_t work;               /* for the store, as are the next two */
    struct zd_list link;
    void *private_state;
    uint64_t began_ns; /* for the store: when a write or a hold began */
};

struct zd_store_read {
    struct zd_store_op op; /* first member */
    /* in */
    char key[ZD_KEY_BYTES_MAX + 1];
    struct zd_range range;
    size_t bytes_max; /* more than this is ZD_TOO_LARGE, before anything is allocated */
    struct zd_generation
        unless_generation; /* if set: ZD_NOT_MODIFIED when the object still has it */
    struct zd_generation
        only_generation; /* if set: ZD_PRECONDITION when the object has another one */
    uint64_t age_max_ms; /* how long ago the answer may have been true, where a store has kept it
                            (the disk tier): less than so many ms; 0 = the store is asked,
                            UINT64_MAX = at any time */
    bool wants_file;     /* where zd_store_has_file: a descriptor instead of the bytes, with the
                            beginning of the range in the page cache */
    /* out */
    struct zd_buf *bytes; /* owned by the caller; NULL unless ZD_OK */
    int fd;               /* with ZD_OK and no bytes: a file with the object; owned by the caller */
    uint64_t fd_first;    /* where the object begins in it, bytes */
    struct zd_stat stat;  /* of the whole object; valid with ZD_OK and ZD_NOT_MODIFIED */
    uint64_t age_ms;      /* how long ago it was known to be true; 0 = the store was asked */
};

struct zd_store_status { /* does the object exist, and which generation is it? */
    struct zd_store_op op;
    char key[ZD_KEY_BYTES_MAX + 1];
    uint64_t age_max_ms; /* as of a read */
    struct zd_stat stat; /* out */
    uint64_t age_ms;     /* out: as of a read */
};

/** An entry of a listing. */
struct zd_store_entry {
    char *name; /* relative to the prefix; owned by the listing; a prefix has no slash at its end */
    bool is_prefix;
};

struct zd_store_list { /* one level (a directory), or everything below a prefix */
    struct zd_store_op op;
    char prefix[ZD_KEY_BYTES_MAX + 2]; /* "" or ending in '/' */
    bool deep;                         /* keys of all levels, no prefixes */
    bool stops_at_links; /* ZD_INVALID where the prefix, or a directory below it, is a symbolic link
                            that leads elsewhere in the store: for erasures */
    char *after;  /* list only names greater than this (by bytes); borrowed; NULL = from the start
                   */
    size_t n_max; /* most entries to return; >= 1 */
    uint64_t visits_max; /* of the first page: after so many entries it is cut, with some of those
                            that were looked at, and no page follows; 0 = no bound */
    /* out: sorted by the bytes of their names; ZD_NOT_FOUND if no key has the prefix */
    struct zd_store_entry *entry;
    size_t n_entries;
    bool has_more;
    uint64_t n_visited; /* entries that the store has looked at for this page */
    bool is_incomplete; /* with ZD_NOT_FOUND: the store has no listings; what is there is unknown */
    /* for the store */
    struct zd_store_cursor *cursor;
    char *last; /* the last name of the page before; owned */
};

enum zd_condition {
    ZD_CONDITION_NONE,
    ZD_CONDITION_ABSENT,     /* only if the key does not exist */
    ZD_CONDITION_GENERATION, /* only if the object has that generation */
};

/** The condition that an object still has that generation, or, if it is not set, is still absent.
 */
static inline enum zd_condition zd_store_condition_of(struct zd_generation generation)
{
    return zd_generation_is_set(generation) ? ZD_CONDITION_GENERATION : ZD_CONDITION_ABSENT;
}

/** A write happens at once or in two steps. A writer of many objects stages all of them first: if
 * that fails, no object has changed. */
enum zd_phase {
    ZD_PHASE_WHOLE,
    ZD_PHASE_STAGE,   /* the store takes the bytes; readers do not see them yet */
    ZD_PHASE_EXTEND,  /* more bytes behind what is staged; see zd_store_extends */
    ZD_PHASE_COMMIT,  /* the staged bytes become the object: little is left that can fail */
    ZD_PHASE_DISCARD, /* the staged bytes are dropped, even by a store that refuses writes */
};

/** Bytes that a store keeps for a key: staged ones, or the old object of the key (keeps_old). The
 * caller must commit or discard them, with the same key, before the store is closed. Holds no
 * descriptor. */
struct zd_staged {
    struct zd_store *store;
    uint64_t size; /* bytes */
};

/**
 * A write, or an erasure, which has no phases and no bytes. Writes and erasures of one key happen
 * one after the other, in the order they were started; those of different keys run side by side.
 * Readers, and other processes with the same store, see the old object or the new one.
 *
 * ZD_OK of WHOLE and COMMIT: the object survives a power cut, if the store is durable. ZD_STORE:
 * the key holds the old object (almost always) or the new one; if zd_store_failure is set now, a
 * sync failed and a power cut may leave either. Any other status: nothing has changed.
 *
 * A writer of many objects keeps the old one of each (keeps_old) and discards them when all are
 * written. To undo, it commits an old object on condition that the key still has the generation
 * that the writer gave it, so that a newer object of another writer survives; where there was no
 * object it erases on that condition. An undone object has its old bytes and a new generation.
 */
struct zd_store_write {
    struct zd_store_op op;
    enum zd_phase phase;
    char key[ZD_KEY_BYTES_MAX + 1];
    struct zd_buf *bytes;            /* of WHOLE, STAGE and EXTEND; borrowed until done */
    enum zd_condition condition;     /* of WHOLE, COMMIT and erasures */
    struct zd_generation generation; /* for ZD_CONDITION_GENERATION */
    bool keeps_old;                  /* in, of COMMIT and erasures: keep the old object */
    bool is_undo;             /* in, of COMMIT and erasures: puts an old object back, or takes a new
                                 one away; tried more than once where the disk is full, and in a
                                 directory that the location no longer leads to */
    struct zd_staged *staged; /* STAGE: out, owned by the caller with ZD_OK, else NULL. EXTEND: in
                                 and out, discarded and NULL unless ZD_OK. COMMIT,
                                 DISCARD: in, taken over whatever the status, then NULL. With
                                 keeps_old and ZD_OK: out, the old object of the key as if it had
                                 been staged; NULL if there was none */
    struct zd_stat stat;      /* out, of WHOLE and COMMIT: of the new object */
    bool is_unsynced;         /* out, with ZD_STORE: the key has changed, but the sync failed */
};

/**
 * Keys that no other process may change for a while, so that a change of many objects can be judged
 * as a whole. The holder writes them as usual. One holder at a time, among all processes.
 */
struct zd_store_hold {
    struct zd_store_op op;
    uint64_t *hash; /* in: zd_key_hash of each key, n_keys of them; borrowed until released */
    size_t n_keys;
    bool is_held; /* with ZD_OK: call zd_store_release */
};

/** Events of remote stores beyond plain requests. */
enum zd_store_event {
    ZD_STORE_JOINED,  /* a read that another one, under way, answers too */
    ZD_STORE_RETRIED, /* an operation that is tried again */
    ZD_STORE_HEDGED,  /* a read that is asked a second time because it is late */
    ZD_STORE_PAUSED,  /* an operation that is refused: its endpoint is left alone */
    ZD_STORE_EVENTS,
};

/** The head of every store. */
struct zd_store {
    const struct zd_store_ops *ops; /* set when open has succeeded */
    struct zd_store *inner;         /* of a store over a store: owned; else NULL */
    struct zd_store *outer;         /* the store over this one; borrowed, or NULL */
    uv_loop_t *loop;                /* borrowed */
    char *location;                 /* owned */
    uint64_t place;     /* stores with equal places hold the same objects; 0 = none does */
    uint64_t space;     /* stores with equal ones hold objects of one bucket, each those below its
                           base; set by open; 0 = it holds none */
    const char *base;   /* "" or ending in '/'; borrowed from the store; NULL = there is no space */
    uint64_t endpoint;  /* remote stores with equal ones ask the same server: a hash of its scheme,
                           host and port, set by open; 0 = it is the only one that does */
    bool keeps_answers; /* it obeys age_max_ms; else all answers are of now */
    bool writable;
    char failure[ZD_ERROR_TEXT_BYTES]; /* "" = none; else how a sync failed. The store may hold less
                                          than it has acknowledged, so it refuses writes from then
                                          on: ZD_READ_ONLY with this text */
    /* operations that were started on this store since it was opened, for tests and /metrics */
    uint64_t n_reads;
    uint64_t n_read_bytes;
    uint64_t n_statuses;
    uint64_t n_lists;
    uint64_t n_visited; /* entries that listings have looked at */
    uint64_t n_passed;  /* objects that a store in memory has passed on the way to others */
    uint64_t n_writes;
    uint64_t n_events[ZD_STORE_EVENTS];
};

/** A scheme, as users are told of it. */
struct zd_store_scheme {
    const char *name;    /* "file" */
    const char *usage;   /* its locations: "PATH, file:///PATH" */
    const char *meaning; /* what they are: "a directory" */
    bool is_writable;
};

/** The i-th scheme, in the order of their names. @return false: there are no more. Thread: any. */
bool zd_store_scheme(size_t i, struct zd_store_scheme *ret_scheme);

/** How long a dataset trusts what it has read, if its configuration does not say. Thread: any. */
uint64_t zd_store_revalidate_ms(const struct zd_store *store);

/**
 * Open a location with the scheme that accepts it.
 * @retval ZD_INVALID no scheme does, or the options do not pass its schema, or it is to be writable
 *                    and is only read
 * Thread: loop.
 */
ZD_RESULT zd_store_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err);
void zd_store_close(struct zd_store *store); /* accepts NULL; closes the inner store, too */

/**
 * Whether a store can be opened to be written to, as far as its scheme says.
 * @retval ZD_INVALID it is only read
 * Thread: any; may block.
 */
ZD_RESULT zd_store_judge_writable(const char *location, struct zd_error *err);

/**
 * Judge options as opening will: for a location that no scheme accepts nothing is judged.
 * @param options or NULL
 * @param at      their place in the configuration; the error's pointer is at or below it
 * @retval ZD_INVALID
 * Thread: any; may block.
 */
ZD_RESULT zd_store_judge_options(const char *location, const struct zd_json *options,
    const struct zd_pointer *at, struct zd_error *err);

/** The name that a location suggests: its last segment without the ending of any scheme. Borrowed
 * from it; may be empty. Thread: any. */
struct zd_span zd_store_name_of(const char *location);

/** zd_store.failure of this store or of an inner one. Thread: loop. */
const char *zd_store_failure(const struct zd_store *store);

/** Whether reads obey wants_file. Thread: any. */
bool zd_store_has_file(struct zd_store *store, const char *key);

/** Whether what is staged can be extended, so that an object need not be in memory. Thread: any. */
bool zd_store_extends(const struct zd_store *store);

/**
 * The key that an object of a store has in another one.
 *
 * @param ret_key ZD_KEY_BYTES_MAX + 1 bytes; unchanged unless there is one
 * @return false: the other store does not hold the object
 * Thread: loop.
 */
bool zd_store_key_in(
    const struct zd_store *other, const struct zd_store *store, const char *key, char *ret_key);

/** Another store has changed the object: what this one has learnt of it before says nothing any
 * more. Thread: loop. */
void zd_store_overtake(struct zd_store *store, const char *key);

/** Stop waiting for other processes: writes that would have to wait end in ZD_TIMEOUT. Thread:
 * loop.
 */
void zd_store_give_up(struct zd_store *store);

/**
 * Where a location leads now: what `place` of a store would be that is opened there. It differs
 * from that of a store opened earlier when a directory was made anew or replaced.
 *
 * @param ret_place 0: locations of that scheme always lead to the same
 * @retval ZD_NOT_FOUND, ZD_STORE, ZD_INVALID nothing can be opened there
 * Thread: any; may block.
 */
ZD_RESULT zd_store_find_place(const char *location, uint64_t *ret_place, struct zd_error *err);

/** The same without blocking. @retval ZD_AGAIN it would block, or fail */
ZD_RESULT zd_store_find_place_now(const char *location, uint64_t *ret_place);

/** Start an operation: sets op.store, counts, checks the key. A malformed key ends in `done` with
 * ZD_INVALID, a write to a read-only store with ZD_READ_ONLY. Thread: loop. */
void zd_store_read(struct zd_store *store, struct zd_store_read *read);
void zd_store_status(struct zd_store *store, struct zd_store_status *status);
void zd_store_list(struct zd_store *store, struct zd_store_list *list);
/** Whether a page was cut for visits_max: entries may be missing. Thread: any. */
static inline bool zd_store_list_is_cut(const struct zd_store_list *list)
{
    return list->visits_max > 0 && list->n_visited >= list->visits_max;
}

/** The page after this one, of a listing that has more, by the same operation; this page is
 * released. All pages together cost as much as one listing: a store may remember names that were
 * there when the listing began. */
void zd_store_list_next(struct zd_store *store, struct zd_store_list *list);
void zd_store_write(struct zd_store *store, struct zd_store_write *write);
void zd_store_erase(struct zd_store *store, struct zd_store_write *erase);
void zd_store_cancel(struct zd_store_op *op);

/** Take keys, and give them back; op.done runs after each. Neither can be cancelled, and a holder
 * must not wait for clients. Thread: loop. */
void zd_store_hold(struct zd_store *store, struct zd_store_hold *hold);
void zd_store_release(struct zd_store_hold *hold);

/**
 * Let go of what only writers need, if nothing is being written or staged; it is made again by the
 * next write. To be asked for when the store has had no write for a while, one at a time; it ends
 * in ZD_OK and cannot be cancelled. Thread: loop.
 */
void zd_store_rest(struct zd_store *store, struct zd_store_op *op);

/** Read without waiting, or ZD_AGAIN. Thread: loop. */
enum zd_status zd_store_read_now(struct zd_store *store, struct zd_store_read *read);
enum zd_status zd_store_status_now(struct zd_store *store, struct zd_store_status *status);

/** Release the entries of a listing and leave it empty. */
void zd_store_list_done(struct zd_store_list *list);

#endif
