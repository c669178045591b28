/* The selectors of `isel=` and `sel=`: one dimension each. */
#include "server/slice/selectors.h"

#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"

void zd_selectors_init(struct zd_selectors *picks, size_t text_bytes_max)
{
    *picks = (struct zd_selectors){.n = 0};
    zd_text_init(&picks->text, text_bytes_max);
}

void zd_selectors_done(struct zd_selectors *picks)
{
    zd_text_done(&picks->text);
    zd_free(picks->pick);
    picks->pick = NULL;
    picks->n = 0;
}

static const char *name_of(const struct zd_selector *pick)
{
    return pick->by_value ? "sel" : "isel";
}

enum zd_status zd_selectors_add(struct zd_selectors *picks, struct zd_selector pick,
    struct zd_span dim, struct zd_span text, struct zd_error *err)
{
    const char *name = name_of(&pick);
    if (picks->n == ZD_SELECTORS_MAX) {
        return zd_fail_name(err, name, "more than %d dimensions are selected", ZD_SELECTORS_MAX);
    }
    struct zd_selector *grown = zd_realloc(picks->pick, (picks->n + 1) * sizeof *grown);
    picks->pick = grown == NULL ? picks->pick : grown;
    pick.dim_at = picks->text.len;
    pick.dim_len = pick.is_split ? dim.len : 0;
    pick.at = pick.dim_at + pick.dim_len;
    pick.len = text.len;
    zd_text_add_bytes(&picks->text, dim.ptr, pick.dim_len);
    zd_text_add_bytes(&picks->text, text.ptr, text.len);
    if (grown == NULL || picks->text.status == ZD_NO_MEMORY) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the value of %s", name);
    }
    if (picks->text.status != ZD_OK) {
        return zd_fail_name(err, name, "the values of %s are too long", name);
    }
    picks->pick[picks->n++] = pick;
    return ZD_OK;
}

bool zd_selectors_have_values(const struct zd_selectors *picks)
{
    bool has_value = false;
    for (uint32_t i = 0; i < picks->n; i++) {
        has_value = has_value || picks->pick[i].by_value;
    }
    return has_value;
}

bool zd_selectors_find_dim(const struct zd_meta *meta, struct zd_span text, uint32_t *ret_dim)
{
    uint64_t number;
    for (uint32_t d = 0; meta->dimension_name != NULL && d < meta->grid.rank; d++) {
        if (meta->dimension_name[d] != NULL && zd_span_is(text, meta->dimension_name[d])) {
            *ret_dim = d;
            return true;
        }
    }
    if (zd_scan_whole_u64(text, UINT64_MAX, &number) == ZD_OK && number < meta->grid.rank) {
        *ret_dim = (uint32_t)number;
        return true;
    }
    return false;
}

static struct zd_span span_of(const struct zd_selectors *picks, size_t at, size_t len)
{
    return (struct zd_span){.ptr = (const uint8_t *)picks->text.at + at, .len = len};
}

/* At the first '=' that follows a dimension: names may have some, too. @return false: no dimension
 * stands before one, and ret_dim is what stands before the first */
static bool split(const struct zd_meta *meta, struct zd_span text, struct zd_span *ret_dim,
    struct zd_selector_match *picked)
{
    bool is_first = true;
    *ret_dim = text;
    for (size_t i = 0; i < text.len; i++) {
        const struct zd_span dim = {.ptr = text.ptr, .len = i};
        if (text.ptr[i] != '=') {
            continue;
        }
        if (zd_selectors_find_dim(meta, dim, &picked->dim)) {
            picked->text = (struct zd_span){.ptr = text.ptr + i + 1, .len = text.len - i - 1};
            return true;
        }
        *ret_dim = is_first ? dim : *ret_dim;
        is_first = false;
    }
    return false;
}

enum zd_status zd_selectors_find(const struct zd_selectors *picks, uint32_t i,
    const struct zd_meta *meta, struct zd_selector_match *ret_picked, struct zd_error *err)
{
    const struct zd_selector *pick = &picks->pick[i];
    struct zd_selector_match picked = {.text = span_of(picks, pick->at, pick->len)};
    struct zd_span dim = span_of(picks, pick->dim_at, pick->dim_len);
    const bool is_found = pick->is_split ? zd_selectors_find_dim(meta, dim, &picked.dim)
                                         : split(meta, picked.text, &dim, &picked);
    if (is_found) {
        *ret_picked = picked;
        return ZD_OK;
    }
    const char *name = name_of(pick);
    const int shown = (int)zd_min_u64(dim.len, ZD_FACT_TEXT_BYTES);
    const enum zd_status status = zd_fail_name(err, name,
        "%s: the array has no dimension '%.*s'; %s=DIM=%s takes a name, or a number below %u", name,
        shown, (const char *)dim.ptr, name, pick->by_value ? "VALUE" : "ITEM", meta->grid.rank);
    zd_fact_expected(err, "the name of a dimension, or a number below %u", meta->grid.rank);
    zd_fact_found(err, "%.*s", shown, (const char *)dim.ptr);
    return status;
}

static bool is_whole(const struct zd_axis *axis, uint64_t n)
{
    return axis->start == 0 && axis->count == n && axis->step == 1 && !axis->dropped &&
           axis->list == NULL;
}

/* The item was parsed alone: as that of dimension 0, at the begin of its text. */
static enum zd_status fail_index(uint32_t dim, uint64_t n, struct zd_error *err)
{
    const int64_t index = err == NULL ? 0 : err->facts.index;
    const enum zd_status status = zd_fail(err, ZD_OUT_OF_BOUNDS,
        "isel: index %lld of dimension %u is out of bounds: the dimension has %llu elements",
        (long long)index, dim, (unsigned long long)n);
    zd_fact_index(err, index);
    zd_fact_size(err, n);
    return status;
}

static enum zd_status apply_item(
    struct zd_span item, uint32_t dim, uint64_t n, struct zd_axis *axis, struct zd_error *err)
{
    struct zd_selection one;
    enum zd_status status = zd_selection_parse(item, 1, &n, &one, err);
    status = status == ZD_OUT_OF_BOUNDS ? fail_index(dim, n, err) : status;
    if (status != ZD_OK) {
        zd_fact_dim(err, dim);
        zd_fact_name(err, "isel");
        return status;
    }
    *axis = one.axis[0];
    return ZD_OK;
}

enum zd_status zd_selectors_apply(const struct zd_selectors *picks, const struct zd_meta *meta,
    const uint64_t *shape, struct zd_selection *selection, struct zd_error *err)
{
    bool is_picked[ZD_RANK_MAX] = {false};
    for (uint32_t i = 0; i < picks->n; i++) {
        struct zd_selector_match picked = {0};
        ZD_TRY(zd_selectors_find(picks, i, meta, &picked, err));
        struct zd_axis *axis = &selection->axis[picked.dim];
        if (is_picked[picked.dim] || !is_whole(axis, shape[picked.dim])) {
            const enum zd_status status = zd_fail_name(err, name_of(&picks->pick[i]),
                "dimension %u is selected twice, by %s", picked.dim,
                is_picked[picked.dim] ? "isel or sel" : "slice, and by isel or sel");
            zd_fact_dim(err, picked.dim);
            return status;
        }
        is_picked[picked.dim] = true;
        if (!picks->pick[i].by_value) {
            ZD_TRY(apply_item(picked.text, picked.dim, shape[picked.dim], axis, err));
        }
    }
    return ZD_OK;
}
