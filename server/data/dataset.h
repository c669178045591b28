/* The datasets being served: opened at the start, and compared with the configuration again when a
 * signal asks for it; their references, and how fresh answers about them must be. Thread: loop. */
#ifndef ZD_DATA_DATASET_H
#define ZD_DATA_DATASET_H

#include "core/dialect/dialect.h"
#include "core/store/contract/store.h"
#include "server/config/settings.h"
#include "server/data/speed.h"
#include "server/runtime/flight.h"
#include "server/runtime/workers.h"

struct zd_events;
struct zd_server;

/** A look at what a dataset's location leads to. */
struct zd_dataset_look {
    uint64_t began_ms; /* loop time */
    struct zd_job job;
    struct zd_list waiters; /* struct zd_wait */
    bool is_under_way;
    bool has_looked;
    uint64_t place; /* out, with ZD_OK */
    enum zd_status status;
    struct zd_error err;
};

/** A dataset in the table, or one that has left it and still has readers: requests, nodes, cache
 * entries and store operations hold references. */
struct zd_dataset {
    struct zd_server *server;
    struct zd_dataset_config config; /* owned */
    struct zd_store *store;          /* owned; NULL: nothing can be opened there */
    char *reason;                    /* then: why, for the log; owned */
    const char *kind;            /* that this program does not read, when it was opened; or NULL */
    const char *content;         /* what was there instead of any hierarchy; or NULL */
    struct zd_dataset_look look; /* the last one, or the one under way */
    uint64_t look_ms;            /* how long what it has seen is trusted */
    bool is_n5;                  /* its location or its settings say so */
    bool may_move;               /* else there is nothing to look at */
    uint64_t revalidate_ms;      /* effective */
    uint32_t id;                 /* unique in this process: part of cache keys */
    uint32_t refs;
    uint32_t metrics_number;  /* of zd_metrics_dataset; 0: it has none yet */
    struct zd_speed speed;    /* of its chunks, lately */
    uint64_t n_changes;       /* of stored keys, through this server (server/write/store_write.h) */
    struct zd_events *events; /* owned */
    bool is_retired;          /* out of the table: its cache entries go when their work has ended */
    struct zd_list link;      /* then: in server->retired */
    uint64_t wrote_ms;        /* loop time: when a write to its store ended last; */
    struct zd_list rest; /* since then: among those that will rest (server/write/idle_writer.h) */
};

struct zd_dataset *zd_dataset_ref(struct zd_dataset *dataset); /* accepts NULL */
/** The last reference closes the store: no operation of it is under way. Accepts NULL. */
void zd_dataset_unref(struct zd_dataset *dataset);

/** The dataset of that name in the table, or NULL. */
struct zd_dataset *zd_dataset_find(struct zd_server *server, struct zd_span name);

/**
 * See whether the location still leads to what was opened, unless that was seen within
 * revalidate_ms. If it leads to something else, or if nothing could be opened there before, the
 * table has another dataset of that name afterwards. One look serves all who wait.
 *
 * @param wait its status is always ZD_OK: find the dataset by its name again
 * @return ZD_NEXT, ZD_WAIT
 */
enum zd_next zd_dataset_look(
    struct zd_dataset *dataset, enum zd_freshness freshness, struct zd_wait *wait);

/** Its store is ZD_GONE: nothing that was seen before is trusted, so that all requests look. */
void zd_dataset_doubt(struct zd_dataset *dataset);

/** Why it is unavailable, for clients: without its location, unless these are shown. NULL: it is
 * available. */
const char *zd_dataset_reason(const struct zd_dataset *dataset);

/** The other format of a dataset without a root, as it was when the dataset was opened; or NULL. */
const char *zd_dataset_other(const struct zd_dataset *dataset);

/** Whether nothing needs to be looked at for an answer now. */
bool zd_dataset_was_seen(const struct zd_dataset *dataset);

/** How documents are read, from the limits and the dataset's mode. */
struct zd_reading zd_dataset_reading(const struct zd_dataset *dataset);

/** Whether what the store said at that loop time still holds. */
bool zd_dataset_trusts(const struct zd_dataset *dataset, uint64_t checked_ms);

/** Until when (loop time) that holds; UINT64_MAX: for ever. */
uint64_t zd_dataset_trusts_until(const struct zd_dataset *dataset, uint64_t checked_ms);

/** How old an answer of its store may be that is asked for at that loop time by somebody who trusts
 * what is cached: age_max_ms of a read. 0 where the store keeps no answers. */
uint64_t zd_dataset_age_max(const struct zd_dataset *dataset, uint64_t began_ms);

/** When its store knew what it said: asked at that loop time, it gave an answer of that age. */
uint64_t zd_dataset_checked_ms(uint64_t began_ms, uint64_t age_ms);

/** Wait for the work under way if what it finds will be fresh enough, else for newer work. */
void zd_dataset_join(const struct zd_dataset *dataset, struct zd_flight *flight,
    enum zd_freshness freshness, struct zd_wait *wait);

/** The outcome of a reload. */
struct zd_reload {
    size_t n_kept;
    size_t n_opened;
    size_t n_closed; /* they left the table; each closes with its last reference */
    size_t n_failed; /* could not be opened: in the table as unavailable */
};

/**
 * Open every dataset of the server's configuration. Blocks for the time of an open(2) each. What
 * cannot be opened is in the table as unavailable, but for what the command line names: that fails.
 */
ZD_RESULT zd_datasets_open(struct zd_server *server, struct zd_error *err);

/**
 * Serve what another configuration says. A dataset whose configuration is the same and whose store
 * is still at its location keeps its store and all that is cached of it; of others nothing stays
 * cached. Failures are logged.
 *
 * @param config borrowed during the call
 */
ZD_RESULT zd_datasets_reload(struct zd_server *server, const struct zd_config *config,
    struct zd_reload *ret_reload, struct zd_error *err);

/** The server stops: writes stop waiting for other processes. */
void zd_datasets_give_up(struct zd_server *server);

/** Empty the table. */
void zd_datasets_close(struct zd_server *server);

/** Something that is kept of its objects was found to have changed: what is made of them is not
 * trusted before the store is asked again. */
static inline void zd_dataset_distrust(struct zd_dataset *dataset)
{
    dataset->n_changes++;
}

#endif
