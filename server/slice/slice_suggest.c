/* Pieces of a slice that is too large. */
#include "server/slice/slice_suggest.h"

#include "core/base/num.h"
#include "core/grid/cover.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define SUGGESTIONS_MAX     64
#define SELECTION_BYTES_MAX 4096

/* Pieces of whole stored objects where they are small enough, else of inner chunks, else of
 * elements. */
static bool find_cover(const struct zd_slice_limits_whole *whole, struct zd_cover *cover)
{
    const struct zd_settings *settings = &whole->node->dataset->server->config->settings;
    const struct zd_layout *layout = whole->node->layout;
    struct zd_cover_limits limits = {
        .elements_max = whole->bytes_max / whole->node->meta->dtype.bytes,
        .chunks_max = settings->limits_slice_chunks,
    };
    const struct zd_grid *leaf = &zd_layout_leaf(layout)->grid;
    for (uint32_t i = 0; i < layout->n_levels; i++) {
        const struct zd_grid *grid = &layout->level[i].grid;
        uint64_t ratio[ZD_RANK_MAX];
        for (uint32_t d = 0; d < grid->rank; d++) {
            ratio[d] = zd_div_up(grid->chunk[d], leaf->chunk[d]);
        }
        limits.ratio = ratio;
        if (zd_cover_init(cover, grid, whole->selection, &limits)) {
            return true;
        }
    }
    struct zd_grid elements = *leaf;
    for (uint32_t d = 0; d < elements.rank; d++) {
        elements.chunk[d] = 1;
    }
    limits.ratio = NULL;
    return zd_cover_init(cover, &elements, whole->selection, &limits);
}

static enum zd_status add_suggestions(
    const struct zd_slice_limits_whole *whole, struct zd_cover *cover, struct zd_json *list)
{
    struct zd_selection piece;
    for (uint32_t i = 0; i < SUGGESTIONS_MAX && zd_cover_next(cover, &piece); i++) {
        ZD_SCOPED_TEXT(text, SELECTION_BYTES_MAX);
        for (uint32_t d = 0; !whole->is_of_stored && d < piece.rank; d++) {
            piece.axis[d].start -= whole->node->meta->view.origin[d];
        }
        ZD_TRY(zd_selection_add(&piece, &text));
        ZD_TRY(zd_json_append(list, zd_json_new_text(text.at)));
    }
    return ZD_OK;
}

struct zd_json *zd_slice_suggest_pieces(const struct zd_slice_limits_whole *whole)
{
    struct zd_cover cover;
    const bool found = find_cover(whole, &cover);
    const uint64_t n = found ? zd_cover_count(&cover) : 0;
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    struct zd_json *list = zd_json_new_array();
    if (extra == NULL || zd_json_set(extra, "suggestions", list) != ZD_OK ||
        zd_json_set(extra, "n_suggestions", zd_json_new_u64(n)) != ZD_OK ||
        (found && add_suggestions(whole, &cover, list) != ZD_OK)) {
        return NULL;
    }
    return ZD_TAKE(extra);
}

enum zd_next zd_slice_suggest_respond(
    const struct zd_slice_limits_whole *whole, const struct zd_error *err, struct zd_request *req)
{
    ZD_AUTO(zd_json) extra = zd_slice_suggest_pieces(whole);
    const struct zd_problem problem = {.code = "too_large", .err = err, .extra = extra};
    return zd_respond_problem(req, &problem);
}
