/* A slice of an array: its limits, its pieces, its entity tags. */
#include "server/slice/slice_view.h"

#include "core/base/num.h"
#include "core/grid/cover.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define SUGGESTIONS_MAX     64
#define SELECTION_BYTES_MAX 4096

/* ---- limits ---- */

static uint64_t chunks_max(const struct zd_slice_view *view)
{
    return view->node->dataset->server->config->settings.limits_slice_chunks;
}

uint64_t zd_slice_view_bytes(const struct zd_slice_view *view)
{
    const uint64_t element = view->node->meta->dtype.bytes;
    uint64_t n;
    return zd_selection_overflows(view->selection, &n) || ckd_mul(&n, n, element) ? UINT64_MAX : n;
}

uint64_t zd_slice_view_chunks(const struct zd_slice_view *view)
{
    const struct zd_grid *leaf = &zd_layout_leaf(view->node->layout)->grid;
    uint64_t n;
    return zd_plan_overflows(leaf, view->selection, &n) ? UINT64_MAX : n;
}

enum zd_status zd_slice_view_check(
    const struct zd_slice_view *view, uint64_t bytes_max, const char *setting, struct zd_error *err)
{
    const bool has_bytes_left = zd_slice_view_bytes(view) <= bytes_max;
    const uint64_t n = has_bytes_left ? zd_slice_view_chunks(view) : zd_slice_view_bytes(view);
    const uint64_t limit = has_bytes_left ? chunks_max(view) : bytes_max;
    if (n <= limit) {
        return ZD_OK;
    }
    return zd_fail_limit(err, limit, n, "the slice %s %llu %s; %s is %llu",
        has_bytes_left ? "covers" : "has", (unsigned long long)n,
        has_bytes_left ? "chunks" : "bytes", has_bytes_left ? "limits.slice_chunks" : setting,
        (unsigned long long)limit);
}

/* ---- pieces ---- */

/* Pieces of whole stored objects where they are small enough, else of inner chunks, else of
 * elements. */
static bool find_cover(const struct zd_slice_view *view, uint64_t bytes_max, struct zd_cover *cover)
{
    const struct zd_layout *layout = view->node->layout;
    struct zd_cover_limits limits = {
        .elements_max = bytes_max / view->node->meta->dtype.bytes,
        .chunks_max = chunks_max(view),
    };
    const struct zd_grid *leaf = &zd_layout_leaf(layout)->grid;
    for (uint32_t i = 0; i < layout->n_levels; i++) {
        const struct zd_grid *grid = &layout->level[i].grid;
        uint64_t ratio[ZD_RANK_MAX];
        for (uint32_t d = 0; d < grid->rank; d++) {
            ratio[d] = zd_div_up(grid->chunk[d], leaf->chunk[d]);
        }
        limits.ratio = ratio;
        if (zd_cover_init(cover, grid, view->selection, &limits)) {
            return true;
        }
    }
    struct zd_grid elements = *leaf;
    elements.edges = NULL;
    for (uint32_t d = 0; d < elements.rank; d++) {
        elements.chunk[d] = 1;
    }
    limits.ratio = NULL;
    return zd_cover_init(cover, &elements, view->selection, &limits);
}

static enum zd_status add_suggestions(
    const struct zd_slice_view *view, struct zd_cover *cover, struct zd_json *list)
{
    struct zd_selection piece;
    for (uint32_t i = 0; i < SUGGESTIONS_MAX && zd_cover_next(cover, &piece); i++) {
        ZD_SCOPED_TEXT(text, SELECTION_BYTES_MAX);
        for (uint32_t d = 0; d < piece.rank; d++) {
            piece.axis[d].start -= view->selection->axis[d].start - view->asked->axis[d].start;
        }
        ZD_TRY(zd_selection_add(&piece, &text));
        ZD_TRY(zd_json_append(list, zd_json_new_text(text.at)));
    }
    return ZD_OK;
}

struct zd_json *zd_slice_view_pieces(const struct zd_slice_view *view, uint64_t bytes_max)
{
    struct zd_cover cover;
    const bool found =
        !zd_selection_has_list(view->selection) && find_cover(view, bytes_max, &cover);
    const uint64_t n = found ? zd_cover_count(&cover) : 0;
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    struct zd_json *list = zd_json_new_array();
    if (extra == NULL || zd_json_set(extra, "suggestions", list) != ZD_OK ||
        zd_json_set(extra, "n_suggestions", zd_json_new_u64(n)) != ZD_OK ||
        (found && add_suggestions(view, &cover, list) != ZD_OK)) {
        return NULL;
    }
    return ZD_TAKE(extra);
}

enum zd_next zd_slice_view_refuse(const struct zd_slice_view *view, uint64_t bytes_max,
    const struct zd_error *err, struct zd_request *req)
{
    ZD_AUTO(zd_json) extra = zd_slice_view_pieces(view, bytes_max);
    const struct zd_problem problem = {.code = "too_large", .err = err, .extra = extra};
    return zd_respond_problem(req, &problem);
}

/* ---- entity tags ---- */

/* How clients choose that text looks: one bit of the tag for each choice, and one for tables. */
#define LOOKS       16U
#define TABLE_LOOKS LOOKS

static uint64_t looks_of(const struct zd_slice_form *form)
{
    return (form->style.nan_null ? 1U : 0) | (form->style.ints_string ? 2U : 0) |
           (form->pretty ? 4U : 0) | (form->has_header ? 8U : 0) |
           (form->is_table ? TABLE_LOOKS : 0);
}

/* The part of the tag that all forms of a slice share. */
static struct zd_hash hash_of(const struct zd_slice_view *view)
{
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, view->node->tag);
    zd_seen_objects_hash(view->seen, &hash);
    zd_selection_hash(view->selection, view->asked, &hash);
    if (view->result != 0) {
        zd_hash_add_u64(&hash, view->result);
    }
    return hash;
}

static void make_tag(
    struct zd_hash hash, const struct zd_format *format, uint64_t looks, char to[ZD_TAG_BYTES])
{
    if (format->is_text) {
        zd_hash_add_u64(&hash, looks);
    }
    zd_tag_format(to, hash.value, format->name);
}

uint64_t zd_slice_view_hash(const struct zd_slice_view *view)
{
    return hash_of(view).value;
}

void zd_slice_view_form_tag(uint64_t hash, const struct zd_slice_form *form, char to[ZD_TAG_BYTES])
{
    make_tag((struct zd_hash){.value = hash}, form->format, looks_of(form), to);
}

void zd_slice_view_tag(
    const struct zd_slice_view *view, const struct zd_slice_form *form, char to[ZD_TAG_BYTES])
{
    make_tag(hash_of(view), form->format, looks_of(form), to);
}

/* How the conditions of a request judge the tags of a slice. */
struct verdict {
    const struct zd_conditions *asked;
    bool is_named;    /* If-Match allows one of them */
    bool is_excluded; /* If-None-Match names one of them */
};

static void judge_tag(struct verdict *verdict, const char *tag)
{
    const struct zd_validators now = {.etag = &tag, .n_etags = 1, .exists = true};
    const struct zd_conditions named = {.if_match = verdict->asked->if_match};
    const struct zd_conditions excluded = {.if_none_match = verdict->asked->if_none_match};
    verdict->is_named |= zd_conditions_judge_write(&named, &now) == ZD_OK;
    verdict->is_excluded |= zd_conditions_judge_write(&excluded, &now) != ZD_OK;
}

/* A text is tagged in whatever coding it was sent. */
static void judge_form(
    struct verdict *verdict, struct zd_hash hash, const struct zd_format *format, uint64_t looks)
{
    char tag[ZD_TAG_BYTES];
    char coded[ZD_TAG_BYTES];
    make_tag(hash, format, looks, tag);
    judge_tag(verdict, tag);
    for (int coding = ZD_PLAIN + 1; format->is_text && coding < ZD_CODINGS; coding++) {
        zd_tag_code(coded, tag, (enum zd_coding)coding);
        judge_tag(verdict, coded);
    }
}

enum zd_status zd_slice_view_judge(const struct zd_slice_view *view, const struct zd_request *req)
{
    const struct zd_hash hash = hash_of(view);
    struct verdict verdict = {.asked = &req->conditions};
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        const uint64_t n_looks = zd_formats[i]->is_text ? LOOKS : 1;
        for (uint64_t looks = 0; looks < n_looks; looks++) {
            judge_form(&verdict, hash, zd_formats[i], looks);
        }
    }
    return verdict.is_named && !verdict.is_excluded ? ZD_OK : ZD_PRECONDITION;
}
