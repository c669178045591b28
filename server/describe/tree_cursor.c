/* Cursors of listings: paths that a client hands back. */
#include "server/describe/tree_cursor.h"

#include <string.h>

#include "core/store/contract/store.h"

#define CURSOR_MARK 'p' /* so that the root's cursor is not empty */

/* A cursor is the path in hexadecimal: it stays true whatever happens to the nodes around it. */
enum zd_status zd_tree_cursor_add(const char *path, struct zd_text *text)
{
    ZD_TRY(zd_text_add_char(text, CURSOR_MARK));
    for (const char *at = path; *at != '\0'; at++) {
        ZD_TRY(zd_text_addf(text, "%02x", (unsigned)(unsigned char)*at));
    }
    return ZD_OK;
}

static int nibble(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode(struct zd_span hex, char *to)
{
    for (size_t i = 0; i + 1 < hex.len; i += 2) {
        const int high = nibble(hex.ptr[i]);
        const int low = nibble(hex.ptr[i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        to[i / 2] = (char)(high * 16 + low);
    }
    to[hex.len / 2] = '\0';
    return true;
}

enum zd_status zd_tree_cursor_parse(struct zd_span cursor, char **ret_path, struct zd_error *err)
{
    const struct zd_span hex = {.ptr = cursor.len == 0 ? NULL : cursor.ptr + 1,
        .len = cursor.len == 0 ? 0 : cursor.len - 1};
    const bool has_mark = cursor.len > 0 && cursor.ptr[0] == CURSOR_MARK;
    ZD_AUTO_TEXT path = zd_alloc(hex.len / 2 + 1);
    if (path == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a cursor");
    }
    if (!has_mark || hex.len % 2 != 0 || !decode(hex, path) ||
        (path[0] != '\0' && !zd_key_is_valid(path)) || strlen(path) != hex.len / 2) {
        return zd_fail_name(err, "cursor", "cursor was not issued by this server");
    }
    *ret_path = ZD_TAKE(path);
    return ZD_OK;
}
