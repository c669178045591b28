/* A transfer that has its turn: a handle of libcurl and what has come so far. Thread: loop. */
#ifndef ZD_CORE_STORE_TRANSFER_TRANSFER_RUN_H
#define ZD_CORE_STORE_TRANSFER_TRANSFER_RUN_H

#include "core/base/text.h"
#include "core/store/transfer/curl_loop.h"
#include "core/store/transfer/transfer_exchange.h"

struct zd_transfer_run {
    struct zd_list link; /* for the pool, as is the next one */
    void *turns;
    struct zd_transfer *transfer;
    struct zd_curl_loop *multi;
    uv_loop_t *loop;
    const char *endpoint;  /* "http://host:port", borrowed: nobody else is asked */
    uint64_t *n_connected; /* counts connections; borrowed */
    CURL *easy;            /* its private data is the run */
    struct curl_slist *headers;
    struct zd_text followed; /* the URL that was redirected to */
    char word[CURL_ERROR_SIZE];
    enum zd_status head_status; /* what on_head, or we, said of the answer */
    bool has_head;
    bool is_enough; /* what follows is not wanted */
    uint32_t n_redirects;
    size_t head_bytes;
    uint64_t body_bytes; /* that have come, dropped ones included */
    size_t sent_bytes;   /* of the request's body */
    uint8_t *bytes;      /* owned */
    size_t len;
    size_t cap;
    size_t fresh_bytes; /* since heard_ms */
    uint64_t heard_ms;  /* uv_now when the store last showed progress */
};

/** A run of no transfer, or NULL. */
struct zd_transfer_run *zd_transfer_run_new(void);
void zd_transfer_run_free(struct zd_transfer_run *run); /* accepts NULL */

/** Forget the transfer, and keep the handle for the next one. */
void zd_transfer_run_clear(struct zd_transfer_run *run);

/** Start; transfer, multi, loop, endpoint and n_connected are set. @return false: memory is short
 */
bool zd_transfer_run_begin(struct zd_transfer_run *run);

/** Whether there is a connection: before, silence is none of the store's. */
bool zd_transfer_run_is_connected(const struct zd_transfer_run *run);

/** Set what is known of the request that is over: connections, and whether it was begun. */
void zd_transfer_run_note(struct zd_transfer_run *run);

/** The request is over: if it is redirected, another one begins. @return false: it is the last */
bool zd_transfer_run_follow(struct zd_transfer_run *run, CURLcode code);

/** Set the outputs of the transfer: the request that was the last is over. */
void zd_transfer_run_settle(struct zd_transfer_run *run, CURLcode code);

/** Set status, kind of fault and error of a transfer. */
void zd_transfer_run_fail(struct zd_transfer *transfer, enum zd_status status,
    enum zd_remote_fault_kind kind, const char *text);
void zd_transfer_run_fail_memory(struct zd_transfer *transfer);

#endif
