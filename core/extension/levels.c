/* Which level of a group answers. */
#include "core/extension/levels.h"

#include <inttypes.h>

#include "core/base/num.h"

static enum zd_status select_number(
    const struct zd_choice *choice, uint32_t *ret_level, struct zd_error *err)
{
    if (choice->number < choice->n_levels) {
        *ret_level = (uint32_t)choice->number;
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(err, ZD_OUT_OF_BOUNDS,
        "level %" PRIu64 " does not exist; the group has %" PRIu32 " levels", choice->number,
        choice->n_levels);
    zd_fact_index(err, (int64_t)zd_min_u64(choice->number, INT64_MAX));
    zd_fact_size(err, choice->n_levels);
    return status;
}

enum zd_status zd_levels_choose(
    const struct zd_choice *choice, uint32_t *ret_level, struct zd_error *err)
{
    if (choice->has_number) {
        return select_number(choice, ret_level, err);
    }
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < choice->n_levels; i++) {
        const struct zd_choice_level *level = &choice->level[i];
        if (!level->is_array || !level->is_counted) {
            continue;
        }
        if (level->n_elements <= choice->n_elements_max) {
            *ret_level = i;
            return ZD_OK;
        }
        least = zd_min_u64(least, level->n_elements);
    }
    const enum zd_status status = zd_fail(
        err, ZD_TOO_LARGE, "every level exceeds %" PRIu64 " elements", choice->n_elements_max);
    zd_fact_limit(err, choice->n_elements_max, least);
    return status;
}
