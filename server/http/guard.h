/* Checks that what a client sends is HTTP/1.1, byte for byte (RFC 9112). No I/O, no allocation;
 * the verdict does not depend on how the bytes are split. Thread: any. */
#ifndef ZD_HTTP_GUARD_H
#define ZD_HTTP_GUARD_H

#include "core/base/buf.h"

#define ZD_GUARD_LINE_BYTES 96

/** The overhead of one field, query parameter or cookie in a connection's memory. */
#define ZD_GUARD_ENTRY_BYTES 64

/** The limits of a request. */
struct zd_guard_limits {
    uint64_t target_bytes; /* more: uri_too_long */
    uint64_t head_bytes;   /* request line and fields, or trailers; more: headers_too_large */
    uint64_t n_fields;     /* more: headers_too_large */
    uint64_t memory_bytes; /* the head's bytes and its entries; more: headers_too_large */
    uint64_t body_bytes;   /* more: too_large */
    uint64_t upload_bytes; /* the same for PUT, whose body may be streamed; 0: body_bytes */
};

/** Where the bytes seen so far end. */
enum zd_guard_place {
    ZD_GUARD_BETWEEN, /* two requests: no byte of the next one has come */
    ZD_GUARD_HEAD,
    ZD_GUARD_BODY, /* its chunk lines and trailers included */
    ZD_GUARD_FAULT,
};

/** The start of the current request line; "-" for a missing word. */
struct zd_guard_words {
    char method[ZD_GUARD_LINE_BYTES + 1];
    char target[ZD_GUARD_LINE_BYTES + 1];
};

/** The guard of one connection. Callers read only the first four members. */
struct zd_guard {
    uint64_t n_requests; /* complete ones */
    const char *code;    /* of the fault, from problem.h; NULL: no fault */
    const char *detail;  /* one sentence; static */
    bool is_head; /* the current request is a HEAD, whose answer has no body; false when unknown */

    const struct zd_guard_limits *limits;
    uint64_t number;       /* Content-Length, or the size of a chunk */
    uint64_t left;         /* bytes missing of the body or chunk */
    uint64_t body_bytes;   /* of all chunks so far */
    uint64_t head_bytes;   /* so far; of the trailers once the body has ended */
    uint64_t memory_bytes; /* of the head's entries */
    uint32_t target_bytes;
    uint32_t extension_bytes; /* of all chunks so far */
    uint32_t n_fields;
    uint8_t state;   /* enum state of guard.c */
    uint8_t kind;    /* of the field: enum kind */
    uint8_t part;    /* within what the state reads */
    uint8_t n_word;  /* bytes of word in use; all: the word may be longer */
    uint8_t n_empty; /* lines before the request line */
    uint8_t n_line;  /* bytes of line in use */
    bool has_host;
    bool has_length;
    bool is_chunked;
    bool is_1_0;
    bool is_put;
    bool in_trailers;
    char word[18]; /* the method, or the field's name in lower case: the beginning of it */
    char line[ZD_GUARD_LINE_BYTES]; /* method, space and target */
};

/** @param limits borrowed for as long as the guard is used */
void zd_guard_init(struct zd_guard *guard, const struct zd_guard_limits *limits);

/**
 * Judge the next bytes. Must not be called after a fault.
 *
 * Removes what is valid and meaningless but misread by some version of libmicrohttpd: empty lines
 * before a request, white space after a value that frames it, chunk extensions.
 *
 * @param bytes       changed in place
 * @param len         their number; then the number left after removal
 * @param ret_n_whole how many of the bytes left belong to complete requests; the rest begins or
 *                    continues the next one
 * @return false: a fault, described by code and detail; it lies behind those ret_n_whole bytes
 */
bool zd_guard_take(struct zd_guard *guard, uint8_t *bytes, size_t *len, size_t *ret_n_whole);

/** The client has closed its side: false, and a fault, in the middle of a request. */
bool zd_guard_end(struct zd_guard *guard);

enum zd_guard_place zd_guard_place(const struct zd_guard *guard);

/** The limit of bytes for the body of the current request. */
uint64_t zd_guard_body_max(const struct zd_guard *guard);

/** The request line of the current request for the log, up to the faulty byte. */
void zd_guard_words(const struct zd_guard *guard, struct zd_guard_words *ret_words);

#endif
