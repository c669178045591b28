/* Copying a box of elements between two memories in which its axes lie differently. */
#ifndef ZD_CORE_CODEC_STRIDED_H
#define ZD_CORE_CODEC_STRIDED_H

#include "core/grid/selection.h"

/** A box: runs of bytes that lie together on both sides, counted along some axes. */
struct zd_strided {
    uint32_t rank;
    uint64_t count[ZD_RANK_MAX]; /* along each axis; each >= 1 */
    uint64_t to[ZD_RANK_MAX];    /* bytes between neighbours, in the target */
    int64_t from[ZD_RANK_MAX];   /* bytes between neighbours, in the source; may be negative or 0 */
    uint64_t run_bytes;          /* of one element at first; of a run after zd_strided_fold */
};

/** Bytes between neighbours of a dense box in C order; no product overflows (the caller checked).
 */
void zd_strided_dense(
    uint32_t rank, const uint64_t *shape, uint64_t element_bytes, uint64_t ret_stride[ZD_RANK_MAX]);

/** The same box with as few axes and as long runs as can be. Once, before many copies. */
void zd_strided_fold(struct zd_strided *box);

/** Copy; the memories do not overlap. Thread: any. */
void zd_strided_copy(const struct zd_strided *box, uint8_t *to, const uint8_t *from);

#endif
