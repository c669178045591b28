/* Who writes below a root: locks of keys between processes, and names of temporary files that tell
 * whether their writer lives.
 *
 * A hidden directory of the root holds `lock`, whose bytes are locked for keys by their hash, and a
 * marker for each writer, named by its number and locked as long as it lives. All these locks are
 * of open file descriptions (fcntl, F_OFD_SETLK): the kernel drops them with the process, however
 * that ends. */
#ifndef ZD_CORE_STORE_WRITERS_H
#define ZD_CORE_STORE_WRITERS_H

#include <stdatomic.h>
#include <uv.h>

#include "core/base/list.h"
#include "core/store/beneath.h"

#define ZD_WRITERS_DIRECTORY ZD_TEMP_PREFIX "writers"
#define ZD_WRITERS_LOCK      ZD_WRITERS_DIRECTORY "/lock"
#define ZD_WRITER_ID_LEN     16 /* hexadecimal digits */
#define ZD_TEMP_NAME_BYTES   (sizeof ZD_TEMP_PREFIX + ZD_WRITER_ID_LEN + 1 + 16)

/** A thread that has locked keys, or is about to. */
struct zd_writer_use {
    uint64_t hash;
    struct zd_list link; /* in the writer's */
};

/** One writer: an open store. */
struct zd_writer {
    uv_mutex_t mutex;        /* of the one who makes one of these */
    _Atomic bool has_lock;   /* the next two are there, and stay */
    int dir_fd;              /* the hidden directory; -1 = none */
    int lock_fd;             /* -1 = none */
    _Atomic bool has_marker; /* the next two are there, and stay */
    int marker_fd;           /* -1 = none */
    char id[ZD_WRITER_ID_LEN + 1];
    _Atomic uint64_t n_temps; /* names given out */
    _Atomic uint64_t n_kept;  /* temporary files that are staged, or could not be removed */
    uint64_t lock_ms;         /* how long keys are waited for; 0 = for ever */
    _Atomic bool gives_up;    /* nothing is waited for any more */
    const uint64_t *held;     /* hashes that are held, n_held of them, in order; borrowed */
    size_t n_held;
    struct zd_list uses; /* struct zd_writer_use; these three under the mutex */
};

ZD_RESULT zd_writer_init(struct zd_writer *writer);
/** Drops all locks; the marker goes too, unless there are files that it leads to. */
void zd_writer_done(struct zd_writer *writer);

/**
 * Open the lock, which is made if it is not there: before the first lock. An erasure needs no more,
 * so that it can be made where there is no space. @retval ZD_STORE @retval ZD_NO_SPACE
 * Thread: any; blocks.
 */
ZD_RESULT zd_writer_open_lock(
    struct zd_writer *writer, const struct zd_beneath *root, struct zd_error *err);

/**
 * The same, and make the marker: before the first temporary file.
 *
 * @param durable  the marker outlasts a power cut, so that what is left behind is found
 * @param ret_code the errno of a sync that failed; else 0
 */
ZD_RESULT zd_writer_enter(struct zd_writer *writer, const struct zd_beneath *root, bool durable,
    int *ret_code, struct zd_error *err);

/** A name that no temporary file has. Thread: any. */
void zd_writer_name_temp(struct zd_writer *writer, char name[ZD_TEMP_NAME_BYTES]);

/**
 * Lock the keys of a hash against other processes: threads of this one must not lock it twice.
 * Another process that holds them is waited for, for lock_ms at the most: it may be stopped. Who
 * comes late, or when some threads of the process wait already, waits for a second at the most, so
 * that others can go on.
 *
 * @param since_ns uv_hrtime() when the write began
 * @param use      of the thread; stays where it is until it is unlocked
 * @return 0 or an errno, then it is not locked; ETIMEDOUT: another process holds it.
 * Thread: any; blocks.
 */
int zd_writer_lock(
    struct zd_writer *writer, uint64_t hash, uint64_t since_ns, struct zd_writer_use *use);
void zd_writer_unlock(struct zd_writer *writer, struct zd_writer_use *use);

/**
 * Lock the keys of many hashes: until zd_writer_drop, zd_writer_unlock leaves them locked; and that
 * leaves locked what a thread still uses. One holder at a time, of this process (the caller sees to
 * it) and of all others.
 *
 * @param hash in ascending order; borrowed until they are dropped
 * @return 0 or an errno, then nothing is held. Thread: any; blocks as zd_writer_lock.
 */
int zd_writer_hold(struct zd_writer *writer, const uint64_t *hash, size_t n, uint64_t since_ns);
void zd_writer_drop(struct zd_writer *writer);

/** Who waits for another process, now or later, gives up. Thread: any. */
void zd_writer_give_up(struct zd_writer *writer);

/** Whether the writer of that number lives, of this process or another; when in doubt it does.
 * Thread: any; blocks. */
bool zd_writer_is_alive(int dir_fd, const char *id);

/** Take away the marker of a writer that does not live. Thread: any; blocks. */
void zd_writer_forget(int dir_fd, const char *id);

/** Whether a name in the hidden directory is a marker's. Thread: any. */
bool zd_writer_id_is_valid(const char *name);

#endif
