/* Content codings (RFC 9110, 8.4.1): gzip and zstd. Thread: any. */
#ifndef ZD_HTTP_COMPRESS_H
#define ZD_HTTP_COMPRESS_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/text.h"

/** The content coding of a body; later ones are preferred. */
enum zd_coding {
    ZD_PLAIN,
    ZD_GZIP,
    ZD_ZSTD,
    ZD_CODINGS,
};

#define ZD_COMPRESSED_BYTES_MIN 1024 /* shorter bodies stay plain */

/** "gzip", "zstd"; "identity" for ZD_PLAIN: as in Content-Encoding. */
const char *zd_compress_name(enum zd_coding coding);

/** Estimate how long it takes to compress len bytes. @param coding not ZD_PLAIN */
uint64_t zd_compress_cost_ns(enum zd_coding coding, uint64_t len);

/**
 * Compress a whole body.
 *
 * @param coding   not ZD_PLAIN
 * @param ret_body owned
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_compress(enum zd_coding coding, struct zd_span from, struct zd_buf **ret_body);

/** A body that is compressed while it is made. */
struct zd_compress_stream;

/** @param coding not ZD_PLAIN @return owned; NULL: no memory */
struct zd_compress_stream *zd_compress_begin(enum zd_coding coding);
void zd_compress_end(struct zd_compress_stream *stream); /* accepts NULL */

/**
 * Compress the next piece, so that a reader of all bytes so far can decode it.
 *
 * @param is_last the body ends with it
 * @param to      where the bytes are added
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_compress_piece(
    struct zd_compress_stream *stream, struct zd_span from, bool is_last, struct zd_text *to);

#endif
