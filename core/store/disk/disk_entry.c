/* The head of a file of the disk tier: numbers in the byte order of memory, at fixed places.
 *
 *     0 magic, 8 version, 12 length of the key, 16 hash of the rest of the head and of the key,
 *     24 owner, 40 generation, 56 size, 64 mtime, 72 checked, 80 kind of range, 88 first, 96 len,
 *     104 length of the body, 112 hash of the body, 120 unused, 136 key */
#include "core/store/disk/disk_entry.h"

#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/num.h"

#define MAGIC   UINT64_C(0x6b7369647272617a) /* "zarrdisk" */
#define VERSION 1
#define SEED    UINT64_C(0x7a61727264206474)

enum place {
    AT_MAGIC = 0,
    AT_VERSION = 8,
    AT_KEY_LEN = 12,
    AT_HASH = 16,
    AT_OWNER = 24, /* from here on the hash covers all */
    AT_GENERATION = 40,
    AT_SIZE = 56,
    AT_MTIME = 64,
    AT_CHECKED = 72,
    AT_KIND = 80,
    AT_FIRST = 88,
    AT_LEN = 96,
    AT_BODY_BYTES = 104,
    AT_BODY_HASH = 112,
    AT_UNUSED = 120,
};

static_assert(AT_UNUSED + 2 * sizeof(uint64_t) == ZD_DISK_ENTRY_FIXED_BYTES, "the head's length");

uint64_t zd_disk_entry_hash(struct zd_span body)
{
    return zd_hash_of(body, SEED);
}

static bool ranges_equal(const struct zd_range *a, const struct zd_range *b)
{
    return a->kind == b->kind &&
           (a->kind == ZD_RANGE_WHOLE || (a->first == b->first && a->len == b->len));
}

bool zd_disk_entry_is_of(const struct zd_disk_entry *entry, const struct zd_disk_name *name)
{
    return entry->name.owner.word[0] == name->owner.word[0] &&
           entry->name.owner.word[1] == name->owner.word[1] &&
           ranges_equal(&entry->name.range, &name->range) &&
           zd_span_equal(entry->name.key, name->key);
}

/* The hash of all bytes before the hash and behind it. */
static uint64_t hash_of_head(const uint8_t *head, size_t len)
{
    const uint64_t before = zd_hash_of((struct zd_span){.ptr = head, .len = AT_HASH}, SEED);
    return zd_hash_of((struct zd_span){.ptr = head + AT_OWNER, .len = len - AT_OWNER}, before);
}

size_t zd_disk_entry_write(
    const struct zd_disk_entry *entry, uint8_t head[static ZD_DISK_ENTRY_HEAD_BYTES])
{
    const struct zd_span key = entry->name.key;
    const bool is_whole = entry->name.range.kind == ZD_RANGE_WHOLE;
    assert(key.len >= 1 && key.len <= ZD_KEY_BYTES_MAX);
    memset(head, 0, ZD_DISK_ENTRY_FIXED_BYTES);
    zd_store_u64(head + AT_MAGIC, MAGIC);
    zd_store_u32(head + AT_VERSION, VERSION);
    zd_store_u32(head + AT_KEY_LEN, (uint32_t)key.len);
    memcpy(head + AT_OWNER, entry->name.owner.word, sizeof entry->name.owner.word);
    memcpy(head + AT_GENERATION, entry->stat.generation.word, sizeof entry->stat.generation.word);
    zd_store_u64(head + AT_SIZE, entry->stat.size);
    zd_store_u64(head + AT_MTIME, (uint64_t)entry->stat.mtime_ms);
    zd_store_u64(head + AT_CHECKED, (uint64_t)entry->checked_ms);
    zd_store_u64(head + AT_KIND, (uint64_t)entry->name.range.kind);
    zd_store_u64(head + AT_FIRST, is_whole ? 0 : entry->name.range.first);
    zd_store_u64(head + AT_LEN, is_whole ? 0 : entry->name.range.len);
    zd_store_u64(head + AT_BODY_BYTES, entry->body_bytes);
    zd_store_u64(head + AT_BODY_HASH, entry->body_hash);
    memcpy(head + ZD_DISK_ENTRY_FIXED_BYTES, key.ptr, key.len);
    const size_t len = ZD_DISK_ENTRY_FIXED_BYTES + key.len;
    zd_store_u64(head + AT_HASH, hash_of_head(head, len));
    return len;
}

static enum zd_status corrupt(struct zd_error *err, const char *what)
{
    return zd_fail(err, ZD_CORRUPT, "disk cache: a file %s", what);
}

static struct zd_disk_entry entry_of(const uint8_t *head, size_t len)
{
    struct zd_disk_entry entry = {
        .name =
            {
                .key = {.ptr = head + ZD_DISK_ENTRY_FIXED_BYTES,
                    .len = len - ZD_DISK_ENTRY_FIXED_BYTES},
                .range = {.kind = (enum zd_range_kind)zd_load_u64(head + AT_KIND),
                    .first = zd_load_u64(head + AT_FIRST),
                    .len = zd_load_u64(head + AT_LEN)},
            },
        .stat = {.size = zd_load_u64(head + AT_SIZE),
            .mtime_ms = (int64_t)zd_load_u64(head + AT_MTIME)},
        .checked_ms = (int64_t)zd_load_u64(head + AT_CHECKED),
        .body_bytes = zd_load_u64(head + AT_BODY_BYTES),
        .body_hash = zd_load_u64(head + AT_BODY_HASH),
        .n_head_bytes = len,
    };
    memcpy(entry.name.owner.word, head + AT_OWNER, sizeof entry.name.owner.word);
    memcpy(entry.stat.generation.word, head + AT_GENERATION, sizeof entry.stat.generation.word);
    return entry;
}

enum zd_status zd_disk_entry_read(struct zd_span bytes, uint64_t file_bytes,
    struct zd_disk_entry *ret_entry, struct zd_error *err)
{
    if (bytes.len < ZD_DISK_ENTRY_FIXED_BYTES || zd_load_u64(bytes.ptr + AT_MAGIC) != MAGIC) {
        return corrupt(err, "is not a cache entry");
    }
    if (zd_load_u32(bytes.ptr + AT_VERSION) != VERSION) {
        return corrupt(err, "has another version");
    }
    const uint32_t key_len = zd_load_u32(bytes.ptr + AT_KEY_LEN);
    if (key_len < 1 || key_len > ZD_KEY_BYTES_MAX ||
        key_len > bytes.len - ZD_DISK_ENTRY_FIXED_BYTES) {
        return corrupt(err, "ends within its head");
    }
    const size_t len = ZD_DISK_ENTRY_FIXED_BYTES + key_len;
    if (zd_load_u64(bytes.ptr + AT_HASH) != hash_of_head(bytes.ptr, len) ||
        zd_load_u64(bytes.ptr + AT_KIND) > ZD_RANGE_SUFFIX) {
        return corrupt(err, "has a head with a wrong checksum");
    }
    const struct zd_disk_entry entry = entry_of(bytes.ptr, len);
    if (file_bytes < len || file_bytes - len != entry.body_bytes) {
        return corrupt(err, "has another length than its head states");
    }
    *ret_entry = entry;
    return ZD_OK;
}
