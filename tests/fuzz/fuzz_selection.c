/* Slices against any shape: the first line is the shape ("20 50 9"), the rest is the slice. What is
 * accepted lies inside the shape, and its canonical form selects the same. */
#include "core/base/num.h"
#include "core/grid/band.h"
#include "core/grid/plan.h"
#include "tests/fuzz/input.h"

#define STEPS_MAX      100 /* of an iterator over what may be 2^64 parts */
#define CANONICAL_MAX  4096
#define BAND_ELEMENTS  1000
#define CHUNK_ELEMENTS 7

static bool parse_shape(struct zd_scan *scan, uint32_t *ret_rank, uint64_t *ret_shape)
{
    *ret_rank = 0;
    while (!zd_scan_char(scan, '\n')) {
        zd_scan_skip_spaces(scan);
        if (*ret_rank == ZD_RANK_MAX ||
            zd_scan_u64(scan, UINT64_MAX, &ret_shape[*ret_rank]) != ZD_OK) {
            return false;
        }
        ++*ret_rank;
    }
    return true;
}

static void check_axes(const struct zd_selection *selection, const uint64_t *shape)
{
    for (uint32_t d = 0; d < selection->rank; d++) {
        const struct zd_axis *axis = &selection->axis[d];
        zd_fuzz_insist(axis->step != 0 && axis->step != INT64_MIN);
        zd_fuzz_insist(!axis->dropped || axis->count == 1);
        if (axis->count == 0) {
            continue;
        }
        zd_fuzz_insist(axis->start < shape[d]);
        zd_fuzz_insist((axis->count - 1) <= (shape[d] - 1) / zd_axis_stride(axis));
        zd_fuzz_insist(zd_axis_at(axis, axis->count - 1) < shape[d]);
    }
}

static void check_canonical(const struct zd_selection *selection, const uint64_t *shape)
{
    ZD_SCOPED_TEXT(text, CANONICAL_MAX);
    zd_fuzz_insist(zd_selection_add(selection, &text) == ZD_OK);
    struct zd_selection again;
    zd_fuzz_insist(
        zd_selection_parse(zd_text_span(&text), selection->rank, shape, &again, NULL) == ZD_OK);
    for (uint32_t d = 0; d < selection->rank; d++) {
        const struct zd_axis *a = &selection->axis[d];
        const struct zd_axis *b = &again.axis[d];
        zd_fuzz_insist(a->start == b->start && a->count == b->count && a->step == b->step);
        zd_fuzz_insist(a->slack == b->slack && a->dropped == b->dropped);
    }
}

static void walk(const struct zd_grid *grid, const struct zd_selection *selection)
{
    struct zd_plan plan;
    struct zd_part part;
    zd_plan_init(&plan, grid, selection);
    for (int i = 0; i < STEPS_MAX && zd_plan_next(&plan, &part); i++) {
        zd_fuzz_insist(zd_grid_check(grid, part.chunk, NULL) == ZD_OK);
    }
    uint64_t n_elements = 0;
    if (zd_selection_overflows(selection, &n_elements)) {
        return;
    }
    struct zd_bands bands;
    struct zd_band band;
    zd_bands_init(&bands, grid, selection, 0, n_elements, BAND_ELEMENTS);
    for (int i = 0; i < STEPS_MAX && zd_bands_next(&bands, &band); i++) {
        zd_fuzz_insist(band.n_elements >= 1 && band.n_elements <= BAND_ELEMENTS);
        check_axes(&band.selection, grid->shape);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_scan scan = zd_scan_of((struct zd_span){.ptr = data, .len = len});
    struct zd_grid grid = {0};
    if (!parse_shape(&scan, &grid.rank, grid.shape)) {
        return 0;
    }
    const size_t n_read = zd_scan_position(&scan);
    const struct zd_span text = {.ptr = data + n_read, .len = len - n_read};
    struct zd_selection selection;
    struct zd_error err = {0};
    if (zd_selection_parse(text, grid.rank, grid.shape, &selection, &err) != ZD_OK) {
        zd_fuzz_insist((err.facts.set & ZD_FACT_POSITION) != 0 && err.facts.position <= text.len);
        return 0;
    }
    check_axes(&selection, grid.shape);
    check_canonical(&selection, grid.shape);
    for (uint32_t d = 0; d < grid.rank; d++) {
        grid.chunk[d] = CHUNK_ELEMENTS;
    }
    walk(&grid, &selection);
    return 0;
}
