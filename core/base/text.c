/* Text that grows up to a ceiling. */
#include "core/base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"

#define FIRST_CAP_BYTES 64

static char empty_text[1] = "";

void zd_text_init(struct zd_text *text, size_t len_max)
{
    *text = (struct zd_text){.at = empty_text, .len_max = len_max};
}

void zd_text_done(struct zd_text *text)
{
    if (text->cap > 0) {
        zd_free(text->at);
    }
    zd_text_init(text, text->len_max);
}

void zd_text_clear(struct zd_text *text)
{
    text->len = 0;
    text->status = ZD_OK;
    if (text->cap > 0) {
        text->at[0] = '\0';
    }
}

void zd_text_cut(struct zd_text *text, size_t len)
{
    assert(len <= text->len);
    text->len = len;
    if (text->cap > 0) {
        text->at[len] = '\0';
    }
}

static enum zd_status make_room(struct zd_text *text, size_t more)
{
    size_t need;
    if (text->status != ZD_OK) {
        return text->status;
    }
    if (ckd_add(&need, text->len, more) || need > text->len_max) {
        text->status = ZD_TOO_LARGE;
        return ZD_TOO_LARGE;
    }
    if (need < text->cap) {
        return ZD_OK;
    }
    size_t cap = text->cap == 0 ? FIRST_CAP_BYTES : text->cap;
    while (cap <= need) {
        cap += cap / 2 + FIRST_CAP_BYTES;
    }
    char *grown = zd_realloc(text->cap == 0 ? NULL : text->at, cap);
    if (grown == NULL) {
        text->status = ZD_NO_MEMORY;
        return ZD_NO_MEMORY;
    }
    text->at = grown;
    text->cap = cap;
    return ZD_OK;
}

enum zd_status zd_text_add_bytes(struct zd_text *text, const void *bytes, size_t len)
{
    ZD_TRY(make_room(text, len));
    if (len > 0) {
        memcpy(text->at + text->len, bytes, len);
    }
    text->len += len;
    text->at[text->len] = '\0';
    return ZD_OK;
}

enum zd_status zd_text_add(struct zd_text *text, const char *piece)
{
    return zd_text_add_bytes(text, piece, strlen(piece));
}

enum zd_status zd_text_add_char(struct zd_text *text, char c)
{
    return zd_text_add_bytes(text, &c, 1);
}

enum zd_status zd_text_add_u64(struct zd_text *text, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return zd_text_add_bytes(text, digits + first, sizeof digits - first);
}

enum zd_status zd_text_addf(struct zd_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    enum zd_status status = len < 0 ? ZD_INTERNAL : make_room(text, (size_t)len);
    if (status == ZD_OK) {
        vsnprintf(text->at + text->len, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    }
    va_end(again);
    return status;
}

struct zd_span zd_text_span(const struct zd_text *text)
{
    return (struct zd_span){.ptr = (const uint8_t *)text->at, .len = text->len};
}

enum zd_status zd_text_buf(const struct zd_text *text, struct zd_buf **ret_buf)
{
    ZD_TRY(text->status);
    struct zd_buf *buf = zd_buf_copy(zd_text_span(text));
    if (buf == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_buf = buf;
    return ZD_OK;
}

enum zd_status zd_text_take_buf(struct zd_text *text, struct zd_buf **ret_buf)
{
    if (text->status != ZD_OK || text->cap == 0) {
        return zd_text_buf(text, ret_buf);
    }
    char *fitting = zd_realloc(text->at, text->len + 1);
    if (fitting == NULL) {
        return ZD_NO_MEMORY;
    }
    text->at = fitting;
    text->cap = text->len + 1;
    struct zd_buf *buf = zd_buf_take((uint8_t *)text->at, text->len);
    if (buf == NULL) {
        return ZD_NO_MEMORY;
    }
    zd_text_init(text, text->len_max);
    *ret_buf = buf;
    return ZD_OK;
}
