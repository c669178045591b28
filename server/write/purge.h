/* Going through all stored keys below a path, and erasing those that are to go, in bounded memory.
 * Thread: loop. */
#ifndef ZD_WRITE_PURGE_H
#define ZD_WRITE_PURGE_H

#include "server/data/catalog.h"

enum zd_purge_answer {
    ZD_PURGE_KEEP,
    ZD_PURGE_ERASE,
    ZD_PURGE_STOP,      /* enough was seen: this ends well */
    ZD_PURGE_NO_MEMORY, /* nobody knows: this ends with that status */
};

/** Where to go, and who is asked. */
struct zd_purge_config {
    struct zd_dataset *dataset; /* a reference is taken */
    const char *path;           /* of a node; "" is everything; copied */

    /** Asked of each key below the path, in the order of their bytes. @param rest without the path
     * and its slash */
    enum zd_purge_answer (*visit)(void *context, const char *key, const char *rest);
    /** For who may meet other processes, or NULL. Asked of the node that is at the path by now
     * (NULL: there is none), after the keys of a batch were looked at and before they go, each as
     * it was then: what is written later stays. What visit says of a key by then holds. False:
     * nothing more goes, and this ends well. */
    bool (*holds)(void *context, struct zd_node *node);
    /** A key that was to go has gone. May be NULL. */
    void (*erased)(void *context, const char *key, const char *rest);
    /** It has ended; may free it. Never runs inside zd_purge_start. */
    void (*done)(void *context);
    void *context;
};

struct zd_purge;

/** Begin. @param ret_purge owned @retval ZD_NO_MEMORY */
ZD_RESULT zd_purge_start(
    const struct zd_purge_config *config, struct zd_purge **ret_purge, struct zd_error *err);

/**
 * How it ended: the first failure. Listing ends with one; erasing goes on with the other keys.
 * @param ret_n_failed keys that are still there; or NULL
 */
ZD_RESULT zd_purge_status(
    const struct zd_purge *purge, uint64_t *ret_n_failed, struct zd_error *err);

/** After it has ended. Accepts NULL. */
void zd_purge_free(struct zd_purge *purge);

#endif
