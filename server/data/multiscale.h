/* The arrays through which a group can be sliced: looked up, and one of them chosen
 * (example.multiscale-arrays). Thread: loop. */
#ifndef ZD_DATA_MULTISCALE_H
#define ZD_DATA_MULTISCALE_H

#include "server/data/catalog.h"

/** A group's levels, as its view names them. Starts zeroed. */
struct zd_multiscale {
    struct zd_node **node; /* out: n of them, a reference each; NULL: there is none */
    uint32_t n;
    uint64_t tag;          /* out: of all of them, a part of entity tags */
    uint64_t checked_ms;   /* out: when the store was asked about the first, loop time */
    enum zd_status status; /* out: ZD_OK, or why it is not known whether they are there */
    struct zd_error err;
    /* its own */
    struct zd_dataset *dataset; /* borrowed */
    const char *group;          /* its path; borrowed */
    struct zd_meta *meta;       /* its, a reference */
    bool is_fresh;              /* what the store says now, not what was trusted */
    uint32_t n_asked;
    struct zd_node_want want;
    void (*done)(void *context);
    void *context;
};

/** Whether a node is a group that can be sliced. */
static inline bool zd_multiscale_has(const struct zd_meta *meta)
{
    return meta->type == ZD_NODE_GROUP && !zd_meta_is_refused(meta) && meta->view.n_levels > 0;
}

/**
 * Look them up.
 * @param group zd_multiscale_has its meta; its path is borrowed until they are released
 * @param done  when it is over, unless that is told at once
 * @return ZD_NEXT: over; ZD_WAIT: done will run
 */
enum zd_next zd_multiscale_want(struct zd_multiscale *scales, struct zd_node *group,
    void (*done)(void *context), void *context);

/** The same for a group as it is to be stored, and from what the store says now. */
enum zd_next zd_multiscale_want_fresh(struct zd_multiscale *scales, struct zd_dataset *dataset,
    const char *group, struct zd_meta *meta, void (*done)(void *context), void *context);

/** Stop looking, and give back what was found. Accepts a zeroed one. */
void zd_multiscale_release(struct zd_multiscale *scales);

/** The path of a level in the dataset. */
enum zd_status zd_multiscale_add_path(const char *group, const char *level, struct zd_text *path);

/** Say of every level that is no array what is wrong. */
void zd_multiscale_judge(
    const struct zd_multiscale *scales, enum zd_severity severity, struct zd_faults *faults);

#endif
