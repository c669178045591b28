/* What comes in on our connections is judged before libmicrohttpd sees it.
 *
 * libmicrohttpd reads with recv(), and this program defines recv(): bytes of a connection that was
 * opened here pass the guard first (guard.h), all others pass through. So no version of the library
 * ever parses a malformed request, and a version whose callbacks hide what was sent (bare LF, NUL,
 * chunk framing, folded lines) need not show it. What the guard refuses, and what comes too slowly,
 * is answered here with a problem document; then the connection ends. Thread: loop. */
#ifndef ZD_FRONT_WIRE_H
#define ZD_FRONT_WIRE_H

#include "server/front/front.h"

struct zd_wire;  /* one connection's */
struct zd_wires; /* all of a front's: wires.h */

/**
 * From here on the descriptor's bytes are judged, on this thread. A connection beyond a limit is
 * answered at once (503 or 429), and ends.
 *
 * @return owned: zd_wire_close it before the descriptor; NULL: no memory
 */
struct zd_wire *zd_wire_open(struct zd_wires *wires, int fd);
void zd_wire_close(struct zd_wire *wire); /* accepts NULL */

/** Whether bytes have passed the guard: else the library reads in another way, and none of it can
 * be trusted. False for NULL. */
bool zd_wire_is_judged(const struct zd_wire *wire);

/** One request has ended: it was answered, or the client has left. Accepts NULL. */
void zd_wire_answered(struct zd_wire *wire);

/** The client is not read for a while: its body may be late. Until zd_wire_go_on; accept NULL. */
void zd_wire_pause(struct zd_wire *wire);
void zd_wire_go_on(struct zd_wire *wire);

/** From here on an answer goes out. Accepts NULL. */
void zd_wire_begin_answer(struct zd_wire *wire);

/** How many bytes of its body have left, with the framing of its chunks; 0 for NULL. */
uint64_t zd_wire_body_bytes(const struct zd_wire *wire);

/** The answer that goes out next has no Content-Length, which the library would write: until
 * zd_wire_answered. Accepts NULL. */
void zd_wire_omit_length(struct zd_wire *wire);

/** Whether the client has not taken all that it was sent. False for NULL. */
bool zd_wire_is_full(const struct zd_wire *wire);

/** Reset the connection: what it was not sent yet is dropped, and the client sees that it has not
 * all. Accepts NULL. */
void zd_wire_cut(struct zd_wire *wire);

/** Give the answer to a request whose body still comes, and end the connection. Accepts NULL. */
void zd_wire_answer(struct zd_wire *wire, const struct zd_text *answer);

/** Whether no client of all these has sent anything that is not answered, as far as it has come. */
bool zd_wire_all_idle(const struct zd_wires *wires);

/** What a wire waited for did not come: for zd_wires_new. */
void zd_wire_term_is_over(struct zd_deadline *deadline);

#endif
