/* Taking away what dead writers left behind: a walk through all directories, with a stack of those
 * that are still to be looked at. Names are enough: no file is opened. */
#include "core/store/file/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/store/file/calls.h"
#include "core/store/file/writers.h"

#define FIRST_CAP       64
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY)

struct walk {
    struct zd_sweep *sweep;
    char **path; /* stack of directories, owned */
    size_t n_paths;
    size_t cap;
    bool is_whole; /* nothing was left out */
};

/* NULL and a negative errno, when it cannot be read. */
static DIR *open_directory(const struct zd_beneath *root, const char *path, int *ret_fd)
{
    *ret_fd = zd_beneath_try(root, path, DIRECTORY_FLAGS);
    DIR *dir = *ret_fd < 0 ? NULL : fdopendir(*ret_fd);
    if (*ret_fd >= 0 && dir == NULL) {
        close(*ret_fd);
        *ret_fd = -ENOMEM;
    }
    return dir;
}

/* Takes the path over. */
static void push(struct walk *walk, char *path)
{
    if (walk->n_paths == walk->cap) {
        const size_t cap = walk->cap == 0 ? FIRST_CAP : walk->cap * 2;
        char **grown = zd_realloc(walk->path, cap * sizeof *grown);
        if (grown == NULL) {
            walk->is_whole = false;
            zd_free(path);
            return;
        }
        walk->path = grown;
        walk->cap = cap;
    }
    walk->path[walk->n_paths++] = path;
}

static void push_below(struct walk *walk, const char *path, const char *name)
{
    const size_t cap = strlen(path) + 1 + strlen(name) + 1;
    char *below = zd_alloc(cap);
    if (below == NULL) {
        walk->is_whole = false;
        return;
    }
    snprintf(below, cap, "%s%s%s", path, path[0] == '\0' ? "" : "/", name);
    push(walk, below);
}

/* A writer that died after the sweep began is left to the next one, with its marker. One that was
 * found dead may have been about to lock its marker: it had no files then, and lives if it has now.
 */
static bool is_dead(const struct walk *walk, const char *id)
{
    struct stat marker;
    const int dir_fd = walk->sweep->presence.dir_fd;
    for (size_t i = 0; i < walk->sweep->n_dead; i++) {
        if (strcmp(id, walk->sweep->dead[i]) == 0) {
            return !zd_writer_is_alive(dir_fd, id);
        }
    }
    return fstatat(dir_fd, id, &marker, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

/* A temporary file is named by its writer; one of a name that says nothing has none. */
static bool is_litter(const struct walk *walk, const char *name)
{
    char id[ZD_WRITER_ID_LEN + 1];
    const size_t prefix_len = strlen(ZD_TEMP_PREFIX);
    if (strncmp(name, ZD_TEMP_PREFIX, prefix_len) != 0) {
        return false;
    }
    snprintf(id, sizeof id, "%s", name + prefix_len);
    return !zd_writer_id_is_valid(id) || is_dead(walk, id);
}

static unsigned char type_of(int dir_fd, const struct dirent *entry)
{
    struct stat file;
    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type;
    }
    return fstatat(dir_fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 ? IFTODT(file.st_mode)
                                                                           : DT_UNKNOWN;
}

static void visit(struct walk *walk, const char *path, int dir_fd, const struct dirent *entry)
{
    const unsigned char type = type_of(dir_fd, entry);
    const char *name = entry->d_name;
    if (type == DT_DIR && zd_key_segment_is_valid(zd_span_of(name))) {
        push_below(walk, path, name);
    }
    const bool is_object = type == DT_REG || type == DT_LNK; /* kept, a link is one as well */
    if (is_object && is_litter(walk, name) && zd_calls->unlink(dir_fd, name, 0) != 0 &&
        errno != ENOENT) {
        walk->is_whole = false;
    }
}

static void visit_directory(struct walk *walk, const char *path)
{
    int fd;
    DIR *dir = open_directory(walk->sweep->root, path, &fd);
    if (dir == NULL) {
        walk->is_whole = walk->is_whole && fd == -ENOENT;
        return;
    }
    const struct dirent *entry;
    while (!atomic_load(&walk->sweep->must_stop) && (entry = readdir(dir)) != NULL) {
        visit(walk, path, fd, entry);
    }
    closedir(dir);
}

static void visit_all(struct walk *walk)
{
    char *path = zd_strdup("");
    while (path != NULL && !atomic_load(&walk->sweep->must_stop)) {
        visit_directory(walk, path);
        zd_free(path);
        path = walk->n_paths == 0 ? NULL : walk->path[--walk->n_paths];
    }
    walk->is_whole = walk->is_whole && path == NULL && !atomic_load(&walk->sweep->must_stop);
    zd_free(path);
}

static void run(void *argument)
{
    struct zd_sweep *sweep = argument;
    struct walk walk = {.sweep = sweep, .is_whole = true};
    visit_all(&walk);
    for (size_t i = 0; i < sweep->n_dead && walk.is_whole; i++) {
        zd_writer_forget(sweep->presence.dir_fd, sweep->dead[i]);
    }
    while (walk.n_paths > 0) {
        zd_free(walk.path[--walk.n_paths]);
    }
    zd_free(walk.path);
    zd_presence_leave(&sweep->presence, sweep->root);
    atomic_store(&sweep->has_ended, true);
}

static void find_dead(struct zd_sweep *sweep)
{
    int fd;
    const struct dirent *entry;
    DIR *dir = open_directory(sweep->root, ZD_PRESENCE_DIRECTORY, &fd);
    if (dir == NULL) {
        return;
    }
    while (sweep->n_dead < ZD_SWEEP_WRITERS_MAX && (entry = readdir(dir)) != NULL) {
        if (zd_writer_id_is_valid(entry->d_name) && !zd_writer_is_alive(fd, entry->d_name)) {
            memcpy(sweep->dead[sweep->n_dead++], entry->d_name, ZD_WRITER_ID_LEN + 1);
        }
    }
    closedir(dir);
}

void zd_sweep_start(struct zd_sweep *sweep, const struct zd_beneath *root)
{
    if (sweep->is_started && !atomic_load(&sweep->has_ended)) {
        return;
    }
    zd_sweep_stop(sweep);
    *sweep = (struct zd_sweep){.root = root, .presence = ZD_PRESENCE_NONE};
    if (!zd_presence_join(&sweep->presence, root)) {
        return; /* there are no writers, or the last one is leaving */
    }
    find_dead(sweep);
    sweep->is_started = sweep->n_dead > 0 && uv_thread_create(&sweep->thread, run, sweep) == 0;
    if (!sweep->is_started) {
        zd_presence_leave(&sweep->presence, root);
    }
}

void zd_sweep_stop(struct zd_sweep *sweep)
{
    if (sweep->is_started) {
        atomic_store(&sweep->must_stop, true);
        uv_thread_join(&sweep->thread);
        sweep->is_started = false;
    }
}
