/* Finds the wire of a descriptor: libmicrohttpd's recv() gets nothing else (wire.h). Each thread
 * has its own wires. Thread: loop. */
#ifndef ZD_FRONT_DESCRIPTORS_H
#define ZD_FRONT_DESCRIPTORS_H

#include <stdbool.h>

struct zd_wire;

/** @return borrowed; NULL: the descriptor has no wire */
struct zd_wire *zd_descriptors_find(int fd);

/** @param wire borrowed until zd_descriptors_remove. @return false: no memory */
bool zd_descriptors_add(int fd, struct zd_wire *wire);
void zd_descriptors_remove(int fd);

/** Free the memory, unless there are connections. */
void zd_descriptors_done(void);

#endif
