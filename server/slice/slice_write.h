/* Writing a slice: from the request's head to the stored objects.
 *
 *     LOCK -+---------------------> ADMIT -> WHOLE -> SURVEY -+-> LOOK -> BEGIN -> RECEIVE
 *      ^    +-> APPEND -> MEASURE       ^                     |            ^         |
 *      |           |         v          |                     +------------+         |
 *      |           +----> FORESEE ------+                                            |
 *      +------- MEASURE, ADMIT, WHOLE                                                |
 *     RESPOND <- COMMIT <- RELOCK <- END <- BAND <------------------------- HEAD <---+
 *                                           |  ^
 *                                           |  +---------------+-------+
 *                                           +-> FILL -> SUM -> CUT -> STAGE
 *
 * An append goes through APPEND, and past MEASURE when its length is known. A request that had to
 * wait without its lock, in MEASURE for the body's head, in ADMIT for memory, in WHOLE for all of
 * an append's body, begins again. SURVEY goes to BEGIN without conditions. While the request waits
 * for its client it holds no lock: RELOCK takes that of the path again when the body is complete,
 * COMMIT those of the objects. CUT goes to BAND when there is one object: it is not staged.
 * MEASURE, LOOK, HEAD, FILL and END repeat until all they need is there.
 *
 * The request runs these steps. At most three further machines are alive meanwhile: the commit
 * (server/write/commit.h), the edits of its objects, and the change of the array's document: four
 * in all. Until the first object is committed nothing has changed, and the request may end in any
 * way; then the commit goes to its end though the client leaves. Thread: loop. */
#ifndef ZD_SLICE_SLICE_WRITE_H
#define ZD_SLICE_SLICE_WRITE_H

#include "server/data/survey.h"
#include "server/request/task.h"
#include "server/slice/slice_append.h"
#include "server/slice/slice_bands.h"
#include "server/slice/slice_view.h"
#include "server/write/commit.h"
#include "server/write/lock.h"

/** The state of a request that writes a slice. */
struct zd_slice_write {
    struct zd_task task;            /* adds a band to `written` */
    zd_step *respond;               /* runs when all is stored: in order, or as a dry run */
    const struct zd_format *format; /* of the body */
    struct zd_slice_params ask;
    struct zd_node *node; /* the array; of an append as it is going to be; a reference */
    struct zd_slice_append append;
    struct zd_selection asked;     /* as the client counts */
    struct zd_selection selection; /* the same elements in the stored array */
    struct zd_edit_counts counts;  /* what became of the chunks */
    /* its own */
    struct zd_machine_place place;
    bool is_conditional; /* the objects must be as they were surveyed */
    struct zd_error err; /* of a step that has failed */
    const char *code;    /* of its problem, where the status says too little; or NULL */
    struct zd_node_lock lock;
    struct zd_slice_body body;
    struct zd_seen_objects seen;
    struct zd_survey survey;
    struct zd_slice_bands bands;
    struct zd_written written; /* what extensions must know before it is stored */
    struct zd_commit commit;
};

/**
 * Make the state of the request. The caller sets `ask`, then the request goes on with
 * zd_slice_write_step. When the request ends, what has not begun is given up, and what is being
 * committed goes on.
 * @return NULL: the request is answered, for want of memory
 */
struct zd_slice_write *zd_slice_write_new(
    struct zd_request *req, const struct zd_format *format, zd_step *respond);

/** The request's step until it is answered, or `respond` is to answer it. */
zd_step zd_slice_write_step;

/** The tag of the stored slice, in the body's format. */
void zd_slice_write_tag(const struct zd_slice_write *write, char to[ZD_TAG_BYTES]);

#endif
