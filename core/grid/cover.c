/* Covering a selection by smaller ones that begin and end with chunks. */
#include "core/grid/cover.h"

#include "core/base/num.h"

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return ckd_mul(&product, a, b) ? UINT64_MAX : product;
}

static bool fits(const struct zd_cover *cover, const struct zd_cover_limits *limits)
{
    uint64_t n_elements = 1;
    uint64_t n_chunks = 1;
    for (uint32_t d = 0; d < cover->whole.rank; d++) {
        const struct zd_touch *touch = &cover->touch[d];
        const uint64_t n = cover->n_per_piece[d];
        const uint64_t inner =
            limits->ratio == NULL ? 1 : zd_min_u64(limits->ratio[d], touch->per_chunk_max);
        n_elements =
            times(n_elements, zd_min_u64(touch->axis.count, times(n, touch->per_chunk_max)));
        n_chunks = times(n_chunks, times(n, inner));
    }
    return n_elements <= limits->elements_max && n_chunks <= limits->chunks_max;
}

/* The most chunks of dimension d that a piece may have while the other dimensions stay. */
static void widen(struct zd_cover *cover, uint32_t d, const struct zd_cover_limits *limits)
{
    uint64_t good = 1;
    uint64_t bad = cover->touch[d].n; /* all of them did not fit */
    while (bad - good > 1) {
        cover->n_per_piece[d] = good + (bad - good) / 2;
        if (fits(cover, limits)) {
            good = cover->n_per_piece[d];
        } else {
            bad = cover->n_per_piece[d];
        }
    }
    cover->n_per_piece[d] = good;
}

bool zd_cover_init(struct zd_cover *cover, const struct zd_grid *grid,
    const struct zd_selection *selection, const struct zd_cover_limits *limits)
{
    *cover = (struct zd_cover){.whole = *selection};
    for (uint32_t d = 0; d < selection->rank; d++) {
        cover->touch[d] = zd_touch_of(grid, selection, d);
        cover->n_per_piece[d] = cover->touch[d].n;
        assert(cover->touch[d].n > 0);
    }
    for (uint32_t d = 0; d < selection->rank && !fits(cover, limits); d++) {
        cover->n_per_piece[d] = 1;
        if (fits(cover, limits)) {
            widen(cover, d, limits);
        }
    }
    return fits(cover, limits);
}

uint64_t zd_cover_count(const struct zd_cover *cover)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < cover->whole.rank; d++) {
        n = times(n, zd_div_up(cover->touch[d].n, cover->n_per_piece[d]));
    }
    return n;
}

static void cut_axis(const struct zd_cover *cover, uint32_t d, struct zd_axis *axis)
{
    const struct zd_touch *touch = &cover->touch[d];
    const uint64_t begin = cover->next[d];
    const uint64_t end = begin + zd_min_u64(cover->n_per_piece[d], touch->n - begin);
    const uint64_t first = zd_touch_first(touch, begin);
    axis->count = zd_touch_first(touch, end) - first;
    axis->start = zd_axis_at(&touch->axis, first);
    if (end < touch->n) {
        axis->slack = 0;
    }
}

bool zd_cover_next(struct zd_cover *cover, struct zd_selection *ret_piece)
{
    if (cover->done) {
        return false;
    }
    *ret_piece = cover->whole;
    for (uint32_t d = 0; d < cover->whole.rank; d++) {
        cut_axis(cover, d, &ret_piece->axis[d]);
    }
    cover->done = true;
    for (uint32_t d = cover->whole.rank; d > 0 && cover->done; d--) {
        uint64_t *next = &cover->next[d - 1];
        const uint64_t n_left = cover->touch[d - 1].n - *next;
        cover->done = n_left <= cover->n_per_piece[d - 1];
        *next = cover->done ? 0 : *next + cover->n_per_piece[d - 1];
    }
    return true;
}
