/* Files that the program carries (cmake/embed.cmake). Thread: any. */
#ifndef ZD_HTTP_EMBEDDED_H
#define ZD_HTTP_EMBEDDED_H

#include "core/base/buf.h"
#include "core/base/text.h"

/** An embedded file; a folder ends with a file without name. */
struct zd_embedded {
    const char *name;      /* without its folder */
    struct zd_span packed; /* zstd (RFC 8878): texts of half a megabyte take a fifth of it */
    size_t len;            /* of the file, bytes */
};

/** The file of that name; NULL: there is none. */
const struct zd_embedded *zd_embedded_find(const struct zd_embedded *folder, const char *name);

/** The bytes of a file, and a 0 behind them. @return owned; NULL without memory */
struct zd_buf *zd_embedded_read(const struct zd_embedded *file);

/** "text/css; charset=utf-8": by the ending of its name. Every file of the program has one that is
 * known. */
const char *zd_embedded_type(const struct zd_embedded *file);

/** A mark in a page, as "{{prefix}}", and what stands in its place. */
struct zd_embedded_mark {
    const char *mark; /* begins with "{{" */
    const char *text; /* borrowed; needs no escape */
};

/** Add a page with its marks replaced. @param marks end with one of NULL; borrowed */
void zd_embedded_add_page(
    const char *page, const struct zd_embedded_mark *marks, struct zd_text *text);

#endif
