/* Locations of stores of files: paths and file: URLs. Thread: any. */
#ifndef ZD_CORE_STORE_FILE_FILE_LOCATION_H
#define ZD_CORE_STORE_FILE_FILE_LOCATION_H

#include "core/base/text.h"

/** Whether a location is a path (it has no scheme: RFC 3986, 3.1) or a file: URL. */
bool zd_file_location_is_ours(const char *location);

/** Whether it is one of ours that ends in ".zip", and no directory is there. Thread: any; blocks.
 */
bool zd_file_location_is_archive(const char *location);

/**
 * Append the path of such a location. RFC 8089: file:/path, file:///path, file://localhost/path.
 * @retval ZD_INVALID not an absolute path on this machine, or malformed percent-encoding
 */
ZD_RESULT zd_file_location_path(const char *location, struct zd_text *path, struct zd_error *err);

#endif
