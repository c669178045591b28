/* The system calls that send answers, as libmicrohttpd needs them. Thread: loop. */
#ifndef ZD_FRONT_SENDING_H
#define ZD_FRONT_SENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Send a head with send(2), without the Content-Length that the library puts last in it. The
 * result counts bytes as the library does. */
ssize_t zd_sending_without_length(int fd, const char *head, size_t n, int flags);

/** sendfile(2), whose count is short only when the socket is full. */
ssize_t zd_sending_file(int fd, int from_fd, off64_t *offset, size_t count);

/** Count the bytes that were sent and that the client has not taken yet; 0: it is not known. */
uint64_t zd_sending_held_bytes(int fd);

/** End a connection so that its client sees that more was to come: bytes that it has not taken are
 * lost. @return false: it cannot be reset */
bool zd_sending_reset(int fd);

/** Before a connection is closed, read the bytes that the client has sent, as far as they have
 * come. Unread bytes make the close a reset, which loses answers that are still on their way (RFC
 * 9112, 9.6): a client that pipelines may not know yet which one is the last. */
void zd_sending_drop_rest(int fd);

#endif
