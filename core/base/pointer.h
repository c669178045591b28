/* JSON pointers (RFC 6901): a place in a document. */
#ifndef ZD_CORE_BASE_POINTER_H
#define ZD_CORE_BASE_POINTER_H

#include <stddef.h>

/** By value: `zd_pointer_member(&at, "codecs")`. Cut at its size. */
struct zd_pointer {
    char text[192]; /* "" is the whole document */
};

struct zd_pointer zd_pointer_member(const struct zd_pointer *parent, const char *name);
struct zd_pointer zd_pointer_element(const struct zd_pointer *parent, size_t index);

#endif
