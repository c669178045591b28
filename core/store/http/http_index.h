/* The index that an HTTP server gives of a directory: names of what is in it. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_HTTP_HTTP_INDEX_H
#define ZD_CORE_STORE_HTTP_HTTP_INDEX_H

#include "core/base/buf.h"
#include "core/base/status.h"

#define ZD_HTTP_INDEX_ENTRIES_MAX 1000000

/**
 * An entry of an index; names may come twice.
 * @param name a valid segment of a key; borrowed
 * @return not ZD_OK: nothing more is read
 */
typedef enum zd_status zd_http_index_entry(void *context, const char *name, bool is_prefix);

/**
 * Read an index as HTML of nginx, Apache, Python's http.server and of this program write it, or as
 * nginx's JSON. Links that lead elsewhere, and names that no key may have, are passed over.
 *
 * @param content_type of the answer
 * @retval ZD_NOT_FOUND this is no index, but something else
 * @retval ZD_TOO_LARGE it has more than ZD_HTTP_INDEX_ENTRIES_MAX entries
 * @retval what `entry` returned
 */
ZD_RESULT zd_http_index_read(struct zd_span text, const char *content_type,
    zd_http_index_entry *entry, void *context, struct zd_error *err);

#endif
