/* A replacement of a file under way: what core/store/replace*.c share. Thread: any; all block. */
#ifndef ZD_CORE_STORE_REPLACE_NAME_H
#define ZD_CORE_STORE_REPLACE_NAME_H

#include "core/store/files.h"

struct zd_file_staged;

struct zd_replacement {
    struct zd_files *files;
    const char *key;
    uint64_t began_ns;
    const char *name; /* the last segment of key */
    int dir_fd;       /* of the directory that holds it; -1 = not opened yet */
    int temp_dir_fd;  /* of the one that holds the temporary file: often the same */
    size_t base_len;  /* of the path of the directory that was there: deeper ones may be ours */
    char temp[ZD_TEMP_NAME_BYTES]; /* "" = there is no temporary file to remove */
    bool has_old;                  /* temp is what the key held before, */
    uint64_t old_size;             /* of so many bytes */
    struct zd_file_staged *held;   /* was staged, or is to tell what is kept; owned, or NULL */
    bool is_published;
    struct zd_error *err;
};

/** Remove a temporary file, which its directory holds, as well as that is possible. */
void zd_replace_name_drop(const struct zd_replacement *job, const char *temp);

/*
 * The name is the temporary file's from now on, or what it named the temporary name's. 0, or an
 * errno: then nothing has changed.
 */

/** In place of what has it now, which is gone. */
int zd_replace_name_over(struct zd_replacement *job);

/** Only if nothing has that name: the file system decides, whoever else writes there. */
int zd_replace_name_new(struct zd_replacement *job);

/** In place of what has it now: with has_old that has the temporary name. */
int zd_replace_name_keeping(struct zd_replacement *job);

/** Of zd_replace_name_keeping, which has gone well: it is as it was before. */
void zd_replace_name_take_back(struct zd_replacement *job);

/** What has the name is put aside, under a temporary one: it sets temp and has_old. */
int zd_replace_name_aside(struct zd_replacement *job);

#endif
