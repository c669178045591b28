/* The syntax of a request: classes of bytes, hosts, chunk extensions. Thread: any. */
#ifndef ZD_HTTP_GUARD_SYNTAX_H
#define ZD_HTTP_GUARD_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

/* Targets hold what browsers send, though RFC 3986 forbids some of it. */
#define ZD_BYTE_TOKEN  1 /* RFC 9110, 5.6.2 */
#define ZD_BYTE_TARGET 2 /* of a path or query: no control character, no space, no '#' */
#define ZD_BYTE_VALUE  4 /* RFC 9110, 5.5 */
#define ZD_BYTE_HOST   8 /* of a registered name or an IPv4 address (RFC 3986, 3.2.2) */

/** The sum of the classes of each byte. */
extern const uint8_t zd_guard_syntax_classes[256];

static inline bool zd_guard_syntax_is(uint8_t byte, uint8_t class)
{
    return (zd_guard_syntax_classes[byte] & class) != 0;
}

static inline bool zd_guard_syntax_is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static inline bool zd_guard_syntax_is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/** The value of a hexadecimal digit, or -1. */
int zd_guard_syntax_hex(uint8_t byte);

/** The first byte from `at` on that is no ZD_BYTE_VALUE, or end. */
const uint8_t *zd_guard_syntax_value_end(const uint8_t *at, const uint8_t *end);

/** Places in uri-host [":" port] (RFC 9110, 7.2). It may end anywhere but in brackets. */
enum zd_host_part {
    ZD_HOST_BEGIN,
    ZD_HOST_NAME,
    ZD_HOST_BRACKETS, /* an IP literal */
    ZD_HOST_AFTER_BRACKETS,
    ZD_HOST_PORT,
    ZD_HOST_BAD,
};

/** The place after one more byte; ZD_HOST_BAD: the byte is not allowed. */
enum zd_host_part zd_guard_syntax_host(enum zd_host_part part, uint8_t byte);

/** Places in *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ) (RFC 9112, 7.1.1). */
enum zd_extension_part {
    ZD_EXTENSION_AFTER, /* behind white space after an extension; the initial place */
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

/** The place after one more byte; ZD_EXTENSION_BAD: the byte is not allowed. */
enum zd_extension_part zd_guard_syntax_extension(enum zd_extension_part part, uint8_t byte);

/** Whether the line may end at that place. */
bool zd_guard_syntax_extension_may_end(enum zd_extension_part part);

#endif
