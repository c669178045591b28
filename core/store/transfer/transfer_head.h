/* The head of an HTTP answer, line by line as it comes. Pure. Thread: any. */
#ifndef ZD_CORE_STORE_TRANSFER_TRANSFER_HEAD_H
#define ZD_CORE_STORE_TRANSFER_TRANSFER_HEAD_H

#include "core/base/buf.h"
#include "core/store/contract/remote_fault.h"

#define ZD_TRANSFER_FIELD_BYTES_MAX 255 /* of a field of an answer; longer ones are left out */
#define ZD_TRANSFER_UNKNOWN         UINT64_MAX /* a number that an answer does not say */

/** A field of an answer that the caller asks for besides those of the head. */
struct zd_transfer_field {
    const char *name;                            /* in; borrowed; letters of any case */
    char value[ZD_TRANSFER_FIELD_BYTES_MAX + 1]; /* out; "" = there is none */
};

/** The head of an answer. */
struct zd_transfer_head {
    uint32_t code;           /* HTTP status; 0 = there was no answer */
    uint64_t content_length; /* bytes, or ZD_TRANSFER_UNKNOWN */
    bool has_odd_length;     /* a Content-Length that is no number, or another than before */
    bool has_range;          /* a Content-Range: bytes first-last/size */
    bool has_odd_range;   /* a Content-Range that says something else; the sizes of 416 are none */
    uint64_t range_first; /* of the object */
    uint64_t range_len;   /* bytes; >= 1 */
    uint64_t range_size;  /* of the whole object (also of 416), or ZD_TRANSFER_UNKNOWN */
    int64_t last_modified_ms;                   /* since 1970-01-01 UTC; 0 = unknown */
    int64_t date_ms;                            /* the store's clock; 0 = unknown */
    uint32_t retry_after_ms;                    /* 0 = it does not say; at most an hour */
    bool is_encoded;                            /* a Content-Encoding that is not identity */
    char etag[ZD_TRANSFER_FIELD_BYTES_MAX + 1]; /* as it came, quotes included; "" = none */
    char content_type[ZD_TRANSFER_FIELD_BYTES_MAX + 1]; /* "" = none */
};

/** Begin; forgets what the fields hold. */
void zd_transfer_head_init(
    struct zd_transfer_head *head, struct zd_transfer_field *field, size_t n_fields);

/**
 * Take a line: a status line, which begins a new head, or a field. Anything else is passed over.
 * @param line without its end
 */
void zd_transfer_head_add(struct zd_transfer_head *head, struct zd_transfer_field *field,
    size_t n_fields, struct zd_span line);

/** Whether and when to ask again after an unsuccessful answer: by its code and Retry-After. */
struct zd_remote_fault zd_transfer_head_fault(const struct zd_transfer_head *head);

/** The length of the endpoint that begins a URL: "http://host:port" of "http://host:port/path". */
size_t zd_transfer_endpoint_len(const char *url);

#endif
