/* The elements of a slice that is written, band by band: how many are held in memory, and which go
 * to each stored object.
 *
 *     body --> [ band: rows of stored objects ] --> one edit an object
 *
 * Thread: loop. */
#ifndef ZD_SLICE_SLICE_BANDS_H
#define ZD_SLICE_SLICE_BANDS_H

#include "core/grid/band.h"
#include "server/write/edit.h"

struct zd_slice_bands {
    /* in: borrowed until zd_slice_bands_done */
    struct zd_node *node;
    const struct zd_selection *selection; /* in the stored array */
    bool is_broadcast;                    /* one element for all: a single band of one */
    bool is_conditional;                  /* the objects must be as they were seen */
    bool keeps_empty;                     /* as in struct zd_edit */
    uint64_t flight_bytes;                /* of rewrites that are under way at once */
    uint64_t variable_bytes;              /* that elements of variable length have at the most */
    /* out, of zd_slice_bands_plan */
    bool is_split;      /* there are several bands */
    uint32_t n_at_once; /* objects staged or committed at the same time */
    /* its own */
    struct zd_bands rest;
    struct zd_band band;
    uint64_t n_elements_max; /* of one band */
    uint64_t kept_bytes;     /* elements that are kept until all is committed, when it is split */
    struct zd_buf *elements; /* of the band, or the one for all; owned */
    uint64_t n_cut;          /* objects that have their elements */
};

/**
 * Cut the selection into bands.
 * @retval ZD_TOO_LARGE more than limits.write_bytes would be held; facts limit, requested
 */
ZD_RESULT zd_slice_bands_plan(struct zd_slice_bands *bands, struct zd_error *err);

/** The bytes held at the same time: `seen`, and other_bytes of the write, among them. */
uint64_t zd_slice_bands_held_bytes(
    const struct zd_slice_bands *bands, const struct zd_seen_objects *seen, uint64_t other_bytes);

/** Set up the edits of all objects, which have no elements yet, for workers of that owner. */
void zd_slice_bands_begin(
    const struct zd_slice_bands *bands, struct zd_edit_set *set, struct zd_job_owner owner);

/**
 * The next band: the caller fills `elements`, whose length says how many to read.
 * @param ret_is_over there is none left
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_slice_bands_next(
    struct zd_slice_bands *bands, bool *ret_is_over, struct zd_error *err);

/** The band is read: its objects get their elements. @retval ZD_NO_MEMORY */
ZD_RESULT zd_slice_bands_cut(
    struct zd_slice_bands *bands, struct zd_edit_set *set, struct zd_error *err);

void zd_slice_bands_done(struct zd_slice_bands *bands); /* accepts a zeroed one */

#endif
