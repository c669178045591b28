/* System calls of the store of files: noted, and the n-th one fails. */
#ifndef ZD_TESTS_SUPPORT_CALLS_H
#define ZD_TESTS_SUPPORT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/** Which call fails, and how; zeroed: none. */
struct zd_calls_fault {
    uint64_t n;      /* the n-th call from now (1 = the next), and only that one, */
    uint64_t n_more; /* and so many that follow it */
    int code;        /* its errno */
    bool is_late;    /* it does its work, and fails all the same */
};

/** Note calls from now on, from an empty note, and have one fail. */
void zd_calls_watch(struct zd_calls_fault fault);

/** The names of the calls since then, joined by spaces; cut when they are very many. */
const char *zd_calls_text(void);

/** How many there were. */
uint64_t zd_calls_count(void);

#endif
