/* A picture of a selection: its elements into cells, its cells into colours, and those into a file.
 * Thread: loop, but for zd_picture_work. */
#ifndef ZD_PICTURE_PICTURE_H
#define ZD_PICTURE_PICTURE_H

#include "core/picture/png.h"
#include "core/picture/raster.h"
#include "server/picture/picture_numbers.h"
#include "server/picture/picture_params.h"
#include "server/picture/value_ranges.h"
#include "server/slice/slice_read.h"

/** The array whose range all tiles share (server/picture/picture_range.h). */
struct zd_picture_whole {
    struct zd_node *node; /* a reference; NULL: no range is looked for */
    struct zd_value_ranges_want want;
    struct zd_picture_numbers numbers;
    struct zd_shade_range range; /* of what was seen so far */
    zd_step *next;               /* once it is known */
    /* The tile, while the whole array is read in its place. */
    const struct zd_slice_read_kind *kind;
    struct zd_node *tile_node;
    struct zd_selection asked;
    struct zd_selection selection;
};

/** The state of a request for a picture. */
struct zd_picture {
    struct zd_slice_read read; /* first; the task adds one lot of chunks, or paints */
    struct zd_picture_params ask;
    uint32_t dim_y; /* of the array: its rows, columns and channels */
    uint32_t dim_x;
    uint32_t dim_channel; /* of RGB and RGBA */
    uint64_t factor;      /* of a tile: so many elements in each direction are one pixel */
    struct zd_picture_numbers numbers;
    struct zd_raster raster;
    struct zd_buf *room;    /* for the elements of one part */
    struct zd_buf *decoded; /* for what they become */
    struct zd_shade shade;  /* its ends are known once they are asked, declared, or seen */
    bool has_from;
    bool has_to;
    bool has_range_header;

    struct zd_picture_whole whole;

    /* Painting. */
    bool is_painting; /* what the task does next */
    struct zd_shade_range range;
    uint64_t n_settled; /* cells */
    uint32_t n_rows;    /* that the file has */
    uint8_t *color;     /* of one row of cells; owned */
    uint64_t color_row; /* which one it is */
    uint8_t *row;       /* of pixels; owned */
    struct zd_png *png;
    struct zd_buf *body;
    struct zd_error err; /* why it cannot be made */
};

/** Make it the state of a request whose node is an array, or a group with levels. @return NULL: no
 * memory */
struct zd_picture *zd_picture_new(struct zd_request *req, const struct zd_slice_read_kind *kind);

/** The bytes that making it holds at the same time. */
uint64_t zd_picture_held_bytes(const struct zd_picture *picture);

/** The part of them that reading the elements holds. */
uint64_t zd_picture_read_bytes(const struct zd_picture *picture);

/** About how long adding its elements and painting take, in ns. */
uint64_t zd_picture_expect_ns(const struct zd_picture *picture);

/** Take that memory. @retval ZD_NO_MEMORY */
ZD_RESULT zd_picture_take(struct zd_picture *picture, struct zd_error *err);

/** Begin to fetch the elements, or begin again. @retval ZD_NO_MEMORY */
ZD_RESULT zd_picture_begin_fetch(struct zd_picture *picture, struct zd_error *err);

/** Begin to read into the cells, or begin again. @retval ZD_NO_MEMORY */
ZD_RESULT zd_picture_begin(struct zd_picture *picture, struct zd_error *err);

/** The ends that were not asked for. @param min, max finite, of what they follow from */
void zd_picture_set_range(struct zd_picture *picture, double min, double max);

/** All elements were added: paint next. @return the cost of that, for zd_task_run */
uint64_t zd_picture_begin_paint(struct zd_picture *picture);

/** Add a part, or paint: one piece of that. Thread: any. */
void zd_picture_work(struct zd_task *task);

/** The cost of adding the parts that have arrived. */
uint64_t zd_picture_cost_ns(const struct zd_slice_read *read);

/** Zarr-Range, once both ends are known, and once. */
void zd_picture_add_range(struct zd_picture *picture);

/** The entity tag; every touched object is known. */
void zd_picture_tag(const struct zd_picture *picture, char to[ZD_TAG_BYTES]);

/** Frees the state; as of zd_task. */
void zd_picture_release(struct zd_task *task);

#endif
