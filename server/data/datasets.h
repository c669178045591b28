/* The datasets being served: opened at the start, and compared with the configuration again when a
 * signal asks for it. Thread: loop. */
#ifndef ZD_DATA_DATASETS_H
#define ZD_DATA_DATASETS_H

#include "server/data/dataset.h"

/** What a reload did. */
struct zd_reload {
    size_t n_kept;
    size_t n_opened;
    size_t n_closed; /* they left the table; each closes with its last reference */
    size_t n_failed; /* could not be opened: the one of that name that was served before, if any, is
                        kept */
};

/** Open every dataset of the server's configuration. Blocks for the time of an open(2) each. */
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

#endif
