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

bool zd_upload_widen(struct zd_upload *upload, size_t window_bytes)
{
    struct zd_buf *wide = zd_buf_new(window_bytes);
    if (wide == NULL) {
        return false;
    }
    const size_t n = upload->held_bytes;
    if (n > 0) {
        (void)zd_upload_take(upload, wide->data, n);
    }
    drop_window(upload);
    upload->window = wide;
    upload->held_bytes = n;
    return true;
}

enum zd_next zd_upload_want(struct zd_upload *upload, size_t n_least, struct zd_wait *wait)
{
    if (upload->held_bytes >= n_least || upload->state == ZD_UPLOAD_ENDED) {
        return ZD_NEXT;
    }
    upload->wait = wait;
    upload->wanted_bytes = n_least;
    return ZD_WAIT;
}

static void wake(struct zd_upload *upload)
{
    if (upload->wait != NULL &&
        (upload->held_bytes >= upload->wanted_bytes || upload->state == ZD_UPLOAD_ENDED)) {
        zd_wait_end(ZD_TAKE(upload->wait), ZD_OK, NULL);
    }
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
    upload->came_bytes += n;
    wake(upload);
    return n;
}

void zd_upload_end(struct zd_upload *upload)
{
    upload->state = ZD_UPLOAD_ENDED;
    wake(upload);
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
    upload->wait = NULL;
}

void zd_upload_done(struct zd_upload *upload)
{
    drop_window(upload);
    *upload = (struct zd_upload){0};
}
