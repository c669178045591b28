/* Several slices in one body: arrays of a group (`arrays=`), an array with its coordinates. All of
 * them are of one moment. Thread: loop.
 *
 *     [find the arrays] -> plan each -> coordinates, plan each -> prepare
 *         -> survey -> are the nodes as they were? -> survey, now -> conditions -> kind->accept
 *         ^                                |               |
 *         +------------ one of them has changed -----------+---- while chunks were read
 *
 * What both surveys have seen alike was so between them. Chunks are read behind the second one, and
 * only such as were seen. Then the slices are read one after the other, as single ones are.
 */
#ifndef ZD_SLICE_SLICE_SET_H
#define ZD_SLICE_SLICE_SET_H

#include "server/data/suggest_nodes.h"
#include "server/slice/slice.h"

/** An array of the set. */
struct zd_slice_set_part {
    struct zd_slice *slice; /* NULL: it is not looked up yet */
    char *path;             /* of the array; owned */
    const char *name;       /* in the answer; borrowed from path */
};

/** Slices that share a body, and the steps that make it. */
struct zd_slice_set {
    struct zd_slice_shared shared; /* first */
    struct zd_request *req;        /* borrowed while it lasts */
    struct zd_node *node;          /* that was asked for: a group or an array; a reference */
    const struct zd_slice_read_kind *kind;
    struct zd_slice_set_part *part; /* n_parts of them; owned */
    uint32_t n_parts;
    uint32_t n_named;     /* the first ones; others are coordinates */
    uint32_t current;     /* whose slice is the request's state */
    bool is_of_one;       /* an array, and its coordinates */
    bool has_coordinates; /* they are looked for */
    const struct zd_format *format;
    const struct zd_answer **answer; /* of each part; owned */
    uint64_t length;                 /* of the body; valid when length_is_known */
    bool length_is_known;
    void *state;       /* of the format; owned */
    bool is_read;      /* or being read: */
    uint64_t n_chunks; /* of the slices that are in the body */
    uint64_t n_absent;
    uint64_t picked;    /* a bit for each item of isel and sel whose dimension some array has, */
    uint64_t over;      /* of over, */
    uint64_t coarsened; /* and of coarsen */
    uint32_t n_restarts;
    bool has_changed;     /* between both surveys */
    bool has_other_nodes; /* than it was planned for */

    /* is_of_one, where there are no coordinates: as it was, and goes on with `alone`. */
    zd_step *alone;
    const struct zd_slice_read_kind *alone_kind;
    void (*alone_free)(struct zd_request *req);

    struct zd_node_want want;
    uint32_t dim;   /* of the current part: whose coordinate is looked for */
    size_t len;     /* of the path of the group that is looked in */
    bool is_moving; /* to the next dimension */
    bool is_second; /* survey */
    struct zd_survey survey;
    struct zd_suggest_nodes near; /* of an array that is missing */
};

/**
 * Make the request's state, a slice with its parameters, the first of those that `arrays=` names.
 * @param kind whose plan ends with zd_slice_set_planned, describe is zd_slice_set_describe, again
 * is zd_slice_set_again; it then accepts the conditions
 * @return what the step returns
 */
enum zd_next zd_slice_set_begin(struct zd_slice *slice, const struct zd_slice_read_kind *kind);

/**
 * Make the request's state, a slice that is planned, the first one, before its coordinates.
 * @param alone the step that goes on where there are none: then nothing has changed
 */
enum zd_next zd_slice_set_adopt(
    struct zd_slice *slice, const struct zd_slice_read_kind *kind, zd_step *alone);

/** A step: the current slice is planned. */
zd_step zd_slice_set_planned;

/** A step: something has changed since it was surveyed. */
zd_step zd_slice_set_again;

/** Whether an element that could not be made is a time that becomes a number when all is planned
 * again. */
bool zd_slice_set_leave_times(struct zd_request *req);

/** A hook of zd_slice_read_kind. */
ZD_RESULT zd_slice_set_describe(
    struct zd_slice_read *read, struct zd_representation *ret_answer, struct zd_error *err);

/** The memory that making the body takes; of a streamed body, its window. */
uint64_t zd_slice_set_held_bytes(const struct zd_request *req);

/** Begin the body (again): the first slice becomes the state. @retval ZD_NO_MEMORY @retval
 * ZD_UNSUPPORTED, ZD_TOO_LARGE the format cannot express them together */
ZD_RESULT zd_slice_set_open(struct zd_request *req, struct zd_error *err);

/** The current slice is in the body: the next one becomes the state. @return false: it was the last
 */
bool zd_slice_set_next(struct zd_request *req);

/* ---- between its files ---- */

/** The set of the request's state. */
struct zd_slice_set *zd_slice_set_of(const struct zd_request *req);

/** Slice i becomes the request's state, and its array the request's node. */
struct zd_slice *zd_slice_set_take(struct zd_slice_set *set, uint32_t i);

/** A step: all arrays are known and planned: what they are together. */
zd_step zd_slice_set_prepare;

/** A step: that they are of one moment. */
zd_step zd_slice_set_survey;

/** Plan all arrays (again); the coordinates are let go. @return what the step returns */
enum zd_next zd_slice_set_plan(struct zd_slice_set *set);

/** A single array without coordinates is an ordinary slice. @return what the step returns
 */
enum zd_next zd_slice_set_go_alone(struct zd_slice_set *set);

/** Another state of the node of a part. */
void zd_slice_set_put(struct zd_slice_set *set, uint32_t i, struct zd_node *node);

/** Answer that there is no such array. @return what the step returns */
enum zd_next zd_slice_set_refuse_missing(struct zd_slice_set *set, uint32_t i);

/** Keep the requested dimensions that the array has. */
void zd_slice_set_keep_dims(
    struct zd_slice_set *set, struct zd_slice_params *ask, const struct zd_meta *meta);

/** All arrays are known: whether each dimension that is named is one of some array. @param ask as
 * it was sent @retval ZD_INVALID facts name, found */
ZD_RESULT zd_slice_set_check_dims(
    const struct zd_slice_set *set, const struct zd_slice_params *ask, struct zd_error *err);

/** Answer with that. */
enum zd_next zd_slice_set_refuse_dims(const struct zd_slice_set *set, const struct zd_error *err);

/** Free the answers and what the format has made of them. */
void zd_slice_set_close(struct zd_slice_set *set);

#endif
