/* Entity tags of slices: made for GET, checked for If-Match of writers. */
#ifndef ZD_SLICE_SLICE_TAG_H
#define ZD_SLICE_SLICE_TAG_H

#include "server/data/seen_objects.h"
#include "server/format/format.h"
#include "server/request/request.h"

/** A slice of an array; everything borrowed. Its objects are all known. */
struct zd_slice_view {
    const struct zd_node *node;
    const struct zd_seen_objects *seen;
    const struct zd_selection *asked;
    const struct zd_selection *selection; /* the same elements in the stored array */
};

/** The form of the answer: style and pretty matter to text only. A new member needs a row in
 * slice_tag.c. */
struct zd_slice_form {
    const struct zd_format *format;
    struct zd_scalar_style style;
    bool pretty;
};

/** The tag of a slice in one form. Thread: loop. */
void zd_slice_tag_of(
    const struct zd_slice_view *view, const struct zd_slice_form *form, char to[ZD_TAG_BYTES]);

/** Judge the conditions of a request that changes the slice: a client may name the tag of any form
 * of it. @return ZD_OK or ZD_PRECONDITION */
enum zd_status zd_slice_tag_judge(const struct zd_slice_view *view, const struct zd_request *req);

#endif
