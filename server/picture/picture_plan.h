/* The plan of a picture: its elements and pixels. Thread: loop. */
#ifndef ZD_PICTURE_PICTURE_PLAN_H
#define ZD_PICTURE_PICTURE_PLAN_H

#include "server/picture/picture.h"

/** Read the query. @param ret_code the problem code of a failure */
ZD_RESULT zd_picture_plan_query(
    struct zd_picture *picture, const char **ret_code, struct zd_error *err);

/**
 * The node is known: what is shown, in how many pixels, within the limits. Of a tile without a
 * range, whole.node is set.
 * @param ret_code the problem code of a failure
 */
ZD_RESULT zd_picture_plan_shown(
    struct zd_picture *picture, const char **ret_code, struct zd_error *err);

#endif
