/* The plan of a picture: the query, judged against the array and the limits. */
#include "server/picture/picture_plan.h"

#include "core/base/num.h"
#include "server/runtime/server.h"

#define RGB  3
#define RGBA 4

static const struct zd_settings *settings_of(const struct zd_picture *picture)
{
    return &picture->read.node->dataset->server->config->settings;
}

/* ---- what is asked ---- */

/* How many elements a level has that is shrunk by two at the most in each direction. */
static uint64_t level_elements(const struct zd_picture_params *ask)
{
    uint64_t n;
    if (!ask->has_size) {
        return ask->max_size;
    }
    return ckd_mul(&n, ask->width, ask->height) || ckd_mul(&n, n, UINT64_C(4)) ? UINT64_MAX : n;
}

enum zd_status zd_picture_plan_query(
    struct zd_picture *picture, const char **ret_code, struct zd_error *err)
{
    struct zd_slice_params *slice = &picture->read.ask;
    struct zd_params rest;
    *ret_code = "bad_parameter";
    ZD_TRY(zd_picture_params_query(&picture->read.task.req->params, &picture->ask, &rest, err));
    ZD_TRY(zd_slice_params_query(slice, &rest, ret_code, err));
    if (picture->ask.has_tile && slice->has_level) {
        return zd_fail_name(
            err, "level", "level and tile cannot be combined: z of tile is the level");
    }
    if (!zd_multiscale_has(picture->read.node->meta) || slice->has_level) {
        return ZD_OK;
    }
    if (picture->ask.has_tile) {
        slice->has_level = true;
        slice->level = picture->ask.tile.z;
    } else {
        slice->has_max_size = true;
        slice->max_size = level_elements(&picture->ask);
    }
    return ZD_OK;
}

/* ---- what is shown ---- */

static bool is_rgb(const struct zd_dtype *dtype, const uint64_t *shape, uint32_t rank)
{
    return rank == 3 && dtype->kind == ZD_DTYPE_UINT && dtype->bytes == 1 &&
           dtype->n_low_bits == 0 && (shape[2] == RGB || shape[2] == RGBA);
}

/* The dimensions of the array that the answer has. */
static void find_dims(struct zd_picture *picture)
{
    uint32_t *const to[] = {&picture->dim_y, &picture->dim_x, &picture->dim_channel};
    const struct zd_selection *selection = &picture->read.selection;
    uint32_t n = 0;
    for (uint32_t d = 0; d < selection->rank && n < ZD_COUNT_OF(to); d++) {
        if (!selection->axis[d].dropped) {
            *to[n++] = d;
        }
    }
}

/* Refuse the parameters of colour maps for pictures that have colours. */
static enum zd_status check_no_map(const struct zd_picture_params *ask, struct zd_error *err)
{
    const char *name = ask->has_colormap        ? "cmap"
                       : ask->has_from          ? "vmin"
                       : ask->has_to            ? "vmax"
                       : ask->has_stretch       ? "stretch"
                       : ask->has_missing_color ? "nan"
                                                : NULL;
    return name == NULL
               ? ZD_OK
               : zd_fail_name(err, name,
                     "%s does not apply, because the elements are colours (RGB or RGBA)", name);
}

static enum zd_status check_kind(
    struct zd_picture *picture, const char **ret_code, struct zd_error *err)
{
    const struct zd_dtype *dtype = &picture->numbers.dtype;
    struct zd_raster *raster = &picture->raster;
    uint64_t shape[ZD_RANK_MAX];
    const uint32_t rank = zd_selection_shape(&picture->read.asked, shape);
    if (!zd_dtype_is_ordered(dtype)) {
        *ret_code = "unsupported_data_type";
        return zd_fail(err, ZD_UNSUPPORTED, "images are not available for %s", dtype->name);
    }
    raster->dtype = *dtype;
    raster->n_channels = is_rgb(dtype, shape, rank) ? (uint32_t)shape[2] : 1;
    *ret_code = "bad_slice";
    if (rank != 2 && raster->n_channels == 1) {
        const enum zd_status status = zd_fail(err, ZD_INVALID,
            "an image shows two dimensions; the selection has %u: give an index for each other "
            "dimension, such as slice=0,:,:",
            rank);
        zd_fact_expected(
            err, "2 dimensions, or 3 dimensions of uint8 with a last length of 3 or 4");
        zd_fact_found(err, "%u dimensions", rank);
        return status;
    }
    if (shape[0] == 0 || shape[1] == 0) {
        return zd_fail(err, ZD_INVALID, "the selection is empty: select at least one element");
    }
    *ret_code = "bad_parameter";
    return raster->n_channels == 1 ? ZD_OK : check_no_map(&picture->ask, err);
}

/* How many pixels pictures have when a block of so many elements in both directions is one. */
static uint64_t pixels_of(uint64_t height, uint64_t width, uint64_t factor)
{
    uint64_t n;
    const bool is_more = ckd_mul(&n, zd_div_up(height, factor), zd_div_up(width, factor));
    return is_more ? UINT64_MAX : n;
}

/* The least factor that leaves at most so many pixels, of which there is one. */
static uint64_t factor_of(uint64_t height, uint64_t width, uint64_t n_max)
{
    uint64_t most = zd_max_u64(height, width); /* leaves one */
    uint64_t least = 1;
    while (least < most) {
        const uint64_t middle = least + (most - least) / 2;
        if (pixels_of(height, width, middle) <= n_max) {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    return least;
}

/* ---- tiles ---- */

static bool is_of_group(const struct zd_picture *picture)
{
    return picture->read.multiscale.n > 0;
}

/* The levels of an array: each has half the pixels of the one before in each direction, the last
 * one has one. */
static uint64_t count_levels(uint64_t height, uint64_t width)
{
    uint64_t n = 1;
    for (uint64_t side = zd_max_u64(height, width); side > 1; side = zd_div_up(side, 2)) {
        n++;
    }
    return n;
}

static enum zd_status bad_tile(uint64_t index, uint64_t n, const char *what, struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_OUT_OF_BOUNDS, "tile: %s %llu does not exist; the number of them is %llu",
            what, (unsigned long long)index, (unsigned long long)n);
    zd_fact_index(err, (int64_t)zd_min_u64(index, INT64_MAX));
    zd_fact_size(err, n);
    return status;
}

/* The elements lo .. hi - 1 of an axis. */
static void cut_axis(struct zd_axis *axis, uint64_t lo, uint64_t hi)
{
    axis->start = zd_axis_at(axis, lo);
    axis->count = hi - lo;
    axis->slack = 0;
}

/* Cut a dimension to a row or column of tiles. */
static enum zd_status cut_dim(struct zd_picture *picture, uint32_t dim, uint64_t index,
    const char *what, struct zd_error *err)
{
    const struct zd_picture_params *ask = &picture->ask;
    const uint64_t count = picture->read.asked.axis[dim].count;
    const uint64_t n_pixels = zd_div_up(count, picture->factor);
    const uint64_t n_tiles = zd_div_up(n_pixels, ask->tile_size);
    if (index >= n_tiles) {
        return bad_tile(index, n_tiles, what, err);
    }
    uint64_t first = index * ask->tile_size;
    uint64_t end = zd_min_u64(n_pixels, first + ask->tile_size);
    if (ask->is_flipped && dim == picture->dim_y) {
        const uint64_t above = n_pixels - end; /* the picture is turned before it is cut */
        end = n_pixels - first;
        first = above;
    }
    const uint64_t lo = first * picture->factor;
    const uint64_t hi = end == n_pixels ? count : end * picture->factor;
    cut_axis(&picture->read.asked.axis[dim], lo, hi);
    cut_axis(&picture->read.selection.axis[dim], lo, hi);
    return ZD_OK;
}

/* Nothing but the tile is read. The level of a group is chosen already. */
static enum zd_status cut_tile(struct zd_picture *picture, struct zd_error *err)
{
    const struct zd_picture_tile *tile = &picture->ask.tile;
    const uint64_t height = picture->read.asked.axis[picture->dim_y].count;
    const uint64_t width = picture->read.asked.axis[picture->dim_x].count;
    const uint64_t n_levels = count_levels(height, width);
    if (!is_of_group(picture) && tile->z >= n_levels) {
        return bad_tile(tile->z, n_levels, "level", err);
    }
    picture->factor = is_of_group(picture) ? 1 : UINT64_C(1) << tile->z;
    ZD_TRY(cut_dim(picture, picture->dim_y, tile->y, "row", err));
    return cut_dim(picture, picture->dim_x, tile->x, "column", err);
}

/* ---- its size ---- */

static enum zd_status check_pixels(
    const struct zd_picture *picture, uint64_t width, uint64_t height, struct zd_error *err)
{
    const uint64_t most = settings_of(picture)->limits_image_pixels;
    uint64_t n;
    const bool is_more = ckd_mul(&n, width, height) || n > most;
    return is_more ? zd_fail_limit(err, most, pixels_of(height, width, 1),
                         "the image has %llux%llu pixels; limits.image_pixels is %llu",
                         (unsigned long long)width, (unsigned long long)height,
                         (unsigned long long)most)
                   : ZD_OK;
}

static enum zd_status set_scales(struct zd_picture *picture, struct zd_error *err)
{
    const struct zd_picture_params *ask = &picture->ask;
    struct zd_raster *raster = &picture->raster;
    const uint64_t height = picture->read.asked.axis[picture->dim_y].count;
    const uint64_t width = picture->read.asked.axis[picture->dim_x].count;
    if (ask->has_tile) {
        raster->y = zd_scale_blocks(height, picture->factor);
        raster->x = zd_scale_blocks(width, picture->factor);
        return check_pixels(picture, raster->x.n_pixels, raster->y.n_pixels, err);
    }
    if (!ask->has_size) {
        const uint64_t most = settings_of(picture)->limits_image_pixels;
        const uint64_t factor = factor_of(height, width, zd_min_u64(ask->max_size, most));
        raster->y = zd_scale_blocks(height, factor);
        raster->x = zd_scale_blocks(width, factor);
        return ZD_OK;
    }
    ZD_TRY(check_pixels(picture, ask->width, ask->height, err));
    if (zd_scale_to(height, ask->height, &raster->y) != ZD_OK ||
        zd_scale_to(width, ask->width, &raster->x) != ZD_OK) {
        return zd_fail_limit(err, UINT32_MAX, zd_max_u64(height, width),
            "the selection is too long for size: omit size, or select every n-th element "
            "(slice=::n,::n)");
    }
    return ZD_OK;
}

static enum zd_status check_bytes(const struct zd_picture *picture, struct zd_error *err)
{
    const struct zd_slice_view view = zd_slice_read_view(&picture->read);
    const uint64_t most = settings_of(picture)->limits_stats_bytes;
    const uint64_t n = zd_slice_view_bytes(&view);
    return n <= most ? ZD_OK
                     : zd_fail_limit(err, most, n,
                           "the selection has %llu bytes; limits.stats_bytes is %llu: select every "
                           "n-th element (slice=::n,::n), or fewer elements",
                           (unsigned long long)n, (unsigned long long)most);
}

/* ---- its range ---- */

/* An element as a number of the picture; NaN: it is none. */
static double number_of(const struct zd_picture_numbers *numbers, const uint8_t *element)
{
    uint8_t room[ZD_CF_DECODE_ELEMENT_MAX];
    return zd_raster_number(&numbers->dtype, zd_picture_numbers_of(numbers, element, 1, room));
}

/* The bounds that an array declares. @param node or NULL @return whether it does */
static bool take_bounds(struct zd_picture *picture, const struct zd_node *node)
{
    struct zd_picture_numbers numbers;
    if (node == NULL || !zd_meta_is_array(node->meta) || node->meta->view.min == NULL ||
        node->meta->view.max == NULL ||
        zd_picture_numbers_init(&numbers, node->meta, picture->read.ask.decodes, NULL) != ZD_OK) {
        return false;
    }
    const double bound[] = {
        number_of(&numbers, node->meta->view.min), number_of(&numbers, node->meta->view.max)};
    struct zd_shade_range range = zd_shade_no_range();
    zd_shade_range_add(&range, bound, ZD_COUNT_OF(bound));
    if (range.has_missing || range.min > range.max) {
        return false; /* what they stand for is missing, or infinite */
    }
    zd_picture_set_range(picture, range.min, range.max);
    return true;
}

/* The level with the fewest elements: its range stands for that of the whole group, at little cost.
 */
static struct zd_node *coarsest_level(const struct zd_picture *picture)
{
    const struct zd_multiscale *multiscale = &picture->read.multiscale;
    struct zd_node *found = picture->read.node;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < multiscale->n; i++) {
        struct zd_node *node = multiscale->node[i];
        uint64_t shape[ZD_RANK_MAX];
        uint64_t n;
        if (node == NULL || node->layout == NULL || !zd_dtype_is_ordered(&node->meta->dtype)) {
            continue;
        }
        zd_meta_shape(node->meta, shape);
        if (!zd_product_overflows(&n, shape, node->meta->grid.rank) && n > 0 && n <= least) {
            least = n;
            found = node;
        }
    }
    return found;
}

/* The ends that are asked, or that are declared. Tiles share those of the whole array. */
static void set_ends(struct zd_picture *picture)
{
    const struct zd_picture_params *ask = &picture->ask;
    struct zd_node *node = picture->read.node;
    picture->shade = (struct zd_shade){.from = ask->from, .to = ask->to, .stretch = ask->stretch};
    picture->has_from = ask->has_from;
    picture->has_to = ask->has_to;
    if (!ask->has_tile) {
        (void)take_bounds(picture, node);
        return;
    }
    struct zd_node *whole = coarsest_level(picture);
    const struct zd_node *finest = is_of_group(picture) ? picture->read.multiscale.node[0] : node;
    const bool is_known = picture->raster.n_channels > 1 || (ask->has_from && ask->has_to) ||
                          take_bounds(picture, finest) || take_bounds(picture, whole);
    picture->whole.node = is_known ? NULL : zd_node_ref(whole);
}

/* Whether what is selected has the shape that the client expects. */
static enum zd_status check_shape(const struct zd_picture *picture, struct zd_error *err)
{
    uint64_t shape[ZD_RANK_MAX];
    const uint32_t rank = zd_selection_shape(&picture->read.asked, shape);
    return zd_slice_params_check_shape(&picture->read.ask, "selection", shape, rank, err);
}

enum zd_status zd_picture_plan_shown(
    struct zd_picture *picture, const char **ret_code, struct zd_error *err)
{
    ZD_TRY(zd_slice_read_select(&picture->read, ret_code, err));
    find_dims(picture);
    *ret_code = "shape_mismatch";
    ZD_TRY(check_shape(picture, err));
    *ret_code = "invalid_metadata";
    ZD_TRY(zd_picture_numbers_init(
        &picture->numbers, picture->read.node->meta, picture->read.ask.decodes, err));
    ZD_TRY(check_kind(picture, ret_code, err));
    *ret_code = NULL;
    if (picture->ask.has_tile) {
        ZD_TRY(cut_tile(picture, err));
    }
    ZD_TRY(check_bytes(picture, err));
    ZD_TRY(set_scales(picture, err));
    set_ends(picture);
    return ZD_OK;
}
