/* Writers below a root: locks of keys between processes, and names of temporary files that show
 * whether their writer is alive.
 *
 * In the file `lock` of the hidden directory (core/store/file/presence.h) a byte is locked for each
 * key, by its hash; and each writer has a marker file there, named by its number and locked while
 * it lives. The locks belong to open file descriptions (fcntl, F_OFD_SETLK): the kernel drops them
 * when the process ends, however it ends. A writer that has nothing to do leaves the directory. */
#ifndef ZD_CORE_STORE_FILE_WRITERS_H
#define ZD_CORE_STORE_FILE_WRITERS_H

#include <stdatomic.h>
#include <uv.h>

#include "core/base/list.h"
#include "core/store/file/presence.h"

#define ZD_WRITER_ID_LEN   16 /* hexadecimal digits */
#define ZD_TEMP_NAME_BYTES (sizeof ZD_TEMP_PREFIX + ZD_WRITER_ID_LEN + 1 + 16)

/** A thread that has locked keys or is about to. */
struct zd_writer_use {
    uint64_t hash;
    struct zd_list link; /* in the writer's */
};

/** A writer: an open store. */
struct zd_writer {
    uv_mutex_t mutex;      /* while these come and go, and for n_users, `held` and `uses` */
    uint32_t n_users;      /* threads, and who holds keys: then it does not leave */
    _Atomic bool has_lock; /* it is present */
    struct zd_presence presence;
    _Atomic bool has_marker; /* the next two are there */
    int marker_fd;           /* -1 = none */
    char id[ZD_WRITER_ID_LEN + 1];
    _Atomic uint64_t n_temps; /* names given out */
    _Atomic uint64_t n_kept;  /* temporary files that are staged, or could not be removed */
    uint64_t lock_ms;         /* longest wait for a key; 0 = for ever */
    _Atomic bool gives_up;    /* do not wait for other processes */
    const uint64_t *held;     /* held hashes in ascending order, n_held of them; borrowed */
    size_t n_held;
    struct zd_list uses; /* struct zd_writer_use */
};

ZD_RESULT zd_writer_init(struct zd_writer *writer);
/** Drops all locks and leaves; the marker stays if temporary files of the writer remain. */
void zd_writer_done(struct zd_writer *writer, const struct zd_beneath *root);

/** Around all that follows, until what is locked is unlocked. Thread: any; may block. */
void zd_writer_begin(struct zd_writer *writer);
void zd_writer_end(struct zd_writer *writer);

/** Leave, with its marker, unless it has users or temporary files, or the disk is full. Thread:
 * any; blocks. */
void zd_writer_leave(struct zd_writer *writer, const struct zd_beneath *root);

/**
 * Be present: open the file of locks, and create it if need be. Call before the first lock. An
 * erasure needs nothing else, so that a full disk can be emptied.
 * @retval as zd_presence_enter
 * Thread: any; blocks.
 */
ZD_RESULT zd_writer_open_lock(
    struct zd_writer *writer, const struct zd_beneath *root, struct zd_error *err);

/**
 * The same, and create the marker. Call before the first temporary file.
 *
 * @param durable  sync the marker, so that temporary files are found after a power cut
 * @param ret_code the errno of a sync that failed; else 0
 */
ZD_RESULT zd_writer_enter(struct zd_writer *writer, const struct zd_beneath *root, bool durable,
    int *ret_code, struct zd_error *err);

/** A name that no temporary file has yet. Thread: any. */
void zd_writer_name_temp(struct zd_writer *writer, char name[ZD_TEMP_NAME_BYTES]);

/**
 * Lock the keys of a hash against other processes. Threads of this process must not lock a hash
 * twice. Waits up to lock_ms for another process, which may be stopped. A call after lock_ms, or
 * while several threads of this process wait already, waits up to a second only, so that threads
 * remain for other keys.
 *
 * @param since_ns uv_hrtime() when the write began
 * @param use      the thread's; must not move until it is unlocked
 * @return 0, or an errno if it is not locked; ETIMEDOUT: another process holds it.
 * Thread: any; blocks.
 */
int zd_writer_lock(
    struct zd_writer *writer, uint64_t hash, uint64_t since_ns, struct zd_writer_use *use);
void zd_writer_unlock(struct zd_writer *writer, struct zd_writer_use *use);

/** Bring hashes into the order in which they are held. Thread: any. */
void zd_writer_sort(uint64_t *hash, size_t n);

/**
 * Lock the keys of many hashes. Until zd_writer_drop, zd_writer_unlock leaves them locked;
 * zd_writer_drop leaves those locked that a thread still uses. One holder at a time, among all
 * processes; the caller ensures that within this one.
 *
 * @param hash sorted; borrowed until zd_writer_drop
 * @return 0, or an errno if nothing is held. Thread: any; blocks like zd_writer_lock.
 */
int zd_writer_hold(struct zd_writer *writer, const uint64_t *hash, size_t n, uint64_t since_ns);
void zd_writer_drop(struct zd_writer *writer);

/** Make every present and future wait for another process fail. Thread: any. */
void zd_writer_give_up(struct zd_writer *writer);

/** Whether the writer of that number is alive, in any process; true when in doubt. Thread: any;
 * blocks. */
bool zd_writer_is_alive(int dir_fd, const char *id);

/** Remove the marker of a dead writer. Thread: any; blocks. */
void zd_writer_forget(int dir_fd, const char *id);

/** Whether a name in the hidden directory belongs to a marker. Thread: any. */
bool zd_writer_id_is_valid(const char *name);

#endif
