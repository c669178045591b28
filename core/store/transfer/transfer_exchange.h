/* A transfer: the caller's request, and its outcome. Thread: loop. */
#ifndef ZD_CORE_STORE_TRANSFER_TRANSFER_EXCHANGE_H
#define ZD_CORE_STORE_TRANSFER_TRANSFER_EXCHANGE_H

#include "core/base/buf.h"
#include "core/base/list.h"
#include "core/base/status.h"
#include "core/store/transfer/transfer_head.h"

#define ZD_TRANSFER_WORD_BYTES_MAX (16U << 10) /* of an answer that is no success */

struct zd_remote_settings;
struct zd_transfer_pool;

enum zd_transfer_method {
    ZD_TRANSFER_GET,
    ZD_TRANSFER_HEAD,
    ZD_TRANSFER_PUT,
    ZD_TRANSFER_POST,
    ZD_TRANSFER_DELETE,
    ZD_TRANSFER_METHODS,
};

/** "GET". Thread: any. */
static inline const char *zd_transfer_exchange_method_name(enum zd_transfer_method method)
{
    static const char *const name[ZD_TRANSFER_METHODS] = {
        [ZD_TRANSFER_GET] = "GET",
        [ZD_TRANSFER_HEAD] = "HEAD",
        [ZD_TRANSFER_PUT] = "PUT",
        [ZD_TRANSFER_POST] = "POST",
        [ZD_TRANSFER_DELETE] = "DELETE",
    };
    return name[method];
}

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
    struct zd_span body;        /* of PUT and POST; may be empty */
    size_t bytes_max;           /* of the body of a success; more is ZD_TOO_LARGE */
    uint32_t redirects_max;     /* that are followed, within the endpoint; 0 = they are answers */
    bool stops_at_slash; /* a redirection to the same URL with a slash behind its path, as servers
                            answer for directories, is an answer */
    bool is_direct;      /* no proxy, whatever the host and the environment */
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

#endif
