/* The range that all tiles of an array share: that of the whole array, which is read in the place
 * of the tile first, unless its range is known. Thread: loop. */
#ifndef ZD_PICTURE_PICTURE_RANGE_H
#define ZD_PICTURE_PICTURE_RANGE_H

#include "server/picture/picture.h"

/**
 * Before `next`: both ends of the range of a tile are set.
 * @param picture planned (zd_picture_plan_shown)
 * @return what the step returns; ZD_DONE: answered with a problem
 */
enum zd_next zd_picture_range_want(struct zd_picture *picture, zd_step *next);

#endif
