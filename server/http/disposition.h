/* The header Content-Disposition (RFC 6266). Thread: any. */
#ifndef ZD_HTTP_DISPOSITION_H
#define ZD_HTTP_DISPOSITION_H

#include "core/base/text.h"

/**
 * Add `inline; filename="NAME.EXT"`. What is not plain in a name becomes `_` there, and is said in
 * a second parameter, `filename*`, in full (RFC 8187). Of long names the first 128 bytes count.
 *
 * @param name      any bytes; what is no UTF-8 is only `_`
 * @param extension without its dot, plain
 */
void zd_disposition_add(struct zd_span name, const char *extension, struct zd_text *text);

#endif
