/* The server's life: started, run until a signal stops it, ended. Thread: loop. */
#ifndef ZD_SERVER_START_H
#define ZD_SERVER_START_H

#include "server/runtime/server.h"

/**
 * Open the datasets, bind the addresses, print the banner and the port file.
 *
 * @param config borrowed until zd_start_end
 * @param ret_server owned
 */
ZD_RESULT zd_start_begin(
    const struct zd_config *config, struct zd_server **ret_server, struct zd_error *err);

/** Serve until a signal stops it. @return the exit status: 0 stopped as asked, 1 a fault, 2 what it
 * was told is no use */
int zd_start_run(struct zd_server *server);

void zd_start_end(struct zd_server *server); /* accepts NULL */

#endif
