/* Colour maps: published tables of 256 colours. Thread: any. */
#ifndef ZD_CORE_PICTURE_COLORMAP_H
#define ZD_CORE_PICTURE_COLORMAP_H

#include <stdint.h>

#define ZD_COLORMAP_COLORS 256

/** Their names, ended by NULL: "viridis", "viridis_r" (the same from its end), ... */
extern const char *const zd_colormap_names[];

/**
 * A colour.
 * @param map of zd_colormap_names, by its position
 * @param i   0 .. ZD_COLORMAP_COLORS - 1
 * @return 0xrrggbb
 */
uint32_t zd_colormap_color(uint32_t map, uint32_t i);

#endif
