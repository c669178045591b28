/* Holds connections that were closed while the server stops, until their clients have the last
 * answer. Where the network goes with the process, as a container's does, the bytes in the kernel
 * would be lost. Thread: loop. */
#ifndef ZD_FRONT_LINGER_H
#define ZD_FRONT_LINGER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/list.h"

struct zd_lingers {
    struct zd_list held; /* struct parting; n_held of them */
    size_t n_held;
};

void zd_linger_init(struct zd_lingers *partings);

/** Hold a connection that is about to be closed. Nothing more will be sent. Without memory or a
 * descriptor for it, it is not held. @param fd the caller keeps it, and closes it */
void zd_linger_hold(struct zd_lingers *partings, int fd, uint64_t now_ms);

/**
 * Let a connection go when its client has the whole answer and has hung up, or has had linger_ms
 * for that. Until then bytes that the client sends are read and dropped, since a reset would
 * destroy the unread answer.
 *
 * @return how many connections are left
 */
size_t zd_linger_look(struct zd_lingers *partings, uint64_t now_ms, uint64_t linger_ms);

/** Let all connections go. @return how many of their clients do not have the whole answer */
size_t zd_linger_done(struct zd_lingers *partings);

#endif
