/* The key of the stored object that holds a chunk. Thread: any. */
#ifndef ZD_DATA_OBJECT_KEY_H
#define ZD_DATA_OBJECT_KEY_H

#include "server/data/node.h"

/**
 * @param level of the chunk: 0 = a stored object of its own
 * @param index of the chunk in that level's grid
 * @retval ZD_TOO_LARGE no store has a key that long
 */
ZD_RESULT zd_object_key_of(const struct zd_node *node, uint32_t level, const uint64_t *index,
    char ret_key[ZD_KEY_BYTES_MAX + 1], struct zd_error *err);

/** Put "what key: " in front of an error's text; its facts stay. */
void zd_object_key_in_error(struct zd_error *err, const char *what, const char *key);

#endif
