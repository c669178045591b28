/* Keys of stores. */
#include "core/store/contract/key.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/scan.h"

#define SEGMENT_BYTES_MAX 255

bool zd_key_segment_is_valid(struct zd_span segment)
{
    const size_t temp_len = strlen(ZD_TEMP_PREFIX);
    if (segment.len == 0 || segment.len > SEGMENT_BYTES_MAX || zd_span_is(segment, ".") ||
        zd_span_is(segment, "..")) {
        return false;
    }
    if (segment.len >= temp_len && memcmp(segment.ptr, ZD_TEMP_PREFIX, temp_len) == 0) {
        return false;
    }
    for (size_t i = 0; i < segment.len; i++) {
        const uint8_t c = segment.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '\\' || c == '/') {
            return false;
        }
    }
    return zd_scan_is_utf8(segment);
}

/* The length is bounded here, so that a key without its NUL is refused, not followed. */
static bool path_is_valid(const char *path, size_t len)
{
    if (len == 0 || len > ZD_KEY_BYTES_MAX) {
        return false;
    }
    const char *const end = path + len;
    for (const char *at = path;; at++) {
        const char *const slash = memchr(at, '/', (size_t)(end - at));
        const char *const stop = slash == NULL ? end : slash;
        const struct zd_span segment = {.ptr = (const uint8_t *)at, .len = (size_t)(stop - at)};
        if (!zd_key_segment_is_valid(segment)) {
            return false;
        }
        if (slash == NULL) {
            return true;
        }
        at = slash;
    }
}

bool zd_key_is_valid(const char *key)
{
    return path_is_valid(key, strnlen(key, ZD_KEY_BYTES_MAX + 1));
}

bool zd_key_prefix_is_valid(const char *prefix)
{
    const size_t len = strnlen(prefix, ZD_KEY_BYTES_MAX + 2);
    return len == 0 || (prefix[len - 1] == '/' && path_is_valid(prefix, len - 1));
}

uint64_t zd_key_hash(const char *key)
{
    return zd_hash_of(zd_span_of(key), 0);
}
