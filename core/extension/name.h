/* Names of extensions (ZEP 9, Zarr 3.1). */
#ifndef ZD_CORE_EXTENSION_NAME_H
#define ZD_CORE_EXTENSION_NAME_H

#include "core/base/buf.h"

enum zd_name_class {
    ZD_NAME_REGISTERED, /* ^[a-z][a-z0-9-_.]+$ */
    ZD_NAME_URI,        /* ^[a-z][a-z0-9+.-]*:[^\s?#]+$ */
    ZD_NAME_OLD,        /* only in the class of the ZEP 9 draft, "7z": tolerated on read */
    ZD_NAME_BAD,
};

/** How well-formed a name is. Thread: any. */
enum zd_name_class zd_name_classify(struct zd_span name);

#endif
