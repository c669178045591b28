/* A picture of a selection: its elements into cells, its cells into colours, and those into a file.
 */
#include "server/picture/picture.h"

#include <string.h>

#include "core/base/decimal.h"
#include "core/base/num.h"
#include "core/picture/colormap.h"
#include "server/request/admit.h"

#define FLIGHT_BYTES_MAX (UINT64_C(64) << 20) /* decoded chunks held at once */
#define ELEMENT_NS       2                    /* to add one */
#define CELL_NS          2                    /* to make a value of one */
#define PIXEL_NS         12                   /* to find its colour, and to compress it */
#define HEAD_NS          20000                /* to begin a file */
#define CELLS            4096                 /* that are settled at once */

static void leave(struct zd_request *req)
{
    struct zd_picture *picture = req->state;
    zd_value_ranges_leave(req->server, &picture->whole.want);
    zd_slice_read_leave(req);
}

struct zd_picture *zd_picture_new(struct zd_request *req, const struct zd_slice_read_kind *kind)
{
    struct zd_picture *picture = zd_alloc_zero(1, sizeof *picture);
    if (picture != NULL) {
        zd_slice_read_init(&picture->read, req, kind);
        req->state_free = leave;
    }
    return picture;
}

void zd_picture_release(struct zd_task *task)
{
    struct zd_picture *picture = ZD_CONTAINER(task, struct zd_picture, read.task);
    zd_fetch_done(&picture->read.fetch);
    zd_slice_read_done(&picture->read);
    zd_raster_done(&picture->raster);
    zd_png_free(picture->png);
    zd_node_unref(picture->whole.node);
    zd_node_unref(picture->whole.tile_node);
    zd_buf_unref(picture->room);
    zd_buf_unref(picture->decoded);
    zd_buf_unref(picture->body);
    zd_free(picture->color);
    zd_free(picture->row);
    zd_free(picture);
}

void zd_picture_set_range(struct zd_picture *picture, double min, double max)
{
    struct zd_shade *shade = &picture->shade;
    /* An end that was asked holds the other one, so that the map is turned round only if both were.
     */
    if (!picture->has_from) {
        shade->from = picture->has_to && min > shade->to ? shade->to : min;
    }
    if (!picture->has_to) {
        shade->to = picture->has_from && max < shade->from ? shade->from : max;
    }
    picture->has_from = true;
    picture->has_to = true;
}

/* ---- memory ---- */

static uint64_t count_chunks(const struct zd_picture *picture)
{
    const struct zd_slice_view view = zd_slice_read_view(&picture->read);
    return zd_slice_view_chunks(&view);
}

static uint64_t flight_bytes(const struct zd_picture *picture)
{
    return zd_admit_flight_bytes(picture->read.task.req, FLIGHT_BYTES_MAX);
}

static uint64_t row_bytes(const struct zd_picture *picture)
{
    return picture->raster.x.n_pixels * picture->raster.n_channels;
}

uint64_t zd_picture_read_bytes(const struct zd_picture *picture)
{
    const struct zd_layout *layout = picture->read.node->layout;
    const uint64_t chunks =
        zd_fetch_held_bytes(picture->read.node, count_chunks(picture), flight_bytes(picture));
    uint64_t bytes;
    if (zd_plan_overflows(&layout->level[0].grid, &picture->read.selection, &bytes) ||
        ckd_mul(&bytes, bytes, (uint64_t)sizeof(struct zd_seen_object)) ||
        ckd_add(&bytes, bytes, chunks) ||
        ckd_add(&bytes, bytes, zd_layout_leaf(layout)->chunk_bytes)) {
        return UINT64_MAX;
    }
    return bytes;
}

/* The size of a chunk's decoded elements. */
static uint64_t decoded_bytes(const struct zd_picture *picture)
{
    const struct zd_node *node = picture->read.node;
    const uint64_t n = zd_layout_leaf(node->layout)->chunk_bytes / node->meta->dtype.bytes;
    return zd_picture_numbers_bytes(&picture->numbers, n);
}

uint64_t zd_picture_held_bytes(const struct zd_picture *picture)
{
    const struct zd_raster *raster = &picture->raster;
    uint64_t bytes = 0;
    const uint64_t part[] = {
        zd_picture_read_bytes(picture),
        decoded_bytes(picture),
        zd_raster_bytes(&raster->y, &raster->x, raster->n_channels),
        zd_png_bytes_max(raster->x.n_pixels, raster->y.n_pixels, raster->n_channels),
        2 * row_bytes(picture),
        ZD_PNG_HELD_BYTES,
    };
    for (size_t i = 0; i < ZD_COUNT_OF(part); i++) {
        if (ckd_add(&bytes, bytes, part[i])) {
            return UINT64_MAX;
        }
    }
    return bytes;
}

enum zd_status zd_picture_take(struct zd_picture *picture, struct zd_error *err)
{
    struct zd_slice_read *read = &picture->read;
    const struct zd_raster *raster = &picture->raster;
    const uint64_t body_bytes =
        zd_png_bytes_max(raster->x.n_pixels, raster->y.n_pixels, raster->n_channels);
    ZD_TRY(zd_seen_objects_init(&read->seen, read->node->layout, &read->selection, err));
    ZD_TRY(zd_raster_init(&picture->raster, err));
    picture->room = zd_buf_new(zd_layout_leaf(read->node->layout)->chunk_bytes);
    picture->decoded = zd_buf_new(decoded_bytes(picture));
    picture->body = zd_buf_new(body_bytes);
    picture->color = zd_alloc(raster->x.n_cells * raster->n_channels);
    picture->row = zd_alloc(row_bytes(picture));
    return picture->room == NULL || picture->decoded == NULL || picture->body == NULL ||
                   picture->color == NULL || picture->row == NULL
               ? zd_fail(err, ZD_NO_MEMORY, "no memory for a picture")
               : ZD_OK;
}

/* ---- its elements into cells ---- */

enum zd_status zd_picture_begin_fetch(struct zd_picture *picture, struct zd_error *err)
{
    struct zd_fetch *fetch = &picture->read.fetch;
    if (fetch->n_part == 0) {
        ZD_TRY(zd_fetch_init(fetch, zd_task_gather(picture->read.task.req), picture->read.node,
            count_chunks(picture), flight_bytes(picture), err));
    }
    fetch->element_ns = ELEMENT_NS + (picture->numbers.are_decoded ? ZD_PICTURE_NUMBERS_NS : 0);
    fetch->seen = picture->read.is_tagless ? NULL : &picture->read.seen;
    zd_fetch_begin(fetch, &picture->read.selection);
    return ZD_OK;
}

enum zd_status zd_picture_begin(struct zd_picture *picture, struct zd_error *err)
{
    zd_raster_clear(&picture->raster);
    return zd_picture_begin_fetch(picture, err);
}

uint64_t zd_picture_cost_ns(const struct zd_slice_read *read)
{
    return read->fetch.copy_ns;
}

static void add_part(struct zd_picture *picture, uint32_t i)
{
    const struct zd_part *part = &picture->read.fetch.want[i].part;
    const bool is_rgb = picture->raster.n_channels > 1;
    const struct zd_raster_box box = {
        .y = part->to[picture->dim_y],
        .x = part->to[picture->dim_x],
        .n_y = part->count[picture->dim_y],
        .n_x = part->count[picture->dim_x],
        .n_channels = is_rgb ? (uint32_t)part->count[picture->dim_channel] : 1,
        .channel = is_rgb ? (uint32_t)part->to[picture->dim_channel] : 0,
    };
    uint64_t n;
    const uint8_t *elements = zd_fetch_box(&picture->read.fetch, i, picture->room->data, &n);
    const bool is_fill = elements == NULL;
    const uint8_t *numbers = zd_picture_numbers_of(&picture->numbers,
        is_fill ? picture->read.node->meta->fill : elements, is_fill ? 1 : n,
        picture->decoded->data);
    if (is_fill) {
        zd_raster_add_fill(&picture->raster, &box, numbers);
    } else {
        zd_raster_add(&picture->raster, &box, numbers);
    }
}

/* ---- its cells into colours ---- */

static uint64_t paint_ns(const struct zd_picture *picture)
{
    const struct zd_raster *raster = &picture->raster;
    return HEAD_NS + raster->n_cells * CELL_NS + raster->y.n_pixels * row_bytes(picture) * PIXEL_NS;
}

uint64_t zd_picture_expect_ns(const struct zd_picture *picture)
{
    const struct zd_slice_view view = zd_slice_read_view(&picture->read);
    const uint64_t n = zd_slice_view_bytes(&view) / picture->read.node->meta->dtype.bytes;
    return n * ELEMENT_NS + paint_ns(picture);
}

uint64_t zd_picture_begin_paint(struct zd_picture *picture)
{
    picture->is_painting = true;
    picture->range = zd_shade_no_range();
    return paint_ns(picture);
}

/* Values of some cells. */
static void settle(struct zd_picture *picture)
{
    struct zd_raster *raster = &picture->raster;
    const uint64_t first = picture->n_settled;
    const uint64_t end = zd_min_u64(first + CELLS, raster->n_cells);
    zd_raster_settle(raster, first, end);
    zd_shade_range_add(&picture->range, raster->value + first, end - first);
    picture->n_settled = end;
}

/* Both ends, and whether they can be stretched so. */
static enum zd_status know_ends(struct zd_picture *picture, struct zd_error *err)
{
    const bool is_any = picture->range.min <= picture->range.max;
    if (!picture->has_from || !picture->has_to) {
        zd_picture_set_range(
            picture, is_any ? picture->range.min : 0, is_any ? picture->range.max : 1);
    }
    const struct zd_shade *shade = &picture->shade;
    if (shade->stretch != ZD_STRETCH_LOG || (shade->from > 0 && shade->to > 0)) {
        return ZD_OK;
    }
    const char *name = shade->from > 0 ? "vmax" : "vmin";
    const enum zd_status status = zd_fail_name(err, name,
        "stretch=log needs a range above 0; the values lie between %g and %g: give %s", shade->from,
        shade->to, name);
    zd_fact_expected(err, "a number above 0");
    return status;
}

/* The colour of the map at a position, ZD_SHADE_COLORS from its first to its last one. */
static uint32_t color_of(const struct zd_picture *picture, uint32_t i)
{
    const uint32_t most = ZD_SHADE_COLORS - 1;
    return zd_colormap_color(
        picture->ask.colormap, (i * (ZD_COLORMAP_COLORS - 1) + most / 2) / most);
}

static enum zd_status begin_file(struct zd_picture *picture, struct zd_error *err)
{
    const struct zd_raster *raster = &picture->raster;
    struct zd_png_head head = {
        .width = (uint32_t)raster->x.n_pixels,
        .height = (uint32_t)raster->y.n_pixels,
        .n_channels = raster->n_channels,
    };
    if (raster->n_channels == 1) {
        ZD_TRY(know_ends(picture, err));
        for (uint32_t i = 0; i < ZD_SHADE_COLORS; i++) {
            head.color[i] = color_of(picture, i);
        }
        head.n_colors = ZD_SHADE_COLORS + (picture->range.has_missing ? 1 : 0);
        head.color[ZD_SHADE_MISSING] = picture->ask.missing_color;
        head.is_last_clear = picture->range.has_missing && !picture->ask.has_missing_color;
    }
    picture->color_row = UINT64_MAX;
    return zd_png_new(&head, picture->body, &picture->png, err);
}

/* The colours of a row of cells. */
static void shade_row(struct zd_picture *picture, uint64_t cell_y)
{
    const struct zd_raster *raster = &picture->raster;
    const uint64_t n = raster->x.n_cells * raster->n_channels;
    const double *value = raster->value + cell_y * n;
    picture->color_row = cell_y;
    if (raster->n_channels == 1) {
        zd_shade_colors(&picture->shade, value, n, picture->color);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        picture->color[i] = (uint8_t)(int)(value[i] + 0.5);
    }
}

static enum zd_status add_row(struct zd_picture *picture, struct zd_error *err)
{
    const struct zd_raster *raster = &picture->raster;
    const uint64_t height = raster->y.n_pixels;
    const uint64_t y = picture->ask.is_flipped ? height - 1 - picture->n_rows : picture->n_rows;
    const uint64_t cell_y = zd_scale_cell_of_pixel(&raster->y, y);
    const uint32_t n = raster->n_channels;
    if (cell_y != picture->color_row) {
        shade_row(picture, cell_y);
    }
    picture->n_rows++;
    if (raster->x.n_cells == raster->x.n_pixels) {
        return zd_png_add_row(picture->png, picture->color, err);
    }
    for (uint64_t x = 0; x < raster->x.n_pixels; x++) {
        const uint64_t cell = zd_scale_cell_of_pixel(&raster->x, x);
        memcpy(picture->row + x * n, picture->color + cell * n, n);
    }
    return zd_png_add_row(picture->png, picture->row, err);
}

/* The next little of painting. @param ret_ns what it cost @return whether there is more */
static enum zd_status paint(
    struct zd_picture *picture, uint64_t *ret_ns, bool *ret_has_more, struct zd_error *err)
{
    *ret_has_more = true;
    if (picture->n_settled < picture->raster.n_cells) {
        *ret_ns = (uint64_t)CELLS * CELL_NS;
        settle(picture);
        return ZD_OK;
    }
    if (picture->png == NULL) {
        *ret_ns = HEAD_NS;
        return begin_file(picture, err);
    }
    if (picture->n_rows < picture->raster.y.n_pixels) {
        *ret_ns = row_bytes(picture) * PIXEL_NS;
        return add_row(picture, err);
    }
    *ret_ns = 0;
    *ret_has_more = false;
    return zd_png_end(picture->png, err);
}

void zd_picture_work(struct zd_task *task)
{
    struct zd_picture *picture = ZD_CONTAINER(task, struct zd_picture, read.task);
    uint64_t ns = 0;
    uint32_t first;
    uint32_t end;
    if (!picture->is_painting) {
        task->job.has_more = zd_fetch_take_piece(&picture->read.fetch, &first, &end);
        for (uint32_t i = first; i < end; i++) {
            add_part(picture, i);
        }
        return;
    }
    bool has_more = true;
    while (has_more && ns < ZD_WORKERS_PIECE_NS) {
        uint64_t step_ns;
        if (paint(picture, &step_ns, &has_more, &picture->err) != ZD_OK) {
            has_more = false;
        }
        ns += step_ns;
    }
    task->job.has_more = has_more;
}

/* ---- what is said of it ---- */

void zd_picture_add_range(struct zd_picture *picture)
{
    if (picture->has_range_header || !picture->has_from || !picture->has_to ||
        picture->raster.n_channels > 1) {
        return;
    }
    struct zd_text *value = zd_headers_add(&picture->read.headers, "Zarr-Range");
    zd_decimal_add(value, picture->shade.from, 64);
    zd_text_add_char(value, ',');
    zd_decimal_add(value, picture->shade.to, 64);
    picture->has_range_header = true;
}

static void hash_number(struct zd_hash *hash, bool is_there, double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    zd_hash_add_u64(hash, is_there ? 1 : 0);
    zd_hash_add_u64(hash, is_there ? bits : 0);
}

void zd_picture_tag(const struct zd_picture *picture, char to[ZD_TAG_BYTES])
{
    const struct zd_picture_params *ask = &picture->ask;
    struct zd_hash hash = {0};
    zd_hash_add_u64(&hash, picture->read.node->tag);
    zd_seen_objects_hash(&picture->read.seen, &hash);
    zd_selection_hash(&picture->read.selection, &picture->read.asked, &hash);
    zd_hash_add_u64(&hash, picture->raster.y.n_pixels);
    zd_hash_add_u64(&hash, picture->raster.x.n_pixels);
    zd_hash_add_u64(&hash, picture->raster.y.num);
    zd_hash_add_u64(&hash, ask->colormap << 4 | (uint32_t)ask->stretch << 2 |
                               (ask->is_flipped ? 2U : 0U) | (ask->has_missing_color ? 1U : 0U));
    zd_hash_add_u64(&hash, ask->missing_color);
    zd_hash_add_u64(&hash, picture->read.ask.decodes ? 1 : 0);
    hash_number(&hash, ask->has_from, ask->from);
    hash_number(&hash, ask->has_to, ask->to);
    hash_number(&hash, ask->has_tile, picture->shade.from); /* of the whole array */
    hash_number(&hash, ask->has_tile, picture->shade.to);
    zd_tag_format(to, hash.value, "png");
}
