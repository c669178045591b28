/* The judge of request framing.
 *
 *   START -> METHOD -> TARGET -> VERSION -> FIELD <-> NAME -> VALUE        one line is one turn
 *     ^                                       | an empty line
 *     +---- no body ----+-- BODY <------------+--> CHUNK_SIZE -> CHUNK -> (CHUNK_SIZE ..) -> FIELD:
 * trailers
 *
 * A state takes as many bytes as it can at once and never looks ahead, so that a byte means the
 * same wherever the network has cut the stream. */
#include "server/guard.h"

#include <string.h>

#include "core/base/num.h"

#define EMPTY_LINES_MAX     4    /* before a request line; one must be tolerated (RFC 9112, 2.2) */
#define CHUNK_DIGITS_MAX    16   /* of a size: 64 bits */
#define EXTENSION_BYTES_MAX 4096 /* of all chunks of a body: nobody reads them */

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
    HEAD_LF,
    BODY,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
    FAULT,
};

/* The fields that frame a request, and those that take more memory than their bytes. */
enum kind {
    PLAIN,
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    COOKIE,
};

/* The parts of a value that is judged byte by byte. */
enum part {
    BEFORE, /* white space */
    INSIDE,
    IN_BRACKETS, /* of a host: an IP literal */
    AFTER_BRACKETS,
    IN_PORT,
    AFTER, /* white space */
};

/* The parts of a chunk's extensions (RFC 9112, 7.1.1). */
enum extension_part {
    BEFORE_NAME,
    IN_NAME,
    AFTER_NAME,
    BEFORE_VALUE,
    IN_TOKEN,
    IN_QUOTES,
    ESCAPED,
    AFTER_QUOTES,
    AFTER_VALUE,
};

/* What a byte may stand in. Targets hold what browsers send, though RFC 3986 forbids some of it. */
#define TOKEN_BYTE  1 /* RFC 9110, 5.6.2 */
#define TARGET_BYTE 2 /* of a path or query: no control character, no space, no '#' */
#define VALUE_BYTE  4 /* RFC 9110, 5.5 */
#define HOST_BYTE   8 /* of a registered name or an IPv4 address (RFC 3986, 3.2.2) */

/* clang-format off */
static const uint8_t class_of[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, /* 0x00 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 0x10 */
    4, 15, 6, 5, 15, 15, 15, 15, 14, 14, 15, 15, 14, 15, 15, 6, /* 0x20 */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 6, 14, 6, 14, 6, 6, /* 0x30 */
    6, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* 0x40 */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 6, 6, 6, 7, 15, /* 0x50 */
    7, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* 0x60 */
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 6, 7, 6, 15, 0, /* 0x70 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0x80 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0x90 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xa0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xb0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xc0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xd0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xe0 */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 0xf0 */
};
/* clang-format on */

static bool is(uint8_t byte, uint8_t class)
{
    return (class_of[byte] & class) != 0;
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static void fault(struct zd_guard *guard, const char *code, const char *detail)
{
    guard->state = FAULT;
    guard->code = code;
    guard->detail = detail;
}

static void malformed(struct zd_guard *guard, const char *detail)
{
    fault(guard, "bad_request", detail);
}

static void too_long(struct zd_guard *guard)
{
    fault(guard, "uri_too_long", "the request target is longer than limits.url_bytes");
}

static void too_large(struct zd_guard *guard)
{
    fault(
        guard, "headers_too_large", "the request head has too many fields, parameters and cookies");
}

/* One byte that must be there. */
static const uint8_t *expect(
    struct zd_guard *guard, const uint8_t *at, char wanted, enum state next, const char *detail)
{
    if (*at != (uint8_t)wanted) {
        malformed(guard, detail);
        return at;
    }
    guard->state = next;
    return at + 1;
}

/* ---- the request line (RFC 9112, 3) ---- */

static const uint8_t *at_start(struct zd_guard *guard, const uint8_t *at)
{
    if (*at != '\r') {
        guard->state = METHOD;
        return at;
    }
    if (guard->n_empty == EMPTY_LINES_MAX) {
        malformed(guard, "there are too many empty lines before the request line");
        return at;
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
    for (; at < end && is(*at, TOKEN_BYTE); at++) {
        keep_word(guard, *at);
    }
    if (at == end) {
        return at;
    }
    if (*at != ' ' || guard->n_word == 0) {
        malformed(guard, "the request line does not begin with a method and one space");
        return at;
    }
    guard->is_head = word_is(guard, "HEAD");
    guard->state = TARGET;
    return at + 1;
}

/* RFC 9112, 3.2: origin form, absolute form, or "*" for OPTIONS; nobody proxies here. */
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
        malformed(guard, "the request target is neither a path nor an absolute http URL");
        return at;
    }
    guard->target_bytes++;
    guard->part++;
    if (guard->part == sizeof scheme - 1) {
        guard->part = BEFORE;
        guard->state = AUTHORITY;
    }
    return at + 1;
}

/* Where one more byte of uri-host [":" port] leads (RFC 3986, 3.2.2); AFTER: it must not be there.
 */
static enum part host_part(enum part part, uint8_t byte)
{
    const bool is_colon = byte == ':';
    switch (part) {
    case BEFORE:
        if (byte == '[') {
            return IN_BRACKETS;
        }
        return is_colon ? IN_PORT : is(byte, HOST_BYTE) ? INSIDE : AFTER;
    case INSIDE:
        return is_colon ? IN_PORT : is(byte, HOST_BYTE) ? INSIDE : AFTER;
    case IN_BRACKETS:
        if (byte == ']') {
            return AFTER_BRACKETS;
        }
        return is_colon || is(byte, HOST_BYTE) ? IN_BRACKETS : AFTER;
    case AFTER_BRACKETS:
        return is_colon ? IN_PORT : AFTER;
    case IN_PORT:
        return is_digit(byte) ? IN_PORT : AFTER;
    case AFTER:
        break;
    }
    return AFTER;
}

static const uint8_t *in_authority(struct zd_guard *guard, const uint8_t *at)
{
    if (*at == '/' || *at == '?' || *at == ' ') {
        /* A host cannot be empty (RFC 9110, 4.2.1). */
        if (guard->part == BEFORE || guard->part == IN_BRACKETS) {
            malformed(guard, "the request target has no host");
            return at;
        }
        guard->state = PATH;
        return at;
    }
    guard->part = (uint8_t)host_part((enum part)guard->part, *at);
    if (guard->part == AFTER) {
        malformed(guard, "the host of the request target is malformed");
        return at;
    }
    if (guard->target_bytes == guard->limits->target_bytes) {
        too_long(guard);
        return at;
    }
    guard->target_bytes++;
    return at + 1;
}

static void target_ends(struct zd_guard *guard)
{
    guard->part = 0;
    guard->state = VERSION;
}

static const uint8_t *in_path(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *const from = at;
    const uint64_t room = guard->limits->target_bytes - guard->target_bytes;
    const uint8_t *const stop = (uint64_t)(end - at) > room ? at + room : end;
    uint32_t n_params = 0;
    for (; at < stop && is(*at, TARGET_BYTE); at++) {
        n_params += *at == '&' || *at == '?';
    }
    guard->target_bytes += (uint32_t)(at - from);
    guard->memory_bytes += (uint64_t)n_params * ZD_GUARD_ENTRY_BYTES;
    if (at == end) {
        return at;
    }
    if (*at == ' ') {
        target_ends(guard);
        return at + 1;
    }
    if (!is(*at, TARGET_BYTE)) {
        malformed(guard, *at == '#' ? "the request target has a fragment"
                                    : "the request line has a control character, or no version");
    } else {
        too_long(guard);
    }
    return at;
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
        malformed(guard, detail);
        return at;
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
        too_large(guard);
    } else if (is_space(*at)) {
        malformed(guard, "a field is continued on the next line");
    } else {
        guard->n_word = 0;
        guard->state = NAME;
    }
    return at;
}

static enum kind kind_of(const struct zd_guard *guard)
{
    switch (guard->n_word) {
    case 4:
        return word_is(guard, "host") ? HOST : PLAIN;
    case 6:
        return word_is(guard, "cookie") ? COOKIE : PLAIN;
    case 14:
        return word_is(guard, "content-length") ? CONTENT_LENGTH : PLAIN;
    case 17:
        return word_is(guard, "transfer-encoding") ? TRANSFER_ENCODING : PLAIN;
    default:
        return PLAIN;
    }
}

/* Each of those that frame the request stands there once. */
static const char *judge_kind(struct zd_guard *guard)
{
    const enum kind kind = (enum kind)guard->kind;
    if (guard->in_trailers) {
        return kind == PLAIN || kind == COOKIE ? NULL : "a trailer must not frame the request";
    }
    if (kind == HOST) {
        return guard->n_hosts++ == 0 ? NULL : "there is more than one Host";
    }
    if (kind == CONTENT_LENGTH) {
        const bool is_again = guard->has_length;
        guard->has_length = true;
        return is_again ? "there is more than one Content-Length" : NULL;
    }
    if (kind == TRANSFER_ENCODING) {
        const bool is_again = guard->is_chunked;
        guard->is_chunked = true;
        return is_again ? "there is more than one Transfer-Encoding" : NULL;
    }
    return NULL;
}

static const uint8_t *in_name(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    for (; at < end && is(*at, TOKEN_BYTE); at++) {
        keep_word(guard, *at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at);
    }
    if (at == end) {
        return at;
    }
    if (*at != ':' || guard->n_word == 0) {
        malformed(guard, "a field line does not begin with a name and a colon");
        return at;
    }
    guard->kind = (uint8_t)kind_of(guard);
    const char *detail = judge_kind(guard);
    if (detail != NULL) {
        malformed(guard, detail);
        return at;
    }
    guard->part = BEFORE;
    guard->number = 0;
    guard->n_word = 0;
    guard->state = VALUE;
    return at + 1;
}

/* Eight bytes of which none is a control character: what most values are made of. */
static bool is_plain_word(uint64_t word)
{
    static const uint64_t ones = UINT64_MAX / 255;
    static const uint64_t highs = (UINT64_MAX / 255) << 7;
    const uint64_t without_del = word ^ ones * 0x7f;
    const uint64_t below_space = (word - ones * 0x20) & ~word & highs;
    const uint64_t is_del = (without_del - ones) & ~without_del & highs;
    return (below_space | is_del) == 0;
}

static const uint8_t *in_plain_value(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8 && is_plain_word(zd_load_u64(at))) {
        at += 8;
    }
    while (at < end && is(*at, VALUE_BYTE)) {
        at++;
    }
    return at;
}

/* MHD keeps a second copy of them, and an entry each. */
static const uint8_t *in_cookies(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    for (; at < end && is(*at, VALUE_BYTE); at++) {
        guard->memory_bytes += *at == ';' ? 1 + ZD_GUARD_ENTRY_BYTES : 1;
    }
    return at;
}

static const char *take_host(struct zd_guard *guard, uint8_t byte)
{
    if (guard->part != BEFORE && guard->part != IN_BRACKETS && is_space(byte)) {
        guard->part = AFTER;
        return NULL;
    }
    guard->part = (uint8_t)host_part((enum part)guard->part, byte);
    return guard->part == AFTER ? "the Host is malformed" : NULL;
}

static const char *take_length(struct zd_guard *guard, uint8_t byte)
{
    if (!is_digit(byte)) {
        return "the Content-Length is not a number";
    }
    guard->part = INSIDE;
    /* Whether it fits is told once the head is there; past 2^64 it stays too large. */
    if (ckd_mul(&guard->number, guard->number, 10) ||
        ckd_add(&guard->number, guard->number, byte - '0')) {
        return "the Content-Length does not fit 64 bits";
    }
    return NULL;
}

static const char *take_coding(struct zd_guard *guard, uint8_t byte)
{
    static const char coding[] = "chunked";
    const size_t len = sizeof coding - 1;
    if (guard->n_word == len || (byte | 0x20) != (uint8_t)coding[guard->n_word]) {
        return "the Transfer-Encoding is not 'chunked' alone";
    }
    guard->n_word++;
    return NULL;
}

static const char *take_framing(struct zd_guard *guard, uint8_t byte)
{
    if (guard->part == BEFORE && guard->n_word == 0 && is_space(byte)) {
        return NULL;
    }
    if (guard->part == AFTER && is_space(byte)) {
        return NULL;
    }
    switch ((enum kind)guard->kind) {
    case HOST:
        return take_host(guard, byte);
    case CONTENT_LENGTH:
        return take_length(guard, byte);
    case TRANSFER_ENCODING:
        return take_coding(guard, byte);
    case PLAIN:
    case COOKIE:
        break;
    }
    return NULL;
}

/* A value that frames the request is there: is it whole? */
static const char *judge_value(struct zd_guard *guard)
{
    switch ((enum kind)guard->kind) {
    case HOST:
        return guard->part == IN_BRACKETS ? "the Host is malformed" : NULL;
    case CONTENT_LENGTH:
        guard->left = guard->number;
        return guard->part == BEFORE ? "the Content-Length is not a number" : NULL;
    case TRANSFER_ENCODING:
        return guard->n_word != 7 ? "the Transfer-Encoding is not 'chunked' alone" : NULL;
    case PLAIN:
    case COOKIE:
        break;
    }
    return NULL;
}

static const uint8_t *in_framing(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    for (; at < end && is(*at, VALUE_BYTE); at++) {
        const char *detail = take_framing(guard, *at);
        if (detail != NULL) {
            malformed(guard, detail);
            break;
        }
    }
    return at;
}

static const uint8_t *in_value(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    if (guard->kind == PLAIN) {
        at = in_plain_value(at, end);
    } else {
        at = guard->kind == COOKIE ? in_cookies(guard, at, end) : in_framing(guard, at, end);
    }
    if (at == end || guard->state == FAULT) {
        return at;
    }
    const char *detail = *at == '\r' ? judge_value(guard) : "a field value has a control character";
    if (detail != NULL) {
        malformed(guard, detail);
        return at;
    }
    guard->state = LINE_LF;
    return at + 1;
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
    if (guard->n_hosts == 0 && !guard->is_1_0) {
        return "there is no Host";
    }
    if (guard->is_chunked && guard->has_length) {
        return "there are both Content-Length and Transfer-Encoding";
    }
    return guard->is_chunked && guard->is_1_0 ? "HTTP/1.0 has no Transfer-Encoding" : NULL;
}

static bool has_room(struct zd_guard *guard, uint64_t n_more)
{
    if (n_more > guard->limits->body_bytes - guard->body_bytes) {
        fault(guard, "too_large", "the body is longer than limits.body_bytes");
        return false;
    }
    return true;
}

static void head_ends(struct zd_guard *guard)
{
    const char *detail = judge_head(guard);
    if (detail != NULL) {
        malformed(guard, detail);
    } else if (is_over_memory(guard)) {
        too_large(guard);
    } else if (guard->is_chunked) {
        guard->part = 0;
        guard->number = 0;
        guard->state = CHUNK_SIZE;
    } else if (guard->left == 0) {
        request_ends(guard);
    } else if (has_room(guard, guard->left)) {
        guard->state = BODY;
    }
}

static const uint8_t *at_head_lf(struct zd_guard *guard, const uint8_t *at)
{
    if (*at != '\n') {
        malformed(guard, "a line ends with CR alone");
        return at;
    }
    if (guard->in_trailers) {
        request_ends(guard);
    } else {
        head_ends(guard);
    }
    return guard->state == FAULT ? at : at + 1;
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

static int hex_digit(uint8_t byte)
{
    const uint8_t letter = byte | 0x20;
    if (is_digit(byte)) {
        return byte - '0';
    }
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* part counts the digits. */
static const uint8_t *in_chunk_size(struct zd_guard *guard, const uint8_t *at)
{
    const int digit = hex_digit(*at);
    if (digit >= 0 && guard->part < CHUNK_DIGITS_MAX) {
        guard->number = guard->number << 4 | (uint64_t)digit;
        guard->part++;
        return at + 1;
    }
    if (guard->part == 0 || (*at != '\r' && *at != ';')) {
        malformed(guard, "the size of a chunk is malformed");
        return at;
    }
    guard->state = *at == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_LF;
    guard->part = BEFORE_NAME;
    return at + 1;
}

static int after_name(uint8_t byte)
{
    if (byte == '=') {
        return BEFORE_VALUE;
    }
    return byte == ';' ? BEFORE_NAME : is_space(byte) ? AFTER_NAME : -1;
}

static int after_value(uint8_t byte)
{
    return byte == ';' ? BEFORE_NAME : is_space(byte) ? AFTER_VALUE : -1;
}

/* Where one more byte of an extension leads; -1: it must not be there. White space around '=' and
 * ';' is bad, but has to be read. */
static int extension_part(enum extension_part part, uint8_t byte)
{
    switch (part) {
    case BEFORE_NAME:
        return is_space(byte) ? BEFORE_NAME : is(byte, TOKEN_BYTE) ? IN_NAME : -1;
    case IN_NAME:
        return is(byte, TOKEN_BYTE) ? IN_NAME : after_name(byte);
    case AFTER_NAME:
        return after_name(byte);
    case BEFORE_VALUE:
        if (byte == '"') {
            return IN_QUOTES;
        }
        return is_space(byte) ? BEFORE_VALUE : is(byte, TOKEN_BYTE) ? IN_TOKEN : -1;
    case IN_TOKEN:
        return is(byte, TOKEN_BYTE) ? IN_TOKEN : after_value(byte);
    case IN_QUOTES:
        if (byte == '"') {
            return AFTER_QUOTES;
        }
        return byte == '\\' ? ESCAPED : is(byte, VALUE_BYTE) ? IN_QUOTES : -1;
    case ESCAPED:
        return is(byte, VALUE_BYTE) ? IN_QUOTES : -1;
    case AFTER_QUOTES:
    case AFTER_VALUE:
        return after_value(byte);
    }
    return -1;
}

static const uint8_t *in_extension(struct zd_guard *guard, const uint8_t *at)
{
    if (*at == '\r' &&
        (guard->part == IN_NAME || guard->part == IN_TOKEN || guard->part == AFTER_QUOTES)) {
        guard->state = CHUNK_SIZE_LF;
        return at + 1;
    }
    const int part = extension_part((enum extension_part)guard->part, *at);
    if (part < 0 || guard->extension_bytes == EXTENSION_BYTES_MAX) {
        malformed(guard,
            part < 0 ? "a chunk's extension is malformed" : "the chunks have too many extensions");
        return at;
    }
    guard->part = (uint8_t)part;
    guard->extension_bytes++;
    return at + 1;
}

static const uint8_t *at_chunk_size_lf(struct zd_guard *guard, const uint8_t *at)
{
    if (*at != '\n') {
        malformed(guard, "a chunk's size does not end with CR and LF");
        return at;
    }
    if (!has_room(guard, guard->number)) {
        return at;
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

static bool is_in_head(const struct zd_guard *guard)
{
    return guard->state > START_LF && guard->state <= HEAD_LF;
}

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
        return expect(guard, at, '\n', FIELD, "a line ends with CR alone");
    case FIELD:
        return at_field(guard, at);
    case NAME:
        return in_name(guard, at, end);
    case VALUE:
        return in_value(guard, at, end);
    case HEAD_LF:
        return at_head_lf(guard, at);
    default:
        return at;
    }
}

/* One state's step, within what a head may have. */
static const uint8_t *step_head(struct zd_guard *guard, const uint8_t *at, const uint8_t *end)
{
    const uint64_t room = guard->limits->head_bytes - guard->head_bytes;
    if (room == 0 && guard->state >= TARGET && guard->state <= PATH) {
        too_long(guard);
        return at;
    }
    if (room == 0) {
        fault(guard, "headers_too_large", "the request head is longer than http.connection_bytes");
        return at;
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
        return expect(guard, at, '\n', START, "a line ends with CR alone");
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

bool zd_guard_take(struct zd_guard *guard, struct zd_span bytes, size_t *ret_n_whole)
{
    const uint8_t *at = bytes.ptr;
    const uint8_t *const end = at + bytes.len;
    const uint8_t *whole = at;
    while (at < end && guard->state != FAULT) {
        const uint64_t n_requests = guard->n_requests;
        at = step(guard, at, end);
        if (guard->n_requests != n_requests) {
            whole = at;
        }
    }
    *ret_n_whole = (size_t)(whole - bytes.ptr);
    return guard->state != FAULT;
}

bool zd_guard_end(struct zd_guard *guard)
{
    if (guard->state == START || guard->state == START_LF) {
        return true;
    }
    malformed(guard, "the request ends before it is whole");
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
    return is_in_head(guard) && !guard->in_trailers ? ZD_GUARD_HEAD : ZD_GUARD_BODY;
}

bool zd_guard_is_head(const struct zd_guard *guard)
{
    return guard->is_head;
}
