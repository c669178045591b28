/* A plan over a store whose answers come when the test says, in a time that the test makes. */
#ifndef ZD_TESTS_SUPPORT_STORE_DELAY_H
#define ZD_TESTS_SUPPORT_STORE_DELAY_H

#include "core/store/remote/remote.h"

#define ZD_DELAY_ASKED_MAX 4096

/** The fate of an operation of the inner store. */
struct zd_delay_step {
    uint64_t ms;           /* then it is answered */
    enum zd_status status; /* ZD_OK: with what the store holds */
    struct zd_remote_fault fault;
    bool is_done; /* of a write that fails: it has been done all the same */
};

/** An operation that the inner store was asked for. */
struct zd_delay_asked {
    char what; /* 'r' read, 's' status, 'l' list, 'w' write, 'e' erasure */
    char key[64];
    struct zd_range range;
    uint64_t at_ms;
};

/** State shared by all stores of a test. */
struct zd_delay {
    uv_loop_t loop;
    struct zd_remote remote;
    struct zd_delay_step (*script)(const struct zd_delay_asked *asked, size_t n); /* of the n-th */
    struct zd_delay_asked asked[ZD_DELAY_ASKED_MAX];
    size_t n_asked;
    size_t n_running;
    size_t n_running_max;
    uint64_t now_ms;
};

/** The only one: links with --wrap=uv_now,--wrap=uv_hrtime,--wrap=uv_timer_start,
 * --wrap=uv_timer_stop. */
extern struct zd_delay zd_delay;

/** Begin a test: the time is 1000 ms, every operation takes 30 ms, connections 64, retries 4, no
 * hedges, breaker_ms 1000. */
void zd_delay_begin(void);

/** The loop has nothing left. */
void zd_delay_end(void);

/**
 * Open a plan over a delayed store over one in memory.
 * @param endpoint   as in zd_store
 * @param trusted_ms as in zd_store_config
 */
struct zd_store *zd_delay_open(uint64_t endpoint, uint64_t trusted_ms);

/** Store under a key n_bytes that zd_delay_byte tells; takes no time and is not counted. */
void zd_delay_put(struct zd_store *plan, const char *key, size_t n_bytes);
uint8_t zd_delay_byte(uint64_t at);

/** Run until nothing is left to happen, or that time of the test has come. */
void zd_delay_run(void);
void zd_delay_run_until(uint64_t ms);

/** Operations asked of the inner store since the beginning, of that letter. */
size_t zd_delay_count(char what);

#endif
