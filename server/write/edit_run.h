/* A stored object being changed, shared by edit_calls.c and edit_run.c. Thread: loop.
 *
 *     waiting -> locked -> read -> rewritten -> written -> answered
 *                           ^                      |
 *                           +-- another process has written
 *
 * Merged edits that come while their object is locked, read or written wait in its run; when the
 * run has the lock again it takes all of them. A staged edit has a run of its own, whose machine is
 * done when the object is locked, staged, committed, and settled or undone, and begins again with
 * the next call. (server/runtime/flight is for one answer to many; these batches have an answer for
 * each, and arrivals start the next batch.) */
#ifndef ZD_WRITE_EDIT_RUN_H
#define ZD_WRITE_EDIT_RUN_H

#include "server/data/object_cache.h"
#include "server/data/range_read.h"
#include "server/runtime/machine.h"
#include "server/write/edit.h"
#include "server/write/lock.h"
#include "server/write/store_write.h"

#define ZD_EDIT_TOGETHER_MAX 256 /* edits of one rewrite */

struct zd_edit_run;

/** An edit, for as long as it is under way. */
struct zd_edit_load {
    struct zd_list link;       /* in the run's waiting, or batch */
    struct zd_edit_run *run;   /* borrowed */
    struct zd_edit_want *want; /* NULL once released */
    struct zd_node *node;      /* a reference */
    struct zd_edit *edit;      /* the want's; owned once that is released */
    enum zd_condition condition;
    struct zd_generation generation;
    bool is_dry;
    bool drops_elements;
    bool has_begun;  /* it is in the batch */
    bool is_storing; /* the batch is being written: too late to withdraw */
    bool is_withdrawn;
    bool is_answered; /* of a staged edit: its machine is done until the next call */
    struct zd_job_owner owner;
};

/* The memory of a run under way. A staged run gives it back at each stop, since many of them wait
 * for each other. */
struct zd_edit_work {
    struct zd_edit_run *run;
    struct zd_lock_want lock; /* until it is held */
    struct zd_range_want read;
    struct zd_job job;
    struct zd_error err;
};

/* An object being changed: its edits are made in batches. */
struct zd_edit_run {
    struct zd_machine machine;
    struct zd_map_entry map;    /* in server->edits, unless it is staged */
    struct zd_dataset *dataset; /* a reference */
    enum zd_next (*step)(struct zd_edit_run *run);
    struct zd_list waiting;
    struct zd_list batch;        /* the edits of the rewrite */
    struct zd_edit_want *caller; /* its call is under way, and returns its end; or NULL */
    struct zd_edit **edit; /* of the batch: room for ZD_EDIT_TOGETHER_MAX, or for a staged one */
    struct zd_lock_claim lock;
    struct zd_edit_work *work; /* owned, or NULL */
    struct zd_stat stat;       /* of what is stored, as far as it is known */
    struct zd_rewrite rewrite;
    enum zd_status status; /* of that; work->err says more */
    struct zd_store_write_want write;
    uv_timer_t timer;
    uint32_t n_tries;
    uint32_t n_alone; /* waiting edits to be made one at a time: together they have failed */
    bool has_timer;
    bool has_begun; /* its machine */
    bool is_staged;
    bool is_committing; /* it is completed even if its want is released */
    bool is_working;    /* a worker has it */
    char *key;          /* of the object; in memory of its own with the map's key */
};

static inline struct zd_edit_load *zd_edit_run_first(const struct zd_list *list)
{
    return zd_list_is_empty(list) ? NULL : ZD_CONTAINER(list->next, struct zd_edit_load, link);
}

/** Free an edit; nothing is under way for its want any more. Accepts NULL. */
void zd_edit_run_free_load(struct zd_edit_load *load);

/** Give back what a run has only while it is under way. No worker has it. */
void zd_edit_run_free_work(struct zd_edit_run *run);

/** The step of a run's machine. */
enum zd_next zd_edit_run_step(struct zd_machine *machine);

/** Prepare the run of an edit for a phase, of a merged one for LOCK: its machine begins again. */
void zd_edit_run_begin_phase(struct zd_edit_load *load, enum zd_edit_phase phase);

#endif
