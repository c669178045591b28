/* The header Content-Disposition. */
#include "server/http/disposition.h"

#include <string.h>

#include "core/base/scan.h"
#include "server/http/escape.h"

#define NAME_BYTES_MAX 128
#define NO_NAME        "data"

/* Letters and digits, and what neither a quoted string (RFC 9110, 5.6.4) nor a system of files
 * gives a meaning. A percent sign has none in a quoted string, but some clients decode it (RFC
 * 6266, D). */
static bool is_plain(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr(" !#$&'()+,-.=@[]^_`{}~", c) != NULL);
}

/* At most so many bytes, and no part of a character. */
static struct zd_span shorten(struct zd_span name)
{
    if (name.len > NAME_BYTES_MAX) {
        name.len = NAME_BYTES_MAX;
        while (name.len > 0 && (name.ptr[name.len] & 0xc0) == 0x80) {
            name.len--;
        }
    }
    return name;
}

void zd_disposition_add(struct zd_span name, const char *extension, struct zd_text *text)
{
    const struct zd_span shown = name.len == 0 ? zd_span_of(NO_NAME) : shorten(name);
    bool is_all_plain = shown.ptr[0] != '.'; /* a hidden file */
    zd_text_add(text, "inline; filename=\"");
    for (size_t i = 0; i < shown.len; i++) {
        const bool is_kept = is_plain(shown.ptr[i]) && (i > 0 || shown.ptr[0] != '.');
        zd_text_add_bytes(text, is_kept ? &shown.ptr[i] : (const uint8_t *)"_", 1);
        is_all_plain = is_all_plain && is_kept;
    }
    zd_text_addf(text, ".%s\"", extension);
    if (!is_all_plain && zd_scan_is_utf8(shown)) {
        zd_text_add(text, "; filename*=UTF-8''");
        zd_escape_percent_encode(shown, text);
        zd_text_addf(text, ".%s", extension);
    }
}
