/* The system calls that send answers, as libmicrohttpd needs them. Thread: loop. */
#ifndef ZD_FRONT_SENDING_H
#define ZD_FRONT_SENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** send(2) of a head without the Content-Length that the library puts last in it. What was sent is
 * said as the library counts it. */
ssize_t zd_sending_without_length(int fd, const char *head, size_t n, int flags);

/** sendfile(2), whose count is short only when the socket is full. */
ssize_t zd_sending_file(int fd, int from_fd, off64_t *offset, size_t count);

/** What was sent and the client has not taken yet, in bytes; 0: it is not known. */
uint64_t zd_sending_held_bytes(int fd);

/** End a connection so that its client sees that more was to come: what it has not taken is lost.
 * @return false: it cannot be reset */
bool zd_sending_reset(int fd);

/** Before a connection is closed: read what the client still sends, as far as it is there. What is
 * not read makes the close a reset, and answers that are still on their way are lost to it (RFC
 * 9112, 9.6): a client that pipelines may not know yet which one is the last. */
void zd_sending_drop_rest(int fd);

#endif
