/* What may stand where in a request: bytes, hosts, the extensions of chunks. Thread: any. */
#ifndef ZD_HTTP_GUARD_SYNTAX_H
#define ZD_HTTP_GUARD_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

/* Targets hold what browsers send, though RFC 3986 forbids some of it. */
#define ZD_BYTE_TOKEN  1 /* RFC 9110, 5.6.2 */
#define ZD_BYTE_TARGET 2 /* of a path or query: no control character, no space, no '#' */
#define ZD_BYTE_VALUE  4 /* RFC 9110, 5.5 */
#define ZD_BYTE_HOST   8 /* of a registered name or an IPv4 address (RFC 3986, 3.2.2) */

/** The sum of those that a byte belongs to. */
extern const uint8_t zd_byte_classes[256];

static inline bool zd_byte_is(uint8_t byte, uint8_t class)
{
    return (zd_byte_classes[byte] & class) != 0;
}

static inline bool zd_byte_is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static inline bool zd_byte_is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/** What a hexadecimal digit counts, or -1. */
int zd_hex_digit(uint8_t byte);

/** The first byte from `at` on that is no ZD_BYTE_VALUE, or end. */
const uint8_t *zd_value_end(const uint8_t *at, const uint8_t *end);

/** Where in uri-host [":" port] (RFC 9110, 7.2). It may end anywhere but in brackets. */
enum zd_host_part {
    ZD_HOST_BEGIN,
    ZD_HOST_NAME,
    ZD_HOST_BRACKETS, /* an IP literal */
    ZD_HOST_AFTER_BRACKETS,
    ZD_HOST_PORT,
    ZD_HOST_BAD,
};

/** Where one more byte leads; ZD_HOST_BAD: it must not be there. */
enum zd_host_part zd_host_next(enum zd_host_part part, uint8_t byte);

/** Where in *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ) (RFC 9112, 7.1.1). */
enum zd_extension_part {
    ZD_EXTENSION_AFTER, /* one that has ended with white space; here the first one begins */
    ZD_EXTENSION_SEMICOLON,
    ZD_EXTENSION_NAME,
    ZD_EXTENSION_AFTER_NAME,
    ZD_EXTENSION_EQUALS,
    ZD_EXTENSION_TOKEN,
    ZD_EXTENSION_QUOTES,
    ZD_EXTENSION_ESCAPE,
    ZD_EXTENSION_AFTER_QUOTES,
    ZD_EXTENSION_BAD,
};

/** Where one more byte leads; ZD_EXTENSION_BAD: it must not be there. */
enum zd_extension_part zd_extension_next(enum zd_extension_part part, uint8_t byte);

/** Whether the line may end there. */
bool zd_extension_may_end(enum zd_extension_part part);

#endif
