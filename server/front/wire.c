/* The guard judges all bytes of a connection before libmicrohttpd sees them.
 *
 *   zd_wire_recv --> guard --+--> libmicrohttpd
 *                            +--> a fault: requests before it are answered, then the fault is
 *                                 (refuse); the rest is read and dropped (drop), so that no reset
 *                                 destroys the answer, until the client hangs up or its time is
 * over
 *
 * Neither an idle connection nor one whose client keeps up with its answer has a deadline. */
#include "server/front/wire.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/num.h"
#include "server/front/descriptors.h"
#include "server/front/response_bytes.h"
#include "server/front/sending.h"
#include "server/front/wires.h"
#include "server/http/credential.h"
#include "server/http/guard.h"
#include "server/http/redact.h"
#include "server/http/signed_url.h"
#include "server/runtime/server.h"

#define DROPPED_BYTES_MAX (4U << 20) /* after a fault */
#define REFUSAL_BYTES_MAX 8192

enum phase {
    READING,  /* all is well */
    FAULTY,   /* there is a fault, but requests before it are still to be answered */
    DROPPING, /* the fault is answered */
    ENDED,    /* the library sees that the client has hung up */
};

struct zd_wire {
    struct zd_wires *wires;
    struct zd_list link;         /* in wires->open */
    struct zd_deadline deadline; /* of the term that runs */
    uint64_t n_answered;
    uint64_t began_ns;       /* when the first byte of this request came; 0: no head is awaited */
    uint64_t received_bytes; /* of this term of a body */
    uint64_t dropped_bytes;
    uint64_t sent_bytes;  /* of all answers */
    uint64_t body_from;   /* of them, the body of the last one; 0: it has not begun */
    uint64_t taken_bytes; /* of them, by the client, when this term of an answer began */
    struct zd_guard guard;
    int fd;
    enum phase phase;
    enum zd_wires_term term;
    bool is_judged;
    bool is_paused; /* bytes of the client are not read now */
    bool omits_length;
    struct zd_visit visit;
};

/* Reads one byte as recv(2) does, and leaves it where it is. */
static ssize_t peek(const struct zd_wire *wire)
{
    char byte;
    return recv(wire->fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
}

/* ---- deadlines ---- */

static void stop_term(struct zd_wire *wire)
{
    zd_deadline_stop(&wire->deadline);
    wire->term = ZD_TERM_NONE;
}

static void start_term(struct zd_wire *wire, enum zd_wires_term term)
{
    wire->term = term;
    wire->began_ns = term == ZD_TERM_HEAD ? uv_hrtime() : wire->began_ns;
    wire->received_bytes = 0;
    zd_deadline_start(&wire->wires->running[term], &wire->deadline);
}

/* Starts and stops the clock of the client. It runs only while the client has to send something:
 * neither between requests, nor while an earlier request is being answered. */
static void watch(struct zd_wire *wire)
{
    const enum zd_guard_place place = zd_guard_place(&wire->guard);
    if (wire->term == ZD_TERM_ANSWER) {
        return;
    }
    if (wire->is_paused || wire->n_answered < wire->guard.n_requests || place == ZD_GUARD_BETWEEN) {
        stop_term(wire);
        return;
    }
    const enum zd_wires_term term = place == ZD_GUARD_HEAD ? ZD_TERM_HEAD : ZD_TERM_BODY;
    if (wire->term != term) {
        start_term(wire, term);
    }
}

/* ---- refusing ---- */

/* Ends the connection: the library reads once more, and sees that the client has hung up. */
static void end(struct zd_wire *wire)
{
    stop_term(wire);
    wire->phase = ENDED;
    (void)shutdown(wire->fd, SHUT_RDWR);
}

/* Sends the whole answer, or ends the connection: a client that reads nothing gets no more. */
static void give_last(struct zd_wire *wire, const struct zd_text *answer)
{
    const ssize_t n = send(wire->fd, answer->at, answer->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n != (ssize_t)answer->len || answer->status != ZD_OK) {
        end(wire);
        return;
    }
    (void)shutdown(wire->fd, SHUT_WR);
    wire->phase = DROPPING;
    start_term(wire, ZD_TERM_LINGERING);
}

/* A word of the request line, as it is logged. The request is not well formed, so the method may be
 * a part of the target. */
static const char *shown_word(char *word, struct zd_text *secrets, struct zd_text *to)
{
    ZD_SCOPED_TEXT(signature, ZD_GUARD_LINE_BYTES);
    (void)zd_credential_take(word, NULL);
    if (zd_signed_url_take(word, &signature) != ZD_OK) {
        word[strcspn(word, "?")] = '\0';
    }
    return zd_redact_target(word, secrets, to) ? to->at : word;
}

static void refuse(struct zd_wire *wire)
{
    struct zd_guard_words words;
    ZD_SCOPED_TEXT(answer, REFUSAL_BYTES_MAX);
    ZD_SCOPED_TEXT(secrets, 2 * sizeof words);
    ZD_SCOPED_TEXT(target, 2 * sizeof words);
    ZD_SCOPED_TEXT(method, 2 * sizeof words);
    struct sockaddr_storage client;
    zd_guard_words(&wire->guard, &words);
    const struct sockaddr *address = (const struct sockaddr *)&client;
    zd_connection_limits_read(wire->fd, &client);
    const char *shown_target = shown_word(words.target, &secrets, &target);
    const struct zd_access request = {
        .target = shown_target,
        .method = shown_word(words.method, &secrets, &method), /* hides the target's, too */
        .client = zd_connection_limits_is_trusted(&wire->wires->visitors, address) ? NULL : address,
        .duration_ns = wire->began_ns == 0 ? 0 : uv_hrtime() - wire->began_ns,
    };
    zd_response_refuse(wire->wires->server, &wire->guard, &request, &answer);
    give_last(wire, &answer);
}

/* Reads and drops the bytes that the client sends after a fault. */
static ssize_t drop(struct zd_wire *wire, void *to, size_t len, int flags)
{
    while (wire->phase == DROPPING) {
        const ssize_t n = recv(wire->fd, to, len, flags);
        if (n < 0 && errno != EINTR) {
            return n;
        }
        wire->dropped_bytes += n > 0 ? (uint64_t)n : 0;
        if (n == 0 || wire->dropped_bytes > DROPPED_BYTES_MAX) {
            end(wire);
        }
    }
    return 0;
}

/* The library would end the answer in good order. */
void zd_wire_cut(struct zd_wire *wire)
{
    if (!zd_sending_reset(wire->fd)) {
        zd_log(&wire->wires->server->log, ZD_LOG_DEBUG,
            "cannot reset the connection: the client may mistake a truncated answer for a complete "
            "one");
    }
    end(wire);
}

static void refuse_late(struct zd_wire *wire, const char *detail)
{
    wire->guard.code = "request_timeout";
    wire->guard.detail = detail;
    refuse(wire);
}

/* Counts the bytes that the client has taken: the kernel holds the rest. */
static uint64_t taken_bytes(const struct zd_wire *wire)
{
    const uint64_t held = zd_sending_held_bytes(wire->fd);
    return wire->sent_bytes - zd_min_u64(held, wire->sent_bytes);
}

/* Cuts off a client that does not keep up: it holds memory and the place of a request. */
static void judge_reader(struct zd_wire *wire)
{
    struct zd_server *server = wire->wires->server;
    const uint64_t taken = taken_bytes(wire);
    if (taken - zd_min_u64(wire->taken_bytes, taken) >=
        server->config->settings.http_reader_least_bytes) {
        wire->taken_bytes = taken;
        start_term(wire, ZD_TERM_ANSWER);
        return;
    }
    server->metrics.n_slow++;
    zd_wire_cut(wire);
}

/* Whether the client has ended. Where fewer bytes came than the library asked for, it reads no
 * more, and no event will tell of an end that is there already. */
static bool has_ended(const struct zd_wire *wire)
{
    return peek(wire) == 0;
}

void zd_wire_term_is_over(struct zd_deadline *deadline)
{
    struct zd_wire *wire = ZD_CONTAINER(deadline, struct zd_wire, deadline);
    const struct zd_settings *settings = &wire->wires->server->config->settings;
    switch (wire->term) {
    case ZD_TERM_HEAD:
        refuse_late(wire, "the request head did not arrive within http.head_ms");
        return;
    case ZD_TERM_BODY:
        if (wire->received_bytes >= settings->http_body_least_bytes) {
            start_term(wire, ZD_TERM_BODY);
        } else {
            refuse_late(
                wire, "fewer than http.body_least_bytes of the body arrived in http.body_ms");
        }
        return;
    case ZD_TERM_ANSWER:
        judge_reader(wire);
        return;
    case ZD_TERM_REFUSAL:
        refuse(wire);
        return;
    case ZD_TERM_LINGERING:
        end(wire);
        return;
    case ZD_TERM_RESTING:
        stop_term(wire);
        if (has_ended(wire)) {
            end(wire);
        }
        return;
    case ZD_TERM_NONE:
    case ZD_TERMS:
        break;
    }
}

/* ---- reading ---- */

/* Meets a fault: complete requests before it are answered first, and libmicrohttpd never sees the
 * rest. */
static ssize_t meet_fault(struct zd_wire *wire, size_t n_whole, void *to, size_t len, int flags)
{
    if (n_whole > 0) {
        wire->phase = FAULTY;
        stop_term(wire);
        return (ssize_t)n_whole;
    }
    refuse(wire);
    return drop(wire, to, len, flags);
}

/* The bytes that have come and that the guard has let pass. */
struct taken {
    ssize_t n;      /* of the last call */
    size_t n_asked; /* by it */
    size_t n_kept;
    size_t n_whole; /* of them: of whole requests */
    bool is_fine;
};

/* Reads until the buffer is full, because the guard removes bytes, and a short read means "no more
 * data" to libmicrohttpd. */
static struct taken take(struct zd_wire *wire, uint8_t *to, size_t len, int flags)
{
    struct taken taken = {.is_fine = true};
    do {
        taken.n_asked = len - taken.n_kept;
        taken.n = recv(wire->fd, to + taken.n_kept, taken.n_asked, flags);
        if (taken.n <= 0) {
            break;
        }
        size_t n_new = (size_t)taken.n;
        size_t n_whole = 0;
        wire->is_judged = true;
        wire->received_bytes += n_new;
        taken.is_fine = zd_guard_take(&wire->guard, to + taken.n_kept, &n_new, &n_whole);
        if (n_whole > 0) {
            taken.n_whole = taken.n_kept + n_whole;
        }
        taken.n_kept += n_new;
    } while (taken.is_fine && (size_t)taken.n == taken.n_asked && taken.n_kept < len);
    return taken;
}

static ssize_t read_judged(struct zd_wire *wire, void *to, size_t len, int flags)
{
    struct taken taken = take(wire, to, len, flags);
    if (taken.n < 0 && taken.n_kept == 0) {
        return taken.n;
    }
    const bool is_inside = zd_guard_place(&wire->guard) != ZD_GUARD_BETWEEN;
    const bool is_short = taken.n > 0 && (size_t)taken.n < taken.n_asked;
    if (taken.n == 0 || (is_inside && is_short && has_ended(wire))) {
        taken.is_fine = taken.is_fine && zd_guard_end(&wire->guard);
    }
    if (!taken.is_fine) {
        return meet_fault(wire, taken.n_whole, to, len, flags);
    }
    watch(wire);
    if (taken.n_kept == 0 && taken.n > 0) {
        errno = EAGAIN; /* all of it was taken out */
        return -1;
    }
    return (ssize_t)taken.n_kept;
}

static ssize_t read_wire(struct zd_wire *wire, void *to, size_t len, int flags)
{
    switch (wire->phase) {
    case READING:
        return read_judged(wire, to, len, flags);
    case FAULTY:
        refuse(wire); /* the library asks for more when it has answered all that it had */
        return drop(wire, to, len, flags);
    case DROPPING:
        return drop(wire, to, len, flags);
    case ENDED:
        break;
    }
    return 0;
}

ssize_t zd_wire_recv(int fd, void *to, size_t len, int flags)
{
    struct zd_wire *wire = zd_descriptors_find(fd);
    if (wire == NULL) {
        errno = ECONNRESET; /* there was no memory for the wire */
        return -1;
    }
    return read_wire(wire, to, len, flags);
}

/* ---- sending ---- */

/* Starts the clock of a reader when bytes find no room, and stops it when later bytes find room as
 * a whole. A client that waits for the server never has to hurry. */
static ssize_t watch_reader(struct zd_wire *wire, size_t n_asked, ssize_t n)
{
    const int code = errno;
    const bool is_full = n < 0 ? code == EAGAIN : (size_t)n < n_asked;
    wire->sent_bytes += n > 0 ? (uint64_t)n : 0;
    if (!is_full && wire->term == ZD_TERM_ANSWER) {
        stop_term(wire);
    } else if (is_full && wire->term == ZD_TERM_NONE) {
        wire->taken_bytes = taken_bytes(wire);
        start_term(wire, ZD_TERM_ANSWER);
    }
    errno = code;
    return n;
}

/* The library's first buffer of an answer is its head. */
static void note_head(struct zd_wire *wire, size_t len)
{
    if (wire->body_from == 0) {
        wire->body_from = wire->sent_bytes + len;
    }
}

ssize_t zd_wire_send(int fd, const void *bytes, size_t len, int flags)
{
    struct zd_wire *wire = zd_descriptors_find(fd);
    note_head(wire, len);
    return watch_reader(wire, len,
        wire->omits_length ? zd_sending_without_length(fd, bytes, len, flags)
                           : send(fd, bytes, len, flags));
}

ssize_t zd_wire_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct zd_wire *wire = zd_descriptors_find(fd);
    size_t n_asked = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        n_asked += message->msg_iov[i].iov_len;
    }
    note_head(wire, message->msg_iov[0].iov_len);
    return watch_reader(wire, n_asked, sendmsg(fd, message, flags));
}

/* libmicrohttpd takes a short count for a full socket and waits for an event. */
ssize_t zd_wire_sendfile64(int fd, int from_fd, off64_t *offset, size_t count)
{
    return watch_reader(
        zd_descriptors_find(fd), count, zd_sending_file(fd, from_fd, offset, count));
}

void zd_wire_begin_answer(struct zd_wire *wire)
{
    wire->body_from = 0;
}

bool zd_wire_is_full(const struct zd_wire *wire)
{
    return wire->term == ZD_TERM_ANSWER;
}

uint64_t zd_wire_body_bytes(const struct zd_wire *wire)
{
    const bool has_begun = wire->body_from > 0 && wire->sent_bytes > wire->body_from;
    return has_begun ? wire->sent_bytes - wire->body_from : 0;
}

void zd_wire_omit_length(struct zd_wire *wire)
{
    wire->omits_length = true;
}

/* ---- connections ---- */

/* Refuses the connection at once, whatever it asks: a client reads the answer when it has asked. */
static void turn_away(struct zd_wire *wire, const char *code)
{
    wire->guard.code = code;
    wire->guard.detail =
        strcmp(code, "overloaded") == 0
            ? "the server already has http.connections connections; retry later"
            : "this address already has http.address_connections connections; close some";
    wire->phase = FAULTY;
    start_term(wire, ZD_TERM_REFUSAL);
}

struct zd_wire *zd_wire_open(struct zd_wires *wires, int fd)
{
    struct zd_wire *wire = zd_alloc_zero(1, sizeof *wire);
    if (wire == NULL || !zd_descriptors_add(fd, wire)) {
        zd_free(wire);
        return NULL;
    }
    wire->wires = wires;
    wire->fd = fd;
    zd_list_push_back(&wires->open, &wire->link);
    zd_guard_init(&wire->guard, &wires->limits);
    struct sockaddr_storage client;
    zd_connection_limits_read(wire->fd, &client);
    const char *code = zd_connection_limits_enter(
        &wires->visitors, (const struct sockaddr *)&client, &wire->visit);
    if (code != NULL) {
        turn_away(wire, code);
    }
    return wire;
}

void zd_wire_close(struct zd_wire *wire)
{
    if (wire != NULL) {
        if (wire->phase != ENDED) {
            zd_sending_drop_rest(wire->fd);
        }
        if (wire->wires->is_draining) {
            zd_linger_hold(&wire->wires->partings, wire->fd, uv_now(wire->wires->server->loop));
        }
        zd_list_remove(&wire->link);
        zd_connection_limits_leave(&wire->wires->visitors, &wire->visit);
        zd_deadline_stop(&wire->deadline);
        zd_descriptors_remove(wire->fd);
        zd_free(wire);
    }
}

struct zd_wire *zd_wire_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

bool zd_wire_is_judged(const struct zd_wire *wire)
{
    return wire->is_judged;
}

void zd_wire_answered(struct zd_wire *wire)
{
    wire->n_answered++;
    wire->omits_length = false;
    wire->began_ns = 0;
    if (wire->term == ZD_TERM_ANSWER) {
        stop_term(wire);
    }
    const bool is_last = wire->n_answered >= wire->guard.n_requests;
    if (wire->phase == READING) {
        watch(wire);
        if (is_last && wire->term == ZD_TERM_NONE) {
            start_term(wire, ZD_TERM_RESTING);
        }
    } else if (wire->phase == FAULTY && is_last) {
        start_term(
            wire, ZD_TERM_REFUSAL); /* when the loop has turned: if the connection is still there */
    }
}

void zd_wire_pause(struct zd_wire *wire)
{
    if (wire->phase == READING) {
        wire->is_paused = true;
        stop_term(wire);
    }
}

void zd_wire_go_on(struct zd_wire *wire)
{
    if (wire->is_paused) {
        wire->is_paused = false;
        if (wire->phase == READING) {
            watch(wire);
        }
    }
}

void zd_wire_answer(struct zd_wire *wire, const struct zd_text *answer)
{
    if (wire->phase == READING) {
        give_last(wire, answer);
    }
}

/* ---- the server stops ---- */

/* A refused connection needs nothing more. */
static bool is_idle(const struct zd_wire *wire)
{
    const bool is_between = wire->phase == READING && wire->n_answered >= wire->guard.n_requests &&
                            zd_guard_place(&wire->guard) == ZD_GUARD_BETWEEN && peek(wire) <= 0;
    return is_between || wire->phase == DROPPING || wire->phase == ENDED;
}

bool zd_wire_all_idle(const struct zd_wires *wires)
{
    const struct zd_list *link = wires->open.next;
    while (link != &wires->open && is_idle(ZD_CONTAINER(link, struct zd_wire, link))) {
        link = link->next;
    }
    return link == &wires->open;
}
