/* Stores at rest: some time after the last write of a dataset its store lets go of what only
 * writers need (zd_store_rest). Thread: loop. */
#ifndef ZD_WRITE_IDLE_WRITER_H
#define ZD_WRITE_IDLE_WRITER_H

#include "server/data/dataset.h"

/** The stores that wait to let go of their writer's lock; server->rests points to it. */
struct zd_idle_writers {
    uv_timer_t timer;       /* runs while any waits */
    struct zd_list waiting; /* struct zd_dataset: written to since their store was at rest */
};

void zd_idle_writer_init(struct zd_server *server);

/** Nothing is written any more. Closes a handle: the loop must turn once more. */
void zd_idle_writer_close(struct zd_server *server);

/** A write of the dataset has ended, in whatever way, or a hold ends now: its store will rest. */
void zd_idle_writer_after_write(struct zd_dataset *dataset);

#endif
