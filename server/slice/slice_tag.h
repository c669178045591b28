/* Entity tags of slices: what a reader was given, and what a writer says that it has seen. */
#ifndef ZD_SLICE_SLICE_TAG_H
#define ZD_SLICE_SLICE_TAG_H

#include "server/data/seen_objects.h"
#include "server/format/format.h"
#include "server/request/request.h"

/** A slice of an array; everything borrowed. Its objects are all known. */
struct zd_slice_view {
    const struct zd_node *node;
    const struct zd_seen_objects *touched;
    const struct zd_selection *asked;
    const struct zd_selection *selection; /* the same elements in the stored array */
};

/** How it is given: style and pretty are of text. A new member needs its row in slice_tag.c. */
struct zd_slice_form {
    const struct zd_format *format;
    struct zd_scalar_style style;
    bool pretty;
};

/** The tag of a slice in one form. Thread: loop. */
void zd_slice_tag_of(
    const struct zd_slice_view *view, const struct zd_slice_form *form, char to[ZD_TAG_BYTES]);

/** What the conditions of a request say of changing the slice: a client may name the tag of any
 * form in which GET gives it. @return ZD_OK or ZD_PRECONDITION */
enum zd_status zd_slice_tag_judge(const struct zd_slice_view *view, const struct zd_request *req);

#endif
