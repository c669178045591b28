/* Stores: keys -> bytes, asynchronously. One file a scheme; the build lists them. */
#ifndef ZD_CORE_STORE_STORE_H
#define ZD_CORE_STORE_STORE_H

#include <uv.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/list.h"
#include "core/base/status.h"
#include "core/base/text.h"
#include "core/store/generation.h"
#include "core/store/key.h"

struct zd_store;
struct zd_store_ops;

/** Which bytes of an object. */
enum zd_range_kind {
    ZD_RANGE_WHOLE,
    ZD_RANGE_FROM_TO, /* first, len: cut at the object's end */
    ZD_RANGE_SUFFIX,  /* the last len bytes, or all when it is shorter */
};

struct zd_range {
    enum zd_range_kind kind;
    uint64_t first;
    uint64_t len;
};

/** How a store is configured. Borrowed during open, except for the inner store. */
struct zd_store_config {
    const char *location; /* as the user gave it, scheme included when there is one */
    uv_loop_t *loop;      /* the loop that owns the store and runs all its callbacks */
    bool writable;
    bool durable;     /* sync before a write is acknowledged */
    uint64_t lock_ms; /* how long a write waits for another process that has locked its key, then it
                         ends in ZD_TIMEOUT; 0 = for ever */
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
    enum zd_status status;
    struct zd_error err; /* told when status is neither ZD_OK, ZD_NOT_FOUND nor ZD_NOT_MODIFIED */
    bool cancelled;      /* zd_store_cancel was called */
    uv_work_t work;      /* the store's own use, as are the next two */
    struct zd_list link;
    void *private_state;
    uint64_t began_ns; /* the same, of writes and holds */
};

struct zd_store_read {
    struct zd_store_op op; /* first member */
    /* in */
    char key[ZD_KEY_BYTES_MAX + 1];
    struct zd_range range;
    size_t bytes_max; /* more than this is ZD_TOO_LARGE, before anything is allocated */
    struct zd_generation
        unless_generation; /* when not zero: ZD_NOT_MODIFIED if it is still that one */
    struct zd_generation
        only_generation; /* when not zero: ZD_PRECONDITION if it is another one by now */
    bool wants_file;     /* a descriptor in place of the bytes, from stores that have files: the
                            beginning of the range is then in the page cache */
    /* out */
    struct zd_buf *bytes; /* owned by the caller; NULL unless ZD_OK */
    int fd;               /* with ZD_OK and no bytes: the object, open; owned by the caller */
    struct zd_stat stat;  /* of the whole object; valid with ZD_OK and ZD_NOT_MODIFIED */
};

struct zd_store_status { /* is it there, and which is it? */
    struct zd_store_op op;
    char key[ZD_KEY_BYTES_MAX + 1];
    struct zd_stat stat; /* out */
};

/** One entry of a listing. */
struct zd_store_entry {
    char *name; /* relative to the prefix; owned by the listing; a prefix has no slash at its end */
    bool is_prefix;
};

struct zd_store_list { /* one level (a directory), or everything below a prefix */
    struct zd_store_op op;
    char prefix[ZD_KEY_BYTES_MAX + 2]; /* "" or ending in '/' */
    bool deep;                         /* keys of all levels, no prefixes */
    char *after; /* only names greater than this one by their bytes; borrowed; NULL = from the start
                  */
    size_t n_max; /* entries wanted at the most; >= 1 */
    /* out: sorted by the bytes of their names; ZD_NOT_FOUND when there is no such prefix */
    struct zd_store_entry *entry;
    size_t n_entries;
    bool has_more;
};

enum zd_condition {
    ZD_CONDITION_NONE,
    ZD_CONDITION_ABSENT,     /* only if the key does not exist */
    ZD_CONDITION_GENERATION, /* only if it is that one */
};

/** That it is still that one, or still absent. */
static inline enum zd_condition zd_store_condition_of(struct zd_generation generation)
{
    return zd_generation_is_set(generation) ? ZD_CONDITION_GENERATION : ZD_CONDITION_ABSENT;
}

/** A write is made at once, or in two steps: who changes many objects stages all of them, and what
 * fails on the way has changed none. */
enum zd_phase {
    ZD_PHASE_WHOLE,
    ZD_PHASE_STAGE,   /* the bytes go to the store, and nobody sees them yet */
    ZD_PHASE_COMMIT,  /* what was staged becomes the object: almost nothing is left to fail */
    ZD_PHASE_DISCARD, /* what was staged goes away; a store that takes no writes does that too */
};

/** Bytes that a store holds for a key until they are committed or discarded: one of the two must
 * come, with the same key, before the store is closed. Holds no descriptor. They were staged, or
 * they are what the key held before it changed (keeps_old). */
struct zd_staged {
    struct zd_store *store;
    uint64_t size; /* bytes */
};

/**
 * A write; also an erasure: that one has no phases and no bytes. Writes of one key, and erasures,
 * are made one after the other, in the order they were started; those of different keys side by
 * side. Readers, and other processes with the same store, see the old object or the new one.
 *
 * With ZD_OK of WHOLE and COMMIT the object outlasts a power cut, if the store is durable. With all
 * else but ZD_STORE everything is as it was, and with ZD_STORE almost always: the key holds the old
 * object or the new one. When zd_store.failure is set now, a sync failed, and nobody knows which of
 * the two a power cut would leave.
 *
 * Who changes many objects keeps what each of them was (keeps_old), until all are changed: then it
 * discards that. To undo it commits it, on condition that the key is still as it has made it, so
 * that nobody's newer object is lost; where there was nothing, it erases on that condition. What is
 * undone has its old bytes, and a generation of its own.
 */
struct zd_store_write {
    struct zd_store_op op;
    enum zd_phase phase;
    char key[ZD_KEY_BYTES_MAX + 1];
    struct zd_buf *bytes;            /* of WHOLE and STAGE; borrowed until done */
    enum zd_condition condition;     /* of WHOLE, COMMIT and erasures */
    struct zd_generation generation; /* for ZD_CONDITION_GENERATION */
    bool keeps_old; /* in, of COMMIT and erasures: what the key holds is not lost with it */
    struct zd_staged *staged; /* STAGE: out, the caller's with ZD_OK, else NULL. COMMIT, DISCARD:
                                 in, taken over however they end, and NULL from then on. But with
                                 keeps_old and ZD_OK: out, what the key held before, as if it had
                                 been staged for it; NULL when it held nothing */
    struct zd_stat stat;      /* out, of WHOLE and COMMIT: of what is stored now */
    bool is_unsynced; /* out, with ZD_STORE: the key has changed, and the sync of that failed */
};

/**
 * Keys that no other process changes for a while: for a change of many that is judged as a whole.
 * The holder's own writes are ordinary ones. There is one holder at a time, whatever the process.
 */
struct zd_store_hold {
    struct zd_store_op op;
    uint64_t *hash; /* in: zd_key_hash of each key, n_keys of them; borrowed until it is released */
    size_t n_keys;
    bool is_held; /* with ZD_OK: zd_store_release must come */
};

/**
 * A scheme. Every function runs on the loop thread and does not block.
 *
 * A store over a store (config.inner: a cache, a planner of reads) leaves out each operation that
 * it does not change: its inner store gets that. Those that it has start operations of their own,
 * or hand on the same one: zd_store_read(store->inner, read).
 */
struct zd_store_ops {
    const char *scheme;                    /* "file", "mem" */
    bool (*accepts)(const char *location); /* a path without scheme belongs to "file" */
    const char *usage;                     /* its locations, for --help: "PATH, file:///PATH" */
    const char *meaning;                   /* what they are: "a directory" */
    const char *const *endings; /* of locations, and of no dataset's name: ".zarr"; ended by NULL,
                                   or NULL */
    const char *schema;         /* JSON Schema of the options (core/base/json_schema.h), judged
                                   before open is called; NULL: there are no options */
    uint64_t default_revalidate_ms; /* how long a dataset trusts what it has read, if its
                                       configuration does not say */

    /** Check the location and open it. @param ret_store owned */
    ZD_RESULT (*open)(
        const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err);
    /** No operation is under way: but the `done` of the last one may be what closes. */
    void (*close)(struct zd_store *store);

    void (*read)(struct zd_store *store, struct zd_store_read *read);
    void (*status)(struct zd_store *store, struct zd_store_status *status);
    void (*list)(struct zd_store *store, struct zd_store_list *list);
    void (*write)(struct zd_store *store, struct zd_store_write *write); /* not DISCARD */
    void (*erase)(struct zd_store *store, struct zd_store_write *erase);
    /** Optional, both: of stores that other processes write to. */
    void (*hold)(struct zd_store *store, struct zd_store_hold *hold);
    void (*release)(struct zd_store *store, struct zd_store_hold *hold);
    /** Optional: of the same stores. */
    void (*give_up)(struct zd_store *store);

    /** Drop what is staged, then end with the status that is there: also of a COMMIT that was
     * refused. */
    void (*discard)(struct zd_store *store, struct zd_store_write *write);

    /**
     * Optional: answer at once, without `done`, when that costs microseconds (memory, page cache);
     * ZD_AGAIN when it would block, and then the asynchronous call is to be made.
     */
    enum zd_status (*read_now)(struct zd_store *store, struct zd_store_read *read);
    enum zd_status (*status_now)(struct zd_store *store, struct zd_store_status *status);

    /**
     * Optional: whether the location still leads to what was opened; false when it was removed, or
     * made again. May block for the time of an open(2).
     */
    bool (*is_current)(const struct zd_store *store);

    bool has_files; /* reads obey wants_file */

    /** Ask for an early end: `done` still runs, with ZD_CANCELLED unless the work was finished
     * first. */
    void (*cancel)(struct zd_store *store, struct zd_store_op *op);
};

/** What all stores begin with. */
struct zd_store {
    const struct zd_store_ops *ops; /* set when open has succeeded */
    struct zd_store *inner;         /* of a store over a store: owned; else NULL */
    struct zd_store *outer;         /* the store over this one; borrowed, or NULL */
    uv_loop_t *loop;                /* borrowed */
    char *location;                 /* owned */
    uint64_t place;                 /* stores of equal places hold the same objects; 0: no other */
    bool writable;
    char failure[ZD_ERROR_TEXT_BYTES]; /* "" = none; else a sync failed, this is how, and the store
                                          takes no writes any more: it may hold less than it said.
                                          Writes end with ZD_READ_ONLY and this text */
    /* operations that were started on this store since it was opened, for tests and /metrics */
    uint64_t n_reads;
    uint64_t n_read_bytes;
    uint64_t n_statuses;
    uint64_t n_lists;
    uint64_t n_writes;
};

/** All schemes, ended by NULL; generated from the files core/store/store_*.c. */
extern const struct zd_store_ops *const zd_stores[];

/**
 * Open a location with the scheme that accepts it.
 * @retval ZD_INVALID no scheme does, or the options do not pass its schema
 * Thread: loop.
 */
ZD_RESULT zd_store_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err);

/** The same with a given scheme: how a store is put over config->inner. Thread: loop. */
ZD_RESULT zd_store_open_as(const struct zd_store_ops *ops, const struct zd_store_config *config,
    struct zd_store **ret_store, struct zd_error *err);
void zd_store_close(struct zd_store *store); /* accepts NULL; closes the inner store, too */

/**
 * Judge options as opening will: for a location that no scheme accepts nothing is judged.
 * @param options or NULL
 * @param at      their place in the configuration; the error's pointer is at or below it
 * @retval ZD_INVALID
 * Thread: any.
 */
ZD_RESULT zd_store_judge_options(const char *location, const struct zd_json *options,
    const struct zd_pointer *at, struct zd_error *err);

/** The name that a location suggests: its last segment without the ending of any scheme. Borrowed
 * from it; may be empty. Thread: any. */
struct zd_span zd_store_name_of(const char *location);

/** zd_store.failure of this store or of an inner one. Thread: loop. */
const char *zd_store_failure(const struct zd_store *store);

/** Whether reads obey wants_file. Thread: any. */
bool zd_store_has_files(const struct zd_store *store);

/** Whether what is written to one is seen in the other. Thread: loop. */
bool zd_store_is_shared(const struct zd_store *store, const struct zd_store *other);

/** Other processes are not waited for any more: a write that would have to ends in ZD_TIMEOUT.
 * Thread: loop. */
void zd_store_give_up(struct zd_store *store);

/** Whether the location still leads to what was opened. Thread: loop. */
bool zd_store_is_current(const struct zd_store *store);

/** Start an operation: sets op.store, counts, checks the key. A bad key ends in `done` with
 * ZD_INVALID, a write to a store that takes none with ZD_READ_ONLY. Thread: loop. */
void zd_store_read(struct zd_store *store, struct zd_store_read *read);
void zd_store_status(struct zd_store *store, struct zd_store_status *status);
void zd_store_list(struct zd_store *store, struct zd_store_list *list);
void zd_store_write(struct zd_store *store, struct zd_store_write *write);
void zd_store_erase(struct zd_store *store, struct zd_store_write *erase);
void zd_store_cancel(struct zd_store_op *op);

/** Take keys, and give them back: op.done is told of both. The same caution as with all that is
 * started: it is not cancelled, and whoever holds goes on without waiting for clients. Thread:
 * loop.
 */
void zd_store_hold(struct zd_store *store, struct zd_store_hold *hold);
void zd_store_release(struct zd_store_hold *hold);

/** The same without waiting, or ZD_AGAIN. Thread: loop. */
enum zd_status zd_store_read_now(struct zd_store *store, struct zd_store_read *read);
enum zd_status zd_store_status_now(struct zd_store *store, struct zd_store_status *status);

/** Release a listing's entries, and leave it empty. */
void zd_store_list_done(struct zd_store_list *list);

/** For stores: the location without "scheme:", or NULL when it is of another scheme. Borrowed. */
const char *zd_store_location_in(const char *scheme, const char *location);

/**
 * For stores: fill in what all stores begin with; the inner store is filled in after open.
 * @param store the store's own memory, zeroed; location is owned by it from now on
 */
ZD_RESULT zd_store_init(struct zd_store *store, const struct zd_store_config *config);

/** For stores: count bytes that were read, here and in the stores over this one. Thread: loop. */
void zd_store_count_bytes(struct zd_store *store, uint64_t n_bytes);

/** For stores: the operation is over with op->status; `done` runs in a later turn of the loop. */
void zd_store_finish_later(struct zd_store_op *op);

/** For stores: a sync failed. It is not tried again, since the kernel may have forgotten what it
 * could not write; the first failure is the one that is told. Thread: loop. */
void zd_store_stop_writes(struct zd_store *store, const char *failure);

/**
 * For stores: judge a read by what is known of the object, before its bytes are fetched.
 * @param ret_range   the bytes to fetch
 * @retval ZD_NOT_MODIFIED unless_generation is the object's
 * @retval ZD_PRECONDITION only_generation is not the object's
 * @retval ZD_TOO_LARGE    the range holds more than bytes_max bytes; fact limit
 */
ZD_RESULT zd_store_judge_read(const struct zd_store_read *read, const struct zd_stat *stat,
    struct zd_range *ret_range, struct zd_error *err);

/**
 * For stores: whether a write or an erasure may go on.
 * @param found what is stored now, or NULL when nothing is
 * @retval ZD_PRECONDITION it is not what the condition names
 */
ZD_RESULT zd_store_judge_write(
    const struct zd_store_write *write, const struct zd_stat *found, struct zd_error *err);

#endif
