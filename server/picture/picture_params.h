/* The parameters of a picture in the query, besides those of slices. Thread: any. */
#ifndef ZD_PICTURE_PICTURE_PARAMS_H
#define ZD_PICTURE_PICTURE_PARAMS_H

#include "core/picture/shade.h"
#include "server/http/params.h"

#define ZD_PICTURE_TILE_SIZE 256
#define ZD_PICTURE_PIXELS    1048576 /* of a picture whose size is not said, at the most */

/** A tile: of level z, 0 the finest, in that row and column of tiles. */
struct zd_picture_tile {
    uint64_t z;
    uint64_t y;
    uint64_t x;
};

struct zd_picture_params {
    uint32_t colormap; /* its position in zd_colormap_names */
    bool has_colormap;
    bool has_from; /* vmin */
    bool has_to;   /* vmax */
    double from;   /* finite */
    double to;
    bool has_stretch;
    enum zd_stretch stretch;
    bool has_size;
    uint64_t width; /* pixels, >= 1 */
    uint64_t height;
    uint64_t max_size; /* or at most so many in all, >= 1 */
    bool has_max_size;
    bool has_tile;
    struct zd_picture_tile tile;
    uint64_t tile_size; /* its width and height in pixels, >= 1; tiles at the edge are short */
    bool is_flipped;    /* the first row is at the bottom */
    bool has_missing_color;
    uint32_t missing_color; /* 0xrrggbb; else what is missing is transparent */
};

/** The names of all parameters of pictures, those of slices included, ended by NULL. */
extern const char *const zd_picture_params_names[];

/**
 * Read all of them but those of slices.
 * @param ret_slice the parameters that are read as those of a slice are (zd_slice_params_query);
 *                  borrowed from params
 * @retval ZD_INVALID facts name, expected, found
 */
ZD_RESULT zd_picture_params_query(const struct zd_params *params, struct zd_picture_params *ret_ask,
    struct zd_params *ret_slice, struct zd_error *err);

#endif
