/* Directories as listings of keys and prefixes.
 *
 * A listing goes down in the order of the names it makes, with a stack in place of recursion: of
 * every directory on the way it holds one page of sorted entries, and it stops as soon as it has
 * what was asked for. The stack stays where it is until the next page is asked for. In a deep
 * listing a prefix is spelled with its slash ("a.b" comes before "a/c"). */
#include "core/store/file/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/store/contract/page.h"
#include "core/store/contract/store_impl.h"

#define LEVELS_STEP     16 /* a key has at most ZD_KEY_BYTES_MAX / 2 + 1 segments: so many levels */
#define LISTING_ENTRIES 131072 /* about 8 MiB */

/* A directory that a listing is in. */
struct level {
    size_t path_len;     /* of the text that leads here, its slash included */
    struct zd_page page; /* sorted entries of this directory */
    size_t next;         /* entry of the page that comes next */
};

/* A listing, from its first page to its last. */
struct walk {
    struct zd_store_cursor cursor; /* first member */
    struct zd_directories *directories;
    const struct zd_beneath *root;
    bool is_deep;
    bool stops_at_links;
    bool has_begun;
    size_t held_max;   /* entries of a directory to read at once; 0: no more than are wanted */
    const char *after; /* as in struct zd_store_list; NULL from the second page on */
    size_t prefix_len; /* bytes of path before the names that are listed */
    struct zd_text path;
    struct level *level; /* the stack */
    size_t n_levels;
    size_t cap;
    /* of the page under way */
    struct zd_page found;
    uint64_t n_visited;
    uint64_t visits_max;
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

/* Whether a directory is the one at walk->path, or one above: a link there would have no end. */
static bool is_above(const struct walk *walk, const struct stat *target)
{
    const char *path = walk->path.at;
    ZD_SCOPED_TEXT(above, ZD_KEY_BYTES_MAX + 1);
    for (size_t len = 0; len <= walk->path.len; len += strcspn(path + len, "/") + 1) {
        struct stat file;
        zd_text_clear(&above);
        ZD_AUTO_FD fd = zd_text_add_bytes(&above, path, len) == ZD_OK
                            ? zd_beneath_try(walk->root, above.at, O_PATH)
                            : -1;
        if (fd >= 0 && fstat(fd, &file) == 0 && file.st_dev == target->st_dev &&
            file.st_ino == target->st_ino) {
            return true;
        }
    }
    return false;
}

static enum zd_status stop_at_link(const struct walk *walk, const char *path)
{
    return zd_fail(walk->err, ZD_INVALID,
        "%.200s is a symbolic link to another directory of the store: remove the link, or delete "
        "that directory by its own path",
        path);
}

/* Find the target of a link. A link that leads nowhere, outside or up is left out; a fault is
 * reported. */
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
    if (*ret_kind == ENTRY_PREFIX && is_above(walk, &file)) {
        *ret_kind = ENTRY_NONE;
    }
    return *ret_kind == ENTRY_PREFIX && walk->stops_at_links ? stop_at_link(walk, path.at) : ZD_OK;
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
    const bool slashed = walk->is_deep && kind == ENTRY_PREFIX;
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
    while (walk->n_visited < walk->visits_max) {
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
        walk->n_visited++;
        if (zd_key_segment_is_valid(zd_span_of(entry->d_name))) {
            ZD_TRY(kind_of_entry(walk, dir_fd, entry, &kind));
            ZD_TRY(offer(walk, page, entry, kind));
        }
    }
    return ZD_OK;
}

/* Read the directory at walk->path into a page. */
static enum zd_status read_directory(struct walk *walk, struct zd_page *page)
{
    int fd = -1;
    ZD_TRY(zd_beneath_find(walk->root, walk->path.at, O_RDONLY | O_DIRECTORY, &fd, walk->err));
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return ZD_NO_MEMORY;
    }
    const enum zd_status status = read_entries(walk, fd, dir, page);
    closedir(dir);
    if (status == ZD_OK) {
        zd_page_sort(page);
    }
    return status;
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

/* For a single page no more entries are needed than are still wanted, but for empty directories:
 * then read on. */
static size_t page_size(const struct walk *walk)
{
    const size_t n_wanted =
        walk->found.n_max - walk->found.n_entries + (walk->found.n_max < SIZE_MAX);
    return n_wanted > walk->held_max ? n_wanted : walk->held_max;
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
    struct level level = {.path_len = walk->path.len};
    ZD_SCOPED_TEXT(cut, ZD_KEY_BYTES_MAX);
    ZD_TRY(make_room(walk));
    ZD_TRY(first_bound(walk, &cut));
    zd_page_init(&level.page, cut.len == 0 ? NULL : cut.at, page_size(walk));
    const enum zd_status status = read_directory(walk, &level.page);
    if (status != ZD_OK) {
        zd_page_done(&level.page);
        return status;
    }
    walk->level[walk->n_levels++] = level;
    return ZD_OK;
}

/* Read the next page of the directory on top. */
static enum zd_status turn_page(struct walk *walk, struct level *level)
{
    struct zd_page next;
    const struct zd_page *page = &level->page;
    zd_page_init(&next, page->entry[page->n_entries - 1].name, page_size(walk));
    const enum zd_status status = read_directory(walk, &next);
    if (status != ZD_OK) {
        zd_page_done(&next);
        return status;
    }
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

/* The next entry of a directory; it stays the next one when the page is full. */
static enum zd_status visit(struct walk *walk, struct level *level)
{
    const struct zd_store_entry *entry = &level->page.entry[level->next];
    ZD_TRY(zd_text_add(&walk->path, entry->name));
    if (!walk->is_deep || !entry->is_prefix) {
        walk->found.has_more = walk->found.n_entries == walk->found.n_max;
        level->next += walk->found.has_more ? 0 : 1;
        return walk->found.has_more ? ZD_OK
                                    : zd_page_offer(&walk->found, walk->path.at + walk->prefix_len,
                                          entry->is_prefix);
    }
    level->next++;
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
        return visit(walk, top);
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

/* Whether the directory at walk->path is itself a link; those above it are followed. */
static enum zd_status check_prefix(const struct walk *walk)
{
    struct stat file;
    ZD_SCOPED_TEXT(path, ZD_KEY_BYTES_MAX);
    if (!walk->stops_at_links || walk->path.len == 0) {
        return ZD_OK;
    }
    ZD_TRY(zd_text_add_bytes(&path, walk->path.at, walk->path.len - 1)); /* without its slash */
    ZD_AUTO_FD fd = zd_beneath_try(walk->root, path.at, O_PATH | O_NOFOLLOW);
    const bool is_link = fd >= 0 && fstat(fd, &file) == 0 && S_ISLNK(file.st_mode);
    return is_link ? stop_at_link(walk, path.at) : ZD_OK;
}

static enum zd_status find(struct walk *walk, const char *prefix)
{
    if (!walk->has_begun) {
        walk->has_begun = true;
        ZD_TRY(zd_text_add(&walk->path, prefix));
        ZD_TRY(check_prefix(walk));
        ZD_TRY(push(walk));
    }
    while (walk->n_levels > 0 && !walk->found.has_more) {
        ZD_TRY(step(walk));
    }
    return ZD_OK;
}

static void walk_free(struct zd_store_cursor *cursor)
{
    struct walk *walk = ZD_CONTAINER(cursor, struct walk, cursor);
    while (walk->n_levels > 0) {
        zd_page_done(&walk->level[--walk->n_levels].page);
    }
    walk->directories->n_listings--;
    zd_free(walk->level);
    zd_text_done(&walk->path);
    zd_free(walk);
}

enum zd_status zd_directory_prepare(
    struct zd_directories *directories, struct zd_store_list *list, struct zd_error *err)
{
    if (list->cursor != NULL) {
        struct walk *walk = ZD_CONTAINER(list->cursor, struct walk, cursor);
        walk->held_max = LISTING_ENTRIES / directories->n_listings;
        return ZD_OK;
    }
    struct walk *walk = zd_alloc(sizeof *walk);
    if (walk == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a listing");
    }
    *walk = (struct walk){
        .cursor.free = walk_free,
        .directories = directories,
        .root = directories->root,
        .is_deep = list->deep,
        .stops_at_links = list->stops_at_links,
        .prefix_len = strlen(list->prefix),
    };
    zd_text_init(&walk->path, ZD_KEY_BYTES_MAX + 1);
    directories->n_listings++;
    list->cursor = &walk->cursor;
    return ZD_OK;
}

enum zd_status zd_directory_list(struct zd_store_list *list, struct zd_error *err)
{
    struct walk *walk = ZD_CONTAINER(list->cursor, struct walk, cursor);
    walk->after = walk->has_begun ? NULL : list->after;
    walk->n_visited = 0;
    walk->visits_max = list->visits_max == 0 ? UINT64_MAX : list->visits_max;
    walk->err = err;
    zd_page_init(&walk->found, walk->after, list->n_max);
    const enum zd_status status = find(walk, list->prefix);
    list->n_visited = walk->n_visited;
    if (status == ZD_OK) {
        zd_page_finish(&walk->found, list);
    }
    zd_page_done(&walk->found);
    return status == ZD_NO_MEMORY ? zd_fail(err, status, "no memory for a listing") : status;
}
