/* Bands: a selection cut along C order. A band fixes the leading dimensions, takes a run of one
 * and all of those behind it:
 *
 *     position      [ 3, 40,  0,  0 ]      dimension 1 is the run: whatever follows it
 *     band          [ 3, 40:60, :, : ]     begins at 0 and fits as a whole
 */
#include "core/grid/band.h"

#include "core/base/num.h"

void zd_bands_init(struct zd_bands *bands, const struct zd_grid *grid,
    const struct zd_selection *selection, uint64_t begin, uint64_t end, uint64_t n_elements_max)
{
    assert(grid->rank == selection->rank);
    assert(n_elements_max >= 1);
    *bands = (struct zd_bands){
        .grid = grid,
        .selection = selection,
        .next = begin,
        .end = end,
        .n_elements_max = n_elements_max,
    };
}

/* Where the next band begins, and what it may hold. */
struct place {
    uint64_t at[ZD_RANK_MAX];    /* position along each dimension of the result */
    uint64_t inner[ZD_RANK_MAX]; /* elements of one step along each dimension */
    uint64_t n_elements_max;
};

static struct place place_of(const struct zd_bands *bands)
{
    struct place place = {
        .n_elements_max = zd_min_u64(bands->n_elements_max, bands->end - bands->next)};
    uint64_t inner = 1;
    uint64_t left = bands->next;
    for (uint32_t d = bands->selection->rank; d-- > 0;) {
        const uint64_t count = bands->selection->axis[d].count;
        place.at[d] = left % count;
        place.inner[d] = inner;
        left /= count;
        inner *= count; /* fits: the element count of the whole does */
    }
    return place;
}

/* The first dimension of which whole steps fit. */
static uint32_t run_dim(const struct place *place, uint32_t rank, uint64_t next)
{
    uint32_t dim = 0;
    while (dim + 1 < rank &&
           (next % place->inner[dim] != 0 || place->inner[dim] > place->n_elements_max)) {
        dim++;
    }
    return dim;
}

/* How much of a run of n from position `at` is left when it ends where a chunk begins; n when no
 * chunk begins within it. */
static uint64_t cut_at_chunk(const struct zd_bands *bands, uint32_t dim, uint64_t at, uint64_t n)
{
    const struct zd_axis *axis = &bands->selection->axis[dim];
    if (axis->list != NULL) {
        return n;
    }
    const uint64_t x = zd_axis_at(axis, at + n); /* the first element that is left out */
    const struct zd_cell cell = zd_grid_cell_at(bands->grid, dim, x);
    const uint64_t from = x - cell.origin;
    const uint64_t behind = axis->step < 0 ? cell.edge - 1 - from : from;
    const uint64_t n_shared = behind / zd_axis_stride(axis); /* in its chunk, before it */
    return n_shared < n ? n - n_shared : n;
}

static struct zd_axis run_of(const struct zd_axis *axis, uint64_t at, uint64_t n)
{
    struct zd_axis run = *axis;
    run.start = zd_axis_at(axis, at);
    run.count = n;
    run.list = axis->list == NULL ? NULL : axis->list + at;
    if (at + n < axis->count) {
        run.slack = 0;
    }
    return run;
}

bool zd_bands_next(struct zd_bands *bands, struct zd_band *ret_band)
{
    if (bands->next >= bands->end) {
        return false;
    }
    const struct zd_selection *selection = bands->selection;
    const struct place place = place_of(bands);
    *ret_band = (struct zd_band){.selection = *selection, .first = bands->next, .n_elements = 1};
    if (selection->rank > 0) {
        const uint32_t dim = run_dim(&place, selection->rank, bands->next);
        const uint64_t n_left = selection->axis[dim].count - place.at[dim];
        uint64_t n = zd_min_u64(n_left, place.n_elements_max / place.inner[dim]);
        if (n < n_left && n * place.inner[dim] < bands->end - bands->next) {
            n = cut_at_chunk(bands, dim, place.at[dim], n);
        }
        for (uint32_t d = 0; d <= dim; d++) {
            ret_band->selection.axis[d] = run_of(&selection->axis[d], place.at[d], d < dim ? 1 : n);
        }
        for (uint32_t d = 1; d < selection->rank && selection->axis[d].is_joint; d++) {
            ret_band->selection.axis[d].list += place.at[0];
        }
        ret_band->n_elements = n * place.inner[dim];
    }
    bands->next += ret_band->n_elements;
    return true;
}
