/* Hyperslabs: slice text to integers, by NumPy's rules. */
#include "core/grid/selection.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/num.h"

/* A decimal integer as it was written. */
struct number {
    bool is_given;
    bool negative;
    bool huge;          /* the magnitude is 2^64 or more; then it reads UINT64_MAX */
    uint64_t magnitude; /* >= 1 when negative */
    size_t position;    /* of its first byte */
};

/* An item between commas. */
struct item {
    bool is_range;       /* false: start is an integer index */
    struct number start; /* given when it is an index */
    struct number stop;
    struct number step;
};

/* All items but the ellipsis, which stands before item[ellipsis] when there is one. */
struct items {
    uint32_t rank;
    uint32_t n_items; /* <= rank */
    bool has_ellipsis;
    uint32_t ellipsis;
    struct item item[ZD_RANK_MAX];
};

static enum zd_status bad(const struct zd_scan *scan, const char *expected, struct zd_error *err)
{
    const size_t position = zd_scan_position(scan);
    char found[] = "byte 0x00";
    if (zd_scan_at_end(scan)) {
        (void)snprintf(found, sizeof found, "the end");
    } else if (*scan->at > ' ' && *scan->at <= '~') {
        (void)snprintf(found, sizeof found, "'%c'", *scan->at);
    } else {
        (void)snprintf(found, sizeof found, "byte 0x%02x", (unsigned char)*scan->at);
    }
    const enum zd_status status = zd_fail(
        err, ZD_INVALID, "slice: at byte %zu: expected %s, found %s", position, expected, found);
    zd_fact_position(err, position);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%s", found);
    return status;
}

static enum zd_status parse_number(
    struct zd_scan *scan, struct number *ret_number, struct zd_error *err)
{
    zd_scan_skip_spaces(scan);
    struct number number = {.position = zd_scan_position(scan)};
    number.negative = zd_scan_char(scan, '-');
    zd_scan_skip_spaces(scan);
    const enum zd_status status = zd_scan_u64(scan, UINT64_MAX, &number.magnitude);
    if (status == ZD_TOO_LARGE) {
        struct zd_span digits = {0};
        ZD_TRY(zd_scan_run(scan, "0123456789", SIZE_MAX, &digits));
        number.huge = true;
        number.magnitude = UINT64_MAX;
    } else if (status != ZD_OK) {
        const bool has_zeros = scan->at < scan->end && *scan->at == '0';
        if (number.negative || has_zeros) {
            return bad(scan, has_zeros ? "a number without leading zeros" : "a digit", err);
        }
    }
    number.is_given = status != ZD_INVALID;
    number.negative = number.negative && number.magnitude != 0;
    *ret_number = number;
    return ZD_OK;
}

static enum zd_status parse_item(struct zd_scan *scan, struct item *ret_item, struct zd_error *err)
{
    struct item item = {0};
    ZD_TRY(parse_number(scan, &item.start, err));
    zd_scan_skip_spaces(scan);
    item.is_range = zd_scan_char(scan, ':');
    if (!item.is_range) {
        if (!item.start.is_given) {
            return bad(scan, "a number, ':' or '...'", err);
        }
        *ret_item = item;
        return ZD_OK;
    }
    ZD_TRY(parse_number(scan, &item.stop, err));
    zd_scan_skip_spaces(scan);
    if (zd_scan_char(scan, ':')) {
        ZD_TRY(parse_number(scan, &item.step, err));
        if (item.step.is_given && item.step.magnitude == 0) {
            scan->at = scan->start + item.step.position;
            return bad(scan, "a step other than 0", err);
        }
    }
    *ret_item = item;
    return ZD_OK;
}

/* Parse an item or the ellipsis. */
static enum zd_status parse_entry(struct zd_scan *scan, struct items *items, struct zd_error *err)
{
    zd_scan_skip_spaces(scan);
    const struct zd_scan before = *scan;
    if (zd_scan_word(scan, "...")) {
        if (items->has_ellipsis) {
            return bad(&before, "at most one '...'", err);
        }
        items->has_ellipsis = true;
        items->ellipsis = items->n_items;
        return ZD_OK;
    }
    struct item item = {0};
    ZD_TRY(parse_item(scan, &item, err));
    if (items->n_items == items->rank) {
        char expected[] = "at most 4294967295 items";
        (void)snprintf(expected, sizeof expected, "at most %" PRIu32 " items", items->rank);
        return bad(&before, expected, err);
    }
    items->item[items->n_items++] = item;
    return ZD_OK;
}

/* Moves past an opening bracket; the one that must close it, or NUL. */
static char open_bracket(struct zd_scan *scan)
{
    zd_scan_skip_spaces(scan);
    if (zd_scan_char(scan, '[')) {
        return ']';
    }
    return zd_scan_char(scan, '(') ? ')' : '\0';
}

/* Items separated by commas; `items` comes with its rank set and the rest zero. */
static enum zd_status parse_items(struct zd_span text, struct items *items, struct zd_error *err)
{
    struct zd_scan scan = zd_scan_of(text);
    const char close = open_bracket(&scan);
    zd_scan_skip_spaces(&scan);
    bool more = close == '\0' ? !zd_scan_at_end(&scan) : !zd_scan_char(&scan, close);
    while (more) {
        ZD_TRY(parse_entry(&scan, items, err));
        zd_scan_skip_spaces(&scan);
        more = zd_scan_char(&scan, ',');
        if (!more && close != '\0' && !zd_scan_char(&scan, close)) {
            return bad(&scan, close == ']' ? "',' or ']'" : "',' or ')'", err);
        }
    }
    zd_scan_skip_spaces(&scan);
    if (!zd_scan_at_end(&scan)) {
        return bad(&scan, close == '\0' ? "',' or the end" : "the end", err);
    }
    return ZD_OK;
}

/* A bound of a range as a place in [0, n]: negative ones count from the end, all are clamped.
 * `before` is 1 when the range walks backwards: places then count from the one before the first
 * element, so that they need no sign. */
static uint64_t clamp_bound(const struct number *bound, uint64_t n, uint64_t before)
{
    if (bound->negative) {
        return bound->huge || bound->magnitude > n ? 0 : n - bound->magnitude + before;
    }
    return bound->huge || bound->magnitude >= n ? n : bound->magnitude + before;
}

/* Python's slice.indices. */
static struct zd_axis resolve_range(const struct item *item, uint64_t n)
{
    const bool backwards = item->step.negative;
    const uint64_t stride =
        item->step.is_given ? zd_min_u64(item->step.magnitude, INT64_MAX) : 1; /* as NumPy clamps */
    const uint64_t before = backwards ? 1 : 0;
    uint64_t start = backwards ? n : 0;
    uint64_t stop = backwards ? 0 : n;
    if (item->start.is_given) {
        start = clamp_bound(&item->start, n, before);
    }
    if (item->stop.is_given) {
        stop = clamp_bound(&item->stop, n, before);
    }
    const uint64_t first = backwards ? stop : start;
    const uint64_t last = backwards ? start : stop;
    if (first >= last) {
        return (struct zd_axis){.step = 1};
    }
    const uint64_t len = last - first;
    return (struct zd_axis){
        .start = start - before,
        .count = zd_div_up(len, stride),
        .step = backwards ? -(int64_t)stride : (int64_t)stride,
        .slack = (len - 1) % stride,
    };
}

static int64_t reported_index(const struct number *index)
{
    if (!index->negative) {
        return (int64_t)zd_min_u64(index->magnitude, INT64_MAX);
    }
    return index->magnitude > INT64_MAX ? INT64_MIN : -(int64_t)index->magnitude;
}

static enum zd_status resolve_index(const struct number *index, uint32_t dim, uint64_t n,
    struct zd_axis *ret_axis, struct zd_error *err)
{
    const bool inside =
        !index->huge && (index->negative ? index->magnitude <= n : index->magnitude < n);
    if (!inside) {
        const enum zd_status status = zd_fail(err, ZD_OUT_OF_BOUNDS,
            "slice: at byte %zu, index %s%" PRIu64 "%s of dimension %" PRIu32
            " is out of bounds: the dimension has %" PRIu64 " elements",
            index->position, index->negative ? "-" : "", index->magnitude,
            index->huge ? " or beyond" : "", dim, n);
        zd_fact_dim(err, dim);
        zd_fact_index(err, reported_index(index));
        zd_fact_size(err, n);
        zd_fact_position(err, index->position);
        return status;
    }
    *ret_axis = (struct zd_axis){
        .start = index->negative ? n - index->magnitude : index->magnitude,
        .count = 1,
        .step = 1,
        .dropped = true,
    };
    return ZD_OK;
}

enum zd_status zd_selection_parse(struct zd_span text, uint32_t rank, const uint64_t *shape,
    struct zd_selection *ret_selection, struct zd_error *err)
{
    assert(rank <= ZD_RANK_MAX);
    struct items items = {.rank = rank};
    ZD_TRY(parse_items(text, &items, err));
    const uint32_t ellipsis = items.has_ellipsis ? items.ellipsis : items.n_items;
    const uint32_t n_skipped = rank - items.n_items;
    struct zd_selection selection = {0};
    zd_selection_whole(rank, shape, &selection);
    for (uint32_t i = 0; i < items.n_items; i++) {
        const struct item *item = &items.item[i];
        const uint32_t dim = i < ellipsis ? i : i + n_skipped;
        if (item->is_range) {
            selection.axis[dim] = resolve_range(item, shape[dim]);
        } else {
            ZD_TRY(resolve_index(&item->start, dim, shape[dim], &selection.axis[dim], err));
        }
    }
    *ret_selection = selection;
    return ZD_OK;
}

void zd_selection_whole(uint32_t rank, const uint64_t *shape, struct zd_selection *ret_selection)
{
    assert(rank <= ZD_RANK_MAX);
    *ret_selection = (struct zd_selection){.rank = rank};
    for (uint32_t d = 0; d < rank; d++) {
        ret_selection->axis[d] = (struct zd_axis){.count = shape[d], .step = 1};
    }
}

uint32_t zd_selection_shape(const struct zd_selection *selection, uint64_t ret_shape[ZD_RANK_MAX])
{
    uint32_t rank = 0;
    for (uint32_t d = 0; d < selection->rank; d++) {
        if (!selection->axis[d].dropped) {
            ret_shape[rank++] = selection->axis[d].count;
        }
    }
    return rank;
}

bool zd_selection_has_list(const struct zd_selection *selection)
{
    bool has_list = false;
    for (uint32_t d = 0; d < selection->rank; d++) {
        has_list = has_list || selection->axis[d].list != NULL || selection->axis[d].is_joint;
    }
    return has_list;
}

bool zd_selection_overflows(const struct zd_selection *selection, uint64_t *ret_n_elements)
{
    uint64_t shape[ZD_RANK_MAX];
    const uint32_t rank = zd_selection_shape(selection, shape);
    return zd_product_overflows(ret_n_elements, shape, rank);
}

static void add_axis(const struct zd_axis *axis, struct zd_text *text)
{
    zd_text_add_u64(text, axis->start);
    if (axis->dropped) {
        return;
    }
    zd_text_add_char(text, ':');
    const uint64_t last = axis->count == 0 ? 0 : zd_axis_at(axis, axis->count - 1);
    if (axis->count == 0) {
        zd_text_add_u64(text, 0);
    } else if (axis->step > 0) {
        zd_text_add_u64(text, last + 1 + axis->slack);
    } else if (last > axis->slack) {
        zd_text_add_u64(text, last - 1 - axis->slack);
    }
    zd_text_addf(text, ":%" PRId64, axis->step);
}

enum zd_status zd_selection_add(const struct zd_selection *selection, struct zd_text *text)
{
    for (uint32_t d = 0; d < selection->rank; d++) {
        if (d > 0) {
            zd_text_add_char(text, ',');
        }
        add_axis(&selection->axis[d], text);
    }
    return text->status;
}

void zd_selection_hash(
    const struct zd_selection *stored, const struct zd_selection *asked, struct zd_hash *hash)
{
    for (uint32_t d = 0; d < stored->rank; d++) {
        const struct zd_axis *axis = &stored->axis[d];
        zd_hash_add_u64(hash, axis->start);
        zd_hash_add_u64(hash, asked->axis[d].start);
        zd_hash_add_u64(hash, axis->count);
        zd_hash_add_u64(hash, (uint64_t)axis->step);
        zd_hash_add_u64(hash, axis->slack); /* shown in Zarr-Selection */
        zd_hash_add_u64(hash, axis->dropped);
        const uint64_t n_listed = axis->list == NULL ? 0
                                  : axis->is_joint   ? stored->axis[0].count
                                                     : axis->count;
        for (uint64_t i = 0; i < n_listed; i++) {
            zd_hash_add_u64(hash, axis->list[i]);
        }
    }
}
