/* Files that are replaced whole: a reader, or a machine that lost its power, sees the old bytes or
 * the new ones. */
#ifndef ZD_CORE_STORE_REPLACE_H
#define ZD_CORE_STORE_REPLACE_H

#include "core/store/beneath.h"

/** Bytes under a temporary name, that become a key's or go away. */
struct zd_file_staged {
    struct zd_staged staged; /* first member */
    char path[];             /* of the temporary file, below the root */
};

/**
 * Put bytes in place of a key's, if the write's condition holds: all three phases of a write that
 * are no DISCARD. Directories are made as needed.
 * The caller sees to it that no other replacement or removal of that key is under way: else the
 * condition is checked in vain.
 *
 * @param write   key, bytes, staged and condition are read, staged or stat is set
 * @param durable nothing that was acknowledged is lost with the power
 * @retval ZD_PRECONDITION
 * @retval ZD_NO_SPACE
 * @retval ZD_STORE
 * Thread: any; blocks.
 */
ZD_RESULT zd_replace_file(const struct zd_beneath *root, struct zd_store_write *write, bool durable,
    struct zd_error *err);

/** Remove what was staged, as well as that is possible. Thread: any; blocks. */
void zd_discard_file(const struct zd_beneath *root, struct zd_store_write *write);

/** Remove a key, on the same terms. @retval ZD_NOT_FOUND it is not there */
ZD_RESULT zd_remove_file(const struct zd_beneath *root, const struct zd_store_write *erase,
    bool durable, struct zd_error *err);

#endif
