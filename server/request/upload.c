/* Bodies of requests that are taken while they come: the window. */
#include "server/request/upload.h"

#include <string.h>

#include "core/base/num.h"

static void drop_window(struct zd_upload *upload)
{
    zd_buf_unref(upload->window);
    upload->window = NULL;
    upload->first = 0;
    upload->held_bytes = 0;
}

size_t zd_upload_put(struct zd_upload *upload, const void *bytes, size_t len)
{
    const struct zd_buf *window = upload->window;
    const size_t n = zd_min_u64(len, window->cap - upload->held_bytes);
    const size_t at = (upload->first + upload->held_bytes) % window->cap;
    const size_t n_straight = zd_min_u64(n, window->cap - at);
    memcpy(window->data + at, bytes, n_straight);
    memcpy(window->data, (const uint8_t *)bytes + n_straight, n - n_straight);
    upload->held_bytes += n;
    return n;
}

size_t zd_upload_take(struct zd_upload *upload, void *to, size_t len_max)
{
    const struct zd_buf *window = upload->window;
    const size_t n = zd_min_u64(len_max, upload->held_bytes);
    const size_t n_straight = zd_min_u64(n, window->cap - upload->first);
    memcpy(to, window->data + upload->first, n_straight);
    memcpy((uint8_t *)to + n_straight, window->data, n - n_straight);
    upload->first = (upload->first + n) % window->cap;
    upload->held_bytes -= n;
    return n;
}

void zd_upload_drop(struct zd_upload *upload)
{
    drop_window(upload);
    upload->state = ZD_UPLOAD_DROPPED;
    upload->wanted_bytes = 0;
}

void zd_upload_done(struct zd_upload *upload)
{
    drop_window(upload);
    *upload = (struct zd_upload){0};
}
