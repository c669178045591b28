/* A ZIP archive that is written in one pass. */
#include "server/format/zip_writer.h"

#include <assert.h>
#include <libdeflate.h>

#include "core/base/num.h"

/* APPNOTE 4.3.7, 4.3.9, 4.3.12, 4.3.14 to 4.3.16, 4.5.3: signatures, lengths without what varies.
 */
#define LOCAL_SIGN         0x04034b50U
#define LOCAL_BYTES        30
#define DESCRIPTOR_SIGN    0x08074b50U
#define DESCRIPTOR_BYTES   16
#define DESCRIPTOR64_BYTES 24 /* 4.3.9.2 */
#define CENTRAL_SIGN       0x02014b50U
#define CENTRAL_BYTES      46
#define END64_SIGN         0x06064b50U
#define END64_BYTES        56
#define LOCATOR64_SIGN     0x07064b50U
#define LOCATOR64_BYTES    20
#define END_SIGN           0x06054b50U
#define END_BYTES          22
#define EXTRA_ZIP64        0x0001U
#define EXTRA_HEAD_BYTES   4

#define VERSION     20 /* 4.4.3.2: directories, and data descriptors as everybody reads them */
#define VERSION64   45
#define FLAGS       0x0808U /* 4.4.4: lengths and checksum follow the bytes; names are UTF-8 */
#define STORED      0       /* 4.4.5 */
#define TIME        0       /* 4.4.6, the same of all archives: */
#define DATE        0x0021U /* 1980-01-01, the first there is */
#define IN_ZIP64_16 0xffffU
#define IN_ZIP64_32 0xffffffffU

static bool is_long(uint64_t value)
{
    return value >= IN_ZIP64_32;
}

static void add_number(struct zd_text *text, uint64_t value, size_t n_bytes)
{
    zd_text_add_bytes(text, &value, n_bytes); /* little-endian, as this machine */
}

/* A field of 32 bits whose true value may be in the ZIP64 field (4.4.1.4). */
static void add_short(struct zd_text *text, uint64_t value)
{
    add_number(text, is_long(value) ? IN_ZIP64_32 : value, 4);
}

/* ---- lengths ---- */

static uint64_t local_bytes(const struct zd_zip_file *file)
{
    return LOCAL_BYTES + file->name.len +
           (is_long(file->bytes) ? EXTRA_HEAD_BYTES + 2 * sizeof(uint64_t) : 0);
}

static uint64_t descriptor_bytes(const struct zd_zip_file *file)
{
    return is_long(file->bytes) ? DESCRIPTOR64_BYTES : DESCRIPTOR_BYTES;
}

/* The length of the ZIP64 field in the directory, without its head: the sizes that are too long, in
 * this order (4.5.3).
 */
static uint32_t extra_bytes(const struct zd_zip_file *file)
{
    return (is_long(file->bytes) ? 2 * sizeof(uint64_t) : 0) +
           (is_long(file->local) ? sizeof(uint64_t) : 0);
}

static uint64_t central_bytes(const struct zd_zip_file *file)
{
    const uint32_t extra = extra_bytes(file);
    return CENTRAL_BYTES + file->name.len + (extra > 0 ? EXTRA_HEAD_BYTES + extra : 0);
}

static uint64_t directory_bytes(const struct zd_zip_writer *writer)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < writer->n; i++) {
        bytes += central_bytes(&writer->file[i]);
    }
    return bytes;
}

static bool needs_end64(const struct zd_zip_writer *writer, uint64_t first, uint64_t bytes)
{
    return writer->n >= IN_ZIP64_16 || is_long(first) || is_long(bytes);
}

bool zd_zip_writer_size(const struct zd_zip_writer *writer, uint64_t *ret_bytes)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < writer->n; i++) {
        struct zd_zip_file *file = &writer->file[i];
        file->local = at;
        if (ckd_add(&at, at, local_bytes(file) + descriptor_bytes(file)) ||
            ckd_add(&at, at, file->bytes)) {
            return false;
        }
    }
    const uint64_t directory = directory_bytes(writer);
    const uint64_t end64 = needs_end64(writer, at, directory) ? END64_BYTES + LOCATOR64_BYTES : 0;
    if (ckd_add(&at, at, directory + end64 + END_BYTES)) {
        return false;
    }
    *ret_bytes = at;
    return true;
}

/* ---- members ---- */

static struct zd_zip_file *current(struct zd_zip_writer *writer)
{
    assert(writer->n_begun > 0);
    return &writer->file[writer->n_begun - 1];
}

void zd_zip_writer_begin(struct zd_zip_writer *writer, struct zd_text *text)
{
    assert(writer->n_begun < writer->n);
    struct zd_zip_file *file = &writer->file[writer->n_begun++];
    const bool is_zip64 = is_long(file->bytes);
    file->local = writer->position;
    file->crc = libdeflate_crc32(0, NULL, 0);
    add_number(text, LOCAL_SIGN, 4);
    add_number(text, is_zip64 ? VERSION64 : VERSION, 2);
    add_number(text, FLAGS, 2);
    add_number(text, STORED, 2);
    add_number(text, TIME, 2);
    add_number(text, DATE, 2);
    add_number(text, 0, 4);                          /* the checksum: it follows */
    add_number(text, is_zip64 ? IN_ZIP64_32 : 0, 4); /* both lengths: they follow, too */
    add_number(text, is_zip64 ? IN_ZIP64_32 : 0, 4);
    add_number(text, file->name.len, 2);
    add_number(text, is_zip64 ? EXTRA_HEAD_BYTES + 2 * sizeof(uint64_t) : 0, 2);
    zd_text_add_bytes(text, file->name.ptr, file->name.len);
    if (is_zip64) { /* says that the descriptor has long lengths */
        add_number(text, EXTRA_ZIP64, 2);
        add_number(text, 2 * sizeof(uint64_t), 2);
        add_number(text, 0, sizeof(uint64_t));
        add_number(text, 0, sizeof(uint64_t));
    }
    writer->position += local_bytes(file);
}

void zd_zip_writer_count(struct zd_zip_writer *writer, struct zd_span bytes)
{
    struct zd_zip_file *file = current(writer);
    file->crc = libdeflate_crc32(file->crc, bytes.ptr, bytes.len);
    writer->position += bytes.len;
}

void zd_zip_writer_end(struct zd_zip_writer *writer, struct zd_text *text)
{
    const struct zd_zip_file *file = current(writer);
    const size_t len = is_long(file->bytes) ? sizeof(uint64_t) : sizeof(uint32_t);
    assert(writer->position == file->local + local_bytes(file) + file->bytes);
    add_number(text, DESCRIPTOR_SIGN, 4);
    add_number(text, file->crc, 4);
    add_number(text, file->bytes, len);
    add_number(text, file->bytes, len);
    writer->position += descriptor_bytes(file);
}

/* ---- the directory ---- */

static void add_extra(const struct zd_zip_file *file, struct zd_text *text)
{
    if (extra_bytes(file) == 0) {
        return;
    }
    add_number(text, EXTRA_ZIP64, 2);
    add_number(text, extra_bytes(file), 2);
    if (is_long(file->bytes)) {
        add_number(text, file->bytes, sizeof(uint64_t));
        add_number(text, file->bytes, sizeof(uint64_t));
    }
    if (is_long(file->local)) {
        add_number(text, file->local, sizeof(uint64_t));
    }
}

static void add_central(const struct zd_zip_file *file, struct zd_text *text)
{
    const uint32_t extra = extra_bytes(file);
    add_number(text, CENTRAL_SIGN, 4);
    add_number(text, extra > 0 ? VERSION64 : VERSION, 2); /* made by, MS-DOS: no attributes */
    add_number(text, extra > 0 ? VERSION64 : VERSION, 2);
    add_number(text, FLAGS, 2);
    add_number(text, STORED, 2);
    add_number(text, TIME, 2);
    add_number(text, DATE, 2);
    add_number(text, file->crc, 4);
    add_short(text, file->bytes);
    add_short(text, file->bytes);
    add_number(text, file->name.len, 2);
    add_number(text, extra > 0 ? EXTRA_HEAD_BYTES + extra : 0, 2);
    add_number(text, 0, 2); /* no comment, */
    add_number(text, 0, 2); /* the first disk, */
    add_number(text, 0, 2); /* no attributes */
    add_number(text, 0, 4);
    add_short(text, file->local);
    zd_text_add_bytes(text, file->name.ptr, file->name.len);
    add_extra(file, text);
}

static void add_end64(const struct zd_zip_writer *writer, uint64_t directory, struct zd_text *text)
{
    add_number(text, END64_SIGN, 4);
    add_number(text, END64_BYTES - 12, 8); /* of what follows */
    add_number(text, VERSION64, 2);
    add_number(text, VERSION64, 2);
    add_number(text, 0, 4); /* this disk, and that of the directory */
    add_number(text, 0, 4);
    add_number(text, writer->n, 8);
    add_number(text, writer->n, 8);
    add_number(text, directory, 8);
    add_number(text, writer->position, 8);
    add_number(text, LOCATOR64_SIGN, 4);
    add_number(text, 0, 4);
    add_number(text, writer->position + directory, 8);
    add_number(text, 1, 4); /* disks in all */
}

void zd_zip_writer_finish(const struct zd_zip_writer *writer, struct zd_text *text)
{
    const uint64_t directory = directory_bytes(writer);
    const uint64_t n = zd_min_u64(writer->n, IN_ZIP64_16);
    assert(writer->n_begun == writer->n);
    for (uint32_t i = 0; i < writer->n && text->status == ZD_OK; i++) {
        add_central(&writer->file[i], text);
    }
    if (needs_end64(writer, writer->position, directory)) {
        add_end64(writer, directory, text);
    }
    add_number(text, END_SIGN, 4);
    add_number(text, 0, 2);
    add_number(text, 0, 2);
    add_number(text, n, 2);
    add_number(text, n, 2);
    add_short(text, directory);
    add_short(text, writer->position);
    add_number(text, 0, 2);
}
