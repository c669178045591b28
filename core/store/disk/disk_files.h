/* The directory of the disk tier: its files, none of which is opened through a symbolic link. Below
 * the path that is configured it has a directory of its own, with mode 0700:
 *
 *     zarrd-cache/lock                                 locked by the process that uses it
 *     zarrd-cache/new                                  being written; then renamed
 *     zarrd-cache/0123456789abcdef-0123456789abcdef    an entry (core/store/disk/disk_entry.h)
 *
 * Nothing is synced: what a crash or a power cut leaves of a file does not pass its checksums. */
#ifndef ZD_CORE_STORE_DISK_DISK_FILES_H
#define ZD_CORE_STORE_DISK_DISK_FILES_H

#include <stdatomic.h>

#include "core/store/disk/disk_entry.h"

#define ZD_DISK_FILES_DIRECTORY "zarrd-cache"
#define ZD_DISK_FILES_NAME_LEN  33

/** The directory, open. Any number of threads may read; one at a time may change it. */
struct zd_disk_files {
    int dir_fd;           /* -1 = none */
    int lock_fd;          /* the file `lock`, locked; -1 = none */
    uint64_t seed;        /* of the hashes that files are named by */
    uint64_t block_bytes; /* of the file system: what a file takes is a multiple */
    bool is_new;          /* entries of earlier times are worth nothing */
};

#define ZD_DISK_FILES_NONE ((struct zd_disk_files){.dir_fd = -1, .lock_fd = -1})

/** The name of a file: hashes of owner and key, and of the range. */
struct zd_disk_file {
    uint64_t key;
    uint64_t range;
};

/** A file that was found. */
struct zd_disk_found {
    struct zd_disk_file file;
    uint64_t bytes; /* its length */
    int64_t mtime_ns;
};

/** The head of a file, and more of its bytes. */
struct zd_disk_look {
    uint8_t head[ZD_DISK_ENTRY_HEAD_BYTES];
    struct zd_disk_entry entry; /* its key is in `head` */
    int fd;                     /* the file; -1 = none */
};

/**
 * Whether a path may be cache.disk_path, as far as that can be said without changing anything.
 * @retval ZD_INVALID it is missing, is no directory, or is not ours: the error says what to do
 * Thread: any; blocks for some calls.
 */
ZD_RESULT zd_disk_files_judge(const char *path, struct zd_error *err);

/**
 * Open the directory below a path, which is made if it is not there, and lock it.
 *
 * @param ret_files to be closed with zd_disk_files_close
 * @retval ZD_INVALID as zd_disk_files_judge
 * @retval ZD_AGAIN   another process uses it
 * @retval ZD_STORE, ZD_NO_SPACE it cannot be written
 * Thread: any; blocks for some calls.
 */
ZD_RESULT zd_disk_files_open(
    const char *path, struct zd_disk_files *ret_files, struct zd_error *err);
void zd_disk_files_close(struct zd_disk_files *files); /* accepts ZD_DISK_FILES_NONE */

/** Make all entries worth nothing at the next start. Thread: any; one system call. */
void zd_disk_files_void(const struct zd_disk_files *files);

/** How a name's file is named. Thread: any. */
struct zd_disk_file zd_disk_files_name(
    const struct zd_disk_files *files, const struct zd_disk_name *name);

/** The disk space of a file of that many bytes, with its place in the directory. */
uint64_t zd_disk_files_cost(const struct zd_disk_files *files, uint64_t bytes);

/**
 * Find the entries, by their names and lengths alone, those written last at the end. What was being
 * written goes, and so do links, entries of earlier times and those beyond n_max.
 *
 * @param must_stop an early end is wanted
 * @param ret_found ret_n of them; owned
 * @retval ZD_NO_MEMORY, ZD_STORE
 * @retval ZD_CANCELLED it has stopped
 * Thread: any; blocks.
 */
ZD_RESULT zd_disk_files_scan(const struct zd_disk_files *files, size_t n_max,
    const _Atomic bool *must_stop, struct zd_disk_found **ret_found, size_t *ret_n,
    struct zd_error *err);

/**
 * Write an entry, or replace it.
 * @param body entry->body_bytes of them, but for body_hash, which is set here
 * @retval ZD_NO_SPACE, ZD_STORE, ZD_NO_MEMORY nothing was written
 * Thread: any, one at a time; blocks.
 */
ZD_RESULT zd_disk_files_put(const struct zd_disk_files *files, struct zd_disk_file file,
    struct zd_disk_entry *entry, struct zd_span body, struct zd_error *err);

/** Remove an entry; one that is not there is no failure. Thread: as zd_disk_files_put. */
ZD_RESULT zd_disk_files_remove(
    const struct zd_disk_files *files, struct zd_disk_file file, struct zd_error *err);

/**
 * Open an entry and read its head.
 *
 * @param name     that it must have; NULL: it is that of any range of the key
 * @param ret_look to be closed with zd_disk_files_look_done, whatever the status
 * @retval ZD_NOT_FOUND there is no such file
 * @retval ZD_CORRUPT   it is damaged, foreign, or the system cannot read it
 * Thread: any; blocks.
 */
ZD_RESULT zd_disk_files_look(const struct zd_disk_files *files, struct zd_disk_file file,
    const struct zd_disk_name *name, struct zd_disk_look *ret_look, struct zd_error *err);
void zd_disk_files_look_done(struct zd_disk_look *look);

/**
 * Read the bytes behind the head.
 * @param ret_body entry.body_bytes of them; owned
 * @retval ZD_CORRUPT, ZD_NO_MEMORY
 * Thread: any; blocks.
 */
ZD_RESULT zd_disk_files_body(
    const struct zd_disk_look *look, struct zd_buf **ret_body, struct zd_error *err);

/** Note in a file that was looked at when its store was asked last. A failure is no fault: it only
 * counts as asked earlier. Thread: any; blocks. */
void zd_disk_files_touch(const struct zd_disk_files *files, struct zd_disk_file file,
    const struct zd_disk_look *look, int64_t checked_ms);

#endif
