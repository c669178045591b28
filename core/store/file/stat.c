/* The facts of an open file as an object. */
#include "core/store/file/stat.h"

#include "core/base/hash.h"

struct zd_stat zd_stat_of_file(const struct stat *file)
{
    struct zd_hash bytes = {0};
    struct zd_hash version = {0};
    zd_hash_add_u64(&bytes, file->st_dev);
    zd_hash_add_u64(&bytes, file->st_ino);
    zd_hash_add_u64(&bytes, (uint64_t)file->st_size);
    zd_hash_add_u64(&bytes, (uint64_t)file->st_mtim.tv_sec);
    zd_hash_add_u64(&bytes, (uint64_t)file->st_mtim.tv_nsec);
    version.value = bytes.value;
    zd_hash_add_u64(&version, (uint64_t)file->st_ctim.tv_sec);
    zd_hash_add_u64(&version, (uint64_t)file->st_ctim.tv_nsec);
    return (struct zd_stat){
        /* Zero names no generation. */
        .generation = {.word = {bytes.value | 1, version.value}},
        .size = (uint64_t)file->st_size,
        .mtime_ms = (int64_t)file->st_mtim.tv_sec * 1000 + file->st_mtim.tv_nsec / 1000000,
    };
}

bool zd_stat_has_same_bytes(const struct zd_stat *a, const struct zd_stat *b)
{
    return a->generation.word[0] == b->generation.word[0];
}

enum zd_status zd_stat_of_object(
    int fd, const char *key, struct zd_stat *ret_stat, struct zd_error *err)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return zd_fail(err, ZD_STORE, "%s: cannot read the status of the file", key);
    }
    if (S_ISDIR(file.st_mode)) {
        return ZD_NOT_FOUND;
    }
    if (!S_ISREG(file.st_mode)) {
        return zd_fail(err, ZD_STORE, "%s: not a regular file", key);
    }
    *ret_stat = zd_stat_of_file(&file);
    return ZD_OK;
}
