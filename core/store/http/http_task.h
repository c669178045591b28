/* An operation of a store of HTTP: the requests that it makes, one after the other. Thread: loop.
 */
#ifndef ZD_CORE_STORE_HTTP_HTTP_TASK_H
#define ZD_CORE_STORE_HTTP_HTTP_TASK_H

#include "core/store/http/http_location.h"
#include "core/store/contract/store.h"
#include "core/store/transfer/transfer.h"

#define ZD_HTTP_TASK_RANGE_BYTES 80 /* of a line with a range */
#define ZD_HTTP_TASK_LINES_MAX   (ZD_HTTP_HEADERS_MAX + 5)

/* A tag, found by the generation that is made of it. */
struct zd_http_tag {
    struct zd_stat stat;
    char *etag; /* owned; NULL = an empty slot */
};

enum zd_http_has_index {
    ZD_HTTP_INDEX_UNKNOWN,
    ZD_HTTP_INDEX_THERE,
    ZD_HTTP_INDEX_MISSING,
};

struct zd_http_store {
    struct zd_store store; /* first member */
    struct zd_remote *remote;
    char *url; /* owned; without a slash at its end */
    struct zd_http_headers headers;
    struct zd_http_tag *tag;          /* of http_task.c; owned; NULL = none yet */
    bool absent_403;                  /* 403 is absence, as the options say */
    bool has_no_ranges;               /* it does not send the first byte alone */
    bool has_no_head;                 /* it refuses HEAD */
    bool has_head;                    /* it has answered one: what it says of absence holds */
    enum zd_http_has_index has_index; /* of the root */
};

struct zd_http_task {
    struct zd_transfer transfer; /* first member */
    struct zd_http_store *http;
    struct zd_store_op *op;
    const char *key;                         /* of the operation; for a listing its prefix */
    void (*take)(struct zd_http_task *task); /* the answer, whatever it is */
    struct zd_range asked;                   /* of bytes */
    bool is_status;
    bool is_root;   /* of a listing: has the root an index? */
    uint32_t odd;   /* of a listing: the code of an answer that is neither an index nor absence: a
                       fault where the server has indexes; 0 = there was none */
    bool is_part;   /* a range was asked for */
    bool has_tag;   /* If-None-Match or If-Match was */
    bool is_enough; /* the head was: no byte is needed. on_head returns ZD_AGAIN then */
    struct zd_generation wanted; /* of bytes behind a question for their place; or not set */
    bool is_stale;               /* the object had another one, or its length was not said: it is
                                    asked for first */
    bool is_sized;               /* it was asked for: `size` */
    uint64_t size;               /* of the object, bytes */
    unsigned n_attempts;
    struct zd_text url;
    char range_line[ZD_HTTP_TASK_RANGE_BYTES]; /* "" = none, as with the next one */
    char tag_line[ZD_TRANSFER_FIELD_BYTES_MAX + 20];
    char trace_line[ZD_STORE_TRACE_BYTES + 16];
    const char *line[ZD_HTTP_TASK_LINES_MAX];
};

/** The handlers of an answer. */
struct zd_http_asking {
    enum zd_status (*on_head)(struct zd_transfer *transfer); /* as of a transfer; or NULL */
    void (*take)(struct zd_http_task *task);
    size_t bytes_max;
};

struct zd_http_store *zd_http_task_store(struct zd_store *store);
struct zd_http_task *zd_http_task_of(struct zd_transfer *transfer);
struct zd_store_read *zd_http_task_read(const struct zd_http_task *task);

/** Begin an operation. @return NULL: it ends later, without memory */
struct zd_http_task *zd_http_task_new(
    struct zd_store *store, struct zd_store_op *op, const char *key);
void zd_http_task_free(struct zd_http_task *task);

/** Make the request that the task's lines are set for; its answer is the task's to take. */
void zd_http_task_ask(struct zd_http_task *task, enum zd_transfer_method method, const char *key,
    const struct zd_http_asking *asking);

/** Whether there is no answer to take: the operation has ended then. */
bool zd_http_task_has_failed(struct zd_http_task *task);

/** Whether an answer means that there is no such object. */
bool zd_http_task_is_absent(const struct zd_http_task *task);

/** End the operation, and the task: with a status; as the transfer failed; with a fault; with an
 * answer that is neither a success nor absence; or later, when it has perhaps just been started. */
void zd_http_task_finish(struct zd_http_task *task, enum zd_status status);
void zd_http_task_fail(struct zd_http_task *task);
void zd_http_task_fault(
    struct zd_http_task *task, enum zd_remote_fault_kind kind, const char *what);
void zd_http_task_refuse(struct zd_http_task *task);
void zd_http_task_finish_later(struct zd_http_task *task, enum zd_status status, const char *what);

/** The tag of which a generation was made, if it is remembered; borrowed until the next one is. */
const struct zd_http_tag *zd_http_task_find_tag(
    const struct zd_http_store *http, struct zd_generation generation);
void zd_http_task_remember_tag(
    struct zd_http_store *http, const struct zd_transfer_head *head, const struct zd_stat *stat);
void zd_http_task_free_tags(struct zd_http_store *http);

#endif
