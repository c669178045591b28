/* Several slices in one body: what is asked of a dimension is asked of the arrays that have it. */
#include <string.h>

#include "core/base/num.h"
#include "server/request/respond.h"
#include "server/slice/slice_set.h"

#define NAMES_MAX   64 /* of a list, that are told apart */
#define ALLOWED_MAX 64

static uint64_t bit(uint32_t i)
{
    return UINT64_C(1) << zd_min_u64(i, NAMES_MAX - 1);
}

/* The dimension of an item, "DIM" or "DIM:N". */
static struct zd_span dim_of(const char *item, char mark)
{
    const char *end = mark == '\0' ? NULL : strrchr(item, mark);
    return (struct zd_span){
        .ptr = (const uint8_t *)item, .len = end == NULL ? strlen(item) : (size_t)(end - item)};
}

/* Keep the items, each ended by NUL, whose dimension the array has. @return bits of them */
static uint64_t keep_items(struct zd_text *items, char mark, const struct zd_meta *meta)
{
    uint64_t bits = 0;
    size_t kept = 0;
    uint32_t i = 0;
    for (size_t at = 0; at < items->len; i++) {
        const char *item = items->at + at;
        const size_t len = strlen(item) + 1;
        uint32_t dim;
        if (zd_selectors_find_dim(meta, dim_of(item, mark), &dim)) {
            memmove(items->at + kept, item, len);
            kept += len;
            bits |= bit(i);
        }
        at += len;
    }
    zd_text_cut(items, kept);
    return bits;
}

static uint64_t keep_picks(struct zd_selectors *picks, const struct zd_meta *meta)
{
    struct zd_selector_match picked;
    uint64_t bits = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < picks->n; i++) {
        if (zd_selectors_find(picks, i, meta, &picked, NULL) == ZD_OK) {
            picks->pick[n++] = picks->pick[i];
            bits |= bit(i);
        }
    }
    picks->n = n;
    return bits;
}

void zd_slice_set_keep_dims(
    struct zd_slice_set *set, struct zd_slice_params *ask, const struct zd_meta *meta)
{
    set->picked |= keep_picks(&ask->picks, meta);
    ask->has_picks = ask->picks.n > 0;
    if (ask->has_over) {
        set->over |= keep_items(&ask->over, '\0', meta);
        ask->has_over = ask->over.len > 0;
        ask->has_reduce = ask->has_over;
    }
    if (ask->has_coarsen) {
        set->coarsened |= keep_items(&ask->coarsen, ':', meta);
        ask->has_coarsen = ask->coarsen.len > 0;
        ask->has_agg = ask->has_agg && ask->has_coarsen;
    }
    ask->has_skipna = ask->has_skipna && (ask->has_reduce || ask->has_coarsen || ask->has_max_size);
}

/* ---- dimensions that none of them has ---- */

static enum zd_status fail(const char *parameter, struct zd_span name, struct zd_error *err)
{
    const int shown = (int)zd_min_u64(name.len, ZD_FACT_TEXT_BYTES);
    const enum zd_status status = zd_fail_name(err, parameter,
        "%s: none of the arrays has a dimension '%.*s'", parameter, shown, (const char *)name.ptr);
    zd_fact_found(err, "%.*s", shown, (const char *)name.ptr);
    return status;
}

static enum zd_status check_items(const char *parameter, const struct zd_text *items, char mark,
    uint64_t bits, struct zd_error *err)
{
    uint32_t i = 0;
    for (size_t at = 0; at < items->len; i++) {
        const char *item = items->at + at;
        if ((bits & bit(i)) == 0) {
            return fail(parameter, dim_of(item, mark), err);
        }
        at += strlen(item) + 1;
    }
    return ZD_OK;
}

static enum zd_status check_picks(const struct zd_selectors *picks, uint64_t bits,
    const struct zd_meta *meta, struct zd_error *err)
{
    struct zd_selector_match picked;
    for (uint32_t i = 0; i < picks->n; i++) {
        if ((bits & bit(i)) == 0) {
            ZD_TRY(zd_selectors_find(picks, i, meta, &picked, err));
        }
    }
    return ZD_OK;
}

enum zd_status zd_slice_set_check_dims(
    const struct zd_slice_set *set, const struct zd_slice_params *ask, struct zd_error *err)
{
    const struct zd_meta *first = set->part[0].slice->read.node->meta;
    ZD_TRY(check_picks(&ask->picks, set->picked, first, err));
    if (ask->has_over) {
        ZD_TRY(check_items("over", &ask->over, '\0', set->over, err));
    }
    return ask->has_coarsen ? check_items("coarsen", &ask->coarsen, ':', set->coarsened, err)
                            : ZD_OK;
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

enum zd_next zd_slice_set_refuse_dims(const struct zd_slice_set *set, const struct zd_error *err)
{
    const char *allowed[ALLOWED_MAX + 1];
    size_t n = 0;
    for (uint32_t i = 0; i < set->n_named; i++) {
        const struct zd_meta *meta = set->part[i].slice->read.node->meta;
        for (uint32_t d = 0; meta->dimension_name != NULL && d < meta->grid.rank; d++) {
            const char *name = meta->dimension_name[d];
            if (name != NULL && n < ALLOWED_MAX && !is_listed(allowed, n, name)) {
                allowed[n++] = name;
            }
        }
    }
    allowed[n] = NULL;
    const struct zd_problem problem = {.code = "bad_parameter", .err = err, .allowed = allowed};
    return zd_respond_problem(set->req, &problem);
}
