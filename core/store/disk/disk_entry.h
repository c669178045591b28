/* The content of a file of the disk tier: a head with the facts of an object, its key, and some of
 * its bytes. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_DISK_DISK_ENTRY_H
#define ZD_CORE_STORE_DISK_DISK_ENTRY_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/store/contract/key.h"
#include "core/store/contract/store.h"

#define ZD_DISK_ENTRY_FIXED_BYTES 136 /* of a head, before the key */
#define ZD_DISK_ENTRY_HEAD_BYTES  (ZD_DISK_ENTRY_FIXED_BYTES + ZD_KEY_BYTES_MAX)

/** The owner of keys: hashes of a location and its options. Neither can be read from them.
 */
struct zd_disk_owner {
    uint64_t word[2];
};

/** Some bytes of one object of one owner, as they were asked for. */
struct zd_disk_name {
    struct zd_disk_owner owner;
    struct zd_span key; /* borrowed */
    struct zd_range range;
};

/** The head of a file. */
struct zd_disk_entry {
    struct zd_disk_name name;
    struct zd_stat stat;   /* of the whole object */
    int64_t checked_ms;    /* when its store was asked last; since 1970-01-01 UTC */
    uint64_t body_bytes;   /* behind the head */
    uint64_t body_hash;    /* of them */
    uint64_t n_head_bytes; /* with the key */
};

/** The hash that body_hash is. */
uint64_t zd_disk_entry_hash(struct zd_span body);

/** Whether two names are the same. */
bool zd_disk_entry_is_of(const struct zd_disk_entry *entry, const struct zd_disk_name *name);

/**
 * Write a head.
 * @param entry the key is a valid one; n_head_bytes is not read
 * @return its bytes
 */
size_t zd_disk_entry_write(
    const struct zd_disk_entry *entry, uint8_t head[static ZD_DISK_ENTRY_HEAD_BYTES]);

/**
 * Read a head. What passes is what was written: all of it is under its own checksum.
 *
 * @param bytes      the beginning of a file, ZD_DISK_ENTRY_HEAD_BYTES of them where it is as long
 * @param file_bytes the length of the file
 * @param ret_entry  its key is borrowed from the bytes
 * @retval ZD_CORRUPT torn, foreign, of another version, or of a file of another length
 */
ZD_RESULT zd_disk_entry_read(struct zd_span bytes, uint64_t file_bytes,
    struct zd_disk_entry *ret_entry, struct zd_error *err);

#endif
