/* Directories of stores: each store directly below one is a dataset. */
#include "server/config/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/dialect/dialect.h"
#include "core/store/file/file_location.h"
#include "core/store/file/other_formats.h"
#include "core/store/contract/store.h"
#include "server/config/dataset_config.h"

#define PATH_BYTES_MAX 4096
#define NAME_BYTES_MAX 64
#define NUMBER_BYTES   8 /* of a name: what makes it unique */
#define SAME_NAMES_MAX 1000

#define STORES_LOOKED_AT 8 /* of a directory: as many say what it is */
#define N5_WITHOUT_ROOT                                                                            \
    "N5 without a document in its root (let the location end in .n5, or set n5_axes)"

/* By what is at its root a hierarchy is known. */
static const struct document {
    const char *name;
    const char *kind;
    bool makes_no_node; /* by itself */
} documents[] = {
    {"zarr.json", "Zarr v3", false},
    {".zgroup", "Zarr v2", false},
    {".zarray", "Zarr v2", false},
    {".zmetadata", "Zarr v2", true},
    {"attributes.json", "N5", false},
};

bool zd_folder_is_n5(const char *location)
{
    static const char ending[] = ".n5";
    const size_t ending_len = sizeof ending - 1;
    size_t len = strlen(location);
    while (len > 0 && location[len - 1] == '/') {
        len--;
    }
    return len > ending_len && memcmp(location + len - ending_len, ending, ending_len) == 0;
}

/* NULL: there is none. */
static const struct document *find_document(const char *path)
{
    for (size_t i = 0; i < ZD_COUNT_OF(documents); i++) {
        ZD_SCOPED_TEXT(document, PATH_BYTES_MAX);
        if (zd_text_addf(&document, "%s/%s", path, documents[i].name) == ZD_OK &&
            access(document.at, F_OK) == 0) {
            return &documents[i];
        }
    }
    return NULL;
}

/* Whether it is a directory of this machine. */
static bool find_path(const char *location, struct zd_text *path)
{
    return zd_file_location_is_ours(location) &&
           zd_file_location_path(location, path, NULL) == ZD_OK && path->status == ZD_OK;
}

/* Whether a dialect makes a node of it. */
static bool is_read(const struct document *document)
{
    ZD_SCOPED_TEXT(node, PATH_BYTES_MAX);
    return !document->makes_no_node && zd_dialect_node_path(document->name, &node) == ZD_OK;
}

/* ---- what is below ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of stores below a directory, as it lists them. */
struct below {
    char **name; /* n of them; owned */
    size_t n;
};

static void below_done(struct below *below)
{
    for (size_t i = 0; i < below->n; i++) {
        zd_free(below->name[i]);
    }
    zd_free((void *)below->name);
}

/* N5 needs no document at its root. */
static bool holds_n5(const char *path)
{
    ZD_SCOPED_TEXT(inside, PATH_BYTES_MAX);
    return zd_folder_is_n5(path) && zd_text_addf(&inside, "%s/.", path) == ZD_OK &&
           access(inside.at, F_OK) == 0;
}

static bool is_store(const char *path, const struct dirent *entry)
{
    const bool may_be_any = entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
    ZD_SCOPED_TEXT(place, PATH_BYTES_MAX);
    if (entry->d_name[0] == '.' || zd_text_addf(&place, "%s/%s", path, entry->d_name) != ZD_OK) {
        return false;
    }
    return ((may_be_any || entry->d_type == DT_DIR) &&
               (find_document(place.at) != NULL || holds_n5(place.at))) ||
           ((may_be_any || entry->d_type == DT_REG) && zd_other_formats_is_archive(place.at));
}

/* @param n_max no more are looked for */
static enum zd_status find_below(const char *path, size_t n_max, struct below *below)
{
    DIR *directory = opendir(path);
    enum zd_status status = directory == NULL ? ZD_NOT_FOUND : ZD_OK;
    below->name = directory == NULL ? NULL : zd_alloc_zero(n_max, sizeof *below->name);
    if (directory != NULL && below->name == NULL) {
        status = ZD_NO_MEMORY;
    }
    const struct dirent *entry = NULL;
    while (status == ZD_OK && below->n < n_max && (entry = readdir(directory)) != NULL) {
        if (is_store(path, entry)) {
            below->name[below->n] = zd_strdup(entry->d_name);
            status = below->name[below->n] == NULL ? ZD_NO_MEMORY : ZD_OK;
            below->n += status == ZD_OK;
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return status;
}

/* tensorstore writes no document of N5 but those of datasets. */
static bool has_n5_below(const char *path)
{
    struct below below = {0};
    bool has_n5 = find_below(path, STORES_LOOKED_AT, &below) == ZD_OK && below.n > 0;
    for (size_t i = 0; has_n5 && i < below.n; i++) {
        ZD_SCOPED_TEXT(place, PATH_BYTES_MAX);
        const struct document *found = NULL;
        if (zd_text_addf(&place, "%s/%s", path, below.name[i]) == ZD_OK) {
            found = find_document(place.at);
        }
        has_n5 = found != NULL && strcmp(found->kind, "N5") == 0;
    }
    below_done(&below);
    return has_n5;
}

const char *zd_folder_other_kind(const char *location)
{
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX);
    if (!find_path(location, &path)) {
        return NULL;
    }
    const struct document *found = find_document(path.at);
    if (found != NULL) {
        return is_read(found) ? NULL : found->kind;
    }
    const char *store = zd_other_formats_store(path.at);
    return store == NULL && has_n5_below(path.at) ? N5_WITHOUT_ROOT : store;
}

const char *zd_folder_content(const char *location)
{
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX);
    if (!find_path(location, &path) || find_document(path.at) != NULL) {
        return NULL;
    }
    const char *file = zd_other_formats_file(path.at);
    return file == NULL ? zd_other_formats_content(path.at) : file;
}

bool zd_folder_is(const char *location)
{
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX);
    if (!find_path(location, &path) || find_document(path.at) != NULL || zd_folder_is_n5(path.at)) {
        return false;
    }
    struct below below = {0};
    const bool found = find_below(path.at, 1, &below) == ZD_OK && below.n > 0;
    below_done(&below);
    return found;
}

/* ---- names ---- */

static void add_plain(struct zd_span last, struct zd_text *name)
{
    for (size_t i = 0; i < last.len && name->len < NAME_BYTES_MAX - NUMBER_BYTES; i++) {
        const char c = (char)last.ptr[i];
        const bool is_plain = isascii((unsigned char)c) && isalnum((unsigned char)c);
        if (is_plain || name->len > 0) {
            zd_text_add_char(name, (char)(is_plain || strchr("._-", c) != NULL ? c : '-'));
        }
    }
    if (name->len == 0) {
        zd_text_add(name, "data");
    }
}

void zd_folder_name(const char *location, struct zd_text *name)
{
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX);
    const struct zd_span last = zd_store_name_of(location);
    const bool is_relative = last.len == 0 || zd_span_is(last, ".") || zd_span_is(last, "..");
    char *real = is_relative && find_path(location, &path) ? realpath(path.at, NULL) : NULL;
    add_plain(zd_store_name_of(real == NULL ? location : real), name);
    free(real); /* of realpath(3) */
}

static bool is_taken(const struct zd_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_datasets; i++) {
        if (strcmp(config->dataset[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void make_unique(const struct zd_config *config, struct zd_text *name)
{
    const size_t len = name->len;
    for (int i = 2; i < SAME_NAMES_MAX && is_taken(config, name->at); i++) {
        zd_text_cut(name, len);
        zd_text_addf(name, "-%d", i);
    }
}

/* Whether another store of the directory would have the same name without its ending: then both
 * keep theirs, so that a name never passes from one to the other. */
static bool needs_ending(const struct below *below, size_t at)
{
    const struct zd_span own = zd_store_name_of(below->name[at]);
    for (size_t i = 0; i < below->n; i++) {
        const char *other = below->name[i];
        if (i != at && strncmp(other, (const char *)own.ptr, own.len) == 0 &&
            zd_span_equal(own, zd_store_name_of(other))) {
            return true;
        }
    }
    return false;
}

/* ---- the whole ---- */

static enum zd_status add_store(struct zd_config *config, const struct zd_dataset_config *folder,
    const struct below *below, size_t at, struct zd_error *err)
{
    const char *name = below->name[at];
    ZD_SCOPED_TEXT(location, PATH_BYTES_MAX);
    ZD_SCOPED_TEXT(dataset_name, NAME_BYTES_MAX);
    const size_t len = strlen(folder->location);
    const bool ends_in_slash = len > 0 && folder->location[len - 1] == '/';
    zd_text_addf(&location, "%s%s%s", folder->location, ends_in_slash ? "" : "/", name);
    add_plain(needs_ending(below, at) ? zd_span_of(name) : zd_store_name_of(name), &dataset_name);
    make_unique(config, &dataset_name);
    if (location.status != ZD_OK || dataset_name.status != ZD_OK) {
        return zd_setting_no_memory(err);
    }
    struct zd_dataset_config *dataset = NULL;
    ZD_TRY(zd_dataset_config_add(config, zd_text_span(&dataset_name), &dataset, err));
    dataset->writable = folder->writable && zd_store_judge_writable(location.at, NULL) == ZD_OK;
    ZD_TRY(zd_setting_replace(&dataset->folder, folder->location, err));
    return zd_setting_replace(&dataset->location, location.at, err);
}

enum zd_status zd_folder_expand(
    struct zd_config *config, const struct zd_dataset_config *folder, struct zd_error *err)
{
    ZD_SCOPED_TEXT(path, PATH_BYTES_MAX);
    struct below below = {0};
    if (!find_path(folder->location, &path)) {
        return zd_fail(err, ZD_NOT_FOUND, "%s: not a directory", folder->location);
    }
    enum zd_status status = find_below(path.at, ZD_FOLDER_STORES_MAX, &below);
    if (status != ZD_OK) {
        status = zd_fail(err, status, "%s: the directory cannot be listed", folder->location);
    } else if (below.n > 0) {
        qsort((void *)below.name, below.n, sizeof *below.name, compare_names);
    }
    for (size_t i = 0; status == ZD_OK && i < below.n; i++) {
        status = add_store(config, folder, &below, i, err);
    }
    below_done(&below);
    return status;
}
