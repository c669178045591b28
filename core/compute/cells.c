/* Boxes of elements into cells: dimensions that can be gone through as one are joined, and of those
 * that are left the last one is a run. */
#include "core/compute/cells.h"

#include <string.h>

#define LOT             512
#define SHORT_BLOCK_MAX 16

/* Runs of elements that are added one after the other. */
struct run {
    struct zd_reduce *reduce;
    const struct zd_cf_decode *decode;
    uint32_t element_bytes;
    uint8_t decoded[LOT * ZD_CF_DECODE_ELEMENT_MAX];
    uint8_t every[LOT * ZD_CF_DECODE_ELEMENT_MAX]; /* one element of each short block */
};

/* ---- dimensions joined ---- */

static bool can_join(const struct zd_cells_dim *outer, const struct zd_cells_dim *inner)
{
    if (outer->block == ZD_CELLS_ALL || inner->block == ZD_CELLS_ALL) {
        return outer->block == inner->block;
    }
    return outer->block == 1 && inner->block == 1 && inner->first == 0 &&
           outer->stride == inner->count * inner->stride;
}

/* @param ret_cell where the cells of the box begin */
static struct zd_cells joined(const struct zd_cells *cells, uint64_t *ret_cell)
{
    struct zd_cells found = {0};
    *ret_cell = 0;
    for (uint32_t d = cells->rank; d-- > 0;) {
        const struct zd_cells_dim *dim = &cells->dim[d];
        struct zd_cells_dim *inner = found.rank == 0 ? NULL : &found.dim[found.rank - 1];
        if (dim->count == 1) {
            *ret_cell += dim->block == ZD_CELLS_ALL ? 0 : dim->first / dim->block * dim->stride;
        } else if (inner != NULL && can_join(dim, inner)) {
            inner->first = dim->first * inner->count;
            inner->count *= dim->count;
        } else {
            found.dim[found.rank++] = *dim;
        }
    }
    return found; /* the innermost comes first */
}

/* ---- runs ---- */

/* At most LOT elements, decoded. @return NULL: one cannot be */
static const uint8_t *decoded(struct run *run, const uint8_t *from, uint64_t n)
{
    uint64_t place;
    if (run->decode == NULL) {
        return from;
    }
    return zd_cf_decode_run(run->decode, from, n, run->decoded, &place) ? run->decoded : NULL;
}

/* Every block-th element. */
static void take_every(
    uint8_t *to, const uint8_t *from, uint32_t element_bytes, uint64_t block, uint64_t n)
{
    switch (element_bytes) {
    case 4:
        for (uint64_t i = 0; i < n; i++) {
            memcpy(to + i * 4, from + i * block * 4, 4);
        }
        return;
    case 8:
        for (uint64_t i = 0; i < n; i++) {
            memcpy(to + i * 8, from + i * block * 8, 8);
        }
        return;
    default:
        for (uint64_t i = 0; i < n; i++) {
            memcpy(to + i * element_bytes, from + i * block * element_bytes, element_bytes);
        }
    }
}

/* Whole blocks of few elements: of all of them the first elements go to their cells, then the
 * second ones. */
static void add_short_blocks(
    struct run *run, uint64_t block, uint64_t cell, const uint8_t *from, uint64_t n_blocks)
{
    const uint32_t bytes = run->reduce->from.bytes;
    for (uint64_t k = 0; k < block; k++) {
        take_every(run->every, from + k * bytes, bytes, block, n_blocks);
        zd_reduce_add_each(run->reduce, cell, run->every, n_blocks);
    }
}

static bool has_short_blocks(const struct zd_cells_dim *dim)
{
    return dim->block > 1 && dim->block <= SHORT_BLOCK_MAX && dim->stride == 1;
}

/* At most LOT elements, of one cell, of one each, or whole blocks. */
static bool add_lot(
    struct run *run, const struct zd_cells_dim *dim, uint64_t cell, const uint8_t *from, uint64_t n)
{
    const uint8_t *elements = decoded(run, from, n);
    if (elements == NULL) {
        return false;
    }
    if (dim->block == 1) {
        zd_reduce_add_each(run->reduce, cell, elements, n);
    } else if (n > dim->block) {
        add_short_blocks(run, dim->block, cell, elements, n / dim->block);
    } else {
        zd_reduce_add_all(run->reduce, cell, elements, n);
    }
    return true;
}

/* How many elements of a run from i on go together. */
static uint64_t count_together(const struct zd_cells_dim *dim, uint64_t i)
{
    uint64_t n = zd_min_u64(LOT, dim->count - i);
    if (dim->block == 1 && dim->stride != 1) {
        return 1; /* a column of the box, whose cells are not neighbours */
    }
    if (dim->block == 1 || dim->block == ZD_CELLS_ALL) {
        return n;
    }
    const uint64_t behind = (dim->first + i) % dim->block;
    if (behind == 0 && has_short_blocks(dim) && n > dim->block) {
        return n / dim->block * dim->block;
    }
    return zd_min_u64(n, dim->block - behind);
}

static bool add_run(struct run *run, const struct zd_cells_dim *dim, uint64_t cell,
    const uint8_t *from, uint64_t *ret_cell)
{
    for (uint64_t i = 0; i < dim->count;) {
        const uint64_t n = count_together(dim, i);
        const uint64_t to =
            dim->block == ZD_CELLS_ALL ? cell : cell + (dim->first + i) / dim->block * dim->stride;
        if (!add_lot(run, dim, to, from + i * run->element_bytes, n)) {
            *ret_cell = to;
            return false;
        }
        i += n;
    }
    return true;
}

/* ---- boxes ---- */

/* The cell where a run begins whose outer indices are these. */
static uint64_t cell_at(const struct zd_cells *cells, const uint64_t *index)
{
    uint64_t cell = 0;
    for (uint32_t d = 1; d < cells->rank; d++) {
        const struct zd_cells_dim *dim = &cells->dim[d];
        cell += dim->block == ZD_CELLS_ALL ? 0 : (dim->first + index[d]) / dim->block * dim->stride;
    }
    return cell;
}

static bool next_index(const struct zd_cells *cells, uint64_t *index)
{
    for (uint32_t d = 1; d < cells->rank; d++) {
        index[d]++;
        if (index[d] < cells->dim[d].count) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

bool zd_cells_add(const struct zd_cells *cells, struct zd_reduce *reduce,
    const struct zd_cf_decode *decode, const uint8_t *elements, uint64_t *ret_cell)
{
    uint64_t base;
    uint64_t index[ZD_RANK_MAX] = {0};
    struct zd_cells box = joined(cells, &base);
    struct run run = {
        .reduce = reduce,
        .decode = decode,
        .element_bytes = decode != NULL ? decode->stored.bytes : reduce->from.bytes,
    };
    if (box.rank == 0) { /* one element */
        box = (struct zd_cells){.rank = 1, .dim = {{.count = 1, .block = 1, .stride = 1}}};
    }
    const uint64_t run_bytes = box.dim[0].count * run.element_bytes;
    do {
        if (!add_run(&run, &box.dim[0], base + cell_at(&box, index), elements, ret_cell)) {
            return false;
        }
        elements += run_bytes;
    } while (next_index(&box, index));
    return true;
}
