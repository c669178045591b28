/* Reading elements of one state of an array: what slices and statistics have in common. Thread:
 * loop.
 *
 *     [survey] -> [conditions] -> begin -> chunks -> work -> chunks -> ... -> worked
 *         ^                         ^                |
 *         +---- an object was replaced meanwhile ----+
 */
#ifndef ZD_SLICE_SLICE_READ_H
#define ZD_SLICE_SLICE_READ_H

#include "server/data/fetch.h"
#include "server/data/multiscale.h"
#include "server/data/survey.h"
#include "server/describe/headers.h"
#include "server/request/task.h"
#include "server/slice/slice_params.h"
#include "server/slice/slice_select.h"
#include "server/slice/slice_view.h"

struct zd_slice_estimate;
struct zd_slice_read;
struct zd_slice_levels;

/** Differences between slices and statistics. */
struct zd_slice_read_kind {
    void (*work)(struct zd_task *task);    /* on the chunks that have arrived; as of zd_task */
    void (*release)(struct zd_task *task); /* frees the state; as of zd_task */
    uint64_t (*cost_ns)(const struct zd_slice_read *read); /* of the work that is next */
    zd_step *plan;   /* the node is known, after zd_slice_read_want_level; or NULL */
    bool shrinks;    /* an answer is made smaller where no level is small enough */
    zd_step *begin;  /* reads from the start, or again */
    zd_step *worked; /* all chunks of the fetch are done */
    /** The answer without its body; headers are borrowed from the state. @retval ZD_NO_MEMORY */
    ZD_RESULT (*describe)(
        struct zd_slice_read *read, struct zd_representation *ret_answer, struct zd_error *err);
    /** The conditions of the request hold: goes on. */
    enum zd_next (*accept)(struct zd_request *req, const struct zd_representation *answer);
    /** Whether it can be read again from the start; NULL: it always can. @retval ZD_STORE */
    ZD_RESULT (*restart)(const struct zd_slice_read *read, struct zd_error *err);
    zd_step *again; /* what runs then; NULL: begin, after a survey where there was one */
};

/** The first member of a request's state. */
struct zd_slice_read {
    struct zd_task task; /* first */
    const struct zd_slice_read_kind *kind;
    struct zd_node *node; /* a reference */
    struct zd_slice_params ask;
    struct zd_selection asked;      /* as the client counts */
    struct zd_selection selection;  /* the same elements in the stored array */
    struct zd_slice_select *select; /* that finds both, where isel or sel is given; owned */
    struct zd_seen_objects seen;
    struct zd_survey survey;
    struct zd_slice_estimate *price; /* of plan=1 (server/slice/slice_estimate.h); owned, or NULL */
    void (*price_free)(struct zd_slice_estimate *price);
    struct zd_fetch fetch; /* the caller's to free */
    struct zd_headers headers;
    struct zd_multiscale multiscale; /* of a group that has levels */
    struct zd_slice_levels *levels;  /* while they are counted; owned */
    bool is_surveyed;                /* the generations were asked for before anything is read */
    bool is_tagless; /* the array changes all the time: the answer has no entity tag */
    uint32_t n_restarts;
};

/** Begin: makes it the state of the request, with a reference to its node. @param read zeroed, but
 * for its fetch */
void zd_slice_read_init(
    struct zd_slice_read *read, struct zd_request *req, const struct zd_slice_read_kind *kind);

/** The request ends, as of req->state_free: for a state that has more to leave. */
void zd_slice_read_leave(struct zd_request *req);

/** The request has ended, or goes on without it: stops waiting, and releases it. */
void zd_slice_read_end(struct zd_slice_read *read);

/** Release all but the memory of the fetch. */
void zd_slice_read_done(struct zd_slice_read *read);

/** The request's state, after that. */
static inline struct zd_slice_read *zd_slice_read_of(const struct zd_request *req)
{
    return req->state;
}

/**
 * Once the parameters are read: make the chosen level of a multiscale group the node of the slice
 * and of the request, and go on with kind->plan.
 * @return what the step returns; ZD_DONE: answered with a problem
 */
enum zd_next zd_slice_read_want_level(struct zd_slice_read *read);

/** The slice that is read; borrowed from it. */
static inline struct zd_slice_view zd_slice_read_view(const struct zd_slice_read *read)
{
    return (struct zd_slice_view){
        .node = read->node,
        .asked = &read->asked,
        .selection = &read->selection,
        .seen = &read->seen,
    };
}

/** Parse the selection of `ask`, unless isel or sel was given: then it was found before kind->plan.
 * @param ret_code the problem code of a failure */
ZD_RESULT zd_slice_read_select(
    struct zd_slice_read *read, const char **ret_code, struct zd_error *err);

/** A step: asks for the generations of all objects, judges the conditions and goes on with
 * kind->accept, or answers. */
enum zd_next zd_slice_read_survey(struct zd_request *req);

/** Survey first for clients that only want the entity tag, or compare it; go on with `read` for the
 * others. @return what the step returns */
enum zd_next zd_slice_read_tag(struct zd_request *req, zd_step *read);

/** A step: asks for the next chunks of the fetch, works on them, and goes on with kind->worked. */
enum zd_next zd_slice_read_chunks(struct zd_request *req);

#endif
