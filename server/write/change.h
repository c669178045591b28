/* One change of documents under way: what the files server/write/metadata*.c share. Thread: loop.
 *
 *     lock the path - (erasures: read what is below) - lock the metadata - find all nodes from the
 * root to this one - read documents
 *         - (bounds: what they are to be) - judge (worker) - look at what is below - relist
 * (worker) - stage - commit
 *         - unlock the metadata - erase what is to go - tell
 *
 * Where the new document would have chunks that are there be read as what they are not, the old one
 * and they are erased before it is committed. Where an array is made, what is below is looked at
 * with the node and all below it locked: the change begins again at the lock of the path.
 *
 * Each is a step. A step that finds that another process has written goes back to finding. */
#ifndef ZD_WRITE_CHANGE_H
#define ZD_WRITE_CHANGE_H

#include "server/write/lock.h"
#include "server/write/metadata.h"
#include "server/runtime/workers.h"
#include "server/write/purge.h"
#include "server/data/multiscale.h"
#include "server/write/store_write.h"

/** How often a change begins again because another process has written meanwhile. */
#define ZD_CHANGE_TRIES_MAX 16

struct zd_change;
struct zd_kept;
struct zd_subtree;

/** A document of a node: what is stored, and what is to be. */
struct zd_place_document {
    struct zd_place *place;
    uint32_t number; /* among the dialect's */
    struct zd_store_read read;
    struct zd_buf *stored; /* owned; NULL: not read, or not there */
    struct zd_buf *made;   /* owned; NULL: as it is */
    struct zd_store_write_want write;
    bool is_stored;                 /* made was committed */
    struct zd_store_write_want old; /* of what is stored: to erase it, and to put it back */
    bool goes;                      /* it was begun to be erased */
};

/** A node on the way from the root to the one that changes, which is the last. */
struct zd_place {
    struct zd_change *change;
    char *path; /* owned */
    struct zd_node_want want;
    struct zd_node *node;                  /* a reference; NULL: there is none */
    bool wants_bytes;                      /* its documents are to be read */
    bool is_new;                           /* a missing parent, which becomes a group */
    bool is_made;                          /* and is one: others may rely on it by now */
    struct zd_stat stat[ZD_DOCUMENTS_MAX]; /* of its documents, as they were committed here */
    struct zd_place_document document[ZD_DOCUMENTS_MAX];
};

struct zd_change {
    struct zd_dataset *dataset;    /* a reference */
    struct zd_metadata_want *want; /* NULL once nobody waits */
    /* the ask, owned */
    struct zd_metadata_ask ask;
    char *key;                  /* of PUT_KEY and ERASE_KEY, or NULL */
    char *path;                 /* of the node */
    struct zd_written *written; /* what ask.written is, or NULL */

    enum zd_next (*step)(struct zd_change *change); /* what runs next */
    uint32_t n_pending;
    bool is_running;
    uint32_t n_tries;
    struct zd_lock_want path_lock;
    struct zd_lock_want metadata_lock;
    struct zd_job job;

    struct zd_place *place; /* n_places of them: the root first; owned */
    size_t n_places;
    const struct zd_dialect *dialect; /* of what is to be stored */
    struct zd_meta *before;           /* what the node was; a reference, or NULL */
    struct zd_meta *now;              /* of a purge: what it is by then; a reference, or NULL */
    struct zd_meta *meta;             /* the new document, judged; a reference, or NULL */
    struct zd_node *made;             /* and as it is found by readers; a reference, or NULL */
    struct zd_json *new_group;        /* the document of parents that are made; or NULL */
    bool has_made;                    /* there was no such node, or key */
    struct zd_stat stat;              /* of the key that was stored */

    struct zd_multiscale scales; /* of a group that lists levels */

    /* of looking: documents of nodes below, and keys that are none */
    struct zd_purge *purge;
    bool has_child;
    bool has_key;
    bool has_chunk;     /* a key is of a chunk of what the node was, or is to be */
    bool shows_orphans; /* nodes below a parent that was missing */
    bool stops_at_key;
    bool stops_at_chunk;

    /* of listings, when the node is stored */
    bool drops_listings; /* they could not be refreshed */
    bool is_failed;      /* stale_err is how the change ends, whatever becomes of them */
    bool is_stale;       /* nor dropped: stale_err says why */

    /* of a replacement that erases chunks first */
    bool is_cleared;   /* the node's old documents are gone, and nothing is made in their place */
    bool has_purged;   /* keys below went, too: there is no way back */
    bool is_overtaken; /* somebody else has made the node meanwhile */
    bool is_lost;      /* it ends without a node: stale_err says why */

    /* of storing */
    struct zd_place_document **item; /* n_items of them, in the order they are committed; owned */
    size_t n_items;
    size_t next_item;
    bool has_stored; /* the node's own documents are; only listings may be missing */

    /* of undoing */
    struct zd_kept **kept; /* n_kept documents as they were before, in the order they went; owned */
    size_t n_kept;
    size_t kept_cap;
    struct zd_kept *next_kept; /* for the one that is to go next; owned, or NULL */
    bool is_final;             /* chunks were looked for, to be erased: nothing is undone */
    uint32_t n_lost;           /* documents that could not be put back: lost_err says why */
    struct zd_error lost_err;

    struct zd_subtree *subtree; /* of an erasure: documents below; owned, or NULL */
    uint64_t *erased_index;     /* chunks that are gone, n_erased of them, and not told; owned */
    size_t n_erased;

    enum zd_status status;
    struct zd_error err;
    struct zd_error stale_err;
    const char *code;
};

/** The node that changes. */
static inline struct zd_place *zd_change_target(struct zd_change *change)
{
    return &change->place[change->n_places - 1];
}

static inline bool zd_change_is_erasure(const struct zd_change *change)
{
    return change->ask.kind == ZD_METADATA_ERASE || change->ask.kind == ZD_METADATA_ERASE_KEY;
}

/** Go on with the steps: for those who end a wait. */
void zd_change_go_on(struct zd_change *change);

/** One of n_pending has ended. */
void zd_change_arrived(struct zd_change *change);

/** After starting what n_pending counts: ZD_NEXT when nothing is left to wait for. */
enum zd_next zd_change_wait(struct zd_change *change);

/** The change fails, and goes to its end: but when it is stored and only listings are not, those
 * are dropped, and when even that fails all is undone. err is told already. @return ZD_NEXT */
enum zd_next zd_change_fail(
    struct zd_change *change, enum zd_status status, const char *code, const struct zd_error *err);

/** What is stored is not what was found: look again, unless that was done too often. */
enum zd_next zd_change_again(struct zd_change *change);

/** Tell the events what was stored, and later which chunks went with it.
 * server/write/change_report.c */
void zd_change_report(struct zd_change *change);
void zd_change_report_erased(struct zd_change *change, const uint64_t *index);
void zd_change_report_rest(struct zd_change *change);

/** Look for the arrays that the new document lists as levels of a group; then change->step. */
enum zd_next zd_change_find_levels(struct zd_change *change);

/** They are known: what is none is a fault of the document. */
ZD_RESULT zd_change_judge_levels(struct zd_change *change);

/** Lock the metadata, once more after it was unlocked; then change->step. */
enum zd_next zd_change_relock(struct zd_change *change);

/** Begin again with the node and all below it locked: where an array is made, nobody is to store
 * what was no chunk of it when that was looked for. */
enum zd_next zd_change_lock_tree(struct zd_change *change);

/** Run work on a worker, or here when that is cheap; then change->step. */
enum zd_next zd_change_work(
    struct zd_change *change, void (*work)(struct zd_job *job), uint64_t cost_ns);

/* The steps, in their order; of erasures zd_change_collect comes first. */
enum zd_next zd_change_lock(struct zd_change *change);    /* server/write/metadata.c */
enum zd_next zd_change_find(struct zd_change *change);    /* server/write/change_find.c */
enum zd_next zd_change_bounds(struct zd_change *change);  /* server/write/change_bounds.c */
enum zd_next zd_change_judge(struct zd_change *change);   /* server/write/change_judge.c */
enum zd_next zd_change_relist(struct zd_change *change);  /* server/write/change_judge.c */
enum zd_next zd_change_store(struct zd_change *change);   /* server/write/change_store.c */
enum zd_next zd_change_collect(struct zd_change *change); /* server/write/change_subtree.c */
enum zd_next zd_change_erase_documents(struct zd_change *change); /* server/write/change_erase.c */
enum zd_next zd_change_commit(struct zd_change *change);          /* server/write/change_store.c */
enum zd_next zd_change_erase(struct zd_change *change);           /* server/write/change_erase.c */
enum zd_next zd_change_end(struct zd_change *change);

/** Whether the new document has chunks erased that are not its own, and is not to be seen before.
 */
bool zd_change_orphans(const struct zd_change *change);

/** It was cleared, and the new document cannot be stored, as change->status and err say: put the
 * old ones back while all chunks are there, or end without a node. */
enum zd_next zd_change_give_back(struct zd_change *change);

/** A listing that cannot be refreshed is dropped: none is valid, a wrong one is not. */
enum zd_next zd_change_drop_listings(struct zd_change *change);

/* What is stored or erased is kept, until all is through or it is undone:
 * server/write/change_undo.c */

/** Memory for the next one, under its key. @retval ZD_NO_MEMORY */
ZD_RESULT zd_change_make_kept(struct zd_change *change, const char *key);

/** It went: a document was committed with keeps_old, or these bytes were erased. */
void zd_change_keep(struct zd_change *change, struct zd_place_document *document);
void zd_change_keep_erased(struct zd_change *change, struct zd_buf *bytes);

/** All is through. */
void zd_change_forget_kept(struct zd_change *change);

/** All goes back, the last one first, and the change ends with that error. Parents that others have
 * come to need stay. */
enum zd_next zd_change_undo(
    struct zd_change *change, enum zd_status status, const char *code, const struct zd_error *err);

/** Whether the documents below are known and held. */
bool zd_subtree_is_held(const struct zd_subtree *subtree);
void zd_subtree_free(struct zd_subtree *subtree); /* accepts NULL */

/** Erase them, or put back those that were erased; then change->step runs. How the erasing ended:
 * with the first failure. */
enum zd_next zd_change_erase_below(struct zd_change *change);
enum zd_next zd_change_restore_below(struct zd_change *change);
ZD_RESULT zd_subtree_status(const struct zd_subtree *subtree, struct zd_error *err);

/** How many could not be put back. @param ret_err of the first one, when there is one */
uint32_t zd_subtree_lost(const struct zd_subtree *subtree, struct zd_error *ret_err);

/** Give up what was found, read, made and staged, to begin again or to end. */
void zd_change_forget(struct zd_change *change);

#endif
