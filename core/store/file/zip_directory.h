/* The directory of a ZIP archive (APPNOTE.TXT 6.3): which member is where. Thread: any. */
#ifndef ZD_CORE_STORE_FILE_ZIP_DIRECTORY_H
#define ZD_CORE_STORE_FILE_ZIP_DIRECTORY_H

#include <stdatomic.h>

#include "core/base/buf.h"
#include "core/base/own.h"
#include "core/base/status.h"

#define ZD_ZIP_STORED   0 /* methods: APPNOTE 4.4.5 */
#define ZD_ZIP_DEFLATED 8

/** The end of an archive holds the place of its directory: so many bytes are enough to find it. */
#define ZD_ZIP_END_BYTES_MAX ((64U << 10) + 98)

/** Longer directories are not read. */
#define ZD_ZIP_DIRECTORY_BYTES_MAX (256U << 20)

#define ZD_ZIP_LOCAL_BYTES 30 /* of a local header, without what varies: APPNOTE 4.3.7 */

/** The place of a directory. */
struct zd_zip_end {
    uint64_t first; /* in the file, bytes */
    uint64_t bytes;
    uint64_t n_members;
    uint64_t shift; /* bytes before the archive in its file, which no offset counts */
};

/** A member whose name is a valid key (core/store/contract/key.h). */
struct zd_zip_member {
    const char *key;          /* in names */
    uint64_t local;           /* its local header, in the file */
    uint64_t end;             /* of what may be its own: where something else begins */
    uint64_t size;            /* bytes, as a reader sees it */
    uint64_t packed_bytes;    /* as it is stored */
    uint32_t crc;             /* CRC-32 of what a reader sees */
    uint16_t method;          /* APPNOTE 4.4.5 */
    bool is_encrypted;        /* APPNOTE 4.4.4, bit 0 */
    _Atomic(uint64_t) packed; /* where its bytes begin in the file; 0: not looked up yet */
};

struct zd_zip_directory {
    struct zd_zip_member *member; /* n of them, by the bytes of their keys; owned */
    size_t n;
    char *names; /* owned */
};

/**
 * Find the directory.
 *
 * @param tail      the last bytes of the file: ZD_ZIP_END_BYTES_MAX of them, or all
 * @param file_size bytes
 * @retval ZD_CORRUPT it is no ZIP archive, or is cut off, or its end contradicts itself
 * @retval ZD_UNSUPPORTED it is one part of several
 */
ZD_RESULT zd_zip_end_find(
    struct zd_span tail, uint64_t file_size, struct zd_zip_end *ret_end, struct zd_error *err);

/**
 * The name of the next member in a piece of a directory, whatever the entry says else.
 * @param piece    begins with the entry; afterwards behind it
 * @param ret_name in the piece
 * @return false: no whole entry is there; the piece stays as it is
 */
bool zd_zip_directory_next(struct zd_span *piece, struct zd_span *ret_name);

/**
 * Read the directory. Of members with the same name the last one counts, as all writers mean it
 * that cannot take a member out. Names that are no valid keys, directories and symbolic links are
 * left out.
 *
 * @param central       end->bytes bytes
 * @param ret_directory owned, with ZD_OK
 * @retval ZD_CORRUPT   it is damaged, or members overlap
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_zip_directory_read(const struct zd_zip_end *end, struct zd_span central,
    struct zd_zip_directory *ret_directory, struct zd_error *err);
void zd_zip_directory_done(struct zd_zip_directory *directory); /* accepts a zeroed one */

/** The first member whose key is not less: directory->n when there is none. */
size_t zd_zip_directory_seek(const struct zd_zip_directory *directory, const char *key);

/** The member of that key, or NULL. */
struct zd_zip_member *zd_zip_directory_find(
    const struct zd_zip_directory *directory, const char *key);

/**
 * Where the bytes of a member begin in the file.
 *
 * @param local its local header: ZD_ZIP_LOCAL_BYTES and as many bytes as its key has
 * @retval ZD_CORRUPT it is not that member's, or its bytes do not fit before what follows
 */
ZD_RESULT zd_zip_member_begin(const struct zd_zip_member *member, struct zd_span local,
    uint64_t *ret_packed, struct zd_error *err);

#endif
