/* Writers of a probe that race for one key, phase after phase: some engines obey a single writer
 * and let several concurrent ones win. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_RACE_H
#define ZD_CORE_STORE_S3_S3_RACE_H

#include "core/store/s3/s3_store.h"

#define ZD_S3_RACE_WRITERS    8
#define ZD_S3_RACE_ROUNDS     8
#define ZD_S3_RACE_BODY_CHARS 64
#define ZD_S3_RACE_KEY_CHARS  64

/** A write that needs the abilities of the store. */
struct zd_s3_race_wait {
    struct zd_list link;
    void (*done)(struct zd_s3_race_wait *wait); /* once, never inside the call that began to wait */
    enum zd_status status; /* ZD_OK: the abilities are known; else that of a request */
    struct zd_error err;
    struct zd_remote_fault fault;
};

/** The phases of a probe, by numbers of its own that begin at 0; embedded in the probe. */
struct zd_s3_race {
    struct zd_s3_store *s3;
    void (*run)(struct zd_s3_race *race);       /* starts the requests of race->phase */
    uint32_t (*after)(struct zd_s3_race *race); /* the phase that follows it */
    uint32_t phase;
    uint32_t clean; /* the phase that erases the probe's objects, whatever has failed before */
    uint32_t round;
    uint32_t n_running; /* requests of the phase */
    uint32_t n_won;     /* those that the engine has obeyed */
    uint32_t n_bodies;
    uint64_t name;          /* of its keys */
    enum zd_status failure; /* the first one of a phase: RGW fails some of those who lose a race */
    enum zd_status status;  /* the failure of a phase that nobody has won */
    struct zd_error err;
    struct zd_remote_fault fault;
};

/** Run phase 0. */
void zd_s3_race_begin(struct zd_s3_race *race);

/** Run the phase after this one; no request is running. */
void zd_s3_race_next(struct zd_s3_race *race);

/** A request has ended: after the last one of the phase the next phase runs. */
void zd_s3_race_leave(struct zd_s3_race *race);

/**
 * A round more, until one is lost or all are won.
 *
 * @param able set: whether exactly one writer has won
 * @return the phase that follows
 */
uint32_t zd_s3_race_after_round(struct zd_s3_race *race, bool *able, uint32_t next);

/** A request could not be made, for want of memory. */
void zd_s3_race_fail(struct zd_s3_race *race);

/** The n-th key of the probe: no object of a dataset has it. @param ret_key
 * ZD_S3_RACE_KEY_CHARS bytes */
void zd_s3_race_name_key(const struct zd_s3_race *race, uint32_t n, char *ret_key);

/** A body that no other writer has. @param ret_body ZD_S3_RACE_BODY_CHARS bytes */
void zd_s3_race_write_body(struct zd_s3_race *race, char *ret_body);

/** Whether an answer says that the engine knows of no such condition. Thread: any. */
bool zd_s3_race_is_unknown(uint32_t http, const char *code);

/** Tell all of a list of zd_s3_race_wait how the race has ended, and empty the list. */
void zd_s3_race_tell(const struct zd_s3_race *race, struct zd_list *waiting);

#endif
