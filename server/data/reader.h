/* The client of a look-up. Paths that the client may not read are left out, whether or not a node
 * is there. Thread: loop. */
#ifndef ZD_DATA_READER_H
#define ZD_DATA_READER_H

#include <stdbool.h>
#include <stddef.h>

/** Zeroed: whoever may read everything. */
struct zd_reader {
    bool (*may_read)(const void *client, const char *path); /* NULL: everything */
    const void *client;                                     /* borrowed */
};

/** Whether it may read a path of the dataset. */
static inline bool zd_reader_may(const struct zd_reader *reader, const char *path)
{
    return reader->may_read == NULL || reader->may_read(reader->client, path);
}

#endif
