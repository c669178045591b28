/* The wires of this thread's connections by descriptor: recv() has nothing else to go by.
 * Thread: loop. */
#ifndef ZD_FRONT_DESCRIPTORS_H
#define ZD_FRONT_DESCRIPTORS_H

#include <stdbool.h>

struct zd_wire;

/** @return borrowed; NULL: the descriptor is no connection's */
struct zd_wire *zd_descriptors_find(int fd);

/** @param wire borrowed until zd_descriptors_remove. @return false: no memory */
bool zd_descriptors_add(int fd, struct zd_wire *wire);
void zd_descriptors_remove(int fd);

/** Free the memory, unless there are connections. */
void zd_descriptors_done(void);

#endif
