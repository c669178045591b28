/* The processes that write below a root. The first writer makes a hidden directory and the file
 * `lock` in it. The last writer removes both, so that nothing stays where nobody writes.
 *
 * Who is present has a byte of the file locked, shared with all others (fcntl, F_OFD_SETLK: the
 * kernel drops it with its process). Who leaves removes the file only while he has that byte alone.
 * Who has come to a file that is removed then begins again with a new one. */
#ifndef ZD_CORE_STORE_FILE_PRESENCE_H
#define ZD_CORE_STORE_FILE_PRESENCE_H

#include "core/store/file/beneath.h"

#define ZD_PRESENCE_DIRECTORY ZD_TEMP_PREFIX "writers"
#define ZD_PRESENCE_LOCK      ZD_PRESENCE_DIRECTORY "/lock"
#define ZD_PRESENCE_BYTES     (UINT64_C(1) << 62) /* of the file, for locks of others: the first */

/** Somebody who is present: both are descriptors, or both -1. */
struct zd_presence {
    int dir_fd;  /* the hidden directory, which stays as long as he does */
    int lock_fd; /* the file */
};

#define ZD_PRESENCE_NONE ((struct zd_presence){.dir_fd = -1, .lock_fd = -1})

/**
 * Come, and make the directory and the file if need be. Waits a second for one who is leaving.
 *
 * @param presence set with ZD_OK, else left alone
 * @retval ZD_STORE, ZD_NO_SPACE
 * @retval ZD_TIMEOUT the one who is leaving has been stopped
 * Thread: any; blocks.
 */
ZD_RESULT zd_presence_enter(
    struct zd_presence *presence, const struct zd_beneath *root, struct zd_error *err);

/** Come where the directory is: waits for nobody. Thread: any; blocks. */
bool zd_presence_join(struct zd_presence *presence, const struct zd_beneath *root);

/** Whether what is removed could be made again. A full disk can be emptied as long as it is not
 * removed. Thread: any; blocks. */
bool zd_presence_has_room(const struct zd_beneath *root);

/** Leave; accepts one who never came. The directory stays while others are present, or other files
 * in it, and on a full disk. Thread: any; blocks. */
void zd_presence_leave(struct zd_presence *presence, const struct zd_beneath *root);

/** The error of a failed step in the directory: a missing name is ZD_STORE. */
ZD_RESULT zd_presence_fail(struct zd_error *err, int code, const char *doing);

#endif
