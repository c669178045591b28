/* One stored object being changed: what server/write/edit*.c share. Thread: loop.
 *
 *     waiting -> locked -> read -> rewritten -> written -> told
 *                           ^                      |
 *                           +--- others have written
 *
 * Edits of one object that come while it is locked, read or written wait at its run; when the run
 * has the lock again it takes all of them. The staged form has a run of its own, which stops when
 * it is locked, staged, committed, and settled or undone. */
#ifndef ZD_WRITE_EDIT_RUN_H
#define ZD_WRITE_EDIT_RUN_H

#include "server/write/edit.h"
#include "server/write/lock.h"
#include "server/data/objects.h"
#include "server/write/store_write.h"

#define ZD_EDIT_TOGETHER_MAX 256 /* edits of one rewrite */

struct zd_edit_run;

/** One edit, for as long as it is under way. */
struct zd_edit_load {
    struct zd_list link;       /* in the run's waiting, or batch */
    struct zd_edit_run *run;   /* borrowed */
    struct zd_edit_want *want; /* NULL once nobody waits */
    struct zd_node *node;      /* a reference */
    struct zd_edit *edit;      /* the want's; owned once nobody waits */
    enum zd_condition condition;
    struct zd_generation generation;
    bool is_dry;
    bool is_once;
    bool has_begun; /* it is in the batch */
    bool is_told;   /* the staged form waits to hear how to go on */
    struct zd_job_owner owner;
};

/* What is done for one object: for some edits of it at a time. */
struct zd_edit_run {
    struct zd_map_entry map;    /* in server->edits, unless it is staged */
    struct zd_dataset *dataset; /* a reference */
    enum zd_next (*step)(struct zd_edit_run *run);
    struct zd_list waiting;
    struct zd_list batch;          /* what the rewrite is about */
    struct zd_edit_want *beginner; /* whose call is under way: it is told by what that returns */
    struct zd_edit *edit[ZD_EDIT_TOGETHER_MAX]; /* of the batch */
    struct zd_lock_want lock;
    struct zd_range_want read;
    struct zd_stat stat; /* of what is stored, as far as it is known */
    struct zd_rewrite rewrite;
    struct zd_job job;
    enum zd_status status; /* of the rewrite */
    struct zd_error err;
    struct zd_store_write_want write;
    uv_timer_t timer;
    uint32_t n_tries;
    uint32_t n_alone; /* of those that wait: one at a time, for together they have failed */
    bool has_timer;
    bool is_staged;     /* the staged form */
    bool is_committing; /* of it: nothing stops it any more */
    bool is_working;    /* a worker has it */
    bool was_dropped;   /* the work was cancelled before it began */
    char *key;          /* of the object; in memory of its own with the map's key */
};

static inline struct zd_edit_load *zd_edit_first(const struct zd_list *list)
{
    return zd_list_is_empty(list) ? NULL : ZD_CONTAINER(list->next, struct zd_edit_load, link);
}

/** What server->edits knows an object by. */
struct zd_edit_object_name {
    uint8_t byte[sizeof(uint32_t) + ZD_KEY_BYTES_MAX + 1];
    struct zd_span key;
};

/** @param name filled in; its key is borrowed from it */
ZD_RESULT zd_edit_name_object(const struct zd_node *node, const struct zd_edit *edit,
    struct zd_edit_object_name *name, struct zd_error *err);

/** A run of an object, in no map, and an edit for it. NULL without memory. */
struct zd_edit_run *zd_edit_run_new(struct zd_dataset *dataset, struct zd_span map_key);
struct zd_edit_load *zd_edit_load_new(struct zd_node *node, struct zd_edit_want *want);

/** Give back all that it has: its lock too, and what is staged or kept. */
void zd_edit_run_free(struct zd_edit_run *run);

/** Ends an edit, whose want knows nothing of it any more. */
void zd_edit_load_free(struct zd_edit_load *load);

/** The answer to a call that found no memory. @return ZD_NEXT */
enum zd_next zd_edit_no_memory(struct zd_edit_want *want);

/** Go on with the steps, for somebody who is told by what is returned, unless it takes longer. */
enum zd_next zd_edit_run_begin(struct zd_edit_run *run, struct zd_edit_want *want);

/** The staged form stops here, and its waiter says how it goes on. */
enum zd_next zd_edit_run_report(
    struct zd_edit_run *run, enum zd_status status, const struct zd_error *err);

/* Steps: the first of those that change the object, and that which commits it. */
enum zd_next zd_edit_run_batch(struct zd_edit_run *run);
enum zd_next zd_edit_run_commit(struct zd_edit_run *run);

/** Nobody wants the staged form any more: server/write/edit_staged.c */
void zd_edit_leave_staged(struct zd_edit_run *run);

#endif
