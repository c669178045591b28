/* A whole server in the test's own thread, and a client that turns its loop while it waits. */
#ifndef ZD_TESTS_SUPPORT_SERVE_H
#define ZD_TESTS_SUPPORT_SERVE_H

#include "server/runtime/server.h"

struct zd_test_serve {
    char config_path[64]; /* temporary */
    char *arguments[4];
    struct zd_config config;
    struct zd_server *server;
};

/** An answer, or the failure to get one. */
struct zd_test_answer {
    char *bytes; /* all that was received, ended by NUL; what differs each time is blanked */
    size_t len;
    unsigned status;     /* 0: not even a status line */
    bool is_whole;       /* the head, and as much body as it promised */
    struct zd_span body; /* borrowed from bytes */
};

/**
 * Read a configuration from JSON and serve it on a free port; lines of the start and of the log go
 * nowhere.
 *
 * @retval ZD_NO_MEMORY as zd_start_begin, when a test has memory fail
 */
ZD_RESULT zd_test_serve_open(struct zd_test_serve *serve, const char *config);
void zd_test_serve_close(struct zd_test_serve *serve);

/** Have the datasets read from the configuration again. @retval ZD_NO_MEMORY all stays */
ZD_RESULT zd_test_serve_reload(struct zd_test_serve *serve);

/** Another configuration for the next reload. */
void zd_test_serve_configure(struct zd_test_serve *serve, const char *config);

/** Forget what every cache holds. */
void zd_test_serve_forget(struct zd_test_serve *serve);

/**
 * Send a request on a connection of its own and turn the loop until the connection ends; fails the
 * test when it does not. Takes no memory that zd_alloc counts.
 *
 * @param request    whole, with `Connection: close`
 * @param ret_answer release with zd_test_answer_done
 */
void zd_test_serve_ask(
    struct zd_test_serve *serve, const char *request, struct zd_test_answer *ret_answer);
void zd_test_answer_done(struct zd_test_answer *answer);

#endif
