/* A dimension of a picture: the map from elements to pixels. */
#include "core/picture/scale.h"

#include "core/base/num.h"

enum zd_status zd_scale_to(uint64_t n_elements, uint64_t n_pixels, struct zd_scale *ret_scale)
{
    uint64_t product;
    /* Each count is one more, since a cell's end is counted too. */
    if (n_elements >= UINT64_MAX / 2 || n_pixels >= UINT64_MAX / 2 ||
        ckd_mul(&product, n_elements + 1, n_pixels + 1)) {
        return ZD_TOO_LARGE;
    }
    const bool shrinks = n_pixels < n_elements;
    *ret_scale = (struct zd_scale){
        .n_elements = n_elements,
        .n_cells = zd_min_u64(n_elements, n_pixels),
        .n_pixels = n_pixels,
        .num = shrinks ? n_elements : 1,
        .den = shrinks ? n_pixels : 1,
    };
    return ZD_OK;
}

struct zd_scale zd_scale_blocks(uint64_t n_elements, uint64_t factor)
{
    const uint64_t n = zd_div_up(n_elements, factor);
    return (struct zd_scale){
        .n_elements = n_elements, .n_cells = n, .n_pixels = n, .num = factor, .den = 1};
}

uint64_t zd_scale_overlap(const struct zd_scale *scale, uint64_t first, uint64_t end, uint64_t cell)
{
    const uint64_t from = zd_max_u64(first * scale->den, cell * scale->num);
    const uint64_t to = zd_min_u64(end * scale->den, (cell + 1) * scale->num);
    return to > from ? to - from : 0;
}

uint64_t zd_scale_cell_of_pixel(const struct zd_scale *scale, uint64_t pixel)
{
    /* Where the middle of the pixel lies; at most twice a product that fits. */
    return scale->n_cells == scale->n_pixels
               ? pixel
               : (uint64_t)(((unsigned __int128)2 * pixel + 1) * scale->n_cells /
                            ((unsigned __int128)2 * scale->n_pixels));
}
