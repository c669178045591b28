/* The list of generic extensions. */
#include "core/extension/extension.h"

#include <string.h>

const struct zd_extension *zd_extension_find(const char *name, bool is_array)
{
    for (size_t i = 0; zd_extensions[i] != NULL; i++) {
        const struct zd_extension *extension = zd_extensions[i];
        if (strcmp(extension->name, name) == 0 &&
            (is_array ? extension->on_array : extension->on_group)) {
            return extension;
        }
    }
    return NULL;
}
