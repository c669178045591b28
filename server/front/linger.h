/* Connections that were closed while the server stops, and whose clients may not have all of the
 * last answer yet: where the network goes with the process, as a container's does, what the kernel
 * still holds would be lost. Thread: loop. */
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

/** Hold a connection that is about to be closed. Nothing more will be sent; without memory or a
 * descriptor for it, it is not held. @param fd stays the caller's, who closes it */
void zd_linger_hold(struct zd_lingers *partings, int fd, uint64_t now_ms);

/**
 * Let go of those whose clients have all and have hung up, or have had linger_ms for that: until
 * then what they still send is read and dropped, since a reset would destroy what they have not
 * read.
 *
 * @return how many are left
 */
size_t zd_linger_look(struct zd_lingers *partings, uint64_t now_ms, uint64_t linger_ms);

/** Let go of all. @return how many of their clients do not have all of their answer */
size_t zd_linger_done(struct zd_lingers *partings);

#endif
