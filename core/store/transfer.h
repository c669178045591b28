/* One HTTP exchange with a remote store: libcurl on the loop that the store runs on. Thread: loop,
 * for all of it.
 *
 * Transfers to one endpoint (scheme, host and port) take turns when more than remote.connections of
 * them want to run. A connection is kept for the next transfer. TLS is verified; http_proxy,
 * https_proxy and no_proxy of the environment hold. */
#ifndef ZD_CORE_STORE_TRANSFER_H
#define ZD_CORE_STORE_TRANSFER_H

#include <uv.h>

#include "core/base/buf.h"
#include "core/base/list.h"
#include "core/base/status.h"
#include "core/store/transfer_head.h"

#define ZD_TRANSFER_WORD_BYTES_MAX (16U << 10) /* of an answer that is no success */

struct zd_remote_settings;
struct zd_transfer_pool;

enum zd_transfer_method {
    ZD_TRANSFER_GET,
    ZD_TRANSFER_HEAD,
    ZD_TRANSFER_PUT,
    ZD_TRANSFER_POST,
    ZD_TRANSFER_DELETE,
};

/**
 * A transfer: the caller's memory, from start to `done`. Set the inputs, start it, and keep it
 * where it is until `done` runs: exactly once, never inside the call that started it. `done` may
 * free it.
 */
struct zd_transfer {
    /* in; all that is pointed to is borrowed until done */
    const struct zd_remote_settings *settings; /* connections, connect_ms, silence_ms, ca_file */
    enum zd_transfer_method method;
    const char *url;            /* "http://host:port/path?query", encoded; without userinfo */
    const char *const *headers; /* "Name: value", ended by NULL; or NULL */
    const struct zd_buf *body;  /* of PUT and POST; NULL = of no bytes */
    size_t bytes_max;           /* of the body of a success; more is ZD_TOO_LARGE */
    uint32_t redirects_max;     /* that are followed, within the endpoint; 0 = they are answers */
    bool stops_at_slash; /* a redirection to the same URL with a slash behind its path, as servers
                            answer for directories, is an answer */
    bool is_direct;      /* no proxy, whatever the environment says */
    struct zd_transfer_field *field; /* n_fields of them, or NULL */
    size_t n_fields;
    /**
     * Optional: called in the answer of a GET that is a success (2xx), when its head is there. May
     * set bytes_max, skip and take. Neither starts nor cancels anything.
     * @return ZD_OK: go on with the body; else the transfer ends with this status, and err and
     * fault as the function has set them
     */
    enum zd_status (*on_head)(struct zd_transfer *transfer);
    void (*done)(struct zd_transfer *transfer);
    void *context; /* of on_head and done */

    /* in, perhaps from on_head */
    uint64_t skip; /* so many bytes of the body are dropped */
    uint64_t take; /* then so many are taken, and the rest is left; 0 = all */

    /* out */
    enum zd_status status; /* ZD_OK: there is a whole answer, whatever its code. Else ZD_STORE,
                              ZD_TIMEOUT, ZD_TOO_LARGE, ZD_NO_MEMORY, ZD_CANCELLED, or on_head's */
    struct zd_error err;   /* set unless ZD_OK; never has the URL, nor what was sent */
    struct zd_remote_fault fault; /* of ZD_STORE and ZD_TIMEOUT */
    struct zd_transfer_head head;
    struct zd_buf *bytes; /* owned by the caller; with ZD_OK not NULL: the body. Of an answer that
                             is no success its first ZD_TRANSFER_WORD_BYTES_MAX */
    uint64_t n_bytes;     /* of the body that came, dropped ones included */
    uint64_t began_ns;    /* when it had its turn; 0 = it never had (uv_hrtime) */
    uint64_t first_ns;    /* when the first byte of an answer came; 0 = none did */

    /* for the pool */
    struct zd_list link;
    struct zd_transfer_pool *pool;
    void *run;
    bool is_over;
};

/**
 * Take part in the connections of a loop; the first one makes them.
 *
 * @param shared the place of the pool, NULL = there is none yet; one place a loop
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_transfer_pool_take(
    struct zd_transfer_pool **shared, uv_loop_t *loop, struct zd_error *err);

/** Leave; none of the caller's transfers runs. After the last one the loop must turn once more
 * before it is closed. */
void zd_transfer_pool_leave(struct zd_transfer_pool **shared);

/** What a pool has done, for tests and /metrics. */
struct zd_transfer_counts {
    uint64_t n_started;   /* transfers that had their turn */
    uint64_t n_connected; /* connections that were made for them */
};
struct zd_transfer_counts zd_transfer_pool_counts(const struct zd_transfer_pool *pool);

/** Start: sets the outputs, and waits for its turn. */
void zd_transfer_start(struct zd_transfer_pool *pool, struct zd_transfer *transfer);

/** Ask for an early end: `done` still runs, with ZD_CANCELLED unless the transfer was over before.
 */
void zd_transfer_cancel(struct zd_transfer *transfer);

/** The length of the endpoint that begins a URL: "http://host:port" of "http://host:port/path". */
size_t zd_transfer_endpoint_len(const char *url);

#endif
