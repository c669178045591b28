/* The directory of a ZIP archive: the central directory, once read, is all that is held of it. */
#include "core/store/file/zip_directory.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/contract/key.h"

/* APPNOTE 4.3.7, 4.3.12, 4.3.14 to 4.3.16, 4.5.3: signatures, lengths without what varies. */
#define LOCAL_SIGN       0x04034b50U
#define CENTRAL_SIGN     0x02014b50U
#define CENTRAL_BYTES    46
#define END_SIGN         0x06054b50U
#define END_BYTES        22
#define END64_SIGN       0x06064b50U
#define END64_BYTES      56
#define LOCATOR64_SIGN   0x07064b50U
#define LOCATOR64_BYTES  20
#define EXTRA_HEAD_BYTES 4
#define EXTRA_ZIP64      0x0001

#define IS_ENCRYPTED 0x0001U /* APPNOTE 4.4.4 */
#define MADE_BY_UNIX 3U      /* APPNOTE 4.4.2.2: then the external attributes hold st_mode */
#define MODE_SHIFT   16
#define MODE_TYPE    0170000U
#define MODE_LINK    0120000U

#define IN_ZIP64_16 0xffffU /* the true value is in the ZIP64 fields: APPNOTE 4.4.1.4 */
#define IN_ZIP64_32 0xffffffffU

static enum zd_status damaged(struct zd_error *err, const char *what)
{
    return zd_fail(err, ZD_CORRUPT, "a damaged ZIP archive: %s", what);
}

/* ---- where the directory is ---- */

/* The last record that says how many bytes follow it, and is right. NULL: there is none. */
static const uint8_t *find_end(struct zd_span tail)
{
    for (size_t at = tail.len < END_BYTES ? 0 : tail.len - END_BYTES + 1; at-- > 0;) {
        const uint8_t *record = tail.ptr + at;
        if (zd_load_u32(record) == END_SIGN &&
            zd_load_u16(record + 20) == tail.len - at - END_BYTES) {
            return record;
        }
    }
    return NULL;
}

/* The ZIP64 record, directly before its locator, directly before the other. NULL: there is none. */
static const uint8_t *find_end64(struct zd_span tail, const uint8_t *record)
{
    const size_t before = (size_t)(record - tail.ptr);
    if (before < END64_BYTES + LOCATOR64_BYTES ||
        zd_load_u32(record - LOCATOR64_BYTES) != LOCATOR64_SIGN) {
        return NULL;
    }
    const uint8_t *found = record - LOCATOR64_BYTES - END64_BYTES;
    return zd_load_u32(found) == END64_SIGN ? found : NULL;
}

enum zd_status zd_zip_end_find(
    struct zd_span tail, uint64_t file_size, struct zd_zip_end *ret_end, struct zd_error *err)
{
    const uint8_t *record = find_end(tail);
    if (record == NULL) {
        return zd_fail(err, ZD_CORRUPT,
            "not a ZIP archive, or a truncated one: the record at its end is missing");
    }
    const uint8_t *record64 = find_end64(tail, record);
    const uint8_t *begin = record64 == NULL ? record : record64;
    struct zd_zip_end end = {
        .n_members = zd_load_u16(record + 10),
        .bytes = zd_load_u32(record + 12),
        .first = zd_load_u32(record + 16),
    };
    bool is_split = zd_load_u16(record + 4) != zd_load_u16(record + 6);
    if (record64 != NULL) {
        end.n_members = zd_load_u64(record64 + 32);
        end.bytes = zd_load_u64(record64 + 40);
        end.first = zd_load_u64(record64 + 48);
        is_split = zd_load_u32(record64 + 16) != zd_load_u32(record64 + 20);
    }
    if (is_split) {
        return zd_fail(err, ZD_UNSUPPORTED, "a part of a split ZIP archive: join the parts");
    }
    /* The directory ends where the record begins; what the offsets do not say is before it all. */
    const uint64_t place = file_size - tail.len + (uint64_t)(begin - tail.ptr);
    if (end.bytes > place || end.first > place - end.bytes ||
        end.n_members > end.bytes / CENTRAL_BYTES) {
        return damaged(err, "its directory does not fit into the file");
    }
    end.shift = place - end.bytes - end.first;
    end.first += end.shift;
    *ret_end = end;
    return ZD_OK;
}

/* ---- the directory ---- */

/* The entry of the directory that is being read. */
struct entry {
    const uint8_t *head;
    const uint8_t *name;
    const uint8_t *extra;
    uint16_t name_bytes;
    uint16_t extra_bytes;
};

/* @param ret_after the next one */
static bool read_entry(
    const uint8_t *at, const uint8_t *end, struct entry *ret_entry, const uint8_t **ret_after)
{
    if (end - at < CENTRAL_BYTES || zd_load_u32(at) != CENTRAL_SIGN) {
        return false;
    }
    *ret_entry = (struct entry){
        .head = at,
        .name = at + CENTRAL_BYTES,
        .name_bytes = zd_load_u16(at + 28),
        .extra_bytes = zd_load_u16(at + 30),
    };
    ret_entry->extra = ret_entry->name + ret_entry->name_bytes;
    const ptrdiff_t bytes = (ptrdiff_t)CENTRAL_BYTES + ret_entry->name_bytes +
                            ret_entry->extra_bytes + zd_load_u16(at + 32);
    *ret_after = at + bytes;
    return bytes <= end - at;
}

bool zd_zip_directory_next(struct zd_span *piece, struct zd_span *ret_name)
{
    struct entry entry;
    const uint8_t *after = NULL;
    if (!read_entry(piece->ptr, piece->ptr + piece->len, &entry, &after)) {
        return false;
    }
    *ret_name = (struct zd_span){.ptr = entry.name, .len = entry.name_bytes};
    piece->len -= (size_t)(after - piece->ptr);
    piece->ptr = after;
    return true;
}

/* The ZIP64 fields of an entry, or none. */
static struct zd_span find_zip64(const struct entry *entry)
{
    const uint8_t *at = entry->extra;
    const uint8_t *end = at + entry->extra_bytes;
    while (end - at >= EXTRA_HEAD_BYTES) {
        const uint16_t bytes = zd_load_u16(at + 2);
        if (bytes > end - at - EXTRA_HEAD_BYTES) {
            break;
        }
        if (zd_load_u16(at) == EXTRA_ZIP64) {
            return (struct zd_span){.ptr = at + EXTRA_HEAD_BYTES, .len = bytes};
        }
        at += EXTRA_HEAD_BYTES + bytes;
    }
    return (struct zd_span){0};
}

/* A number that may be the next of the ZIP64 fields. */
static bool widen(uint64_t *number, struct zd_span *zip64)
{
    if (*number != IN_ZIP64_32) {
        return true;
    }
    if (zip64->len < sizeof *number) {
        return false;
    }
    *number = zd_load_u64(zip64->ptr);
    zip64->ptr += sizeof *number;
    zip64->len -= sizeof *number;
    return true;
}

static bool read_member(
    const struct entry *entry, const struct zd_zip_end *end, struct zd_zip_member *member)
{
    const uint8_t *head = entry->head;
    struct zd_span zip64 = find_zip64(entry);
    member->is_encrypted = (zd_load_u16(head + 8) & IS_ENCRYPTED) != 0;
    member->method = zd_load_u16(head + 10);
    member->crc = zd_load_u32(head + 16);
    member->packed_bytes = zd_load_u32(head + 20);
    member->size = zd_load_u32(head + 24);
    member->local = zd_load_u32(head + 42);
    return widen(&member->size, &zip64) && widen(&member->packed_bytes, &zip64) &&
           widen(&member->local, &zip64) && !ckd_add(&member->local, member->local, end->shift);
}

static bool is_link(const struct entry *entry)
{
    return zd_load_u16(entry->head + 4) >> 8 == MADE_BY_UNIX &&
           (zd_load_u32(entry->head + 38) >> MODE_SHIFT & MODE_TYPE) == MODE_LINK;
}

/* "": the name is not that of a key. */
static const char *take_name(const struct entry *entry, char **names)
{
    char *key = *names;
    memcpy(key, entry->name, entry->name_bytes);
    key[entry->name_bytes] = '\0';
    if (strlen(key) != entry->name_bytes || !zd_key_is_valid(key) || is_link(entry)) {
        return "";
    }
    *names += entry->name_bytes + 1;
    return key;
}

static enum zd_status read_members(const struct zd_zip_end *end, struct zd_span central,
    struct zd_zip_directory *directory, struct zd_error *err)
{
    const uint8_t *at = central.ptr;
    const uint8_t *const after = central.ptr + central.len;
    char *names = directory->names;
    for (; directory->n < end->n_members; directory->n++) {
        struct zd_zip_member *member = &directory->member[directory->n];
        struct entry entry;
        if (!read_entry(at, after, &entry, &at)) {
            return damaged(err, "an entry of its directory is truncated");
        }
        member->key = take_name(&entry, &names);
        if (!read_member(&entry, end, member)) {
            return zd_fail(err, ZD_CORRUPT,
                "a damaged ZIP archive: the ZIP64 field of member \"%.200s\" is missing or invalid",
                member->key);
        }
    }
    return at == after ? ZD_OK : damaged(err, "its directory has more entries than it states");
}

static int compare_places(const void *a, const void *b)
{
    const struct zd_zip_member *one = a;
    const struct zd_zip_member *other = b;
    return (one->local > other->local) - (one->local < other->local);
}

/* No byte belongs to two members: that is how small archives pretend to hold much. */
static enum zd_status judge_places(
    const struct zd_zip_end *end, struct zd_zip_directory *directory, struct zd_error *err)
{
    qsort(directory->member, directory->n, sizeof *directory->member, compare_places);
    for (size_t i = 0; i < directory->n; i++) {
        struct zd_zip_member *member = &directory->member[i];
        member->end = i + 1 < directory->n ? directory->member[i + 1].local : end->first;
        if (member->end < member->local || member->end - member->local < ZD_ZIP_LOCAL_BYTES ||
            member->end - member->local - ZD_ZIP_LOCAL_BYTES < member->packed_bytes) {
            return zd_fail(err, ZD_CORRUPT,
                "a damaged ZIP archive: the %llu bytes of member \"%.200s\" overlap the bytes "
                "after it",
                (unsigned long long)member->packed_bytes, member->key);
        }
    }
    return ZD_OK;
}

/* If two members have one key, the later one in the file comes first. */
static int compare_keys(const void *a, const void *b)
{
    const struct zd_zip_member *one = a;
    const struct zd_zip_member *other = b;
    const int order = strcmp(one->key, other->key);
    return order != 0 ? order : compare_places(b, a);
}

/* Only what has a key, each key once. */
static void sort_by_key(struct zd_zip_directory *directory)
{
    struct zd_zip_member *member = directory->member;
    const size_t n = directory->n;
    const char *last = "";
    qsort(member, n, sizeof *member, compare_keys);
    directory->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(member[i].key, last) != 0) {
            last = member[i].key;
            member[directory->n++] = member[i];
        }
    }
}

enum zd_status zd_zip_directory_read(const struct zd_zip_end *end, struct zd_span central,
    struct zd_zip_directory *ret_directory, struct zd_error *err)
{
    /* Each name is part of the directory, and its zero takes the place of a byte of the head. */
    struct zd_zip_directory directory = {
        .member = zd_alloc_zero((size_t)end->n_members, sizeof *directory.member),
        .names = zd_alloc(central.len + 1),
    };
    enum zd_status status = ZD_OK;
    if (directory.member == NULL || directory.names == NULL) {
        status = zd_fail(err, ZD_NO_MEMORY, "no memory for the directory of a ZIP archive");
    }
    status = status != ZD_OK ? status : read_members(end, central, &directory, err);
    status = status != ZD_OK ? status : judge_places(end, &directory, err);
    if (status != ZD_OK) {
        zd_zip_directory_done(&directory);
        return status;
    }
    sort_by_key(&directory);
    *ret_directory = directory;
    return ZD_OK;
}

void zd_zip_directory_done(struct zd_zip_directory *directory)
{
    zd_free(directory->member);
    zd_free(directory->names);
    *directory = (struct zd_zip_directory){0};
}

/* ---- members ---- */

size_t zd_zip_directory_seek(const struct zd_zip_directory *directory, const char *key)
{
    size_t first = 0;
    for (size_t n = directory->n; n > 0;) {
        const size_t half = n / 2;
        if (strcmp(directory->member[first + half].key, key) < 0) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

struct zd_zip_member *zd_zip_directory_find(
    const struct zd_zip_directory *directory, const char *key)
{
    const size_t at = zd_zip_directory_seek(directory, key);
    const bool is_there = at < directory->n && strcmp(directory->member[at].key, key) == 0;
    return is_there ? &directory->member[at] : NULL;
}

enum zd_status zd_zip_member_begin(const struct zd_zip_member *member, struct zd_span local,
    uint64_t *ret_packed, struct zd_error *err)
{
    const size_t key_bytes = strlen(member->key);
    if (local.len < ZD_ZIP_LOCAL_BYTES + key_bytes || zd_load_u32(local.ptr) != LOCAL_SIGN ||
        zd_load_u16(local.ptr + 26) != key_bytes ||
        memcmp(local.ptr + ZD_ZIP_LOCAL_BYTES, member->key, key_bytes) != 0 ||
        zd_load_u16(local.ptr + 8) != member->method) {
        return zd_fail(err, ZD_CORRUPT,
            "%s: a damaged ZIP archive: its directory and the member's own header differ",
            member->key);
    }
    const uint64_t head = ZD_ZIP_LOCAL_BYTES + key_bytes + zd_load_u16(local.ptr + 28);
    const uint64_t room = member->end - member->local;
    if (head > room || member->packed_bytes > room - head) {
        return zd_fail(err, ZD_CORRUPT,
            "%s: a damaged ZIP archive: the member's %llu bytes overlap the bytes after it",
            member->key, (unsigned long long)member->packed_bytes);
    }
    *ret_packed = member->local + head;
    return ZD_OK;
}
