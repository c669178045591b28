/* The parameters of a picture in the query, besides those of slices. */
#include "server/picture/picture_params.h"

#include <math.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/picture/colormap.h"

#define NUMBER_BYTES_MAX 64
#define SIDE_MAX         INT32_MAX
#define TILE_SIZE_MAX    4096
#define COLOR_BYTES      7 /* #rrggbb */
#define CLEAR            "transparent"

const char *const zd_picture_params_names[] = {"slice", "isel", "sel", "origin", "level", "decode",
    "expected_shape", "cmap", "vmin", "vmax", "stretch", "size", "max_size", "tile", "tile_size",
    "flip", "nan", "plan", NULL};

/* Parameters of pictures that slices lack, or use otherwise. */
static const char *const own_names[] = {
    "cmap", "vmin", "vmax", "stretch", "size", "max_size", "tile", "tile_size", "flip", "nan"};

static enum zd_status bad_value(
    const char *name, struct zd_span value, const char *expected, struct zd_error *err)
{
    const int shown = (int)zd_min_u64(value.len, ZD_FACT_TEXT_BYTES);
    const enum zd_status status = zd_fail_name(err, name, "parameter '%s' is '%.*s': expected %s",
        name, shown, (const char *)value.ptr, expected);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%.*s", shown, (const char *)value.ptr);
    return status;
}

static enum zd_status read_colormap(
    const struct zd_params *params, struct zd_picture_params *ask, struct zd_error *err)
{
    struct zd_span value;
    ask->has_colormap = zd_params_find(params, "cmap", &value);
    for (uint32_t i = 0; ask->has_colormap && zd_colormap_names[i] != NULL; i++) {
        if (zd_span_is(value, zd_colormap_names[i])) {
            ask->colormap = i;
            return ZD_OK;
        }
    }
    return ask->has_colormap
               ? bad_value("cmap", value,
                     "viridis, magma, inferno, plasma, cividis, turbo, gray, coolwarm or RdBu, "
                     "or one of these with _r",
                     err)
               : ZD_OK;
}

/* A finite number as in JSON. */
static bool read_number(struct zd_span text, double *ret_value)
{
    static const struct zd_json_limits limits = {
        .bytes_max = NUMBER_BYTES_MAX, .nodes_max = 1, .depth_max = 1};
    ZD_AUTO(zd_json) json = NULL;
    double value;
    if (zd_json_parse(text, &limits, &json, NULL) != ZD_OK || !zd_json_f64(json, &value) ||
        !isfinite(value)) {
        return false;
    }
    *ret_value = value;
    return true;
}

static enum zd_status read_end(const struct zd_params *params, const char *name, bool *ret_has,
    double *ret_value, struct zd_error *err)
{
    struct zd_span value;
    *ret_has = zd_params_find(params, name, &value);
    return !*ret_has || read_number(value, ret_value)
               ? ZD_OK
               : bad_value(name, value, "a finite number", err);
}

static enum zd_status check_ends(const struct zd_picture_params *ask, struct zd_error *err)
{
    const bool is_from = ask->has_from && ask->from <= 0;
    const bool is_to = ask->has_to && ask->to <= 0;
    if (ask->stretch != ZD_STRETCH_LOG || (!is_from && !is_to)) {
        return ZD_OK;
    }
    const char *name = is_from ? "vmin" : "vmax";
    const enum zd_status status = zd_fail_name(
        err, name, "stretch=log needs %s above 0; it is %g", name, is_from ? ask->from : ask->to);
    zd_fact_expected(err, "a number above 0");
    zd_fact_found(err, "%g", is_from ? ask->from : ask->to);
    return status;
}

static enum zd_status read_size(
    const struct zd_params *params, struct zd_picture_params *ask, struct zd_error *err)
{
    struct zd_span value;
    ask->has_size = zd_params_find(params, "size", &value);
    if (!ask->has_size) {
        return ZD_OK;
    }
    struct zd_scan scan = zd_scan_of(value);
    const bool is_read = zd_scan_u64(&scan, SIDE_MAX, &ask->width) == ZD_OK &&
                         zd_scan_char(&scan, 'x') &&
                         zd_scan_u64(&scan, SIDE_MAX, &ask->height) == ZD_OK &&
                         zd_scan_at_end(&scan) && ask->width > 0 && ask->height > 0;
    if (!is_read) {
        return bad_value("size", value, "width and height in pixels, such as 640x480", err);
    }
    return ask->has_max_size ? zd_fail_name(err, "max_size", "size and max_size cannot be combined")
                             : ZD_OK;
}

static enum zd_status read_tile(
    const struct zd_params *params, struct zd_picture_params *ask, struct zd_error *err)
{
    const struct zd_params_range sizes = {
        .initial = ZD_PICTURE_TILE_SIZE, .least = 1, .most = TILE_SIZE_MAX};
    struct zd_picture_tile *tile = &ask->tile;
    struct zd_span value;
    ZD_TRY(zd_params_u64(params, "tile_size", sizes, &ask->tile_size, err));
    ask->has_tile = zd_params_find(params, "tile", &value);
    if (!ask->has_tile) {
        return zd_params_find(params, "tile_size", &value)
                   ? zd_fail_name(err, "tile_size", "tile_size requires tile=z,y,x")
                   : ZD_OK;
    }
    struct zd_scan scan = zd_scan_of(value);
    const bool is_read =
        zd_scan_u64(&scan, UINT64_MAX, &tile->z) == ZD_OK && zd_scan_char(&scan, ',') &&
        zd_scan_u64(&scan, UINT64_MAX, &tile->y) == ZD_OK && zd_scan_char(&scan, ',') &&
        zd_scan_u64(&scan, UINT64_MAX, &tile->x) == ZD_OK && zd_scan_at_end(&scan);
    if (!is_read) {
        return bad_value("tile", value, "level, row and column of a tile, such as 0,2,5", err);
    }
    const char *name = ask->has_size ? "size" : ask->has_max_size ? "max_size" : NULL;
    return name == NULL
               ? ZD_OK
               : zd_fail_name(err, name, "%s and tile cannot be combined: use tile_size", name);
}

static bool read_color(struct zd_span text, uint32_t *ret_color)
{
    uint32_t color = 0;
    if (text.len != COLOR_BYTES || text.ptr[0] != '#') {
        return false;
    }
    for (size_t i = 1; i < COLOR_BYTES; i++) {
        static const char digits[] = "0123456789abcdef";
        const uint8_t c = text.ptr[i];
        const char *digit = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c);
        if (digit == NULL) {
            return false;
        }
        color = color << 4 | (uint32_t)(digit - digits);
    }
    *ret_color = color;
    return true;
}

static enum zd_status read_missing(
    const struct zd_params *params, struct zd_picture_params *ask, struct zd_error *err)
{
    struct zd_span value;
    if (!zd_params_find(params, "nan", &value) || zd_span_is(value, CLEAR)) {
        return ZD_OK;
    }
    ask->has_missing_color = true;
    return read_color(value, &ask->missing_color)
               ? ZD_OK
               : bad_value("nan", value, CLEAR " or a colour, such as #ff0000 (%23ff0000)", err);
}

static enum zd_status read_flip(
    const struct zd_params *params, struct zd_picture_params *ask, struct zd_error *err)
{
    struct zd_span value;
    ask->is_flipped = zd_params_find(params, "flip", &value);
    return !ask->is_flipped || zd_span_is(value, "y") ? ZD_OK : bad_value("flip", value, "y", err);
}

/* The parameters that are left for the slice. */
static void leave(const struct zd_params *params, struct zd_params *ret_slice)
{
    ret_slice->n = 0;
    ret_slice->memory = NULL;
    for (uint32_t i = 0; i < params->n; i++) {
        bool is_own = false;
        for (size_t k = 0; k < ZD_COUNT_OF(own_names); k++) {
            is_own = is_own || strcmp(params->name[i], own_names[k]) == 0;
        }
        if (!is_own) {
            ret_slice->name[ret_slice->n] = params->name[i];
            ret_slice->value[ret_slice->n++] = params->value[i];
        }
    }
}

enum zd_status zd_picture_params_query(const struct zd_params *params,
    struct zd_picture_params *ret_ask, struct zd_params *ret_slice, struct zd_error *err)
{
    static const char *const stretches[] = {"linear", "sqrt", "log", NULL};
    const struct zd_params_range pixels = {
        .initial = ZD_PICTURE_PIXELS, .least = 1, .most = UINT64_MAX};
    struct zd_picture_params ask = {0};
    struct zd_span value;
    uint32_t stretch;
    ZD_TRY(read_colormap(params, &ask, err));
    ZD_TRY(read_end(params, "vmin", &ask.has_from, &ask.from, err));
    ZD_TRY(read_end(params, "vmax", &ask.has_to, &ask.to, err));
    ZD_TRY(zd_params_choice(params, "stretch", stretches, &stretch, err));
    ask.has_stretch = zd_params_find(params, "stretch", &value);
    ask.stretch = (enum zd_stretch)stretch;
    ZD_TRY(check_ends(&ask, err));
    ask.has_max_size = zd_params_find(params, "max_size", &value);
    ZD_TRY(zd_params_u64(params, "max_size", pixels, &ask.max_size, err));
    ZD_TRY(read_size(params, &ask, err));
    ZD_TRY(read_tile(params, &ask, err));
    ZD_TRY(read_flip(params, &ask, err));
    ZD_TRY(read_missing(params, &ask, err));
    leave(params, ret_slice);
    *ret_ask = ask;
    return ZD_OK;
}
