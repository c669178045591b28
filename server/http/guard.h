/* The judge of request framing: is what a client sends HTTP/1.1, byte for byte (RFC 9112)? No I/O,
 * no memory of its own; the verdict is the same however the bytes are split. Thread: any. */
#ifndef ZD_HTTP_GUARD_H
#define ZD_HTTP_GUARD_H

#include "core/base/buf.h"
#include "server/http/guard_line.h"

/** What a field, a query parameter and a cookie take in a connection's memory besides their bytes.
 */
#define ZD_GUARD_ENTRY_BYTES 64

/** What a request may have. */
struct zd_guard_limits {
    uint64_t target_bytes; /* more: uri_too_long */
    uint64_t head_bytes;   /* request line and fields, or trailers; more: headers_too_large */
    uint64_t n_fields;     /* more: headers_too_large */
    uint64_t memory_bytes; /* the head's bytes and its entries; more: headers_too_large */
    uint64_t body_bytes;   /* more: too_large */
    uint64_t upload_bytes; /* the same for PUT, whose body may be taken while it comes; 0: it is as
                              any other */
};

/** Where the bytes seen so far end. */
enum zd_guard_place {
    ZD_GUARD_BETWEEN, /* two requests: nothing of the next one is there */
    ZD_GUARD_HEAD,
    ZD_GUARD_BODY, /* its chunk lines and trailers included */
    ZD_GUARD_FAULT,
};

/** One connection's. Only the first three members are for others to read. */
struct zd_guard {
    uint64_t n_requests; /* that are whole */
    const char *code;    /* of the fault: one of problem.h; NULL: there is none */
    const char *detail;  /* one sentence; static */

    const struct zd_guard_limits *limits;
    uint64_t number;       /* Content-Length, or the size of a chunk */
    uint64_t left;         /* bytes of the body or chunk that are still to come */
    uint64_t body_bytes;   /* of all chunks so far */
    uint64_t head_bytes;   /* so far; of the trailers once the body has ended */
    uint64_t memory_bytes; /* of the head's entries */
    uint32_t target_bytes;
    uint32_t extension_bytes; /* of all chunks so far */
    uint32_t n_fields;
    uint8_t state;   /* enum state of guard.c */
    uint8_t kind;    /* of the field: enum kind */
    uint8_t part;    /* of what the state reads */
    uint8_t n_word;  /* bytes of word in use, or how many there would be */
    uint8_t n_empty; /* lines before the request line */
    uint8_t n_hosts;
    bool has_length;
    bool is_chunked;
    bool is_1_0;
    bool is_head;
    bool is_put;
    bool in_trailers;
    char word[18]; /* the method, or the field's name in lower case: the beginning of it */
    struct zd_guard_line line;
};

/** @param limits borrowed for as long as the guard is used */
void zd_guard_init(struct zd_guard *guard, const struct zd_guard_limits *limits);

/**
 * Judge the bytes that follow those judged before. Not to be called after a fault.
 *
 * What is valid, means nothing, and is not read right by every version of libmicrohttpd is taken
 * out: empty lines before a request, white space after a value that frames it, extensions of
 * chunks.
 *
 * @param bytes       changed in place
 * @param len         how many; then how many are left
 * @param ret_n_whole how many of those left belong to requests that are whole now; the rest begins
 *                    or continues the next one
 * @return false: a fault, told in code and detail; it lies behind those ret_n_whole bytes
 */
bool zd_guard_take(struct zd_guard *guard, uint8_t *bytes, size_t *len, size_t *ret_n_whole);

/** The client sends no more: false, and a fault, when a request was begun. */
bool zd_guard_end(struct zd_guard *guard);

enum zd_guard_place zd_guard_place(const struct zd_guard *guard);

/** What the body of the request under way may have. */
uint64_t zd_guard_body_max(const struct zd_guard *guard);

/** What the log tells of the request under way: up to the byte that is at fault. */
void zd_guard_words(const struct zd_guard *guard, struct zd_guard_words *ret_words);

/** Whether the request under way is a HEAD, whose answer has no body; false when that is not known.
 */
bool zd_guard_is_head(const struct zd_guard *guard);

#endif
