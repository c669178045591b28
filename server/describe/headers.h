/* The Zarr-* headers: a client can rebuild the array from them and the body. */
#ifndef ZD_DESCRIBE_HEADERS_H
#define ZD_DESCRIBE_HEADERS_H

#include "server/format/format.h"
#include "server/request/request.h"
#include "server/request/respond.h"

/** Headers under construction. */
struct zd_headers {
    struct zd_text text; /* the values, each ended by NUL */
    const char *name[ZD_ANSWER_HEADERS_MAX];
    size_t at[ZD_ANSWER_HEADERS_MAX]; /* where each value begins in text */
    uint32_t n;
};

void zd_headers_init(struct zd_headers *headers);
void zd_headers_done(struct zd_headers *headers);

/** Begin a header: its value is what is added to the returned text. @param name static */
struct zd_text *zd_headers_add(struct zd_headers *headers, const char *name);

/** Take back all but the first n of them. */
void zd_headers_cut(struct zd_headers *headers, uint32_t n);

/** Zarr-Dtype, Zarr-Data-Type and Zarr-Shape of elements of that type in that shape. */
void zd_headers_add_elements(
    struct zd_headers *headers, const struct zd_dtype *dtype, uint32_t rank, const uint64_t *shape);

/** Content-Disposition: the name of a file that the body may become. */
void zd_headers_add_file(struct zd_headers *headers, const char *name, const char *extension);

/** Zarr-Dimensions, Zarr-Selection; Zarr-Fill-Value of elements that are as they are stored;
 * Zarr-Units of decoded ones; Zarr-Origin when the array has one, and Zarr-Warning as
 * zd_headers_add_warnings. */
void zd_headers_add_slice(
    struct zd_headers *headers, const struct zd_answer *answer, const struct zd_listing *listing);

/** Zarr-Warning: the codes of the node's warnings, each once, and those of its parent groups; no
 * header when there are none. */
void zd_headers_add_warnings(
    struct zd_headers *headers, const struct zd_faults *faults, const struct zd_listing *listing);

/**
 * Give them to an answer; borrowed until it is sent. A value too long for a header (a fill value of
 * many bytes, say) is left out.
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_headers_give(const struct zd_headers *headers,
    struct zd_representation *representation, struct zd_error *err);

#endif
