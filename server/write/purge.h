/* Visiting all stored keys below a path, and erasing some of them, in bounded memory. Thread: loop.
 */
#ifndef ZD_WRITE_PURGE_H
#define ZD_WRITE_PURGE_H

#include "server/data/catalog.h"
#include "server/write/kept.h"

enum zd_purge_answer {
    ZD_PURGE_KEEP,
    ZD_PURGE_ERASE,
    ZD_PURGE_STOP,      /* enough was seen: the purge ends with ZD_OK */
    ZD_PURGE_NO_MEMORY, /* the purge ends with that status */
};

/** A stored key below the path. */
struct zd_purge_key {
    const char *key;
    const char *rest; /* of the key, without the path and its slash */
    const char *node; /* the path of the node whose document it is; NULL: of no document */
    bool is_beside;   /* it is a document at the path itself, of a dialect that does not come first:
                         one that does hides it, and then it is a key like any other */
};

/** A purge. It always runs to its end; the want stays where it is until then. */
struct zd_purge_want {
    struct zd_wait wait; /* the first failure: a failed listing ends the purge, a failed erasure
                          * does not */
    /* in; all borrowed until the end */
    struct zd_dataset *dataset;
    const char *path;    /* of a node; "" is everything */
    bool is_shallow;     /* visit what is directly below only, prefixes included */
    bool stops_at_links; /* as in struct zd_store_list: fails with ZD_INVALID */
    /** Judges each key, in the order of their bytes. */
    enum zd_purge_answer (*visit)(void *context, const struct zd_purge_key *key);
    /** Guards against other processes; or NULL. Runs when the keys of a batch were stat'ed and are
     * about to be erased, with the node that is at the path now (NULL: there is none). Each key is
     * then judged again, and erased only in the generation that was found. False: nothing more is
     * erased, and the purge ends with ZD_OK. */
    bool (*holds)(void *context, struct zd_node *node);
    /** Erased keys go here while there is room, and can be put back; or NULL. */
    struct zd_kept *kept;
    /** A key was erased for good (whose `node` is not set). May be NULL. */
    void (*erased)(void *context, const struct zd_purge_key *key);
    void *context;
    /* out */
    uint64_t n_failed; /* keys that could not be erased */
};

/** Begin. @return ZD_WAIT; ZD_NEXT: it could not begin, wait.status says why */
enum zd_next zd_purge_want(struct zd_purge_want *want);

#endif
