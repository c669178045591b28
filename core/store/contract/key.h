/* Keys of stores. Thread: any. */
#ifndef ZD_CORE_STORE_CONTRACT_KEY_H
#define ZD_CORE_STORE_CONTRACT_KEY_H

#include "core/base/buf.h"

#define ZD_KEY_BYTES_MAX 1024

#define ZD_TEMP_PREFIX ".zarrd-tmp-" /* begins the names of unfinished writes */

/**
 * Whether a key may be given to a store: 1 to ZD_KEY_BYTES_MAX bytes of UTF-8, no control byte, no
 * backslash, no empty segment, no "." or "..", no segment over 255 bytes, none that begins with
 * ZD_TEMP_PREFIX.
 */
bool zd_key_is_valid(const char *key);

/** The same for a prefix of keys: "", or a valid key followed by a slash. */
bool zd_key_prefix_is_valid(const char *prefix);

/** The same for one segment of a key, such as the name of a directory entry. */
bool zd_key_segment_is_valid(struct zd_span segment);

/** The hash by which threads and processes lock a key: the same in every process. */
uint64_t zd_key_hash(const char *key);

#endif
