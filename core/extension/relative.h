/* Paths in configurations: relative to the group that has the extension. */
#ifndef ZD_CORE_EXTENSION_RELATIVE_H
#define ZD_CORE_EXTENSION_RELATIVE_H

#include "core/base/fault.h"

/** Some paths, as they stand in a document. Owned; freed with zd_relative_free. */
struct zd_relative {
    struct zd_pointer at; /* of the list */
    uint32_t n;
    const char *path[]; /* n of them; owned */
};

/**
 * A list of strings, which the schema has made sure of, as paths that lead below the group: names
 * between slashes, none of them empty or of periods only.
 *
 * @param name of the extension
 * @retval ZD_INVALID the faults say which
 * Thread: any.
 */
ZD_RESULT zd_relative_parse(const struct zd_json *list, const struct zd_pointer *at,
    const char *name, struct zd_relative **ret_relative, struct zd_faults *faults);
void zd_relative_free(struct zd_relative *relative); /* accepts NULL */
ZD_OWN(zd_relative, zd_relative_free);

#endif
