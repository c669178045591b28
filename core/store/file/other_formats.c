/* Other formats where a hierarchy was expected, recognised by their first bytes. */
#include "core/store/file/other_formats.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/num.h"
#include "core/base/own.h"
#include "core/base/text.h"
#include "core/store/file/file_location.h"
#include "core/store/file/zip_directory.h"

#define PATH_BYTES_MAX 4096
#define HEAD_BYTES     512
#define PIECE_BYTES    (256U << 10) /* of the directory of a zip archive: any entry fits */
#define ENTRIES_MAX    256          /* of a directory: as many are listed, */
#define FILES_MAX      16           /* and of as many files the bytes are looked at */

/* ---- files ---- */

/* Formats by their first bytes. */
static const struct format {
    size_t at;
    size_t len;
    const char *magic;
    const char *file;
    const char *files; /* a directory of them */
} formats[] = {
    {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 or NetCDF-4 file",
        "a directory of HDF5 or NetCDF-4 files"},
    {0, 4, "CDF\1", "a NetCDF-3 file", "a directory of NetCDF-3 files"},
    {0, 4, "CDF\2", "a NetCDF-3 file", "a directory of NetCDF-3 files"},
    {0, 4, "CDF\5", "a NetCDF-3 file", "a directory of NetCDF-3 files"},
    {0, 4, "II*\0", "a TIFF file", "a directory of TIFF files"},
    {0, 4, "MM\0*", "a TIFF file", "a directory of TIFF files"},
    {0, 4, "II+\0", "a BigTIFF file", "a directory of TIFF files"},
    {0, 4, "MM\0+", "a BigTIFF file", "a directory of TIFF files"},
    {0, 4, "GRIB", "a GRIB file", "a directory of GRIB files"},
    {0, 4, "BUFR", "a BUFR file", "a directory of BUFR files"},
    {0, 4, "PAR1", "a Parquet file", "a directory of Parquet files"},
    {0, 6, "ARROW1", "an Arrow file", "a directory of Arrow files"},
    {0, 6, "\x93NUMPY", "a NumPy file", "a directory of NumPy files"},
    {0, 6, "SIMPLE", "a FITS file", "a directory of FITS files"},
    {257, 5, "ustar", "a tar archive (unpack it)", "a directory of tar archives (unpack them)"},
    {0, 2, "\x1f\x8b", "a gzip file (unpack it)", "a directory of gzip files (unpack them)"},
    {0, 4, "\x28\xb5\x2f\xfd", "a zstd file (unpack it)",
        "a directory of zstd files (unpack them)"},
};

/* Where the documents of a hierarchy stand in a zip archive. */
enum zip_root { ZIP_NO_HIERARCHY, ZIP_HIERARCHY_BELOW, ZIP_HIERARCHY };

static const char *const zips[] = {
    [ZIP_NO_HIERARCHY] = "a zip archive without a Zarr hierarchy",
    [ZIP_HIERARCHY_BELOW] =
        "a zip archive with a Zarr hierarchy in a directory (pack the contents of that directory)",
    [ZIP_HIERARCHY] = "a zip archive of a Zarr hierarchy (rename it to end in .zip)",
};

/* At most len bytes from `first` on; a short file has fewer. */
static size_t read_at(int fd, uint64_t first, char *to, size_t len)
{
    const ssize_t n = pread(fd, to, len, (off_t)first);
    return n < 0 ? 0 : (size_t)n;
}

/* Where the hierarchy lies of which a member of that name is a document. */
static enum zip_root root_of(struct zd_span name)
{
    static const char *const documents[] = {"zarr.json", ".zgroup", ".zarray"};
    for (size_t i = 0; i < ZD_COUNT_OF(documents); i++) {
        const size_t len = strlen(documents[i]);
        if (name.len >= len && memcmp(name.ptr + name.len - len, documents[i], len) == 0 &&
            (name.len == len || name.ptr[name.len - len - 1] == '/')) {
            return name.len == len ? ZIP_HIERARCHY : ZIP_HIERARCHY_BELOW;
        }
    }
    return zd_span_is(name, "attributes.json") ? ZIP_HIERARCHY : ZIP_NO_HIERARCHY;
}

/* The members of an archive, by pieces of its directory. What is damaged ends them. */
static enum zip_root find_root(int fd, uint64_t size)
{
    enum zip_root found = ZIP_NO_HIERARCHY;
    struct zd_zip_end end = {0};
    ZD_AUTO(zd_buf) piece = zd_buf_new(PIECE_BYTES);
    if (piece == NULL) {
        return found;
    }
    const uint64_t tail = zd_min_u64(size, ZD_ZIP_END_BYTES_MAX);
    piece->len = read_at(fd, size - tail, (char *)piece->data, (size_t)tail);
    if (zd_zip_end_find(zd_buf_span(piece), size, &end, NULL) != ZD_OK) {
        return found;
    }
    const uint64_t bytes = zd_min_u64(end.bytes, ZD_ZIP_DIRECTORY_BYTES_MAX);
    for (uint64_t n_read = 0; found != ZIP_HIERARCHY && n_read < bytes;) {
        const uint64_t len = zd_min_u64(bytes - n_read, PIECE_BYTES);
        piece->len = read_at(fd, end.first + n_read, (char *)piece->data, (size_t)len);
        struct zd_span rest = zd_buf_span(piece);
        struct zd_span name;
        while (found != ZIP_HIERARCHY && zd_zip_directory_next(&rest, &name)) {
            const enum zip_root one = root_of(name);
            found = one > found ? one : found;
        }
        if (rest.len == piece->len) {
            break;
        }
        n_read += piece->len - rest.len;
    }
    return found;
}

/* @param wants_many what a directory of such files is called */
static const char *name_format(int fd, uint64_t size, bool wants_many)
{
    char head[HEAD_BYTES];
    const size_t len = read_at(fd, 0, head, sizeof head);
    for (size_t i = 0; i < ZD_COUNT_OF(formats); i++) {
        const struct format *format = &formats[i];
        if (len >= format->at + format->len &&
            memcmp(head + format->at, format->magic, format->len) == 0) {
            return wants_many ? format->files : format->file;
        }
    }
    if (len < 4 || (memcmp(head, "PK\3\4", 4) != 0 && memcmp(head, "PK\5\6", 4) != 0)) {
        return NULL;
    }
    return wants_many ? "a directory of zip archives" : zips[find_root(fd, size)];
}

/* A regular file, open; or -1. */
static int open_file(const char *path, uint64_t *ret_size)
{
    struct stat stat;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
        *ret_size = (uint64_t)stat.st_size;
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* A document is found by the name of its directory. */
static bool is_document(const char *path)
{
    static const char *const documents[] = {
        "zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata", "attributes.json"};
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    for (size_t i = 0; i < ZD_COUNT_OF(documents); i++) {
        if (strcmp(name, documents[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const char *look_into(const char *path, bool wants_many)
{
    uint64_t size;
    const int fd = open_file(path, &size);
    if (fd < 0) {
        return NULL;
    }
    const char *found = !wants_many && is_document(path)
                            ? "a metadata document of a hierarchy (name its directory instead)"
                            : name_format(fd, size, wants_many);
    close(fd);
    return found;
}

const char *zd_other_formats_file(const char *path)
{
    const char *found = look_into(path, false);
    return found == zips[ZIP_HIERARCHY] && zd_file_location_is_archive(path) ? NULL : found;
}

/* ---- directories ---- */

static bool holds(const char *path, const char *name)
{
    ZD_SCOPED_TEXT(inside, PATH_BYTES_MAX);
    return zd_text_addf(&inside, "%s/%s", path, name) == ZD_OK && access(inside.at, F_OK) == 0;
}

const char *zd_other_formats_store(const char *path)
{
    if (holds(path, "snapshots/.") && (holds(path, "refs/.") || holds(path, "repo"))) {
        return "an Icechunk repository";
    }
    if (holds(path, "__schema/.") || holds(path, "__group/.")) {
        return "a TileDB array or group";
    }
    return NULL;
}

/* Keys of chunks where the document of their array is missing. */
static const char *name_remains(const char *path)
{
    if (holds(path, ".zattrs")) {
        return "attributes of Zarr v2 alone (.zattrs without .zgroup or .zarray)";
    }
    if (holds(path, "c/0") || holds(path, "0.0") || holds(path, "0.0.0")) {
        return "chunks of an array without their document (zarr.json or .zarray)";
    }
    return NULL;
}

const char *zd_other_formats_content(const char *path)
{
    const char *found = name_remains(path);
    DIR *directory = found == NULL ? opendir(path) : NULL;
    const struct dirent *entry = NULL;
    int n_files = 0;
    for (int i = 0; directory != NULL && i < ENTRIES_MAX && n_files < FILES_MAX && found == NULL &&
                    (entry = readdir(directory)) != NULL;
        i++) {
        ZD_SCOPED_TEXT(file, PATH_BYTES_MAX);
        const bool is_file = entry->d_type == DT_REG || entry->d_type == DT_LNK;
        if (entry->d_name[0] == '.' || (!is_file && entry->d_type != DT_UNKNOWN) ||
            zd_text_addf(&file, "%s/%s", path, entry->d_name) != ZD_OK) {
            continue;
        }
        n_files++;
        found = look_into(file.at, true);
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return found;
}

/* ---- archives ---- */

bool zd_other_formats_is_archive(const char *path)
{
    uint64_t size = 0;
    const int fd = zd_file_location_is_archive(path) ? open_file(path, &size) : -1;
    if (fd < 0) {
        return false;
    }
    const bool is_found = find_root(fd, size) == ZIP_HIERARCHY;
    close(fd);
    return is_found;
}
