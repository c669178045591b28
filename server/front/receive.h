/* The body of a request that is taken while it comes: what its connection does with it.
 *
 *     head --> zd_receive_begin --> zd_receive_leave_head --> zd_receive_bytes ... zd_receive_end
 *
 * An answer that is given while the body still comes ends the connection, unless little is left to
 * be read. Thread: loop. */
#ifndef ZD_FRONT_RECEIVE_H
#define ZD_FRONT_RECEIVE_H

#include "server/front/front.h"

/** What the connection is to do. */
enum zd_receive {
    ZD_RECEIVE_READ,   /* go on reading */
    ZD_RECEIVE_SLEEP,  /* until zd_connection_wake */
    ZD_RECEIVE_ANSWER, /* the answer goes out now */
    ZD_RECEIVE_CLOSE,  /* the answer was sent past libmicrohttpd */
};

/**
 * The head of a request is there, and it is neither GET nor HEAD: whether its steps run now.
 * False: the body is to come whole.
 */
bool zd_receive_begin(struct zd_exchange *exchange);

/**
 * A body that was to come whole is refused: the steps run now.
 * @param step       answers
 * @param came_bytes of the body so far
 */
void zd_receive_refuse(struct zd_exchange *exchange, zd_step *step, uint64_t came_bytes);

/** The step of a body that is longer than limits.body_bytes. */
zd_step zd_receive_step_too_long;

/** The steps have run, or the connection was woken, and nothing of the body was read yet. */
enum zd_receive zd_receive_leave_head(struct zd_exchange *exchange);

/** Bytes of the body. @param len how many; then how many were left because the window is full */
enum zd_receive zd_receive_bytes(struct zd_exchange *exchange, const char *bytes, size_t *len);

/** All of the body has come. */
enum zd_receive zd_receive_end(struct zd_exchange *exchange);

/** An answer may be there while the body comes: a client that has much left to send is answered
 * now, past libmicrohttpd, which answers only requests that it has read. */
void zd_receive_answered(struct zd_exchange *exchange);

#endif
