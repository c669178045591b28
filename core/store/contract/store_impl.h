/* Stores, for the files that implement one: a scheme, and what all schemes share. One file a
 * scheme; the build lists them. */
#ifndef ZD_CORE_STORE_CONTRACT_STORE_IMPL_H
#define ZD_CORE_STORE_CONTRACT_STORE_IMPL_H

#include "core/store/contract/store.h"

/** State that a store keeps between pages of a listing. */
struct zd_store_cursor {
    void (*free)(struct zd_store_cursor *cursor);
};

/**
 * A scheme. Every function runs on the loop thread and does not block.
 *
 * A store over a store (config.inner: a cache, a planner of reads) leaves out the operations that
 * it does not change: they go to its inner store. Its own operations start others on the inner
 * store, or pass the same one on: zd_store_read(store->inner, read).
 */
struct zd_store_ops {
    const char *scheme;                    /* "file", "mem" */
    bool (*accepts)(const char *location); /* a path without scheme belongs to "file" */
    const char *usage;                     /* its locations, for --help: "PATH, file:///PATH" */
    const char *meaning;                   /* what they are: "a directory" */
    const char *const *endings; /* of locations, and of no dataset's name: ".zarr"; ended by NULL,
                                   or NULL */
    bool is_remote; /* it is asked over a network: opened with config.remote, under a plan of reads
                       (core/store/remote/remote.h); has an endpoint */
    const char *schema; /* JSON Schema of the options (core/base/json_schema.h), judged
                           before open is called; NULL: there are no options */
    /** Optional: what the schema cannot say, without asking anybody: a location, with options that
     * pass the schema or NULL, that cannot be opened. The error repeats no secret. May block. */
    enum zd_status (*judge)(
        const char *location, const struct zd_json *options, struct zd_error *err);
    uint64_t default_revalidate_ms; /* how long a dataset trusts what it has read, if its
                                       configuration does not say */

    /** Check the location and open it. @param ret_store owned */
    ZD_RESULT (*open)(
        const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err);
    /** No operation is running; the `done` of the last one may close the store. */
    void (*close)(struct zd_store *store);

    void (*read)(struct zd_store *store, struct zd_store_read *read);
    void (*status)(struct zd_store *store, struct zd_store_status *status);
    void (*list)(struct zd_store *store, struct zd_store_list *list);
    void (*write)(struct zd_store *store, struct zd_store_write *write); /* not DISCARD */
    void (*erase)(struct zd_store *store, struct zd_store_write *erase);
    /** Optional, both: for stores that other processes write to. */
    void (*hold)(struct zd_store *store, struct zd_store_hold *hold);
    void (*release)(struct zd_store *store, struct zd_store_hold *hold);
    /** Optional: for the same stores; see zd_store_rest. */
    void (*rest)(struct zd_store *store, struct zd_store_op *op);
    /** Optional: for the same stores; see zd_store_give_up. */
    void (*give_up)(struct zd_store *store);

    /** Drop the staged bytes, then end with the status that is set. Also called for a refused
     * COMMIT. */
    void (*discard)(struct zd_store *store, struct zd_store_write *write);

    /**
     * Optional: answer at once, without `done`, if that takes microseconds (memory, page cache);
     * ZD_AGAIN if it would block: the caller then starts the asynchronous operation.
     */
    enum zd_status (*read_now)(struct zd_store *store, struct zd_store_read *read);
    enum zd_status (*status_now)(struct zd_store *store, struct zd_store_status *status);

    /** Optional: see zd_store_overtake; for this store alone. */
    void (*overtake)(struct zd_store *store, const char *key);

    /** Optional, both: see zd_store_find_place and zd_store_find_place_now. */
    enum zd_status (*find_place)(const char *location, uint64_t *ret_place, struct zd_error *err);
    enum zd_status (*find_place_now)(const char *location, uint64_t *ret_place);

    /** Optional: whether reads of a key obey wants_file. */
    bool (*has_file)(struct zd_store *store, const char *key);
    bool extends;      /* writes obey ZD_PHASE_EXTEND */
    bool is_read_only; /* such a store is never opened to be written to */

    /** Ask for an early end: `done` still runs, with ZD_CANCELLED unless the operation finished
     * first. */
    void (*cancel)(struct zd_store *store, struct zd_store_op *op);
};

/** All schemes, ended by NULL; generated from the files core/store/store_*.c. */
extern const struct zd_store_ops *const zd_stores[];

/** Like zd_store_open with a given scheme. It puts a store over config->inner. Thread: loop. */
ZD_RESULT zd_store_open_as(const struct zd_store_ops *ops, const struct zd_store_config *config,
    struct zd_store **ret_store, struct zd_error *err);

/** The location without "scheme:", or NULL if it has another scheme. Borrowed. */
const char *zd_store_location_in(const char *scheme, const char *location);

/**
 * Fill in what all stores begin with; the inner store is filled in after open.
 * @param store the store's own memory, zeroed; location is owned by it from now on
 */
ZD_RESULT zd_store_init(struct zd_store *store, const struct zd_store_config *config);

/** Count the entries that a listing has looked at, as list->n_visited says, here and in
 * the stores over this one. Thread: loop. */
void zd_store_count_visited(const struct zd_store_list *list);

/** Count bytes that were read, here and in the stores over this one. Thread: loop. */
void zd_store_count_bytes(struct zd_store *store, uint64_t n_bytes);

/** Count one event, here and in the stores over this one. Thread: loop. */
void zd_store_count_event(struct zd_store *store, enum zd_store_event event);

/** Hand a page of a listing on, with the cursor that the inner store left. Thread: loop. */
void zd_store_list_page(struct zd_store *store, struct zd_store_list *list);

/** The operation is over with op->status; `done` runs in a later turn of the loop. */
void zd_store_finish_later(struct zd_store_op *op);

/** A sync failed. No retry: the kernel may have dropped the pages that it could not write. The
 * first failure is kept. Thread: loop. */
void zd_store_stop_writes(struct zd_store *store, const char *failure);

/**
 * Check the conditions and limits of a read before its bytes are fetched.
 * @param ret_range   the bytes to fetch
 * @retval ZD_NOT_MODIFIED unless_generation is the object's
 * @retval ZD_PRECONDITION only_generation is not the object's
 * @retval ZD_TOO_LARGE    the range holds more than bytes_max bytes; fact limit
 */
ZD_RESULT zd_store_judge_read(const struct zd_store_read *read, const struct zd_stat *stat,
    struct zd_range *ret_range, struct zd_error *err);

/**
 * Check the condition of a write or an erasure.
 * @param found the stored object, or NULL if there is none
 * @retval ZD_PRECONDITION the condition does not hold
 */
ZD_RESULT zd_store_judge_write(
    const struct zd_store_write *write, const struct zd_stat *found, struct zd_error *err);

#endif
