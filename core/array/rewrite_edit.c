/* An edit: a change of one chunk, and the part of a stored object that it covers. */
#include "core/array/rewrite_edit.h"

#include "core/grid/plan.h"

struct zd_edit *zd_rewrite_edit_new(void)
{
    return zd_alloc_zero(1, sizeof(struct zd_edit));
}

void zd_rewrite_edit_free(struct zd_edit *edit)
{
    if (edit != NULL) {
        zd_buf_unref(edit->bytes);
        zd_free(edit->err);
        zd_free(edit);
    }
}

void zd_rewrite_edit_object(
    const struct zd_layout *layout, const struct zd_edit *edit, uint64_t ret_index[ZD_RANK_MAX])
{
    zd_layout_ancestor(layout, edit->level, 0, edit->part.chunk, ret_index);
}

bool zd_rewrite_edit_is_whole(const struct zd_layout *layout, const struct zd_edit *edit)
{
    if (edit->level > 0 || edit->only_absent) {
        return false;
    }
    return edit->kind != ZD_EDIT_BOX || zd_plan_part_covers(&layout->level[0].grid, &edit->part);
}

bool zd_rewrite_edit_is_all(const struct zd_layout *layout, const struct zd_edit *edit)
{
    if (edit->level > 0 || edit->only_absent) {
        return false;
    }
    return edit->kind != ZD_EDIT_BOX ||
           zd_plan_part_covers_inside(&layout->level[0].grid, &edit->part);
}

enum zd_status zd_rewrite_edit_check_codecs(
    const struct zd_layout *layout, const struct zd_edit *edit, struct zd_error *err)
{
    const struct zd_chain *chain = layout->level[0].chain;
    const bool is_decodable = edit->kind == ZD_EDIT_ENCODED && !zd_chain_is_partial(chain);
    return edit->kind == ZD_EDIT_ERASE || is_decodable ? ZD_OK : zd_chain_check_encodes(chain, err);
}
