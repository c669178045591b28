/* Files that the program carries: one by its name, its media type, and pages with marks. */
#include "server/http/embedded.h"

#include <string.h>
#include <zstd.h>

#include "core/base/num.h"

#define MARK_BEGIN "{{"

const struct zd_embedded *zd_embedded_find(const struct zd_embedded *folder, const char *name)
{
    for (; folder->name != NULL; folder++) {
        if (strcmp(folder->name, name) == 0) {
            return folder;
        }
    }
    return NULL;
}

struct zd_buf *zd_embedded_read(const struct zd_embedded *file)
{
    struct zd_buf *buf = zd_buf_new(file->len + 1);
    if (buf == NULL) {
        return NULL;
    }
    const size_t len = ZSTD_decompress(buf->data, file->len, file->packed.ptr, file->packed.len);
    if (len != file->len) { /* the build packed it: only memory can be short */
        zd_buf_unref(buf);
        return NULL;
    }
    buf->data[len] = 0;
    buf->len = len;
    return buf;
}

const char *zd_embedded_type(const struct zd_embedded *file)
{
    static const struct {
        const char *ending;
        const char *media_type;
    } types[] = {
        {".css", "text/css; charset=utf-8"},
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"}, /* RFC 9239 */
        {".svg", "image/svg+xml"},
    };
    const char *ending = strrchr(file->name, '.');
    for (size_t i = 0; ending != NULL && i < ZD_COUNT_OF(types); i++) {
        if (strcmp(ending, types[i].ending) == 0) {
            return types[i].media_type;
        }
    }
    return "application/octet-stream";
}

/* The mark that stands there; NULL: none. */
static const struct zd_embedded_mark *mark_at(const char *at, const struct zd_embedded_mark *marks)
{
    for (; marks->mark != NULL; marks++) {
        if (strncmp(at, marks->mark, strlen(marks->mark)) == 0) {
            return marks;
        }
    }
    return NULL;
}

void zd_embedded_add_page(
    const char *page, const struct zd_embedded_mark *marks, struct zd_text *text)
{
    const char *from = page;
    for (const char *at = from; (at = strstr(at, MARK_BEGIN)) != NULL;) {
        const struct zd_embedded_mark *mark = mark_at(at, marks);
        if (mark == NULL) {
            at += strlen(MARK_BEGIN);
            continue;
        }
        zd_text_add_bytes(text, from, (size_t)(at - from));
        zd_text_add(text, mark->text);
        at += strlen(mark->mark);
        from = at;
    }
    zd_text_add(text, from);
}
