/* PNG files (ISO/IEC 15948), made row by row by libpng. */
#ifndef ZD_CORE_PICTURE_PNG_H
#define ZD_CORE_PICTURE_PNG_H

#include "core/base/buf.h"
#include "core/base/status.h"

#define ZD_PNG_COLORS_MAX 256
#define ZD_PNG_SIDE_MAX   INT32_MAX /* pixels */
#define ZD_PNG_HELD_BYTES 500000    /* that a file takes while it is made, besides its bytes */

/** The head of a file. */
struct zd_png_head {
    uint32_t width;                    /* 1 .. ZD_PNG_SIDE_MAX */
    uint32_t height;                   /* the same */
    uint32_t n_channels;               /* of 8 bits: 1 (of the palette), 3 (RGB) or 4 (RGBA) */
    uint32_t n_colors;                 /* of the palette */
    bool is_last_clear;                /* the last colour of the palette is transparent */
    uint32_t color[ZD_PNG_COLORS_MAX]; /* 0xrrggbb */
};

/** A file under construction. */
struct zd_png;

/** The most bytes that such a file has; UINT64_MAX: more than 64 bits can say. */
uint64_t zd_png_bytes_max(uint64_t width, uint64_t height, uint32_t n_channels);

/**
 * Begin.
 * @param buf     room for zd_png_bytes_max; borrowed until the file is freed, its len is set
 * @param ret_png owned
 * @retval ZD_NO_MEMORY
 * Thread: any, one at a time.
 */
ZD_RESULT zd_png_new(const struct zd_png_head *head, struct zd_buf *buf, struct zd_png **ret_png,
    struct zd_error *err);
void zd_png_free(struct zd_png *png); /* accepts NULL */

/** Add the next row: width * n_channels bytes. @retval ZD_NO_MEMORY, ZD_INTERNAL */
ZD_RESULT zd_png_add_row(struct zd_png *png, const uint8_t *row, struct zd_error *err);

/** All rows were added: the file is whole. @retval ZD_NO_MEMORY, ZD_INTERNAL */
ZD_RESULT zd_png_end(struct zd_png *png, struct zd_error *err);

#endif
