/* The directories above a key. */
#include "core/store/file/ancestors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/store/file/calls.h"
#include "core/store/contract/path.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY)

enum zd_status zd_ancestors_find(
    struct zd_files *files, const char *key, size_t *ret_len, int *ret_fd, struct zd_error *err)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    size_t len = zd_path_parent_len(key);
    int fd = -ENOENT;
    while (len > 0 && fd == -ENOENT) {
        fd = zd_beneath_try(&files->root, zd_path_cut(key, len, path), DIRECTORY_FLAGS);
        len = fd == -ENOENT ? zd_path_parent_len(path) : len;
    }
    if (fd == -ENOENT) {
        ZD_TRY(zd_beneath_find(&files->root, "", DIRECTORY_FLAGS, &fd, err));
    }
    if (fd < 0) {
        return zd_files_fail(err, -fd, key, "open its directory");
    }
    *ret_len = len;
    *ret_fd = fd;
    return ZD_OK;
}

/* Go from a directory to the next one on the way to the key, which is made if need be. */
static enum zd_status make_next(
    struct zd_files *files, const char *key, size_t *len, int *fd, struct zd_error *err)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    const size_t start = *len == 0 ? 0 : *len + 1;
    const size_t next_len = start + strcspn(key + start, "/");
    const char *const next = zd_path_cut(key, next_len, path);
    if (zd_calls->make_directory(*fd, zd_path_last(next)) != 0 && errno != EEXIST) {
        return errno == ENOENT ? ZD_AGAIN : zd_files_fail(err, errno, key, "make its directory");
    }
    ZD_TRY(zd_files_sync_directory(files, *fd, key, err));
    const int next_fd = zd_beneath_try(&files->root, next, DIRECTORY_FLAGS);
    if (next_fd < 0) {
        return next_fd == -ENOENT ? ZD_AGAIN
                                  : zd_files_fail(err, -next_fd, key, "open its directory");
    }
    close(*fd);
    *fd = next_fd;
    *len = next_len;
    return ZD_OK;
}

enum zd_status zd_ancestors_make(
    struct zd_files *files, const char *key, int *ret_fd, struct zd_error *err)
{
    size_t len = 0;
    ZD_AUTO_FD fd = -1;
    struct zd_making making;
    const size_t whole_len = zd_path_parent_len(key);
    enum zd_status status = zd_ancestors_find(files, key, &len, &fd, err);
    if (status == ZD_OK && len < whole_len) {
        zd_dirsync_making_begin(&files->dirsync, &making);
        while (status == ZD_OK && len < whole_len) {
            status = make_next(files, key, &len, &fd, err);
        }
        zd_dirsync_making_end(&files->dirsync, &making);
    }
    if (status == ZD_OK) {
        *ret_fd = fd;
        fd = -1;
    }
    return status;
}

/* Whether the directories above it may be empty now. */
static bool remove_directory(const struct zd_files *files, const char *path)
{
    char above[ZD_KEY_BYTES_MAX + 1];
    ZD_AUTO_FD above_fd = -1;
    zd_path_cut(path, zd_path_parent_len(path), above);
    above_fd = zd_beneath_try(&files->root, above, O_PATH | O_DIRECTORY);
    if (above_fd < 0) {
        return above_fd == -ENOENT;
    }
    return zd_calls->unlink(above_fd, zd_path_last(path), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

void zd_ancestors_prune(struct zd_files *files, const char *key, size_t longer_than)
{
    char path[ZD_KEY_BYTES_MAX + 1];
    size_t len = zd_path_parent_len(key);
    while (len > longer_than && remove_directory(files, zd_path_cut(key, len, path))) {
        len = zd_path_parent_len(path);
    }
}
