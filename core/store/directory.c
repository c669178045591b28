/* Directories as listings of keys and prefixes.
 *
 * A deep listing goes down in the order of the names it makes, with a stack in place of recursion:
 * of every directory on the way it holds one page of entries, a prefix spelled with its slash
 * ("a.b" comes before "a/c"), and it stops as soon as it has what was asked for. */
#include "core/store/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/store/page.h"

#define LEVELS_STEP 16 /* a key has at most ZD_KEY_BYTES_MAX / 2 + 1 segments: so many levels */

/* A directory that stands open in a deep listing. */
struct level {
    size_t path_len; /* of the text that leads here, its slash included */
    dev_t device;    /* with inode: a link back to a directory above is not followed */
    ino_t inode;
    struct zd_page page; /* sorted entries of this directory */
    size_t next;         /* entry of the page that comes next */
};

/* One listing under way. */
struct walk {
    const struct zd_beneath *root;
    const char *after; /* as in struct zd_store_list */
    size_t prefix_len; /* bytes of path before the names that are listed */
    struct zd_text path;
    struct level *level; /* the stack */
    size_t n_levels;
    size_t cap;
    struct zd_page found;
    struct zd_error *err;
};

enum entry_kind { ENTRY_KEY, ENTRY_PREFIX, ENTRY_NONE };

static enum entry_kind kind_of_mode(mode_t mode)
{
    if (S_ISREG(mode)) {
        return ENTRY_KEY;
    }
    return S_ISDIR(mode) ? ENTRY_PREFIX : ENTRY_NONE;
}

/* What a link leads to. One that leads nowhere or outside is left out; a fault is not. */
static enum zd_status follow(struct walk *walk, const char *name, enum entry_kind *ret_kind)
{
    struct stat file;
    ZD_AUTO_FD fd = -1;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    (void)zd_text_add(&path, walk->path.at);
    (void)zd_text_add(&path, name);
    if (path.status != ZD_OK) {
        return path.status == ZD_TOO_LARGE ? ZD_OK : path.status;
    }
    fd = zd_beneath_try(walk->root, path.at, O_PATH);
    switch (fd) {
    case -ENOENT:
    case -ENOTDIR:
    case -EXDEV:
    case -ELOOP:
        return ZD_OK;
    default:
        break;
    }
    if (fd < 0 || fstat(fd, &file) != 0) {
        return zd_fail(walk->err, ZD_STORE, "%s: cannot follow the symbolic link", path.at);
    }
    *ret_kind = kind_of_mode(file.st_mode);
    return ZD_OK;
}

static enum zd_status kind_of_entry(
    struct walk *walk, int dir_fd, const struct dirent *entry, enum entry_kind *ret_kind)
{
    struct stat file;
    *ret_kind = ENTRY_NONE;
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) {
        if (fstatat(dir_fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) {
            const int code = errno;
            return code == ENOENT ? ZD_OK
                                  : zd_beneath_fail(walk->err, code, entry->d_name, "look at");
        }
        type = IFTODT(file.st_mode);
    }
    if (type == DT_REG || type == DT_DIR) {
        *ret_kind = type == DT_REG ? ENTRY_KEY : ENTRY_PREFIX;
    }
    if (type == DT_LNK) {
        return follow(walk, entry->d_name, ret_kind);
    }
    return ZD_OK;
}

/* A name and, when it is `slashed`, a slash behind each prefix: the order of the keys below it. */
static enum zd_status offer(
    struct walk *walk, struct zd_page *page, const struct dirent *entry, enum entry_kind kind)
{
    const size_t len = strlen(entry->d_name);
    const bool slashed = page != &walk->found && kind == ENTRY_PREFIX;
    char name[sizeof entry->d_name + 1];
    if (kind == ENTRY_NONE || walk->path.len + len + slashed > ZD_KEY_BYTES_MAX) {
        return ZD_OK; /* no key leads there */
    }
    memcpy(name, entry->d_name, len);
    name[len] = '/';
    name[len + slashed] = '\0';
    return zd_page_offer(page, name, kind == ENTRY_PREFIX);
}

static enum zd_status read_entries(struct walk *walk, int dir_fd, DIR *dir, struct zd_page *page)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            const int code = errno;
            /* A directory that is removed while it is read ends there. */
            return code == 0 || code == ENOENT
                       ? ZD_OK
                       : zd_beneath_fail(walk->err, code, walk->path.at, "list");
        }
        enum entry_kind kind;
        if (zd_key_segment_is_valid(zd_span_of(entry->d_name))) {
            ZD_TRY(kind_of_entry(walk, dir_fd, entry, &kind));
            ZD_TRY(offer(walk, page, entry, kind));
        }
    }
}

/* Read the directory at walk->path into a page. */
static enum zd_status read_directory(struct walk *walk, struct zd_page *page, struct stat *ret_file)
{
    int fd = -1;
    ZD_TRY(zd_beneath_find(walk->root, walk->path.at, O_RDONLY | O_DIRECTORY, &fd, walk->err));
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return ZD_NO_MEMORY;
    }
    const enum zd_status status = fstat(fd, ret_file) == 0
                                      ? read_entries(walk, fd, dir, page)
                                      : zd_beneath_fail(walk->err, EIO, walk->path.at, "look at");
    closedir(dir);
    return status;
}

static bool is_open_already(const struct walk *walk, const struct stat *file)
{
    for (size_t i = 0; i < walk->n_levels; i++) {
        if (walk->level[i].device == file->st_dev && walk->level[i].inode == file->st_ino) {
            return true;
        }
    }
    return false;
}

static enum zd_status make_room(struct walk *walk)
{
    if (walk->n_levels < walk->cap) {
        return ZD_OK;
    }
    const size_t cap = walk->cap + LEVELS_STEP;
    struct level *grown = zd_realloc(walk->level, cap * sizeof *grown);
    if (grown == NULL) {
        return ZD_NO_MEMORY;
    }
    walk->level = grown;
    walk->cap = cap;
    return ZD_OK;
}

/* More entries than are still wanted are never needed, but for empty directories: then read on. */
static size_t page_size(const struct walk *walk)
{
    return walk->found.n_max - walk->found.n_entries + (walk->found.n_max < SIZE_MAX);
}

/* Where the entries of the directory at walk->path begin to matter: cut is the part of `after` that
 * names one of them, without its slash, so that this entry itself is read too when it is a
 * directory. */
static enum zd_status first_bound(const struct walk *walk, struct zd_text *cut)
{
    const size_t below = walk->path.len - walk->prefix_len;
    const char *here = walk->path.at + walk->prefix_len;
    if (walk->after == NULL || strncmp(walk->after, here, below) != 0) {
        return ZD_OK;
    }
    return zd_text_add_bytes(cut, walk->after + below, strcspn(walk->after + below, "/"));
}

/* Enter the directory at walk->path. */
static enum zd_status push(struct walk *walk)
{
    struct stat file;
    struct level level = {.path_len = walk->path.len};
    ZD_SCOPED_TEXT(cut, ZD_KEY_BYTES_MAX);
    ZD_TRY(make_room(walk));
    ZD_TRY(first_bound(walk, &cut));
    zd_page_init(&level.page, cut.len == 0 ? NULL : cut.at, page_size(walk));
    const enum zd_status status = read_directory(walk, &level.page, &file);
    if (status != ZD_OK || is_open_already(walk, &file)) {
        zd_page_done(&level.page);
        return status;
    }
    zd_page_sort(&level.page);
    level.device = file.st_dev;
    level.inode = file.st_ino;
    walk->level[walk->n_levels++] = level;
    return ZD_OK;
}

/* Read the next page of the directory on top. */
static enum zd_status turn_page(struct walk *walk, struct level *level)
{
    struct stat file;
    struct zd_page next;
    const struct zd_page *page = &level->page;
    zd_page_init(&next, page->entry[page->n_entries - 1].name, page_size(walk));
    const enum zd_status status = read_directory(walk, &next, &file);
    if (status != ZD_OK) {
        zd_page_done(&next);
        return status;
    }
    zd_page_sort(&next);
    zd_page_done(&level->page);
    level->page = next;
    level->next = 0;
    return ZD_OK;
}

/* Whether all keys below the directory at walk->path come before what is wanted. */
static bool is_behind(const struct walk *walk)
{
    const char *here = walk->path.at + walk->prefix_len;
    return walk->after != NULL && strncmp(here, walk->after, strlen(here)) < 0;
}

static enum zd_status visit(struct walk *walk, const struct zd_store_entry *entry)
{
    ZD_TRY(zd_text_add(&walk->path, entry->name));
    if (!entry->is_prefix) {
        return zd_page_offer(&walk->found, walk->path.at + walk->prefix_len, false);
    }
    if (is_behind(walk)) {
        return ZD_OK;
    }
    const enum zd_status status = push(walk);
    return status == ZD_NOT_FOUND ? ZD_OK : status; /* removed in the meantime */
}

static enum zd_status step(struct walk *walk)
{
    struct level *top = &walk->level[walk->n_levels - 1];
    zd_text_cut(&walk->path, top->path_len);
    if (top->next < top->page.n_entries) {
        return visit(walk, &top->page.entry[top->next++]);
    }
    if (top->page.has_more) {
        const enum zd_status status = turn_page(walk, top);
        top->page.has_more = top->page.has_more && status == ZD_OK;
        return status == ZD_NOT_FOUND ? ZD_OK : status;
    }
    zd_page_done(&top->page);
    walk->n_levels--;
    return ZD_OK;
}

static enum zd_status list_deep(struct walk *walk)
{
    ZD_TRY(push(walk));
    while (walk->n_levels > 0 && !walk->found.has_more) {
        ZD_TRY(step(walk));
    }
    return ZD_OK;
}

static void walk_done(struct walk *walk)
{
    while (walk->n_levels > 0) {
        zd_page_done(&walk->level[--walk->n_levels].page);
    }
    zd_free(walk->level);
    zd_page_done(&walk->found);
    zd_text_done(&walk->path);
}

enum zd_status zd_directory_list(
    const struct zd_beneath *root, struct zd_store_list *list, struct zd_error *err)
{
    struct stat file;
    struct walk walk = {
        .root = root,
        .after = list->after,
        .prefix_len = strlen(list->prefix),
        .err = err,
    };
    zd_text_init(&walk.path, ZD_KEY_BYTES_MAX + 1);
    zd_page_init(&walk.found, list->after, list->n_max);
    enum zd_status status = zd_text_add(&walk.path, list->prefix);
    if (status == ZD_OK) {
        status = list->deep ? list_deep(&walk) : read_directory(&walk, &walk.found, &file);
    }
    if (status == ZD_OK) {
        zd_page_finish(&walk.found, list);
    }
    walk_done(&walk);
    return status == ZD_NO_MEMORY ? zd_fail(err, status, "no memory for a listing") : status;
}
