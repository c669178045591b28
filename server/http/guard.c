/* Checks the framing of requests.
 *
 *   START -> METHOD -> TARGET -> VERSION -> FIELD <-> NAME -> VALUE   one line is one turn
 *     ^                                      |
 *     +--- no body ---+--- BODY <--- an empty line ---> CHUNK_SIZE <-> CHUNK
 *     |                                                     |
 *     +-------------------------- FIELD ... <--- size 0 ----+           trailers
 *
 * A state takes as many bytes as it can at once and never looks ahead, so that a byte means the
 * same wherever the network has cut the stream. This file is one idea, and may be longer than 600
 * lines. */
#include "server/http/guard.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "server/http/guard_syntax.h"

#define EMPTY_LINES_MAX     4    /* before a request line; one must be tolerated (RFC 9112, 2.2) */
#define CHUNK_DIGITS_MAX    16   /* of a size: 64 bits */
#define EXTENSION_BYTES_MAX 4096 /* of all chunks of a body */

enum state {
    START, /* of a request line */
    START_LF,
    METHOD,
    TARGET,    /* its first byte */
    SCHEME,    /* of an absolute target */
    AUTHORITY, /* of an absolute target */
    PATH,
    ASTERISK,
    VERSION,
    LINE_LF,
    FIELD, /* the first byte of a line */
    NAME,
    VALUE,
    VALUE_SPACE, /* after a value that frames the request */
    HEAD_LF,
    BODY,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_CR,
    CHUNK_SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
    FAULT,
};

/* Fields that frame a request, or take more memory than their bytes. */
enum kind {
    PLAIN,
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    COOKIE,
};

/* Each of these returns the place of the fault, whose bytes are not taken. */
static const uint8_t *fault(
    struct zd_guard *guard, const uint8_t *at, const char *code, const char *detail)
{
    guard->state = FAULT;
    guard->code = code;
    guard->detail = detail;
    return at;
}

static const uint8_t *malformed(struct zd_guard *guard, const uint8_t *at, const char *detail)
{
    return fault(guard, at, "bad_request", detail);
}

static const uint8_t *too_long(struct zd_guard *guard, const uint8_t *at)
{
    return fault(guard, at, "uri_too_long", "the request target exceeds limits.url_bytes");
}

static const uint8_t *too_large(struct zd_guard *guard, const uint8_t *at)
{
    return fault(guard, at, "headers_too_large",
        "the request head has too many fields, parameters and cookies");
}

/* Take an expected byte. */
static const uint8_t *expect(
    struct zd_guard *guard, const uint8_t *at, char wanted, enum state next, const char *detail)
{
    if (*at != (uint8_t)wanted) {
        return malformed(guard, at, detail);
    }
    guard->state = next;
    return at + 1;
}

/* ---- the request line (RFC 9112, 3) ---- */

static const uint8_t *at_start(struct zd_guard *guard, const uint8_t *at)
{
    guard->n_line = 0;
    if (*at != '\r') {
        guard->state = METHOD;
        return at;
    }
    if (guard->n_empty == EMPTY_LINES_MAX) {
        return malformed(guard, at, "too many empty lines before the request line");
    }
    guard->n_empty++;
    guard->state = START_LF;
    return at + 1;
}

static void keep_word(struct zd_guard *guard, uint8_t byte)
{
    if (guard->n_word < sizeof guard->word) {
        guard->word[guard->n_word++] = (char)byte;
    }
}

static bool word_is(const struct zd_guard *guard, const char *word)
{
    const size_t len = strlen(word);
    return guard->n_word == len && memcmp(guard->word, word, len) == 0;
}

static const uint8_t *in_method(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    for (; at < end && zd_guard_syntax_is(*at, ZD_BYTE_TOKEN); at++) {
        keep_word(guard, *at);
    }
    if (at == end) {
        return at;
    }
    if (*at != ' ' || guard->n_word == 0) {
        return malformed(guard, at, "the request line does not begin with a method and one space");
    }
    guard->is_head = word_is(guard, "HEAD");
    guard->is_put = word_is(guard, "PUT");
    guard->state = TARGET;
    return at + 1;
}

/* RFC 9112, 3.2: origin form, absolute form, or "*" for OPTIONS; this server is no proxy. */
static const uint8_t *at_target(struct zd_guard *guard, const uint8_t *at)
{
    if (*at == '/') {
        guard->state = PATH;
        return at;
    }
    if (*at == '*' && word_is(guard, "OPTIONS")) {
        guard->state = ASTERISK;
        guard->target_bytes = 1;
        return at + 1;
    }
    guard->part = 0;
    guard->state = SCHEME;
    return at;
}

/* "http://" or "https://"; part counts its bytes, without the 's'. */
static const uint8_t *in_scheme(struct zd_guard *guard, const uint8_t *at)
{
    static const char scheme[] = "http://";
    const uint8_t byte = *at;
    const bool is_letter = guard->part < 4;
    if (guard->part == 4 && guard->target_bytes == 4 && (byte == 's' || byte == 'S')) {
        guard->target_bytes++;
        return at + 1;
    }
    if ((is_letter ? (byte | 0x20) : byte) != (uint8_t)scheme[guard->part]) {
        return malformed(
            guard, at, "the request target is neither a path nor an absolute http URL");
    }
    guard->target_bytes++;
    guard->part++;
    if (guard->part == sizeof scheme - 1) {
        guard->part = ZD_HOST_BEGIN;
        guard->state = AUTHORITY;
    }
    return at + 1;
}

static const uint8_t *in_authority(struct zd_guard *guard, const uint8_t *at)
{
    if (*at == '/' || *at == '?' || *at == ' ') {
        /* A host cannot be empty (RFC 9110, 4.2.1). */
        if (guard->part == ZD_HOST_BEGIN || guard->part == ZD_HOST_BRACKETS) {
            return malformed(guard, at, "the request target has no host");
        }
        guard->state = PATH;
        return at;
    }
    guard->part = (uint8_t)zd_guard_syntax_host((enum zd_host_part)guard->part, *at);
    if (guard->part == ZD_HOST_BAD) {
        return malformed(guard, at, "the host of the request target is malformed");
    }
    if (guard->target_bytes == guard->limits->target_bytes) {
        return too_long(guard, at);
    }
    guard->target_bytes++;
    return at + 1;
}

static const uint8_t *in_path(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *const from = at;
    const uint64_t room = guard->limits->target_bytes - guard->target_bytes;
    const uint8_t *const stop = (uint64_t)(end - at) > room ? at + room : end;
    uint32_t n_params = 0;
    for (; at < stop && zd_guard_syntax_is(*at, ZD_BYTE_TARGET); at++) {
        n_params += *at == '&' || *at == '?';
    }
    guard->target_bytes += (uint32_t)(at - from);
    guard->memory_bytes += (uint64_t)n_params * ZD_GUARD_ENTRY_BYTES;
    if (at == end) {
        return at;
    }
    if (*at == ' ') {
        guard->part = 0;
        guard->state = VERSION;
        return at + 1;
    }
    if (!zd_guard_syntax_is(*at, ZD_BYTE_TARGET)) {
        return malformed(guard, at,
            *at == '#' ? "the request target has a fragment"
                       : "the request line contains a control character or lacks a version");
    }
    return too_long(guard, at);
}

/* "HTTP/1.1" or "HTTP/1.0"; part counts its bytes. */
static const uint8_t *in_version(struct zd_guard *guard, const uint8_t *at)
{
    static const char version[] = "HTTP/1.";
    static const char detail[] =
        "the request line does not end with one space and HTTP/1.1 or HTTP/1.0";
    const uint8_t byte = *at;
    const size_t minor_at = sizeof version - 1;
    if (guard->part == minor_at + 1) {
        return expect(guard, at, '\r', LINE_LF, detail);
    }
    if (guard->part == minor_at ? byte != '0' && byte != '1'
                                : byte != (uint8_t)version[guard->part]) {
        return malformed(guard, at, detail);
    }
    guard->is_1_0 = guard->part == minor_at && byte == '0';
    guard->part++;
    return at + 1;
}

/* ---- fields (RFC 9112, 5) ---- */

static bool is_over_memory(const struct zd_guard *guard)
{
    return guard->memory_bytes + guard->head_bytes > guard->limits->memory_bytes;
}

static const uint8_t *at_field(struct zd_guard *guard, const uint8_t *at)
{
    if (*at == '\r') {
        guard->state = HEAD_LF;
        return at + 1;
    }
    guard->n_fields++;
    guard->memory_bytes += ZD_GUARD_ENTRY_BYTES;
    if (guard->n_fields > guard->limits->n_fields || is_over_memory(guard)) {
        return too_large(guard, at);
    }
    if (zd_guard_syntax_is_space(*at)) {
        return malformed(
            guard, at, "a field continues on the next line (obs-fold), which is not allowed");
    }
    guard->n_word = 0;
    guard->state = NAME;
    return at;
}

static enum kind kind_of(const struct zd_guard *guard)
{
    return word_is(guard, "host")                ? HOST
           : word_is(guard, "cookie")            ? COOKIE
           : word_is(guard, "content-length")    ? CONTENT_LENGTH
           : word_is(guard, "transfer-encoding") ? TRANSFER_ENCODING
                                                 : PLAIN;
}

/* A field that frames the request may be given once. */
static const char *judge_kind(struct zd_guard *guard)
{
    static const char *const repeated[] = {
        [HOST] = "Host is given more than once",
        [CONTENT_LENGTH] = "Content-Length is given more than once",
        [TRANSFER_ENCODING] = "Transfer-Encoding is given more than once",
    };
    const enum kind kind = (enum kind)guard->kind;
    if (kind == PLAIN || kind == COOKIE) {
        return NULL;
    }
    if (guard->in_trailers) {
        return "trailers must not contain Host, Content-Length or Transfer-Encoding";
    }
    bool *has = kind == HOST             ? &guard->has_host
                : kind == CONTENT_LENGTH ? &guard->has_length
                                         : &guard->is_chunked;
    const char *detail = *has ? repeated[kind] : NULL;
    *has = true;
    return detail;
}

static const uint8_t *in_name(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    size_t n_word = guard->n_word;
    for (; at < end && zd_guard_syntax_is(*at, ZD_BYTE_TOKEN); at++) {
        if (n_word < sizeof guard->word) {
            guard->word[n_word++] = (char)(*at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at);
        }
    }
    guard->n_word = (uint8_t)n_word;
    if (at == end) {
        return at;
    }
    if (*at != ':' || guard->n_word == 0) {
        return malformed(guard, at, "a field line does not begin with a name and a colon");
    }
    guard->kind = (uint8_t)kind_of(guard);
    const char *detail = judge_kind(guard);
    if (detail != NULL) {
        return malformed(guard, at, detail);
    }
    guard->part = 0;
    guard->number = 0;
    guard->n_word = 0;
    guard->state = VALUE;
    return at + 1;
}

/* libmicrohttpd keeps a second copy of each, and an entry. */
static const uint8_t *in_cookies(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    for (; at < end && zd_guard_syntax_is(*at, ZD_BYTE_VALUE); at++) {
        guard->memory_bytes += *at == ';' ? 1 + ZD_GUARD_ENTRY_BYTES : 1;
    }
    return at;
}

static const char *const malformed_value[] = {
    [HOST] = "the Host header is malformed",
    [CONTENT_LENGTH] = "Content-Length must be an integer below 2^64",
    [TRANSFER_ENCODING] = "Transfer-Encoding must be exactly 'chunked'",
};

static bool take_coding(struct zd_guard *guard, uint8_t byte)
{
    static const char coding[] = "chunked";
    if (guard->part == sizeof coding - 1 || (byte | 0x20) != (uint8_t)coding[guard->part]) {
        return false;
    }
    guard->part++;
    return true;
}

static bool take_digit(struct zd_guard *guard, uint8_t byte)
{
    guard->part = 1;
    return zd_guard_syntax_is_digit(byte) && !ckd_mul(&guard->number, guard->number, 10) &&
           !ckd_add(&guard->number, guard->number, byte - '0');
}

/* Take a byte of a value that frames the request; part is 0 until it begins. */
static bool take_framing(struct zd_guard *guard, uint8_t byte)
{
    if (guard->kind == HOST) {
        guard->part = (uint8_t)zd_guard_syntax_host((enum zd_host_part)guard->part, byte);
        return guard->part != ZD_HOST_BAD;
    }
    return guard->kind == CONTENT_LENGTH ? take_digit(guard, byte) : take_coding(guard, byte);
}

/* Whether the value may end here. */
static bool value_may_end(struct zd_guard *guard)
{
    if (guard->kind == HOST) {
        return guard->part != ZD_HOST_BRACKETS;
    }
    if (guard->kind == CONTENT_LENGTH) {
        guard->left = guard->number;
        return guard->part > 0;
    }
    return guard->kind != TRANSFER_ENCODING || guard->part == strlen("chunked");
}

static const uint8_t *in_framing(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    for (; at < end && zd_guard_syntax_is(*at, ZD_BYTE_VALUE); at++) {
        if (zd_guard_syntax_is_space(*at) && guard->part > 0) {
            guard->state = VALUE_SPACE;
            return at;
        }
        if (!zd_guard_syntax_is_space(*at) && !take_framing(guard, *at)) {
            return malformed(guard, at, malformed_value[guard->kind]);
        }
    }
    return at;
}

static const uint8_t *value_ends(struct zd_guard *guard, const uint8_t *at)
{
    if (*at != '\r') {
        return malformed(guard, at, "a field value has a control character");
    }
    if (!value_may_end(guard)) {
        return malformed(guard, at, malformed_value[guard->kind]);
    }
    guard->state = LINE_LF;
    return at + 1;
}

static const uint8_t *in_value_space(struct zd_guard *guard, const uint8_t *at)
{
    if (zd_guard_syntax_is_space(*at)) {
        return at + 1;
    }
    if (*at != '\r') {
        return malformed(guard, at, malformed_value[guard->kind]);
    }
    guard->state = VALUE;
    return at;
}

static const uint8_t *in_value(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    if (guard->kind == PLAIN) {
        at = zd_guard_syntax_value_end(at, end);
    } else {
        at = guard->kind == COOKIE ? in_cookies(guard, at, end) : in_framing(guard, at, end);
    }
    return at == end || guard->state != VALUE ? at : value_ends(guard, at);
}

/* ---- bodies (RFC 9112, 6 and 7) ---- */

static void request_ends(struct zd_guard *guard)
{
    const uint64_t n_requests = guard->n_requests + 1;
    zd_guard_init(guard, guard->limits);
    guard->n_requests = n_requests;
}

static const char *judge_head(const struct zd_guard *guard)
{
    if (!guard->has_host && !guard->is_1_0) {
        return "the Host header is missing";
    }
    if (guard->is_chunked && guard->has_length) {
        return "Content-Length and Transfer-Encoding cannot be combined";
    }
    return guard->is_chunked && guard->is_1_0 ? "HTTP/1.0 does not allow Transfer-Encoding" : NULL;
}

static bool has_room(const struct zd_guard *guard, uint64_t n_more)
{
    return n_more <= zd_guard_body_max(guard) - guard->body_bytes;
}

static const uint8_t *body_too_large(struct zd_guard *guard, const uint8_t *at)
{
    return fault(guard, at, "too_large",
        zd_guard_body_max(guard) == guard->limits->body_bytes
            ? "the body exceeds limits.body_bytes"
            : "the body exceeds limits.upload_bytes");
}

static const uint8_t *at_head_lf(struct zd_guard *guard, const uint8_t *at)
{
    const char *detail = *at == '\n' ? NULL : "a line ends with CR without LF";
    if (detail == NULL && !guard->in_trailers) {
        detail = judge_head(guard);
    }
    if (detail != NULL) {
        return malformed(guard, at, detail);
    }
    if (guard->in_trailers) {
        request_ends(guard);
    } else if (is_over_memory(guard)) {
        return too_large(guard, at);
    } else if (guard->is_chunked) {
        guard->part = 0;
        guard->number = 0;
        guard->state = CHUNK_SIZE;
    } else if (guard->left == 0) {
        request_ends(guard);
    } else if (has_room(guard, guard->left)) {
        guard->state = BODY;
    } else {
        return body_too_large(guard, at);
    }
    return at + 1;
}

static const uint8_t *in_body(
    struct zd_guard *guard, const uint8_t *at, const uint8_t *end, enum state next)
{
    const uint64_t n = zd_min_u64((uint64_t)(end - at), guard->left);
    guard->left -= n;
    if (guard->left == 0) {
        guard->state = next;
    }
    return at + n;
}

/* part counts the digits. */
static const uint8_t *in_chunk_size(struct zd_guard *guard, const uint8_t *at)
{
    const int digit = zd_guard_syntax_hex(*at);
    if (digit >= 0 && guard->part < CHUNK_DIGITS_MAX) {
        guard->number = guard->number << 4 | (uint64_t)digit;
        guard->part++;
        return at + 1;
    }
    if (guard->part == 0 || (*at != '\r' && *at != ';' && !zd_guard_syntax_is_space(*at))) {
        return malformed(guard, at, "a chunk size is malformed");
    }
    guard->state = *at == '\r' ? CHUNK_SIZE_CR : CHUNK_EXTENSION;
    guard->part = ZD_EXTENSION_AFTER;
    return at;
}

static const uint8_t *in_extension(struct zd_guard *guard, const uint8_t *at)
{
    const enum zd_extension_part part = (enum zd_extension_part)guard->part;
    if (*at == '\r' && zd_guard_syntax_extension_may_end(part)) {
        guard->state = CHUNK_SIZE_CR;
        return at;
    }
    guard->part = (uint8_t)zd_guard_syntax_extension(part, *at);
    if (guard->part == ZD_EXTENSION_BAD) {
        return malformed(guard, at, "a chunk extension is malformed");
    }
    if (guard->extension_bytes == EXTENSION_BYTES_MAX) {
        return malformed(guard, at, "the chunk extensions are too long");
    }
    guard->extension_bytes++;
    return at + 1;
}

static const uint8_t *at_chunk_size_lf(struct zd_guard *guard, const uint8_t *at)
{
    if (*at != '\n') {
        return malformed(guard, at, "a chunk size does not end with CR and LF");
    }
    if (!has_room(guard, guard->number)) {
        return body_too_large(guard, at);
    }
    guard->left = guard->number;
    guard->body_bytes += guard->number;
    guard->part = 0;
    guard->number = 0;
    guard->state = CHUNK;
    if (guard->left == 0) {
        guard->in_trailers = true;
        guard->state = FIELD;
    }
    return at + 1;
}

/* ---- the whole ---- */

static const uint8_t *take_head(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    switch ((enum state)guard->state) {
    case METHOD:
        return in_method(guard, at, end);
    case TARGET:
        return at_target(guard, at);
    case SCHEME:
        return in_scheme(guard, at);
    case AUTHORITY:
        return in_authority(guard, at);
    case PATH:
        return in_path(guard, at, end);
    case ASTERISK:
        guard->part = 0;
        return expect(guard, at, ' ', VERSION, "the request target begins with '*'");
    case VERSION:
        return in_version(guard, at);
    case LINE_LF:
        return expect(guard, at, '\n', FIELD, "a line ends with CR without LF");
    case FIELD:
        return at_field(guard, at);
    case NAME:
        return in_name(guard, at, end);
    case VALUE:
        return in_value(guard, at, end);
    case VALUE_SPACE:
        return in_value_space(guard, at);
    case HEAD_LF:
        return at_head_lf(guard, at);
    default:
        return at;
    }
}

/* The step of one state, within the limits of a head. */
static const uint8_t *step_head(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    const uint64_t room = guard->limits->head_bytes - guard->head_bytes;
    if (room == 0 && guard->state >= TARGET && guard->state <= PATH) {
        return too_long(guard, at);
    }
    if (room == 0) {
        return fault(
            guard, at, "headers_too_large", "the request head exceeds http.connection_bytes");
    }
    const uint8_t *const stop = (uint64_t)(end - at) > room ? at + room : end;
    const uint64_t n_requests = guard->n_requests;
    const uint8_t *const next = take_head(guard, at, stop);
    if (guard->n_requests == n_requests) {
        guard->head_bytes += (uint64_t)(next - at);
    }
    return next;
}

static const uint8_t *step(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    switch ((enum state)guard->state) {
    case START:
        return at_start(guard, at);
    case START_LF:
        return expect(guard, at, '\n', START, "a line ends with CR without LF");
    case BODY:
        at = in_body(guard, at, end, START);
        if (guard->state == START) {
            request_ends(guard);
        }
        return at;
    case CHUNK_SIZE:
        return in_chunk_size(guard, at);
    case CHUNK_EXTENSION:
        return in_extension(guard, at);
    case CHUNK_SIZE_CR:
        return expect(guard, at, '\r', CHUNK_SIZE_LF, "a chunk size is malformed");
    case CHUNK_SIZE_LF:
        return at_chunk_size_lf(guard, at);
    case CHUNK:
        return in_body(guard, at, end, CHUNK_CR);
    case CHUNK_CR:
        return expect(guard, at, '\r', CHUNK_LF, "a chunk is longer than its size");
    case CHUNK_LF:
        return expect(guard, at, '\n', CHUNK_SIZE, "a chunk does not end with CR and LF");
    default:
        return step_head(guard, at, end);
    }
}

void zd_guard_init(struct zd_guard *guard, const struct zd_guard_limits *limits)
{
    *guard = (struct zd_guard){.limits = limits};
}

/* Meaningless bytes that some version of libmicrohttpd misreads. */
static bool is_dropped(enum state state)
{
    return state == START || state == START_LF || state == VALUE_SPACE || state == CHUNK_EXTENSION;
}

static bool is_in_line(enum state state)
{
    return state >= METHOD && state <= ASTERISK;
}

static void keep_line(struct zd_guard *guard, const uint8_t *bytes, size_t len)
{
    const size_t n = zd_min_u64(len, sizeof guard->line - guard->n_line);
    memcpy(guard->line + guard->n_line, bytes, n);
    guard->n_line = (uint8_t)(guard->n_line + n);
}

bool zd_guard_take(struct zd_guard *guard, uint8_t *bytes, size_t *len, size_t *ret_n_whole)
{
    const uint8_t *at = bytes;
    const uint8_t *const end = bytes + *len;
    uint8_t *to = bytes;
    size_t n_whole = 0;
    while (at < end && guard->state != FAULT) {
        const uint64_t n_requests = guard->n_requests;
        const enum state state = (enum state)guard->state;
        const uint8_t *const next = step(guard, at, end);
        const size_t n = (size_t)(next - at);
        if (is_in_line(state)) {
            keep_line(guard, at, n);
        }
        if (!is_dropped(state)) {
            if (to != at) {
                memmove(to, at, n);
            }
            to += n;
        }
        at = next;
        if (guard->n_requests != n_requests) {
            n_whole = (size_t)(to - bytes);
        }
    }
    *len = (size_t)(to - bytes);
    *ret_n_whole = n_whole;
    return guard->state != FAULT;
}

bool zd_guard_end(struct zd_guard *guard)
{
    if (guard->state == START || guard->state == START_LF) {
        return true;
    }
    (void)malformed(guard, NULL, "the connection ended in the middle of a request");
    return false;
}

enum zd_guard_place zd_guard_place(const struct zd_guard *guard)
{
    if (guard->state == FAULT) {
        return ZD_GUARD_FAULT;
    }
    if (guard->state <= START_LF) {
        return ZD_GUARD_BETWEEN;
    }
    return guard->state <= HEAD_LF && !guard->in_trailers ? ZD_GUARD_HEAD : ZD_GUARD_BODY;
}

uint64_t zd_guard_body_max(const struct zd_guard *guard)
{
    const struct zd_guard_limits *limits = guard->limits;
    return guard->is_put ? zd_max_u64(limits->upload_bytes, limits->body_bytes)
                         : limits->body_bytes;
}

static void copy_word(char to[ZD_GUARD_LINE_BYTES + 1], const char *word, size_t len)
{
    (void)snprintf(
        to, ZD_GUARD_LINE_BYTES + 1, "%.*s", len == 0 ? 1 : (int)len, len == 0 ? "-" : word);
}

void zd_guard_words(const struct zd_guard *guard, struct zd_guard_words *ret_words)
{
    const size_t n = zd_guard_place(guard) == ZD_GUARD_BETWEEN ? 0 : guard->n_line;
    const char *space = memchr(guard->line, ' ', n);
    const size_t method_len = space == NULL ? n : (size_t)(space - guard->line);
    const size_t target_at = space == NULL ? n : method_len + 1;
    const char *end = memchr(guard->line + target_at, ' ', n - target_at);
    const size_t target_len = (end == NULL ? n : (size_t)(end - guard->line)) - target_at;
    copy_word(ret_words->method, guard->line, method_len);
    copy_word(ret_words->target, guard->line + target_at, target_len);
}
