/* Lists of indices, and points. */
#include "server/slice/slice_lists.h"

#include <string.h>

#include "core/base/num.h"
#include "server/request/body.h"

void zd_slice_lists_done(struct zd_slice_lists *lists)
{
    zd_free(lists->number);
    zd_free(lists->place);
    *lists = (struct zd_slice_lists){0};
}

/* Room for n more numbers. */
static enum zd_status reserve(struct zd_slice_lists *lists, uint64_t n, struct zd_error *err)
{
    const uint64_t all = lists->n_numbers + n; /* a body has not so many */
    int64_t *number = zd_realloc(lists->number, zd_max_u64(all, 1) * sizeof *number);
    lists->number = number == NULL ? lists->number : number;
    uint64_t *place = zd_realloc(lists->place, 2 * zd_max_u64(all, 1) * sizeof *place);
    lists->place = place == NULL ? lists->place : place;
    return number == NULL || place == NULL
               ? zd_fail(err, ZD_NO_MEMORY, "no memory for %llu indices", (unsigned long long)all)
               : ZD_OK;
}

static enum zd_status read_number(const struct zd_json *json, const struct zd_pointer *at,
    size_t element, int64_t *ret_number, struct zd_error *err)
{
    if (zd_json_i64(json, ret_number)) {
        return ZD_OK;
    }
    const struct zd_pointer place = zd_pointer_element(at, element);
    return zd_body_fault(err, place.text, "an integer", json);
}

enum zd_status zd_slice_lists_add(struct zd_slice_lists *lists, const struct zd_json *json,
    const struct zd_pointer *at, uint64_t item, struct zd_error *err)
{
    const size_t n = zd_json_count(json);
    if (lists->n == ZD_RANK_MAX) {
        return zd_body_fault(err, at->text, "at most 32 lists", json);
    }
    ZD_TRY(reserve(lists, n, err));
    for (size_t i = 0; i < n; i++) {
        int64_t *to = &lists->number[lists->n_numbers + i];
        ZD_TRY(read_number(zd_json_element(json, i), at, i, to, err));
    }
    lists->list[lists->n++] =
        (struct zd_slice_list){.item = item, .first = lists->n_numbers, .n = n};
    lists->n_numbers += n;
    return ZD_OK;
}

static enum zd_status add_point(struct zd_slice_lists *lists, const struct zd_json *point,
    const struct zd_pointer *at, uint64_t i, struct zd_error *err)
{
    if (!zd_json_is(point, ZD_JSON_ARRAY) || zd_json_count(point) != lists->points_rank) {
        ZD_SCOPED_TEXT(expected, ZD_FACT_TEXT_BYTES);
        zd_text_addf(&expected, "a list of %u integers", lists->points_rank);
        return zd_body_fault(err, at->text, expected.at, point);
    }
    for (uint32_t d = 0; d < lists->points_rank; d++) {
        int64_t *to = &lists->number[d * lists->n_points + i];
        ZD_TRY(read_number(zd_json_element(point, d), at, d, to, err));
    }
    return ZD_OK;
}

enum zd_status zd_slice_lists_add_points(struct zd_slice_lists *lists, const struct zd_json *json,
    const struct zd_pointer *at, struct zd_error *err)
{
    const struct zd_json *first = zd_json_element(json, 0);
    const size_t rank = zd_json_is(first, ZD_JSON_ARRAY) ? zd_json_count(first) : 1;
    if (!zd_json_is(json, ZD_JSON_ARRAY) || rank == 0 || rank > ZD_RANK_MAX) {
        return zd_body_fault(err, at->text, "a list of points, each a list of integers", json);
    }
    lists->has_points = true;
    lists->n_points = zd_json_count(json);
    lists->points_rank = (uint32_t)rank;
    ZD_TRY(reserve(lists, lists->n_points * rank, err));
    for (uint64_t i = 0; i < lists->n_points; i++) {
        const struct zd_pointer place = zd_pointer_element(at, i);
        ZD_TRY(add_point(lists, zd_json_element(json, i), &place, i, err));
    }
    lists->n_numbers = lists->n_points * rank;
    return ZD_OK;
}

/* ---- against an array ---- */

/* The dimensions that items stand for: those before an ellipsis, and behind it. */
struct items {
    uint64_t n;        /* the ellipsis counts */
    uint64_t ellipsis; /* which one it is; n: there is none */
};

static struct items count_items(struct zd_span slice)
{
    struct items items = {.n = 1, .ellipsis = UINT64_MAX};
    for (size_t i = 0; i < slice.len; i++) {
        if (slice.ptr[i] == ',') {
            items.n++;
        } else if (slice.ptr[i] == '.' && items.ellipsis == UINT64_MAX) {
            items.ellipsis = items.n - 1;
        }
    }
    return items;
}

/* Inside the array: the selection was parsed. */
static uint32_t dim_of(const struct items *items, uint64_t item, uint32_t rank)
{
    return (uint32_t)(item < items->ellipsis ? item : rank - (items->n - item));
}

static enum zd_status out_of_bounds(uint32_t dim, int64_t index, uint64_t n, struct zd_error *err)
{
    const enum zd_status status = zd_fail(err, ZD_OUT_OF_BOUNDS,
        "index %lld of dimension %u is out of bounds: the dimension has %llu elements",
        (long long)index, (unsigned)dim, (unsigned long long)n);
    zd_fact_dim(err, dim);
    zd_fact_index(err, index);
    zd_fact_size(err, n);
    return status;
}

/* Numbers of one dimension as places in it. */
static enum zd_status resolve(const struct zd_slice_lists *lists, uint64_t first, uint64_t n,
    const struct zd_slice_lists_array *array, uint32_t dim, struct zd_error *err)
{
    const uint64_t size = array->shape[dim];
    const uint64_t origin = array->origin == NULL ? 0 : array->origin[dim];
    for (uint64_t i = first; i < first + n; i++) {
        const int64_t number = lists->number[i];
        const uint64_t back = number < 0 ? 0 - (uint64_t)number : 0;
        if (number < 0 ? back > size : (uint64_t)number >= size) {
            return out_of_bounds(dim, number, size, err);
        }
        const uint64_t index = number < 0 ? size - back : (uint64_t)number;
        lists->place[i] = index;
        lists->place[lists->n_numbers + i] = index + origin;
    }
    return ZD_OK;
}

static struct zd_axis axis_of(const uint64_t *list, uint64_t n)
{
    return n == 0 ? (struct zd_axis){.step = 1}
                  : (struct zd_axis){.start = list[0], .count = n, .step = 1, .list = list};
}

static enum zd_status apply_points(const struct zd_slice_lists *lists,
    const struct zd_slice_lists_array *array, struct zd_selection *asked, struct zd_error *err)
{
    const uint64_t n = lists->n_points;
    if (array->rank == 0 || (n > 0 && lists->points_rank != array->rank)) {
        const enum zd_status status =
            zd_fail(err, ZD_INVALID, "each point has %u indices, but the array has %u dimensions",
                lists->points_rank, array->rank);
        zd_fact_pointer(err, "/points/0");
        return status;
    }
    for (uint32_t d = 0; d < array->rank; d++) {
        if (n > 0) {
            ZD_TRY(resolve(lists, d * n, n, array, d, err));
        }
        asked->axis[d] = axis_of(lists->place + d * n, n);
        asked->axis[d].is_joint = true;
        asked->axis[d].dropped = d > 0;
        asked->axis[d].count = d > 0 ? 1 : n;
    }
    return ZD_OK;
}

enum zd_status zd_slice_lists_apply(const struct zd_slice_lists *lists, struct zd_span slice,
    const struct zd_slice_lists_array *array, struct zd_selection *asked, struct zd_error *err)
{
    if (lists->has_points) {
        return apply_points(lists, array, asked, err);
    }
    const struct items items = count_items(slice);
    for (uint32_t i = 0; i < lists->n; i++) {
        const struct zd_slice_list *list = &lists->list[i];
        const uint32_t dim = dim_of(&items, list->item, array->rank);
        ZD_TRY(resolve(lists, list->first, list->n, array, dim, err));
        asked->axis[dim] = axis_of(lists->place + list->first, list->n);
    }
    return ZD_OK;
}

void zd_slice_lists_store(const struct zd_slice_lists *lists, struct zd_selection *stored)
{
    for (uint32_t d = 0; d < stored->rank; d++) {
        if (stored->axis[d].list != NULL) {
            stored->axis[d].list += lists->n_numbers;
        }
    }
}
