/* Reads members of a ZIP archive, stored or deflated. Thread: any. */
#ifndef ZD_CORE_STORE_ZIP_ZIP_READ_H
#define ZD_CORE_STORE_ZIP_ZIP_READ_H

#include "core/store/contract/store.h"
#include "core/store/file/zip_directory.h"

/**
 * Whether a member can be read at all.
 * @retval ZD_STORE it is encrypted, compressed by a method other than deflate, or says of its size
 *                  what deflate cannot do
 */
ZD_RESULT zd_zip_judge(const struct zd_zip_member *member, struct zd_error *err);

/** Where the bytes of a member begin in the file. Reads its own header, once. Blocks.
 * @retval ZD_STORE the archive is damaged there, or cannot be read */
ZD_RESULT zd_zip_find(
    int fd, struct zd_zip_member *member, uint64_t *ret_packed, struct zd_error *err);

/**
 * Bytes of a member. A whole one has to have the CRC-32 that the archive says. Blocks; a part of a
 * deflated one takes as long as all that is before it.
 *
 * @param range ZD_RANGE_FROM_TO, within the member
 * @param bytes with room for them
 * @retval ZD_STORE the archive is damaged there, or cannot be read
 */
ZD_RESULT zd_zip_read(int fd, struct zd_zip_member *member, struct zd_range range,
    struct zd_buf *bytes, struct zd_error *err);

/** Whether a whole member has the CRC-32 that the archive says. @retval ZD_STORE it has not */
ZD_RESULT zd_zip_check(
    const struct zd_zip_member *member, const struct zd_buf *bytes, struct zd_error *err);

#endif
