/* Writers below a root. */
#include "core/store/file/writers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/file/calls.h"
#include "core/store/contract/turns.h"

#define ATTEMPTS_MAX    8 /* of numbers; a second one is never needed in practice */
#define LOCK_BYTES      ZD_PRESENCE_BYTES
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY)
#define NS_PER_MS       UINT64_C(1000000)
#define LATE_MS         1000 /* a live process holds a key for a rename, not for that long */
#define PATIENT_MAX     (ZD_TURNS_AT_ONCE / 2) /* threads: the stores share them */
#define PAUSE_MIN_NS    50000
#define PAUSE_MAX_NS    10000000

enum zd_status zd_writer_init(struct zd_writer *writer)
{
    *writer = (struct zd_writer){.presence = ZD_PRESENCE_NONE, .marker_fd = -1};
    zd_list_init(&writer->uses);
    return uv_mutex_init(&writer->mutex) == 0 ? ZD_OK : ZD_NO_MEMORY;
}

static struct flock write_lock(off_t first, off_t len)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = len};
}

/* Lock a file; false if another process has it. */
static bool try_lock(int fd)
{
    struct flock lock = write_lock(0, 0);
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

enum zd_status zd_writer_open_lock(
    struct zd_writer *writer, const struct zd_beneath *root, struct zd_error *err)
{
    enum zd_status status = ZD_OK;
    if (atomic_load(&writer->has_lock)) {
        return ZD_OK;
    }
    uv_mutex_lock(&writer->mutex);
    if (!atomic_load(&writer->has_lock)) {
        status = zd_presence_enter(&writer->presence, root, err);
        atomic_store(&writer->has_lock, status == ZD_OK);
    }
    uv_mutex_unlock(&writer->mutex);
    return status;
}

/* A sweeper may have taken a marker that was not locked yet: then another one is made. */
static bool is_marker_ours(const struct zd_writer *writer)
{
    struct stat file;
    return try_lock(writer->marker_fd) && fstat(writer->marker_fd, &file) == 0 && file.st_nlink > 0;
}

static enum zd_status make_marker(struct zd_writer *writer, struct zd_error *err)
{
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        snprintf(writer->id, sizeof writer->id, "%016" PRIx64, zd_hash_random_seed());
        writer->marker_fd = zd_calls->open(writer->presence.dir_fd, writer->id, O_RDWR | O_EXCL);
        if (writer->marker_fd < 0) {
            return zd_presence_fail(err, errno, "make a marker");
        }
        if (is_marker_ours(writer)) {
            return ZD_OK;
        }
        zd_beneath_close_fd(&writer->marker_fd);
        writer->marker_fd = -1;
    }
    return zd_fail(err, ZD_STORE, "%s: cannot lock a marker", ZD_PRESENCE_DIRECTORY);
}

static enum zd_status sync_marker(const struct zd_writer *writer, const struct zd_beneath *root,
    int *ret_code, struct zd_error *err)
{
    ZD_AUTO_FD root_fd = -1;
    ZD_TRY(zd_beneath_find(root, "", DIRECTORY_FLAGS, &root_fd, err));
    if (zd_calls->sync(writer->presence.dir_fd) != 0 || zd_calls->sync(root_fd) != 0) {
        *ret_code = errno;
        return zd_presence_fail(err, *ret_code, "sync the directory of locks");
    }
    return ZD_OK;
}

static void drop_marker(struct zd_writer *writer)
{
    if (writer->marker_fd >= 0) {
        (void)unlinkat(writer->presence.dir_fd, writer->id, 0);
        zd_beneath_close_fd(&writer->marker_fd);
        writer->marker_fd = -1;
    }
    atomic_store(&writer->has_marker, false);
}

enum zd_status zd_writer_enter(struct zd_writer *writer, const struct zd_beneath *root,
    bool durable, int *ret_code, struct zd_error *err)
{
    *ret_code = 0;
    ZD_TRY(zd_writer_open_lock(writer, root, err));
    if (atomic_load(&writer->has_marker)) {
        return ZD_OK;
    }
    enum zd_status status = ZD_OK;
    uv_mutex_lock(&writer->mutex);
    if (!atomic_load(&writer->has_marker)) {
        status = make_marker(writer, err);
        if (status == ZD_OK && durable) {
            status = sync_marker(writer, root, ret_code, err);
        }
        if (status != ZD_OK) {
            drop_marker(writer);
        }
        atomic_store(&writer->has_marker, status == ZD_OK);
    }
    uv_mutex_unlock(&writer->mutex);
    return status;
}

void zd_writer_begin(struct zd_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    writer->n_users++;
    uv_mutex_unlock(&writer->mutex);
}

void zd_writer_end(struct zd_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    assert(writer->n_users > 0);
    writer->n_users--;
    uv_mutex_unlock(&writer->mutex);
}

void zd_writer_leave(struct zd_writer *writer, const struct zd_beneath *root)
{
    uv_mutex_lock(&writer->mutex);
    const bool is_idle = writer->n_users == 0 && atomic_load(&writer->n_kept) == 0;
    if (is_idle && zd_presence_has_room(root)) {
        drop_marker(writer);
        atomic_store(&writer->has_lock, false);
        zd_presence_leave(&writer->presence, root);
    }
    uv_mutex_unlock(&writer->mutex);
}

void zd_writer_done(struct zd_writer *writer, const struct zd_beneath *root)
{
    if (atomic_load(&writer->n_kept) == 0) {
        drop_marker(writer);
    }
    zd_beneath_close_fd(&writer->marker_fd);
    zd_presence_leave(&writer->presence, root);
    uv_mutex_destroy(&writer->mutex);
}

void zd_writer_name_temp(struct zd_writer *writer, char name[ZD_TEMP_NAME_BYTES])
{
    snprintf(name, ZD_TEMP_NAME_BYTES, ZD_TEMP_PREFIX "%s-%" PRIx64, writer->id,
        atomic_fetch_add(&writer->n_temps, 1));
}

/* Threads of this process that wait for others. */
static _Atomic uint32_t n_waiting;

/* EAGAIN: another process has it. */
static int try_at(const struct zd_writer *writer, uint64_t offset)
{
    struct flock lock = write_lock((off_t)offset, 1);
    int code = EINTR;
    while (code == EINTR) {
        code = zd_calls->lock(writer->presence.lock_fd, &lock) == 0 ? 0 : errno;
    }
    return code == EACCES ? EAGAIN : code;
}

/* When a wait that began at since_ns ends: late only if few threads wait. */
static uint64_t wait_until(const struct zd_writer *writer, uint64_t since_ns, bool is_patient)
{
    const uint64_t now_ns = uv_hrtime();
    const uint64_t late_ns = now_ns + zd_min_u64(writer->lock_ms, LATE_MS) * NS_PER_MS;
    const uint64_t last_ns = since_ns + writer->lock_ms * NS_PER_MS;
    if (writer->lock_ms == 0) {
        return UINT64_MAX;
    }
    return is_patient ? zd_max_u64(last_ns, late_ns) : late_ns;
}

/* The kernel would wait for ever (F_OFD_SETLKW): so it is asked again and again. */
static int wait_at(
    const struct zd_writer *writer, uint64_t offset, uint64_t since_ns, bool is_patient)
{
    struct timespec pause = {.tv_nsec = PAUSE_MIN_NS};
    const uint64_t until_ns = wait_until(writer, since_ns, is_patient);
    int code = EAGAIN;
    while (code == EAGAIN && !atomic_load(&writer->gives_up) && uv_hrtime() < until_ns) {
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < PAUSE_MAX_NS ? pause.tv_nsec * 2 : PAUSE_MAX_NS;
        code = try_at(writer, offset);
    }
    return code == EAGAIN ? ETIMEDOUT : code;
}

/* Offsets below LOCK_BYTES are those of keys; the one at LOCK_BYTES is that of a holder of many
 * keys. */
static int lock_at(const struct zd_writer *writer, uint64_t offset, uint64_t since_ns)
{
    int code = try_at(writer, offset);
    if (code == EAGAIN) {
        const bool is_patient = atomic_fetch_add(&n_waiting, 1) < PATIENT_MAX;
        code = wait_at(writer, offset, since_ns, is_patient);
        atomic_fetch_sub(&n_waiting, 1);
    }
    return code;
}

static void unlock_at(const struct zd_writer *writer, uint64_t offset)
{
    struct flock lock = write_lock((off_t)offset, 1);
    lock.l_type = F_UNLCK;
    (void)fcntl(writer->presence.lock_fd, F_OFD_SETLK, &lock);
}

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The kernel's lock of one byte is not counted: it is released only when no other lock of this
 * process needs it. */
static bool is_held(const struct zd_writer *writer, uint64_t hash)
{
    return writer->n_held > 0 &&
           bsearch(&hash, writer->held, writer->n_held, sizeof hash, compare) != NULL;
}

static bool is_used(const struct zd_writer *writer, uint64_t hash)
{
    for (const struct zd_list *at = writer->uses.next; at != &writer->uses; at = at->next) {
        if (ZD_CONTAINER(at, struct zd_writer_use, link)->hash == hash) {
            return true;
        }
    }
    return false;
}

int zd_writer_lock(
    struct zd_writer *writer, uint64_t hash, uint64_t since_ns, struct zd_writer_use *use)
{
    use->hash = hash;
    uv_mutex_lock(&writer->mutex);
    zd_list_push_back(&writer->uses, &use->link);
    uv_mutex_unlock(&writer->mutex);
    const int code = lock_at(writer, hash % LOCK_BYTES, since_ns);
    if (code != 0) {
        zd_writer_unlock(writer, use);
    }
    return code;
}

void zd_writer_unlock(struct zd_writer *writer, struct zd_writer_use *use)
{
    uv_mutex_lock(&writer->mutex);
    zd_list_remove(&use->link);
    if (!is_held(writer, use->hash)) {
        unlock_at(writer, use->hash % LOCK_BYTES);
    }
    uv_mutex_unlock(&writer->mutex);
}

void zd_writer_sort(uint64_t *hash, size_t n)
{
    qsort(hash, n, sizeof *hash, compare);
}

static void set_held(struct zd_writer *writer, const uint64_t *hash, size_t n)
{
    uv_mutex_lock(&writer->mutex);
    writer->held = hash;
    writer->n_held = n;
    writer->n_users++;
    uv_mutex_unlock(&writer->mutex);
}

int zd_writer_hold(struct zd_writer *writer, const uint64_t *hash, size_t n, uint64_t since_ns)
{
    int code = lock_at(writer, LOCK_BYTES, since_ns);
    if (code != 0) {
        return code;
    }
    set_held(writer, hash, n);
    for (size_t i = 0; i < n && code == 0; i++) {
        code = lock_at(writer, hash[i] % LOCK_BYTES, since_ns);
    }
    if (code != 0) {
        zd_writer_drop(writer);
    }
    return code;
}

void zd_writer_drop(struct zd_writer *writer)
{
    uv_mutex_lock(&writer->mutex);
    for (size_t i = 0; i < writer->n_held; i++) {
        if (!is_used(writer, writer->held[i])) {
            unlock_at(writer, writer->held[i] % LOCK_BYTES);
        }
    }
    writer->held = NULL;
    writer->n_held = 0;
    unlock_at(writer, LOCK_BYTES);
    writer->n_users--;
    uv_mutex_unlock(&writer->mutex);
}

void zd_writer_give_up(struct zd_writer *writer)
{
    atomic_store(&writer->gives_up, true);
}

bool zd_writer_is_alive(int dir_fd, const char *id)
{
    ZD_AUTO_FD fd = openat(dir_fd, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno != ENOENT;
    }
    struct flock lock = write_lock(0, 0);
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

void zd_writer_forget(int dir_fd, const char *id)
{
    ZD_AUTO_FD fd = openat(dir_fd, id, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && try_lock(fd)) { /* no other process can take it meanwhile */
        (void)unlinkat(dir_fd, id, 0);
    }
}

bool zd_writer_id_is_valid(const char *name)
{
    return strlen(name) == ZD_WRITER_ID_LEN && strspn(name, "0123456789abcdef") == ZD_WRITER_ID_LEN;
}
