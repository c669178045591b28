/* PNG files, made row by row by libpng.
 *
 * libpng leaves a failed call by longjmp: each call of ours is one of its, and has nothing to
 * release. A row is stored as differences of neighbours, since the colours of a map are in the
 * order of the numbers that they stand for, and of repetitions zlib only looks for runs: that is
 * faster than its lowest level without them, and most files are smaller, too. */
#include "core/picture/png.h"

#include <assert.h>
#include <png.h>
#include <string.h>
#include <zlib.h>

#include "core/base/num.h"

#define BIT_DEPTH    8
#define LEVEL        1
#define HEAD_BYTES   4096 /* signature, palette, and the ends of all that */
#define PIECE_BYTES  8192 /* of compressed bytes, each with a head and a checksum */
#define STORED_SHARE 64   /* what zlib cannot compress grows by less than that share */

struct zd_png {
    png_struct *write;
    png_info *info;
    struct zd_buf *buf;
    struct zd_error err; /* of the call that failed */
};

uint64_t zd_png_bytes_max(uint64_t width, uint64_t height, uint32_t n_channels)
{
    uint64_t bytes;
    if (ckd_mul(&bytes, width, (uint64_t)n_channels) || ckd_add(&bytes, bytes, 1) ||
        ckd_mul(&bytes, bytes, height) || ckd_add(&bytes, bytes, bytes / STORED_SHARE) ||
        ckd_add(&bytes, bytes, HEAD_BYTES)) {
        return UINT64_MAX;
    }
    return bytes;
}

static void fail(png_struct *write, const char *text)
{
    struct zd_png *png = png_get_error_ptr(write);
    if (png->err.status == ZD_OK) {
        png->err.status = zd_fail(&png->err, ZD_INTERNAL, "libpng: %s", text);
    }
    png_longjmp(write, 1);
}

static void warn(png_struct *write, const char *text)
{
    (void)write;
    (void)text;
}

static void *take_memory(png_struct *write, png_alloc_size_t len)
{
    struct zd_png *png = png_get_mem_ptr(write);
    void *held = zd_alloc(len);
    if (held == NULL) {
        png->err.status = zd_fail(&png->err, ZD_NO_MEMORY, "no memory to make a PNG file");
    }
    return held;
}

static void give_memory(png_struct *write, void *held)
{
    (void)write;
    zd_free(held);
}

static void take_bytes(png_struct *write, png_byte *bytes, size_t len)
{
    struct zd_png *png = png_get_io_ptr(write);
    if (len > png->buf->cap - png->buf->len) {
        png_error(write, "the PNG file exceeds its computed size");
    }
    memcpy(png->buf->data + png->buf->len, bytes, len);
    png->buf->len += len;
}

static void flush(png_struct *write)
{
    (void)write;
}

static void set_palette(struct zd_png *png, const struct zd_png_head *head)
{
    png_color color[ZD_PNG_COLORS_MAX];
    png_byte alpha[ZD_PNG_COLORS_MAX];
    for (uint32_t i = 0; i < head->n_colors; i++) {
        color[i] = (png_color){
            .red = (png_byte)(head->color[i] >> 16),
            .green = (png_byte)(head->color[i] >> 8),
            .blue = (png_byte)head->color[i],
        };
        alpha[i] = i + 1 == head->n_colors ? 0 : UINT8_MAX;
    }
    png_set_PLTE(png->write, png->info, color, (int)head->n_colors);
    if (head->is_last_clear) {
        png_set_tRNS(png->write, png->info, alpha, (int)head->n_colors, NULL);
    }
}

static enum zd_status write_head(
    struct zd_png *png, const struct zd_png_head *head, struct zd_error *err)
{
    static const int types[] = {
        [1] = PNG_COLOR_TYPE_PALETTE, [3] = PNG_COLOR_TYPE_RGB, [4] = PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(png->write)) != 0) {
        *err = png->err;
        return err->status;
    }
    png_set_write_fn(png->write, png, take_bytes, flush);
    png_set_user_limits(png->write, ZD_PNG_SIDE_MAX, ZD_PNG_SIDE_MAX);
    png_set_filter(png->write, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_compression_level(png->write, LEVEL);
    png_set_compression_strategy(png->write, Z_RLE);
    png_set_compression_buffer_size(png->write, PIECE_BYTES);
    png_set_IHDR(png->write, png->info, head->width, head->height, BIT_DEPTH,
        types[head->n_channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    if (head->n_channels == 1) {
        set_palette(png, head);
    }
    png_write_info(png->write, png->info);
    return ZD_OK;
}

ZD_OWN(zd_png, zd_png_free);

enum zd_status zd_png_new(const struct zd_png_head *head, struct zd_buf *buf,
    struct zd_png **ret_png, struct zd_error *err)
{
    assert(head->n_channels == 1 || head->n_channels == 3 || head->n_channels == 4);
    ZD_AUTO(zd_png) png = zd_alloc_zero(1, sizeof *png);
    if (png == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to make a PNG file");
    }
    png->buf = buf;
    buf->len = 0;
    png->write = png_create_write_struct_2(
        PNG_LIBPNG_VER_STRING, png, fail, warn, png, take_memory, give_memory);
    png->info = png->write == NULL ? NULL : png_create_info_struct(png->write);
    if (png->info == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory to make a PNG file");
    }
    ZD_TRY(write_head(png, head, err));
    *ret_png = ZD_TAKE(png);
    return ZD_OK;
}

void zd_png_free(struct zd_png *png)
{
    if (png != NULL) {
        png_destroy_write_struct(&png->write, &png->info);
        zd_free(png);
    }
}

enum zd_status zd_png_add_row(struct zd_png *png, const uint8_t *row, struct zd_error *err)
{
    if (setjmp(png_jmpbuf(png->write)) != 0) {
        *err = png->err;
        return err->status;
    }
    png_write_row(png->write, row);
    return ZD_OK;
}

enum zd_status zd_png_end(struct zd_png *png, struct zd_error *err)
{
    if (setjmp(png_jmpbuf(png->write)) != 0) {
        *err = png->err;
        return err->status;
    }
    png_write_end(png->write, NULL);
    return ZD_OK;
}
