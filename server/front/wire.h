/* The guard judges all bytes of a connection before libmicrohttpd sees them.
 *
 * The build makes libmicrohttpd read and send by the functions below (cmake/microhttpd.cmake). Its
 * recv() gives it bytes that have passed the guard (guard.h). So no version of the library ever
 * parses a malformed request. Its callbacks hide bare LF, NUL, chunk framing and folded lines, and
 * need not show them. A request that the guard refuses, or that comes too slowly, is answered here
 * with a problem document; then the connection ends. Thread: loop. */
#ifndef ZD_FRONT_WIRE_H
#define ZD_FRONT_WIRE_H

#include <sys/types.h>

#include "server/front/front.h"

struct msghdr;
struct zd_wire;  /* of one connection */
struct zd_wires; /* of all connections of a front: wires.h */

/* libmicrohttpd's calls, each on the descriptor of a connection. */

/** recv(2) of bytes that have passed the guard. A connection without a wire is reset. */
ssize_t zd_wire_recv(int fd, void *to, size_t len, int flags);

/** send(2), sendmsg(2) and sendfile(2), which count the answer and watch whether the client keeps
 * up. */
ssize_t zd_wire_send(int fd, const void *bytes, size_t len, int flags);
ssize_t zd_wire_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t zd_wire_sendfile64(int fd, int from_fd, off64_t *offset, size_t count);

/* Connections. */

/**
 * The guard judges the descriptor's bytes from here on, on this thread. A connection beyond a limit
 * is answered at once (503 or 429), and ends.
 *
 * @return owned: zd_wire_close it before the descriptor; NULL: no memory, and no request will come
 */
struct zd_wire *zd_wire_open(struct zd_wires *wires, int fd);
void zd_wire_close(struct zd_wire *wire); /* accepts NULL */

/** The wire of a connection that has sent a request. */
struct zd_wire *zd_wire_of(struct MHD_Connection *connection);

/** Whether bytes have passed the guard: else the library reads in another way, and no request can
 * be trusted. */
bool zd_wire_is_judged(const struct zd_wire *wire);

/** The request has ended: it was answered, or the client has left. */
void zd_wire_answered(struct zd_wire *wire);

/** The client is not read for a while: its body may be late. Until zd_wire_go_on. */
void zd_wire_pause(struct zd_wire *wire);
void zd_wire_go_on(struct zd_wire *wire);

/** From here on an answer goes out. */
void zd_wire_begin_answer(struct zd_wire *wire);

/** How many bytes of its body have left, with the framing of its chunks. */
uint64_t zd_wire_body_bytes(const struct zd_wire *wire);

/** The answer that goes out next has no Content-Length, which the library would write: until
 * zd_wire_answered. */
void zd_wire_omit_length(struct zd_wire *wire);

/** Whether the client has not taken all that it was sent. */
bool zd_wire_is_full(const struct zd_wire *wire);

/** Reset the connection: bytes that were not sent yet are dropped, and the client sees that the
 * answer is not whole. */
void zd_wire_cut(struct zd_wire *wire);

/** Give the answer to a request whose body still comes, and end the connection. */
void zd_wire_answer(struct zd_wire *wire, const struct zd_text *answer);

/** Whether every request of all these clients that has come is answered. */
bool zd_wire_all_idle(const struct zd_wires *wires);

/** End a wire's term: the client did not send or take enough in time. For zd_wires_new. */
void zd_wire_term_is_over(struct zd_deadline *deadline);

#endif
