/* Asking the store for the state of many objects, some at a time. Thread: loop. */
#ifndef ZD_DATA_SURVEY_H
#define ZD_DATA_SURVEY_H

#include "core/grid/plan.h"
#include "server/data/node.h"
#include "server/data/object_cache.h"
#include "server/data/seen_objects.h"
#include "server/runtime/gather.h"

/** A walk over the stored objects of the chunks that a plan names. */
struct zd_survey {
    struct zd_gather gather;
    struct zd_node *node;        /* borrowed */
    struct zd_plan plan;         /* part.chunk: the index of a stored object (level 0) */
    struct zd_object_want *want; /* n_want of them; owned */
    uint64_t *object;            /* the number of each among `seen`; owned */
    uint32_t n_want;
    uint32_t n_asked; /* want[0 .. n_asked) are under way or answered */
    uint64_t number;  /* of want[0], in the order of the plan */
    bool is_done;
    uint64_t checked_ms; /* out: loop time when the store was asked about the first of them */
    bool has_changed;    /* out: `seen` had one of them in another generation */
    /* set after zd_survey_init */
    bool is_fresh;                /* what the caches know of the objects is not trusted */
    struct zd_seen_objects *seen; /* gets each object; borrowed; or NULL, and then */
    /** runs for each object in the order of the plan, of a list as often as it comes to one;
     * generation zero = absent. */
    void (*see)(struct zd_survey *survey, uint64_t number, struct zd_generation generation);
};

/**
 * Begin.
 *
 * @param machine goes on when a round has arrived
 * @param grid, selection borrowed until zd_survey_done: the grid of level 0, or a grid of which
 * each element is a chunk of level 0
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_survey_init(struct zd_survey *survey, struct zd_machine *machine, struct zd_node *node,
    const struct zd_grid *grid, const struct zd_selection *selection, struct zd_error *err);
void zd_survey_done(struct zd_survey *survey); /* stops waiting; accepts a zeroed one */

/**
 * Do a round: a step calls it until is_done.
 *
 * @param ret_next what the step returns while it is not done
 * @retval ZD_STORE ... the store could not tell the state of an object
 */
ZD_RESULT zd_survey_round(struct zd_survey *survey, enum zd_next *ret_next, struct zd_error *err);

#endif
