/* A running replacement of a file, shared by core/store/file/replace*.c. Thread: any; all block. */
#ifndef ZD_CORE_STORE_FILE_REPLACE_NAME_H
#define ZD_CORE_STORE_FILE_REPLACE_NAME_H

#include "core/store/file/files.h"

struct zd_file_staged;

struct zd_replacement {
    struct zd_files *files;
    const char *key;
    uint64_t began_ns;
    const char *name;              /* the last segment of key */
    int dir_fd;                    /* of the directory that holds it; -1 = not opened yet */
    int temp_dir_fd;               /* of the directory of the temporary file: often the same */
    size_t base_len;               /* of the path of the deepest directory that existed before */
    char temp[ZD_TEMP_NAME_BYTES]; /* "" = there is no temporary file to remove */
    bool has_old;                  /* temp is the old object of the key, */
    uint64_t old_size;             /* of so many bytes */
    struct zd_file_staged *held; /* the staged bytes, or memory for the kept ones; owned, or NULL */
    bool is_published;
    struct zd_error *err;
};

/** Remove a temporary file; failures are ignored. */
void zd_replace_name_drop(const struct zd_replacement *job, const char *temp);

/*
 * Each moves a file between its name and the temporary name. 0, or an errno if nothing has changed.
 */

/** Give the name to the temporary file; the old file of that name is lost. */
int zd_replace_name_over(struct zd_replacement *job);

/** Give the name to the temporary file unless a file has it: the file system decides. */
int zd_replace_name_new(struct zd_replacement *job);

/** Give the name to the temporary file and, if there was an old file, set has_old: it now has the
 * temporary name. */
int zd_replace_name_keeping(struct zd_replacement *job);

/** Undo a successful zd_replace_name_keeping. */
void zd_replace_name_take_back(struct zd_replacement *job);

/** Give the file a temporary name instead of its own; sets temp and has_old. */
int zd_replace_name_aside(struct zd_replacement *job);

#endif
