/* The memory that the process may use, and how it is shared out. */
#ifndef ZD_RUNTIME_MEMORY_H
#define ZD_RUNTIME_MEMORY_H

#include "server/config/settings.h"

/** The shares. */
struct zd_memory {
    uint64_t bytes;          /* that the process may use */
    const char *bounded_by;  /* "setting memory.bytes", "control group", ... */
    uint64_t work_bytes;     /* for requests under way */
    uint64_t body_bytes;     /* for request bodies, which are held before admission */
    uint64_t document_bytes; /* for large metadata documents while they are read */
    uint64_t change_bytes;   /* for the texts of large metadata documents that change */
    uint64_t kept_bytes;     /* for what changes remember of what they erase */
    uint64_t listing_bytes;  /* for names of remote stores while they are listed */
    uint64_t parsed_bytes;   /* for nodes in use, beside those in the cache */
    uint64_t decoded_bytes;  /* for the caches: as configured, or less */
    uint64_t encoded_bytes;
    uint64_t metadata_bytes;
    bool caches_shrank;
};

/**
 * The memory that the system lets the process use: the least of its control groups' limits (version
 * 2 memory.max, version 1 memory.limit_in_bytes, theirs and their parents'), RLIMIT_AS, and the
 * machine's memory.
 *
 * @param root       "" for the real /proc and /sys; tests have others
 * @param bounded_by out: which of them it is
 */
uint64_t zd_memory_find(const char *root, const char **bounded_by);

/**
 * Share it out: at most 3/8 for the caches, which shrink together when they are configured larger;
 * 3/8 for requests under way unless admission.bytes says otherwise; the rest for connections, large
 * documents while they are read or changed, nodes in use, code and memory that the allocator cannot
 * release.
 *
 * @param found by zd_memory_find; setting memory.bytes goes before it
 */
void zd_memory_plan(const struct zd_settings *settings, uint64_t found, const char *bounded_by,
    struct zd_memory *ret_memory);

/** Set the allocator up so that freed memory is used again by all threads. Once, at the start. */
void zd_memory_tune(void);

/** Release free memory to the system. Thread: any; takes milliseconds. */
void zd_memory_give_back(void);

#endif
