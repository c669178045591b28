/* The disk tier: encoded bytes of objects of remote stores, in a directory of the local disk, where
 * they survive a restart. One for all stores of a process (core/store/disk/disk_store.c asks it).
 *
 *     fetch ------------------------------------> a thread reads a file        side by side
 *     keep, change, what is damaged or evicted -> a thread removes and writes  one after the other
 *
 * It never fails a read: what it does not have, cannot read or does not believe, it has not. When
 * the disk is full, read-only or broken it turns itself off, and says so once. Thread: loop. */
#ifndef ZD_CORE_STORE_DISK_DISK_TIER_H
#define ZD_CORE_STORE_DISK_DISK_TIER_H

#include "core/store/disk/disk_index.h"

#define ZD_DISK_TIER_BYTES_MIN (UINT64_C(1) << 20)

struct zd_disk_tier;

/** Borrowed during open, except for the loop and the context. */
struct zd_disk_tier_config {
    const char *path;       /* of an existing directory */
    uint64_t bytes_max;     /* that files take, in whole blocks; >= ZD_DISK_TIER_BYTES_MIN */
    size_t n_max;           /* files; each takes ZD_DISK_INDEX_COST of memory */
    uint64_t waiting_bytes; /* that wait to be written: memory; more is not kept */
    uv_loop_t *loop;
    void (*tell)(void *context, const char *text); /* why it is off, for the log; once */
    void *context;
    int64_t (*now_ms)(void); /* since 1970-01-01 UTC; NULL = the system's clock */
};

/** Counts since the start, and present sizes. */
struct zd_disk_counts {
    uint64_t n_hits;        /* answers that were read here */
    uint64_t n_hit_bytes;   /* of them */
    uint64_t n_revalidated; /* of them: after the store had said that they still hold */
    uint64_t n_misses;      /* reads that took their bytes from the store */
    uint64_t n_kept;        /* files written */
    uint64_t n_skipped;     /* reads not kept: too large, or the disk did not keep up */
    uint64_t n_dropped;     /* files that were damaged */
    uint64_t n_evicted;     /* files that made room for others */
    uint64_t n_entries;
    uint64_t bytes; /* of the disk */
    uint64_t bytes_max;
    uint64_t is_on; /* 1, or 0 */
};

/**
 * Open it. What is there is found by a thread meanwhile; nothing waits for that but changes.
 * @retval ZD_INVALID the configuration is wrong: the error says how
 * @retval ZD_OK      but perhaps it is off from the beginning, and `tell` was called: another
 *                    process uses the directory, or it cannot be written
 */
ZD_RESULT zd_disk_tier_open(
    const struct zd_disk_tier_config *config, struct zd_disk_tier **ret_tier, struct zd_error *err);

/** The process ends: what waits to be written is dropped. Work under way ends with the loop's
 * turns. Accepts NULL. */
void zd_disk_tier_stop(struct zd_disk_tier *tier);
void zd_disk_tier_close(struct zd_disk_tier *tier); /* no work is under way; accepts NULL */

struct zd_disk_counts zd_disk_tier_count(const struct zd_disk_tier *tier);
void zd_disk_tier_count_miss(struct zd_disk_tier *tier);

/** Turn it off: something was missed. What was kept is not used again. */
void zd_disk_tier_distrust(struct zd_disk_tier *tier, const char *why);
bool zd_disk_tier_is_on(const struct zd_disk_tier *tier);
int64_t zd_disk_tier_now_ms(const struct zd_disk_tier *tier);

/**
 * Look a name up without reading.
 * @param ret_stat, ret_checked_ms with ZD_OK: the object, and when its store was asked last
 * @retval ZD_OK        there is a file of the name
 * @retval ZD_AGAIN     there may be one, but its head must be read
 * @retval ZD_NOT_FOUND there is none
 */
enum zd_status zd_disk_tier_find(const struct zd_disk_tier *tier, const struct zd_disk_name *name,
    struct zd_stat *ret_stat, int64_t *ret_checked_ms);

/** The same of a key: any file of it is as good. The range is not looked at. */
enum zd_status zd_disk_tier_find_key(const struct zd_disk_tier *tier,
    const struct zd_disk_name *name, struct zd_stat *ret_stat, int64_t *ret_checked_ms);

/** A file that is read: the caller's memory from start to `done`. */
struct zd_disk_fetch {
    void (*done)(struct zd_disk_fetch *fetch);
    /* in */
    struct zd_disk_name name;         /* its key lives until done */
    bool is_any_range;                /* any file of the key */
    const struct zd_store_read *read; /* whose bytes; borrowed until done; NULL: the head alone */
    struct zd_generation generation;  /* if set: only if the object has it; */
    int64_t oldest_ms;   /* else: only if its store was asked since, INT64_MIN = at any time,
                            INT64_MAX = never */
    int64_t touch_ms;    /* if not 0: the store was asked then, which is noted in the file */
    bool is_revalidated; /* the store has said that the generation still holds: for the counts */
    /* out */
    enum zd_status status; /* ZD_OK; ZD_AGAIN: of another generation, or asked too long ago;
                              ZD_NOT_FOUND; or what zd_store_judge_read says of the read */
    struct zd_error err;
    struct zd_stat stat;  /* unless ZD_NOT_FOUND */
    int64_t checked_ms;   /* the same */
    uint64_t body_bytes;  /* the same */
    struct zd_buf *bytes; /* with ZD_OK and a read; owned by the caller */
    /* its own */
    struct zd_disk_tier *tier;
    struct zd_disk_file file;
    uint64_t serial; /* 0 = the file may not be there */
    int64_t now_ms;
    enum zd_status found; /* how the file is */
    uv_work_t work;
};
void zd_disk_tier_fetch(struct zd_disk_tier *tier, struct zd_disk_fetch *fetch);

/** The store has said what an object is, when it was asked at that time: files of another
 * generation go. */
void zd_disk_tier_learn(struct zd_disk_tier *tier, const struct zd_disk_name *name,
    const struct zd_stat *stat, int64_t checked_ms);

/** The store has said that the object is not there. */
void zd_disk_tier_lose(struct zd_disk_tier *tier, const struct zd_disk_name *name);

/** A number that changes when an object is about to change, or has changed. */
uint64_t zd_disk_tier_turn(const struct zd_disk_tier *tier, const struct zd_disk_name *name);

/**
 * Keep bytes that the store has given, if they fit, once the disk has time.
 * @param turn  of the name, before the store was asked
 * @param bytes of the name's range; a reference is taken
 */
void zd_disk_tier_keep(struct zd_disk_tier *tier, const struct zd_disk_name *name,
    const struct zd_stat *stat, int64_t checked_ms, uint64_t turn, struct zd_buf *bytes);

/** An object that this process changes. */
struct zd_disk_change {
    void (*done)(struct zd_disk_change *change);
    uint64_t key; /* its own, as the next */
    struct zd_list link;
};

/**
 * An object is about to change: all that is kept of it goes, and nothing more of it is kept until
 * the end, so that no crash leaves what an acknowledged write has replaced.
 * @return whether `done` will run, when the files are gone; else there are none
 */
bool zd_disk_tier_begin_change(
    struct zd_disk_tier *tier, const struct zd_disk_name *name, struct zd_disk_change *change);
void zd_disk_tier_end_change(struct zd_disk_tier *tier, const struct zd_disk_change *change);

#endif
