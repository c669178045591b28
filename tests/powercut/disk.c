/* zarrd-powercut-disk FOLDER IMAGE LOG POSITION: a disk whose writes and flushes are on record.
 *
 * FOLDER shows one file, "disk", with the bytes of IMAGE. Under a loop device it is a disk with a
 * volatile cache: what the kernel writes may be lost until the kernel has flushed. LOG holds each
 * write and each flush, in the order in which they came to an end; POSITION is eight bytes, the
 * number of records that LOG holds, for whoever wants to know how far the disk is (map it). */
#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define DISK_INODE 2
#define FOREVER_S  86400.0

enum kind { KIND_WRITE, KIND_FLUSH };

/* The format of LOG: native byte order, and for writes `len` bytes behind it. */
struct record {
    uint64_t kind;
    uint64_t offset;
    uint64_t len;
};

struct disk {
    uint8_t *image; /* shared with the file, bytes long */
    size_t bytes;
    int log;
    _Atomic uint64_t *position;
};

static void fail(const char *what)
{
    fprintf(stderr, "zarrd-powercut-disk: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct disk *disk_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

/* An operation without a record did not happen: 0, or the errno of a log that is full. */
static int note(struct disk *disk, struct record record, const char *bytes)
{
    const size_t len = sizeof record + (size_t)record.len;
    const struct iovec part[2] = {
        {.iov_base = &record, .iov_len = sizeof record},
        {.iov_base = (void *)(uintptr_t)bytes, .iov_len = (size_t)record.len},
    };
    const ssize_t n = writev(disk->log, part, 2);
    if (n < 0) {
        return errno;
    }
    if ((size_t)n < len) {
        return EIO;
    }
    atomic_fetch_add(disk->position, 1);
    return 0;
}

static struct stat stat_of(const struct disk *disk, fuse_ino_t inode)
{
    if (inode == FUSE_ROOT_ID) {
        return (struct stat){.st_ino = inode, .st_mode = S_IFDIR | 0700, .st_nlink = 2};
    }
    return (struct stat){.st_ino = inode,
        .st_mode = S_IFREG | 0600,
        .st_nlink = 1,
        .st_size = (off_t)disk->bytes,
        .st_blocks = (blkcnt_t)(disk->bytes / 512)};
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    if (parent != FUSE_ROOT_ID || strcmp(name, "disk") != 0) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    const struct fuse_entry_param entry = {.ino = DISK_INODE,
        .attr = stat_of(disk_of(request), DISK_INODE),
        .attr_timeout = FOREVER_S,
        .entry_timeout = FOREVER_S};
    fuse_reply_entry(request, &entry);
}

static void on_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)file;
    const struct stat stat = stat_of(disk_of(request), inode);
    fuse_reply_attr(request, &stat, FOREVER_S);
}

/* Nothing of the disk may stay in the kernel's cache: what it holds back would not be on record. */
static void on_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)inode;
    file->direct_io = 1;
    fuse_reply_open(request, file);
}

static void on_read(
    fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)inode;
    (void)file;
    const struct disk *disk = disk_of(request);
    const size_t first = (size_t)offset < disk->bytes ? (size_t)offset : disk->bytes;
    const size_t left = disk->bytes - first;
    fuse_reply_buf(request, (const char *)disk->image + first, size < left ? size : left);
}

static void on_write(fuse_req_t request, fuse_ino_t inode, const char *bytes, size_t size,
    off_t offset, struct fuse_file_info *file)
{
    (void)inode;
    (void)file;
    struct disk *disk = disk_of(request);
    if ((size_t)offset > disk->bytes || size > disk->bytes - (size_t)offset) {
        fuse_reply_err(request, ENOSPC);
        return;
    }
    const int code = note(
        disk, (struct record){.kind = KIND_WRITE, .offset = (uint64_t)offset, .len = size}, bytes);
    if (code != 0) {
        fuse_reply_err(request, code);
        return;
    }
    memcpy(disk->image + offset, bytes, size);
    fuse_reply_write(request, size);
}

/* The loop device turns a flush of the disk into this; FUA is a write and a flush to it. */
static void on_fsync(
    fuse_req_t request, fuse_ino_t inode, int data_only, struct fuse_file_info *file)
{
    (void)inode;
    (void)data_only;
    (void)file;
    fuse_reply_err(request, note(disk_of(request), (struct record){.kind = KIND_FLUSH}, NULL));
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = on_lookup,
    .getattr = on_getattr,
    .open = on_open,
    .read = on_read,
    .write = on_write,
    .fsync = on_fsync,
};

/* All of a file, shared with who else maps it. */
static void *map_file(const char *path, size_t *ret_bytes)
{
    struct stat stat;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) != 0) {
        fail(path);
    }
    *ret_bytes = (size_t)stat.st_size;
    void *bytes = mmap(NULL, *ret_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        fail(path);
    }
    close(fd);
    return bytes;
}

/* Serve on one thread: records have the order in which the disk did its work. */
static int serve(struct disk *disk, const char *folder)
{
    char *argv[] = {"zarrd-powercut-disk", "-o", "fsname=zarrd-powercut", NULL};
    struct fuse_args arguments = FUSE_ARGS_INIT(3, argv);
    struct fuse_session *session =
        fuse_session_new(&arguments, &operations, sizeof operations, disk);
    if (session == NULL || fuse_set_signal_handlers(session) != 0 ||
        fuse_session_mount(session, folder) != 0) {
        return 1;
    }
    const int code = fuse_session_loop(session);
    fuse_session_unmount(session);
    fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
    fuse_opt_free_args(&arguments);
    return code < 0;
}

int main(int argc, char **argv)
{
    struct disk disk = {0};
    size_t position_bytes = 0;
    if (argc != 5) {
        fprintf(stderr, "usage: zarrd-powercut-disk FOLDER IMAGE LOG POSITION\n");
        return 2;
    }
    disk.image = map_file(argv[2], &disk.bytes);
    disk.position = map_file(argv[4], &position_bytes);
    disk.log = open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (disk.log < 0 || position_bytes < sizeof *disk.position) {
        fail(argv[3]);
    }
    return serve(&disk, argv[1]);
}
