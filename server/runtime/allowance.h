/* Memory for one kind of work: so much of it may be under way, the rest waits in line. Thread:
 * loop. */
#ifndef ZD_RUNTIME_ALLOWANCE_H
#define ZD_RUNTIME_ALLOWANCE_H

#include "server/runtime/wait.h"

/** How much there is. */
struct zd_allowance {
    uint64_t bytes_max;
    uint64_t bytes;         /* that are taken */
    struct zd_list waiting; /* struct zd_wait of those who ask: the first is served first */
};

/** A part of it. Starts zeroed. */
struct zd_allowance_want {
    struct zd_wait wait;
    uint64_t bytes;                 /* its own: what it asks for, or has */
    struct zd_allowance *allowance; /* its own; NULL: it neither waits nor has any */
};

void zd_allowance_init(struct zd_allowance *allowance, uint64_t bytes_max);

/**
 * Take so many bytes. wait.status: ZD_OK; ZD_TOO_LARGE: there are never so many, facts limit and
 * requested.
 * @param what they are for, for the message
 */
enum zd_next zd_allowance_want(struct zd_allowance *allowance, uint64_t bytes, const char *what,
    struct zd_allowance_want *want);

/** Stop waiting, or give them back: others may go on inside this call. Accepts a zeroed want. */
void zd_allowance_release(struct zd_allowance_want *want);

#endif
