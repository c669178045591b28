/* Reads members of a ZIP archive: stored ones with pread(2), deflated ones as a stream. */
#include "core/store/zip/zip_read.h"

#include <errno.h>
#include <libdeflate.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/num.h"
#include "core/store/file/beneath.h"

#define STEP_BYTES        (64U << 10) /* of a deflated member at a time, on either side */
#define DEFLATE_RATIO_MAX 1032        /* zlib's technical notes: 258 bytes are two bits at best */

enum zd_status zd_zip_judge(const struct zd_zip_member *member, struct zd_error *err)
{
    if (member->is_encrypted) {
        return zd_fail(
            err, ZD_STORE, "%s: this member of the ZIP archive is encrypted", member->key);
    }
    if (member->method != ZD_ZIP_STORED && member->method != ZD_ZIP_DEFLATED) {
        return zd_fail(err, ZD_STORE,
            "%s: this member of the ZIP archive has compression method %u; supported methods are 0 "
            "(stored) and 8 (deflated)",
            member->key, member->method);
    }
    const uint64_t ratio = member->method == ZD_ZIP_STORED ? 1 : DEFLATE_RATIO_MAX;
    const bool is_stored_whole =
        member->method != ZD_ZIP_STORED || member->size == member->packed_bytes;
    if (!is_stored_whole || member->size / ratio > member->packed_bytes) {
        return zd_fail(err, ZD_STORE,
            "%s: a damaged ZIP archive: %llu bytes cannot be compressed into %llu", member->key,
            (unsigned long long)member->size, (unsigned long long)member->packed_bytes);
    }
    return ZD_OK;
}

/* All of them, or a failure. */
static enum zd_status read_at(
    int fd, const char *key, uint64_t first, uint8_t *to, size_t len, struct zd_error *err)
{
    for (size_t n_read = 0; n_read < len;) {
        const ssize_t n = pread(fd, to + n_read, len - n_read, (off_t)(first + n_read));
        if (n == 0) {
            return zd_fail(err, ZD_STORE, "%s: the ZIP archive is truncated", key);
        }
        if (n < 0 && errno != EINTR) {
            return zd_beneath_fail(err, errno, key, "read");
        }
        n_read += n < 0 ? 0 : (size_t)n;
    }
    return ZD_OK;
}

enum zd_status zd_zip_find(
    int fd, struct zd_zip_member *member, uint64_t *ret_packed, struct zd_error *err)
{
    uint8_t local[ZD_ZIP_LOCAL_BYTES + ZD_KEY_BYTES_MAX];
    *ret_packed = atomic_load_explicit(&member->packed, memory_order_relaxed);
    if (*ret_packed != 0) {
        return ZD_OK;
    }
    const struct zd_span head = {.ptr = local, .len = ZD_ZIP_LOCAL_BYTES + strlen(member->key)};
    ZD_TRY(read_at(fd, member->key, member->local, local, head.len, err));
    const enum zd_status status = zd_zip_member_begin(member, head, ret_packed, err);
    if (status != ZD_OK) {
        return ZD_STORE; /* the text says which member */
    }
    atomic_store_explicit(&member->packed, *ret_packed, memory_order_relaxed);
    return ZD_OK;
}

/* ---- deflated members ---- */

/* A deflated member on its way. */
struct inflation {
    z_stream stream;
    uint8_t in[STEP_BYTES];
    uint8_t passed[STEP_BYTES]; /* in front of the range */
    int fd;
    const char *key;
    uint64_t next; /* in the file */
    uint64_t left; /* bytes of the member that were not read yet */
};

static enum zd_status refill(struct inflation *inflation, struct zd_error *err)
{
    const size_t n = (size_t)zd_min_u64(inflation->left, STEP_BYTES);
    ZD_TRY(read_at(inflation->fd, inflation->key, inflation->next, inflation->in, n, err));
    inflation->stream.next_in = inflation->in;
    inflation->stream.avail_in = (uInt)n;
    inflation->next += n;
    inflation->left -= n;
    return ZD_OK;
}

static enum zd_status fail_inflation(const struct inflation *inflation, struct zd_error *err)
{
    return zd_fail(err, ZD_STORE,
        "%s: a damaged ZIP archive: the deflated bytes of the member do not decode to its size",
        inflation->key);
}

/* So many bytes more. @param to of STEP_BYTES, used again and again, when `is_passed` */
static enum zd_status inflate_to(
    struct inflation *inflation, uint8_t *to, uint64_t len, bool is_passed, struct zd_error *err)
{
    z_stream *stream = &inflation->stream;
    for (uint64_t n_made = 0; n_made < len;) {
        const uint64_t n_wanted = zd_min_u64(len - n_made, STEP_BYTES);
        if (stream->avail_in == 0 && inflation->left > 0) {
            ZD_TRY(refill(inflation, err));
        }
        stream->next_out = is_passed ? to : to + n_made;
        stream->avail_out = (uInt)n_wanted;
        const int code = inflate(stream, Z_NO_FLUSH);
        const uint64_t n = n_wanted - stream->avail_out;
        n_made += n;
        const bool is_stuck = n == 0 && stream->avail_in == 0 && inflation->left == 0;
        if ((code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END) || is_stuck ||
            (code == Z_STREAM_END && n_made < len)) {
            return fail_inflation(inflation, err);
        }
    }
    return ZD_OK;
}

/* Nothing may come behind what the member says it has. */
static enum zd_status expect_end(struct inflation *inflation, struct zd_error *err)
{
    int code = Z_OK;
    uint8_t byte = 0;
    while (code == Z_OK) {
        if (inflation->stream.avail_in == 0 && inflation->left > 0) {
            ZD_TRY(refill(inflation, err));
        }
        inflation->stream.next_out = &byte;
        inflation->stream.avail_out = 1;
        code = inflate(&inflation->stream, Z_NO_FLUSH);
        if (inflation->stream.avail_out == 0) {
            break;
        }
    }
    return code == Z_STREAM_END && inflation->stream.avail_out == 1
               ? ZD_OK
               : fail_inflation(inflation, err);
}

static enum zd_status read_deflated(int fd, const struct zd_zip_member *member, uint64_t packed,
    struct zd_range range, struct zd_buf *bytes, struct zd_error *err)
{
    struct inflation *inflation = zd_alloc_zero(1, sizeof *inflation);
    if (inflation == NULL || inflateInit2(&inflation->stream, -MAX_WBITS) != Z_OK) {
        zd_free(inflation);
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory to inflate it", member->key);
    }
    inflation->fd = fd;
    inflation->key = member->key;
    inflation->next = packed;
    inflation->left = member->packed_bytes;
    enum zd_status status = inflate_to(inflation, inflation->passed, range.first, true, err);
    status = status != ZD_OK ? status : inflate_to(inflation, bytes->data, range.len, false, err);
    if (status == ZD_OK && range.first + range.len == member->size) {
        status = expect_end(inflation, err);
    }
    (void)inflateEnd(&inflation->stream);
    zd_free(inflation);
    return status;
}

/* ---- both ---- */

enum zd_status zd_zip_check(
    const struct zd_zip_member *member, const struct zd_buf *bytes, struct zd_error *err)
{
    const uint32_t crc = libdeflate_crc32(0, bytes->data, bytes->len); /* faster than zlib's */
    return crc == member->crc
               ? ZD_OK
               : zd_fail(err, ZD_STORE,
                     "%s: a damaged ZIP archive: the CRC-32 of the member is %08x, expected %08x",
                     member->key, crc, member->crc);
}

enum zd_status zd_zip_read(int fd, struct zd_zip_member *member, struct zd_range range,
    struct zd_buf *bytes, struct zd_error *err)
{
    uint64_t packed = 0;
    ZD_TRY(zd_zip_judge(member, err));
    ZD_TRY(zd_zip_find(fd, member, &packed, err));
    if (member->method == ZD_ZIP_STORED) {
        ZD_TRY(read_at(fd, member->key, packed + range.first, bytes->data, (size_t)range.len, err));
    } else {
        ZD_TRY(read_deflated(fd, member, packed, range, bytes, err));
    }
    bytes->len = (size_t)range.len;
    return range.len == member->size ? zd_zip_check(member, bytes, err) : ZD_OK;
}
