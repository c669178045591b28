/* The store of ZIP archives: a file named by a path or a file: URL; a key is the name of a member.
 * Only read.
 *
 * The directory is read once, when the archive is opened, and all else is looked up in it. An
 * archive that is replaced, or written to, is another place: its owner opens it anew. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "core/store/contract/store_impl.h"
#include "core/store/file/beneath.h"
#include "core/store/file/file_location.h"
#include "core/store/contract/page.h"
#include "core/store/contract/path.h"
#include "core/store/file/stat.h"
#include "core/store/zip/zip_read.h"

#define LOCATION_BYTES_MAX 4096
#define NOW_BYTES_MAX      (256U << 10) /* more takes long enough to be worth a worker */

struct zip_store {
    struct zd_store store; /* first member */
    int fd;                /* the archive */
    struct zd_stat stat;   /* of it, when it was opened */
    struct zd_zip_directory directory;
};

static struct zip_store *zip_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct zip_store, store);
}

/* ---- where it is ---- */

static bool zip_accepts(const char *location)
{
    return zd_file_location_is_archive(location);
}

/* @param ret_fd owned */
static enum zd_status open_archive(
    const char *location, int flags, int *ret_fd, struct stat *ret_file, struct zd_error *err)
{
    ZD_SCOPED_TEXT(path, LOCATION_BYTES_MAX);
    ZD_TRY(zd_file_location_path(location, &path, err));
    if (path.status != ZD_OK) {
        return zd_fail(
            err, path.status, "the location of the store is too long, or memory is short");
    }
    const int fd = open(path.at, flags | O_NONBLOCK | O_CLOEXEC); /* a pipe is not waited for */
    if (fd < 0) {
        return errno == ENOENT ? zd_fail(err, ZD_NOT_FOUND, "%s: no such file", path.at)
                               : zd_beneath_fail(err, errno, path.at, "open the ZIP archive");
    }
    if (fstat(fd, ret_file) != 0 || !S_ISREG(ret_file->st_mode)) {
        close(fd);
        return zd_fail(err, ZD_NOT_FOUND, "%s: not a regular file", path.at);
    }
    *ret_fd = fd;
    return ZD_OK;
}

/* Equal ones have the same bytes: the file has not been written to, whatever its name. */
static uint64_t place_of(const struct stat *file)
{
    return zd_stat_of_file(file).generation.word[0];
}

static enum zd_status zip_find_place(
    const char *location, uint64_t *ret_place, struct zd_error *err)
{
    struct stat file;
    ZD_AUTO_FD fd = -1;
    ZD_TRY(open_archive(location, O_PATH, &fd, &file, err));
    *ret_place = place_of(&file);
    return ZD_OK;
}

/* ---- the store ---- */

static enum zd_status read_part(
    int fd, uint64_t first, size_t len, struct zd_buf **ret_bytes, struct zd_error *err)
{
    ZD_AUTO(zd_buf) bytes = zd_buf_new(len);
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the directory of a ZIP archive");
    }
    while (bytes->len < len) {
        const ssize_t n =
            pread(fd, bytes->data + bytes->len, len - bytes->len, (off_t)(first + bytes->len));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return zd_fail(err, ZD_STORE, "the directory of the ZIP archive cannot be read");
        }
        bytes->len += n < 0 ? 0 : (size_t)n;
    }
    *ret_bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

static enum zd_status read_directory(struct zip_store *zip, struct zd_error *err)
{
    struct zd_zip_end end;
    ZD_AUTO(zd_buf) tail = NULL;
    ZD_AUTO(zd_buf) central = NULL;
    const size_t tail_bytes = (size_t)zd_min_u64(zip->stat.size, ZD_ZIP_END_BYTES_MAX);
    ZD_TRY(read_part(zip->fd, zip->stat.size - tail_bytes, tail_bytes, &tail, err));
    ZD_TRY(zd_zip_end_find(zd_buf_span(tail), zip->stat.size, &end, err));
    if (end.bytes > ZD_ZIP_DIRECTORY_BYTES_MAX) {
        return zd_fail_limit(err, ZD_ZIP_DIRECTORY_BYTES_MAX, end.bytes,
            "the directory of the ZIP archive has %llu bytes; the limit is %u: unpack the archive",
            (unsigned long long)end.bytes, ZD_ZIP_DIRECTORY_BYTES_MAX);
    }
    ZD_TRY(read_part(zip->fd, end.first, (size_t)end.bytes, &central, err));
    return zd_zip_directory_read(&end, zd_buf_span(central), &zip->directory, err);
}

static void zip_close(struct zd_store *store)
{
    struct zip_store *zip = zip_of(store);
    zd_zip_directory_done(&zip->directory);
    zd_beneath_close_fd(&zip->fd);
    zd_free(store->location);
    zd_free(zip);
}

static enum zd_status zip_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    struct stat file;
    struct zd_error cause = {0};
    ZD_AUTO_FD fd = -1;
    ZD_TRY(open_archive(config->location, O_RDONLY, &fd, &file, err));
    struct zip_store *zip = zd_alloc_zero(1, sizeof *zip);
    if (zip == NULL || zd_store_init(&zip->store, config) != ZD_OK) {
        zd_free(zip);
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory for the store", config->location);
    }
    zip->fd = fd;
    fd = -1;
    zip->stat = zd_stat_of_file(&file);
    zip->store.place = place_of(&file);
    const enum zd_status status = read_directory(zip, &cause);
    if (status != ZD_OK) {
        zip_close(&zip->store);
        return zd_fail(err, status == ZD_NO_MEMORY ? status : ZD_STORE, "%s: %s", config->location,
            cause.text); /* it may be there tomorrow */
    }
    *ret_store = &zip->store;
    return ZD_OK;
}

/* ---- reads ---- */

/* Another version of the archive has other generations for all members. */
static struct zd_stat stat_of(const struct zip_store *zip, const struct zd_zip_member *member)
{
    struct zd_hash bytes = {.value = zip->stat.generation.word[0]};
    zd_hash_add_u64(&bytes, member->local);
    return (struct zd_stat){
        .generation = {.word = {bytes.value | 1, zip->stat.generation.word[0]}},
        .size = member->size,
        .mtime_ms = zip->stat.mtime_ms,
    };
}

/* Whether the archive is still the one whose directory was read. */
static enum zd_status judge_archive(
    const struct zip_store *zip, const char *key, struct zd_error *err)
{
    struct stat file;
    const bool is_same = fstat(zip->fd, &file) == 0 && place_of(&file) == zip->store.place;
    return is_same ? ZD_OK
                   : zd_fail(err, ZD_GONE,
                         "%s: the ZIP archive changed after it was opened; try again", key);
}

/* Judge a read without reading a byte. */
static enum zd_status judge_read(struct zip_store *zip, struct zd_store_read *read,
    struct zd_zip_member **ret_member, struct zd_range *ret_range)
{
    struct zd_error *err = &read->op.err;
    struct zd_zip_member *member = zd_zip_directory_find(&zip->directory, read->key);
    if (member == NULL) {
        return ZD_NOT_FOUND;
    }
    ZD_TRY(zd_zip_judge(member, err));
    read->stat = stat_of(zip, member);
    ZD_TRY(zd_store_judge_read(read, &read->stat, ret_range, err));
    *ret_member = member;
    return ZD_OK;
}

static enum zd_status give_file(
    const struct zip_store *zip, uint64_t packed, struct zd_store_read *read)
{
    const int fd = fcntl(zip->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        return zd_beneath_fail(&read->op.err, errno, read->key, "open the ZIP archive again");
    }
    read->fd = fd;
    read->fd_first = packed;
    return ZD_OK;
}

static enum zd_status read_member(struct zip_store *zip, struct zd_store_read *read)
{
    struct zd_error *err = &read->op.err;
    struct zd_zip_member *member = NULL;
    struct zd_range range;
    uint64_t packed = 0;
    ZD_TRY(judge_read(zip, read, &member, &range));
    ZD_TRY(judge_archive(zip, read->key, err));
    if (read->wants_file && member->method == ZD_ZIP_STORED) {
        ZD_TRY(zd_zip_find(zip->fd, member, &packed, err));
        return give_file(zip, packed, read);
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new((size_t)range.len); /* fits: no more than bytes_max */
    if (bytes == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "%s: no memory for %llu bytes", read->key,
            (unsigned long long)range.len);
    }
    const enum zd_status status = zd_zip_read(zip->fd, member, range, bytes, err);
    ZD_TRY(judge_archive(zip, read->key, err)); /* which is why it failed */
    ZD_TRY(status);
    read->bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

static struct zd_store_read *read_of(uv_work_t *work)
{
    return ZD_CONTAINER(ZD_CONTAINER(work, struct zd_store_op, work), struct zd_store_read, op);
}

static void work_read(uv_work_t *work)
{
    struct zd_store_read *read = read_of(work);
    read->op.status = read_member(zip_of(read->op.store), read);
}

static void after_read(uv_work_t *work, int uv_status)
{
    struct zd_store_read *read = read_of(work);
    if (uv_status == UV_ECANCELED) {
        read->op.status = zd_fail(&read->op.err, ZD_CANCELLED, "cancelled before it started");
    }
    if (read->bytes != NULL) {
        zd_store_count_bytes(read->op.store, read->bytes->len);
    }
    read->op.done(&read->op);
}

static void zip_read(struct zd_store *store, struct zd_store_read *read)
{
    const int uv_status = uv_queue_work(store->loop, &read->op.work, work_read, after_read);
    assert(uv_status == 0);
    (void)uv_status;
}

/* Bytes of a stored member that was read before, if all of them are in the page cache. */
static enum zd_status read_cached(struct zip_store *zip, const struct zd_zip_member *member,
    struct zd_range range, struct zd_store_read *read)
{
    const uint64_t packed = atomic_load_explicit(&member->packed, memory_order_relaxed);
    if (packed == 0 || member->method != ZD_ZIP_STORED || range.len > NOW_BYTES_MAX) {
        return ZD_AGAIN;
    }
    ZD_AUTO(zd_buf) bytes = zd_buf_new((size_t)range.len);
    if (bytes == NULL) {
        return ZD_AGAIN;
    }
    const struct iovec place = {.iov_base = bytes->data, .iov_len = (size_t)range.len};
    const off_t first = (off_t)(packed + range.first);
    const ssize_t n = range.len == 0 ? 0 : preadv2(zip->fd, &place, 1, first, RWF_NOWAIT);
    if (n < 0 || (uint64_t)n < range.len || judge_archive(zip, read->key, NULL) != ZD_OK) {
        return ZD_AGAIN;
    }
    bytes->len = (size_t)range.len;
    if (range.len == member->size && zd_zip_check(member, bytes, NULL) != ZD_OK) {
        return ZD_AGAIN;
    }
    zd_store_count_bytes(read->op.store, bytes->len);
    read->bytes = ZD_TAKE(bytes);
    return ZD_OK;
}

/* Anything but a plain answer is left to the worker, which returns the exact error. */
static enum zd_status zip_read_now(struct zd_store *store, struct zd_store_read *read)
{
    struct zip_store *zip = zip_of(store);
    struct zd_zip_member *member = NULL;
    struct zd_range range;
    const enum zd_status status = judge_read(zip, read, &member, &range);
    if (status == ZD_NOT_FOUND || status == ZD_NOT_MODIFIED) {
        return status;
    }
    return status != ZD_OK || read->wants_file ? ZD_AGAIN : read_cached(zip, member, range, read);
}

static enum zd_status zip_status_now(struct zd_store *store, struct zd_store_status *status)
{
    const struct zip_store *zip = zip_of(store);
    const struct zd_zip_member *member = zd_zip_directory_find(&zip->directory, status->key);
    if (member == NULL) {
        return ZD_NOT_FOUND;
    }
    ZD_TRY(zd_zip_judge(member, &status->op.err)); /* before anybody believes its size */
    status->stat = stat_of(zip, member);
    return ZD_OK;
}

static void zip_status(struct zd_store *store, struct zd_store_status *status)
{
    status->op.status = zip_status_now(store, status);
    zd_store_finish_later(&status->op);
}

static bool zip_has_file(struct zd_store *store, const char *key)
{
    const struct zd_zip_member *member = zd_zip_directory_find(&zip_of(store)->directory, key);
    return member != NULL && member->method == ZD_ZIP_STORED;
}

/* ---- listings ---- */

/* A listing under way. */
struct listing {
    const struct zd_zip_directory *directory;
    struct zd_store_list *list;
    size_t prefix_len;
    struct zd_page page;
};

/* NULL: no member there, or its key has another prefix. */
static const char *name_at(const struct listing *listing, size_t i)
{
    const struct zd_zip_directory *directory = listing->directory;
    const bool is_below = i < directory->n && strncmp(directory->member[i].key,
                                                  listing->list->prefix, listing->prefix_len) == 0;
    return is_below ? directory->member[i].key + listing->prefix_len : NULL;
}

/* The first member whose name is not less than: so many bytes of a name, then one more. */
static size_t seek_name(const struct listing *listing, const char *name, size_t len, char last)
{
    char key[2 * ZD_KEY_BYTES_MAX + 4];
    const size_t prefix_len = listing->prefix_len;
    memcpy(key, listing->list->prefix, prefix_len);
    memcpy(key + prefix_len, name, len);
    key[prefix_len + len] = last;
    key[prefix_len + len + 1] = '\0';
    return zd_zip_directory_seek(listing->directory, key);
}

/* Offer the name of this level: it is cut at its first slash, and all names below it are skipped.
 */
static enum zd_status offer_level(struct listing *listing, const char *name, size_t *at)
{
    char cut[ZD_KEY_BYTES_MAX + 1];
    const char *slash = strchr(name, '/');
    if (slash == NULL) {
        ++*at;
        return zd_page_offer(&listing->page, name, false);
    }
    const size_t len = (size_t)(slash - name);
    *at = seek_name(listing, name, len, '/' + 1);
    return zd_page_offer(&listing->page, zd_path_cut(name, len, cut), true);
}

/* The page is full, and names come in their order but for prefixes: "a-b" comes before "a/c". What
 * may still belong to the page are prefixes that begin its last name. */
static enum zd_status offer_late(struct listing *listing, size_t at)
{
    char last[ZD_KEY_BYTES_MAX + 1];
    char cut[ZD_KEY_BYTES_MAX + 1];
    (void)snprintf(last, sizeof last, "%s", listing->page.entry[0].name);
    for (size_t len = 1; last[len] != '\0'; len++) {
        const size_t found = last[len] < '/' ? seek_name(listing, last, len, '/') : 0;
        const char *name = found < at ? NULL : name_at(listing, found);
        if (name != NULL && strncmp(name, last, len) == 0 && name[len] == '/') {
            ZD_TRY(zd_page_offer(&listing->page, zd_path_cut(last, len, cut), true));
            listing->list->n_visited++;
        }
    }
    return ZD_OK;
}

static enum zd_status list_names(struct listing *listing)
{
    struct zd_store_list *list = listing->list;
    const uint64_t visits_max = list->visits_max == 0 ? UINT64_MAX : list->visits_max;
    const char *after = list->after == NULL ? "" : list->after;
    size_t at = zd_zip_directory_seek(listing->directory, list->prefix);
    if (list->prefix[0] != '\0' && name_at(listing, at) == NULL) {
        return ZD_NOT_FOUND;
    }
    at = after[0] == '\0' ? at
                          : seek_name(listing, after, strlen(after) - 1, after[strlen(after) - 1]);
    for (const char *name = NULL; list->n_visited < visits_max && !listing->page.has_more &&
                                  (name = name_at(listing, at)) != NULL;) {
        list->n_visited++;
        if (list->deep) {
            at++;
            ZD_TRY(zd_page_offer(&listing->page, name, false));
        } else {
            ZD_TRY(offer_level(listing, name, &at));
        }
    }
    return listing->page.has_more && !list->deep ? offer_late(listing, at) : ZD_OK;
}

static void zip_list(struct zd_store *store, struct zd_store_list *list)
{
    struct listing listing = {
        .directory = &zip_of(store)->directory,
        .list = list,
        .prefix_len = strlen(list->prefix),
    };
    zd_page_init(&listing.page, list->after, list->n_max);
    list->op.status = list_names(&listing);
    if (list->op.status == ZD_OK) {
        zd_page_finish(&listing.page, list);
    } else if (list->op.status == ZD_NO_MEMORY) {
        list->op.status = zd_fail(&list->op.err, ZD_NO_MEMORY, "no memory for a listing");
    }
    zd_page_done(&listing.page);
    zd_store_count_visited(list);
    zd_store_finish_later(&list->op);
}

/* ---- what is not done ---- */

/* Never called: a store that is not writable refuses writes before, and nothing is staged. */
static void zip_write(struct zd_store *store, struct zd_store_write *write)
{
    (void)store;
    write->op.status =
        zd_fail(&write->op.err, ZD_READ_ONLY, "%s: ZIP archives are read-only", write->key);
    zd_store_finish_later(&write->op);
}

static void zip_cancel(struct zd_store *store, struct zd_store_op *op)
{
    (void)store;
    (void)uv_cancel((uv_req_t *)&op->work); /* work that has begun is finished */
}

const struct zd_store_ops zd_store_ops_zip = {
    .scheme = "zip",
    .accepts = zip_accepts,
    .usage = "PATH.zip, file:///PATH.zip",
    .meaning = "a ZIP archive (read-only)",
    .is_read_only = true,
    .default_revalidate_ms = 1000,
    .open = zip_open,
    .close = zip_close,
    .find_place = zip_find_place,
    .read = zip_read,
    .status = zip_status,
    .list = zip_list,
    .write = zip_write,
    .erase = zip_write,
    .discard = zip_write,
    .read_now = zip_read_now,
    .has_file = zip_has_file,
    .status_now = zip_status_now,
    .cancel = zip_cancel,
};
