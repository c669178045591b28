/* Coordinates: the labels of a dimension are in the array of its name that is beside the array, or
 * in the nearest group above. Thread: loop. */
#ifndef ZD_DATA_COORDINATES_H
#define ZD_DATA_COORDINATES_H

#include "server/data/coordinate_read.h"
#include "server/data/reader.h"

/** The coordinate of one dimension. Starts zeroed but for what is set before the call. */
struct zd_coordinate_want {
    struct zd_wait wait;
    /* in */
    struct zd_node *array; /* borrowed; it has a layout */
    uint32_t dim;
    struct zd_reader reader;
    /* out, with ZD_OK */
    struct zd_coordinate *coordinate; /* a reference; as many labels as clients see elements */
    struct zd_node *node;             /* the array that it is; a reference */
    /* out, with ZD_NOT_FOUND */
    bool is_hidden; /* the search ended at zd_coordinates_add_path, which the reader may not read */
    /* its own */
    struct zd_machine machine;
    enum zd_next (*step)(struct zd_coordinate_want *want);
    size_t len; /* of the path of the group that is looked in */
    struct zd_node_want found;
    struct zd_coordinate_read read;
};

/**
 * Find it, and read it if it is not kept, or not trusted any more. The search ends at the first
 * place that the reader may not read, before the store is asked: no array further up stands in for
 * one that may be there.
 *
 * wait.status: ZD_OK; ZD_NOT_FOUND: there is none that can be used, and the error says why;
 * ZD_TOO_LARGE: it is longer than limits.coordinate_bytes (facts limit, requested); ZD_CORRUPT,
 * ZD_STORE ...
 */
enum zd_next zd_coordinates_want(struct zd_coordinate_want *want);

/** The path that is looked at, or was last. Failures stick in the text. */
void zd_coordinates_add_path(const struct zd_coordinate_want *want, struct zd_text *path);

/** Stop waiting, and release what was found. Accepts a zeroed want, and one that was answered. */
void zd_coordinates_release(struct zd_coordinate_want *want);

#endif
