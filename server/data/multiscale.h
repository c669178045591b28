/* The arrays through which a group can be sliced (example.multiscale-arrays, OME-NGFF): look-up and
 * checks. Thread: loop. */
#ifndef ZD_DATA_MULTISCALE_H
#define ZD_DATA_MULTISCALE_H

#include "server/data/catalog.h"
#include "server/data/reader.h"

/** A group's levels, as its view names them. Starts zeroed. */
struct zd_multiscale {
    struct zd_wait wait;     /* status: ZD_OK, or why it is unknown whether all levels are there */
    struct zd_reader reader; /* in: of its levels; it may read the group */
    struct zd_node **node;   /* out: n of them, a reference each; NULL: there is none, or the reader
                                may not read it */
    uint32_t n;
    uint64_t tag;        /* out: of all of them, a part of entity tags */
    uint64_t checked_ms; /* out: loop time when the store was asked about the first */
    /* its own */
    struct zd_machine machine;
    struct zd_dataset *dataset; /* borrowed */
    const char *group;          /* its path; borrowed */
    struct zd_meta *meta;       /* its, a reference */
    bool is_fresh;              /* ask the store now, whatever is trusted */
    bool is_asking;             /* for node[n_taken] */
    uint32_t n_taken;
    struct zd_node_want want;
};

/** Whether a node is a group that can be sliced. */
static inline bool zd_multiscale_has(const struct zd_meta *meta)
{
    return meta->type == ZD_NODE_GROUP && !zd_meta_is_refused(meta) && meta->view.n_levels > 0;
}

/**
 * Look them up.
 * @param multiscale its wait's done is set, and its reader
 * @param group      zd_multiscale_has its meta; its path is borrowed until they are released
 */
enum zd_next zd_multiscale_want(struct zd_multiscale *multiscale, struct zd_node *group);

/** The same for a group that is about to be stored, and the store is asked now. */
enum zd_next zd_multiscale_want_fresh(struct zd_multiscale *multiscale, struct zd_dataset *dataset,
    const char *group, struct zd_meta *meta);

/** Stop waiting, and release what was found. Accepts a zeroed one. */
void zd_multiscale_release(struct zd_multiscale *multiscale);

/** The path of a level in the dataset. */
enum zd_status zd_multiscale_add_path(const char *group, const char *level, struct zd_text *path);

/** Whether the reader may not read a level. @param i less than n_levels of the group's view */
bool zd_multiscale_hides(const struct zd_multiscale *multiscale, uint32_t i);

/** Add a fault for every level that is not an array, and that the reader may read. */
void zd_multiscale_judge(
    const struct zd_multiscale *multiscale, enum zd_severity severity, struct zd_faults *faults);

#endif
