/* Opening files below a directory, and none outside of it. */
#ifndef ZD_CORE_STORE_FILE_BENEATH_H
#define ZD_CORE_STORE_FILE_BENEATH_H

#include "core/store/contract/store.h"

/** A directory that paths cannot leave. Immutable once opened, so that any thread may use it. */
struct zd_beneath {
    int fd;                /* O_PATH; -1 = none */
    bool resolves_beneath; /* the kernel has openat2: else links are refused, not followed */
    bool resolves_cached;  /* ... can be asked not to block, and the file system does as asked */
};

/** A file descriptor that is closed when its scope ends: `ZD_AUTO_FD fd = -1;`, -1 = none. */
#define ZD_AUTO_FD __attribute__((cleanup(zd_beneath_close_fd))) int
void zd_beneath_close_fd(int *fd);

/**
 * Open a directory by a path of this machine.
 *
 * @param ret_root  to be closed with zd_beneath_close
 * @retval ZD_NOT_FOUND no such directory, or something else than one
 * @retval ZD_STORE
 * Thread: any; blocks.
 */
ZD_RESULT zd_beneath_open(const char *path, struct zd_beneath *ret_root, struct zd_error *err);
void zd_beneath_close(struct zd_beneath *root); /* accepts fd -1 */

/**
 * Which directory a path leads to, whatever way it takes: equal numbers are the same directory, as
 * long as one of them is open. One stat(2).
 *
 * @retval ZD_NOT_FOUND, ZD_STORE as zd_beneath_open
 * Thread: any; blocks.
 */
ZD_RESULT zd_beneath_place(const char *path, uint64_t *ret_place, struct zd_error *err);

/** The same without blocking. @retval ZD_AGAIN the kernel has no answer in its cache, or it is that
 * there is no directory */
ZD_RESULT zd_beneath_place_now(const char *path, uint64_t *ret_place);

/** The same of a directory that is open; 0: it is not known. */
uint64_t zd_beneath_place_of(const struct zd_beneath *root);

/**
 * Open a path below the root. Links are followed as long as they stay inside.
 *
 * @param path   relative, as zd_key_is_valid says, or with a slash behind; "" is the root itself
 * @param flags  of open(2), without O_CREAT; O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added: a fifo
 *               must not hang us
 * @param ret_fd owned
 * @retval ZD_NOT_FOUND it does not exist, or a part of its path is no directory
 * @retval ZD_GONE      the root was removed
 * @retval ZD_STORE     all else: it is not known whether it exists; a link that leaves the root
 * Thread: any; blocks.
 */
ZD_RESULT zd_beneath_find(
    const struct zd_beneath *root, const char *path, int flags, int *ret_fd, struct zd_error *err);

/** The same with the exact reason: a descriptor, or a negative errno. */
int zd_beneath_try(const struct zd_beneath *root, const char *path, int flags);

/** The same without blocking. @retval ZD_AGAIN the kernel has no answer in its cache, or the answer
 * is neither ZD_OK nor ZD_NOT_FOUND */
ZD_RESULT zd_beneath_find_now(
    const struct zd_beneath *root, const char *path, int flags, int *ret_fd);

/**
 * The error of a failed system call: ENOENT and ENOTDIR are ZD_NOT_FOUND, a full disk is
 * ZD_NO_SPACE, missing memory ZD_NO_MEMORY; all else is ZD_STORE with the text of the system.
 *
 * @param code  an errno
 * @param key   for the text
 * @param doing for the text: "open", "sync" ...
 */
ZD_RESULT zd_beneath_fail(struct zd_error *err, int code, const char *key, const char *doing);

#endif
