/* A slice of an array: whether it is too large, the pieces of one that is, and its entity tags.
 * Thread: loop. */
#ifndef ZD_SLICE_SLICE_VIEW_H
#define ZD_SLICE_SLICE_VIEW_H

#include "server/data/catalog.h"
#include "server/data/seen_objects.h"
#include "server/format/format.h"
#include "server/request/request.h"

/** Everything borrowed. */
struct zd_slice_view {
    const struct zd_node *node;
    const struct zd_selection *asked;     /* as the client counts */
    const struct zd_selection *selection; /* the same elements in the stored array */
    const struct zd_seen_objects *seen;   /* for tags: all its objects are known */
    uint64_t result; /* for tags: hash of what is made of the elements; 0: they are as they are */
};

/** The form of an answer: style and pretty matter to text only. A new member needs a bit in
 * looks_of of slice_view.c. */
struct zd_slice_form {
    const struct zd_format *format;
    struct zd_scalar_style style;
    bool pretty;
    bool has_header;
    bool is_table; /* no condition of a request that writes names its tag */
};

/** Its decoded bytes, and its chunks: UINT64_MAX when they do not fit 64 bits. */
uint64_t zd_slice_view_bytes(const struct zd_slice_view *view);
uint64_t zd_slice_view_chunks(const struct zd_slice_view *view);

/**
 * Compare its decoded bytes and its chunks with their limits.
 * @param setting that bytes_max is
 * @retval ZD_TOO_LARGE facts limit, requested
 */
ZD_RESULT zd_slice_view_check(const struct zd_slice_view *view, uint64_t bytes_max,
    const char *setting, struct zd_error *err);

/** {"suggestions": [...], "n_suggestions": n} of pieces of at most bytes_max that together are the
 * slice, owned; NULL without memory. */
struct zd_json *zd_slice_view_pieces(const struct zd_slice_view *view, uint64_t bytes_max);

/** Answer 413 with the pieces. @param err of zd_slice_view_check */
enum zd_next zd_slice_view_refuse(const struct zd_slice_view *view, uint64_t bytes_max,
    const struct zd_error *err, struct zd_request *req);

/** The part of its tag that all its forms share. All its objects are known. */
uint64_t zd_slice_view_hash(const struct zd_slice_view *view);

/** The entity tag of what has that hash in one form. */
void zd_slice_view_form_tag(uint64_t hash, const struct zd_slice_form *form, char to[ZD_TAG_BYTES]);

/** The entity tag of the slice in one form. */
void zd_slice_view_tag(
    const struct zd_slice_view *view, const struct zd_slice_form *form, char to[ZD_TAG_BYTES]);

/** Judge the conditions of a request that changes the slice: a client may name the tag of any form
 * of it. @return ZD_OK or ZD_PRECONDITION */
enum zd_status zd_slice_view_judge(const struct zd_slice_view *view, const struct zd_request *req);

#endif
