/* Lists of networks: IP addresses and prefixes, as settings name them. */
#ifndef ZD_CONFIG_NETWORKS_H
#define ZD_CONFIG_NETWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct sockaddr;
struct sockaddr_storage;

#define ZD_NETWORKS_IP_TEXT_BYTES 46 /* of an address as text, with NUL */

/** An IP address. Zeroed: none. One of IPv4 that is mapped into IPv6 is of IPv4. */
struct zd_networks_ip {
    uint8_t byte[16]; /* in network order; of IPv4 the last 4, and the others are zero */
    uint8_t bits;     /* 32 or 128; 0: none */
};

/** The addresses that begin with the same bits as one. */
struct zd_networks_prefix {
    struct zd_networks_ip ip;
    uint8_t len; /* in bits, at most ip.bits */
};

struct zd_networks {
    struct zd_networks_prefix *prefix; /* n of them; owned */
    size_t n;
};

/**
 * "192.0.2.1", "2001:db8::1" or "::ffff:192.0.2.1": an address without brackets, port or zone.
 * @return false: it is none, and nothing is set
 * Thread: any.
 */
bool zd_networks_parse_ip(const char *text, size_t len, struct zd_networks_ip *ret_ip);

/** The address of a socket. @param address NULL: none Thread: any. */
struct zd_networks_ip zd_networks_ip_of(const struct sockaddr *address);

/** The way back, with port 0. @param ip not none Thread: any. */
void zd_networks_set_socket(const struct zd_networks_ip *ip, struct sockaddr_storage *ret_address);

/** Writes an address as text; "unknown" for none. @return `to` Thread: any. */
const char *zd_networks_name_ip(
    const struct zd_networks_ip *ip, char to[ZD_NETWORKS_IP_TEXT_BYTES]);

/** 127.0.0.0/8 and ::1. Thread: any. */
bool zd_networks_is_loopback(const struct zd_networks_ip *ip);

bool zd_networks_same_ip(const struct zd_networks_ip *a, const struct zd_networks_ip *b);

/** Whether a word of a setting is an address, or an address with the length of its prefix behind a
 * slash. Thread: any. */
bool zd_networks_is_item(const char *text, size_t len);

/**
 * Parse a setting.
 *
 * @param list items separated by spaces
 * @param ret_networks release with zd_networks_done
 * @retval ZD_INVALID a word is no item
 * Thread: any.
 */
ZD_RESULT zd_networks_init(
    const char *list, struct zd_networks *ret_networks, struct zd_error *err);
void zd_networks_done(struct zd_networks *networks); /* accepts a zeroed one */

/** Whether one of the networks has the address. None has no address. Thread: any. */
bool zd_networks_have(const struct zd_networks *networks, const struct zd_networks_ip *ip);

#endif
