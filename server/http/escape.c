/* Text escaped for URLs (RFC 3986, 2.1) and for HTML. */
#include "server/http/escape.h"

#include <string.h>

#include "core/base/scan.h"
#include "server/http/guard_syntax.h"

int zd_escape_percent_next(const uint8_t *text, size_t len, size_t *at)
{
    const uint8_t c = text[*at];
    if (c != '%') {
        *at += 1;
        return c;
    }
    if (len - *at < 3) {
        return -1;
    }
    const int high = zd_guard_syntax_hex(text[*at + 1]);
    const int low = zd_guard_syntax_hex(text[*at + 2]);
    if (high < 0 || low < 0) {
        return -1;
    }
    *at += 3;
    return high * 16 + low;
}

/* Why a decoded byte must not stand in a path; NULL: it may. */
static const char *forbidden_in_path(int byte, bool was_encoded)
{
    if (byte == 0) {
        return "a NUL byte";
    }
    if (byte < 0x20 || byte == 0x7f) {
        return "a control character";
    }
    if (byte == '\\') {
        return "a backslash";
    }
    return byte == '/' && was_encoded ? "an encoded slash (%2F)" : NULL;
}

enum zd_status zd_escape_percent_decode(
    struct zd_span text, char *to, size_t *ret_len, struct zd_error *err)
{
    size_t at = 0;
    size_t len = 0;
    while (at < text.len) {
        const size_t position = at;
        const bool is_encoded = text.ptr[at] == '%';
        const int byte = zd_escape_percent_next(text.ptr, text.len, &at);
        const char *fault =
            byte < 0 ? "'%' without two hexadecimal digits" : forbidden_in_path(byte, is_encoded);
        if (fault != NULL) {
            const enum zd_status status =
                zd_fail(err, ZD_INVALID, "the path has %s at byte %zu", fault, position);
            zd_fact_position(err, position);
            return status;
        }
        to[len++] = (char)byte;
    }
    to[len] = '\0';
    if (!zd_scan_is_utf8((struct zd_span){.ptr = (const uint8_t *)to, .len = len})) {
        return zd_fail(err, ZD_INVALID, "the percent-decoded path is not UTF-8");
    }
    *ret_len = len;
    return ZD_OK;
}

enum zd_status zd_escape_percent_encode(struct zd_span text, struct zd_text *to)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"; /* RFC 3986, 2.3 */
    for (size_t i = 0; i < text.len; i++) {
        const char c = (char)text.ptr[i];
        if (c != '\0' && strchr(plain, c) != NULL) {
            zd_text_add_char(to, c);
        } else {
            zd_text_addf(to, "%%%02X", (unsigned)text.ptr[i]);
        }
    }
    return to->status;
}

void zd_escape_html(struct zd_text *page, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        const char plain[] = {*at, '\0'};
        zd_text_add(page, *at == '&'   ? "&amp;"
                          : *at == '<' ? "&lt;"
                          : *at == '>' ? "&gt;"
                          : *at == '"' ? "&quot;"
                                       : plain);
    }
}
