/* A ZIP archive that is written in one pass (APPNOTE.TXT 6.3.10): members are stored, their lengths
 * are known before, and their checksums follow them in data descriptors. Thread: any, one at a
 * time.
 *
 *     local header, bytes, data descriptor | ... | directory, end
 */
#ifndef ZD_FORMAT_ZIP_WRITER_H
#define ZD_FORMAT_ZIP_WRITER_H

#include "core/base/text.h"

/** A member. The caller sets the first two. */
struct zd_zip_file {
    struct zd_span name; /* UTF-8, without a slash in front; at most 65535 bytes; borrowed */
    uint64_t bytes;
    uint64_t local; /* out: where its local header begins */
    uint32_t crc;   /* out */
};

struct zd_zip_writer {
    struct zd_zip_file *file; /* in: n of them, in their order; borrowed */
    uint32_t n;               /* in */
    uint32_t n_begun;         /* starts with 0 */
    uint64_t position;        /* bytes so far; starts with 0 */
};

/** The length of the archive; false when it does not fit 64 bits. Uses nothing but `in`, sets
 * `local`. */
bool zd_zip_writer_size(const struct zd_zip_writer *writer, uint64_t *ret_bytes);

/** Begin the next member. Failures stick in the text, as everywhere here. */
void zd_zip_writer_begin(struct zd_zip_writer *writer, struct zd_text *text);

/** Bytes of the member were added to the text. */
void zd_zip_writer_count(struct zd_zip_writer *writer, struct zd_span bytes);

/** All bytes of the member are added. */
void zd_zip_writer_end(struct zd_zip_writer *writer, struct zd_text *text);

/** All members are added. */
void zd_zip_writer_finish(const struct zd_zip_writer *writer, struct zd_text *text);

#endif
