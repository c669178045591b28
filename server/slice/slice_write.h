/* One slice being written: what was asked, what it may cost, its stored objects, and their way from
 * the body into the store.
 *
 *     body --> [ band: rows of stored objects ] --> staged, object by object --> all committed
 *
 * One stored object is not staged, but by an append: its edit is merged with those of others. Until
 * the first commit nothing has changed, and the request may end in any way; from then on the
 * writing belongs to itself, and goes on though the client leaves: until all is committed, or what
 * was is undone. Thread: loop. */
#ifndef ZD_SLICE_SLICE_WRITE_H
#define ZD_SLICE_SLICE_WRITE_H

#include "core/dialect/written.h"
#include "core/grid/band.h"
#include "server/write/edit.h"
#include "server/write/node_lock.h"
#include "server/write/metadata.h"
#include "server/slice/slice_params.h"
#include "server/slice/slice_body.h"
#include "server/slice/slice_tag.h"
#include "server/data/survey.h"

struct zd_slice_write;
struct zd_slice_commit; /* server/slice/slice_commit.h */

/** One stored object that the slice touches. */
struct zd_slice_object {
    struct zd_edit_want want;
    struct zd_slice_write *write;
};

/** What an append is about. */
struct zd_slice_append {
    bool is_asked;
    uint32_t dim;         /* of the array */
    uint64_t from;        /* its length along that, stored, */
    uint64_t count;       /* and how much it grows */
    struct zd_node *node; /* as it is, while write->node is as it is going to be; a reference */
    struct zd_metadata_want change; /* asked beforehand: what it is going to be */
};

struct zd_slice_write {
    struct zd_request *req; /* NULL once it has ended */
    struct zd_node *node;
    bool is_broadcast; /* one element for all */
    bool is_dry;
    bool is_conditional;   /* the objects must be as they were surveyed */
    bool has_bands;        /* more than one */
    bool is_once;          /* some of the objects' edits are */
    bool has_waited;       /* for others or for the body, so that the array may have changed */
    bool is_summing;       /* a worker adds a band to `written` */
    uint32_t n_flying_max; /* objects that are staged or committed at once */
    enum zd_status status; /* of what failed first */
    struct zd_slice_append append;
    struct zd_node_lock lock; /* of the array */
    struct zd_slice_params ask;
    struct zd_selection asked;     /* as the client counts */
    struct zd_selection selection; /* the same elements in the stored array */
    struct zd_slice_body body;

    struct zd_seen_objects touched;
    struct zd_survey survey;

    struct zd_slice_object *object; /* n_objects of them, in C order of the result; owned */
    uint64_t n_objects;
    uint64_t n_cut;   /* have their elements */
    uint64_t n_asked; /* to be staged, or committed */
    uint64_t n_told;  /* of those that were asked */
    uint64_t n_begun; /* to be committed, when one of them could not be */
    struct zd_error err;
    const char *code; /* of its problem, where the status says too little; or NULL */
    struct zd_edit_counts counts;

    struct zd_written written;      /* what extensions are to know before it is stored */
    struct zd_job summing;          /* adds a band to that */
    struct zd_slice_commit *commit; /* while it is committed; owned */

    struct zd_bands bands;
    struct zd_band band;
    uint64_t band_elements;  /* of the largest */
    uint64_t partial_bytes;  /* then: of objects that are covered in part */
    struct zd_buf *elements; /* of the band, or the one for all */
};

/** A state for the request; left with zd_slice_write_leave. NULL without memory. */
struct zd_slice_write *zd_slice_write_new(struct zd_request *req);

/** The request has ended: what was not begun is given up, what is being committed goes on. */
void zd_slice_write_leave(struct zd_slice_write *write);

/** Others may go on: locks are given back, and what was staged is discarded. Not while something is
 * being committed. */
void zd_slice_write_abort(struct zd_slice_write *write);

/** Memory is awaited, or refused, and others may go on: the lock is given back, and all that was
 * planned. The node stays until there is another, and what was measured of the body. */
void zd_slice_write_give_way(struct zd_slice_write *write);

/**
 * Node, ask and selection are known, and their limits checked: the objects, and what they take.
 * @retval ZD_TOO_LARGE more than limits.write_bytes would be held; facts limit, requested
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_write_plan(struct zd_slice_write *write, struct zd_error *err);

/** The bytes that are held at the same time. */
uint64_t zd_slice_write_held_bytes(const struct zd_slice_write *write);

/** Of them, the window of the body. */
size_t zd_slice_write_window_bytes(const struct zd_slice_write *write);

/** Before a survey: nothing that the caches know of the objects is trusted, others write them too.
 * @retval ZD_TOO_LARGE a key is too long */
ZD_RESULT zd_slice_write_forget(const struct zd_slice_write *write, struct zd_error *err);

/** An edit for each object, without elements so far. The objects were surveyed when is_conditional:
 * from now on they must be as they were. @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_write_begin(struct zd_slice_write *write, struct zd_error *err);

/* The next: a step calls them until they say ZD_NEXT; with ZD_WAIT req->step runs again. Then
 * `status` and `err` tell what became of the objects. */

/** Lock all objects, when they are to be staged. */
enum zd_next zd_slice_write_lock(struct zd_slice_write *write);

/** Stage the objects that have their elements. */
enum zd_next zd_slice_write_stage(struct zd_slice_write *write);

/** Tell the extensions of the array's elements in the band, when one wants to know. */
enum zd_next zd_slice_write_sum(struct zd_slice_write *write);

/* ---- for slice_commit.c ---- */

/** The end of a state whose request has left. */
void zd_slice_write_free(struct zd_slice_write *write);

/** Begin to commit what may be under way at once. @return whether all that was begun is told, and
 * nothing is left to begin */
bool zd_slice_write_commit_some(struct zd_slice_write *write);

/** The same: all are committed, and what they were before goes. */
bool zd_slice_write_settle_some(struct zd_slice_write *write);

/** The same: the first n_begun are as they were before, the last one first. Those of them that are
 * not have a status that says why. */
bool zd_slice_write_undo_some(struct zd_slice_write *write);

/** Sets status, err and code when nothing has failed before. */
void zd_slice_write_fail(struct zd_slice_write *write, enum zd_status status, const char *code,
    const struct zd_error *err);

/**
 * The next band: its elements are to be read to zd_slice_write_place.
 * @param ret_is_over there is none left
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_write_next_band(
    struct zd_slice_write *write, bool *ret_is_over, struct zd_error *err);

/** The band is read: its objects get their elements. @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_write_cut(struct zd_slice_write *write, struct zd_error *err);

/** Whether objects are locked and staged before the first is committed: when there are many, and
 * when they are held against other processes. */
static inline bool zd_slice_write_is_staged(const struct zd_slice_write *write)
{
    return write->n_objects > 1 || write->append.is_asked;
}

#endif
