/* A change of documents under way, shared by server/write/change_*.c. The table in
 * server/write/change.c has the order of the steps. Thread: loop. */
#ifndef ZD_WRITE_CHANGE_H
#define ZD_WRITE_CHANGE_H

#include "server/data/catalog.h"
#include "server/data/multiscale.h"
#include "server/runtime/allowance.h"
#include "server/runtime/gather.h"
#include "server/write/kept.h"
#include "server/write/lock.h"
#include "server/write/metadata.h"
#include "server/write/purge.h"
#include "server/write/store_write.h"

struct zd_change;
struct zd_change_old_document;
struct zd_change_subtree;

/** The outcome of a step. */
enum zd_change_outcome {
    ZD_CHANGE_NEXT,
    ZD_CHANGE_AGAIN,     /* another process has written: what was found is out of date */
    ZD_CHANGE_FAILED,    /* change->err and code say why */
    ZD_CHANGE_DONE,      /* nothing (more) to do here */
    ZD_CHANGE_MORE,      /* of many: the next ones */
    ZD_CHANGE_TREE,      /* the step applies to all nodes below, too */
    ZD_CHANGE_ERASE,     /* the stored documents are erased before anything is committed */
    ZD_CHANGE_ORPHANS,   /* they are erased; next are the chunks they leave behind */
    ZD_CHANGE_GIVE_BACK, /* what is erased has to be put back first */
    ZD_CHANGE_UNDO,      /* what was committed or erased has to be put back */
    ZD_CHANGE_LISTINGS,  /* only the listings above are left: they are dropped */
};
#define ZD_CHANGE_N_OUTCOMES (ZD_CHANGE_LISTINGS + 1)

typedef enum zd_change_outcome zd_change_step(struct zd_change *change);

/** A row of the table of states (server/runtime/machine.h). `begin` starts what it needs in
 * change->gather. */
struct zd_change_row {
    zd_change_step *begin;
    zd_change_step *end; /* or NULL */
    uint8_t follows[ZD_CHANGE_N_OUTCOMES];
};

/** A document of a node, stored and new. */
struct zd_change_document {
    struct zd_change_place *place;
    uint32_t number; /* among the dialect's */
    struct zd_store_read read;
    struct zd_buf *stored;        /* owned; NULL: not read, or absent */
    struct zd_buf *made;          /* owned; NULL: the document stays as it is */
    bool is_dropped;              /* nothing is made: it is erased, if it is stored */
    struct zd_store_status stray; /* of a new node, or a key: ZD_OK: one of no node lies there */
    struct zd_store_write_want write;
    bool is_stored;                 /* made was committed, or it was erased */
    struct zd_store_write_want old; /* erases what is stored */
    struct zd_kept_item *kept;      /* while it does; owned */
    bool goes;                      /* its erasure has begun */
};

/** A node on the way from the root to the one that changes, which is the last. */
struct zd_change_place {
    struct zd_change *change;
    char *path; /* owned */
    struct zd_node_want want;
    struct zd_node *node;                  /* a reference; NULL: there is none */
    bool wants_bytes;                      /* its documents have to be read */
    bool is_new;                           /* a missing parent, which becomes a group */
    bool is_made;                          /* stored: other writers may depend on it */
    struct zd_stat stat[ZD_DOCUMENTS_MAX]; /* of its documents, as they were committed here */
    struct zd_change_document document[ZD_DOCUMENTS_MAX];
};

/** The findings below the node: bits. */
enum zd_change_seen {
    ZD_CHANGE_SEEN_CHILD = 1,
    ZD_CHANGE_SEEN_KEY = 2,     /* of no document */
    ZD_CHANGE_SEEN_CHUNK = 4,   /* of the old or the new node */
    ZD_CHANGE_SEEN_ORPHANS = 8, /* nodes below a parent that was missing */
    ZD_CHANGE_SEEN_LINK = 16,   /* of a node that is to be erased: purge.wait.err names it */
    ZD_CHANGE_SEEN_FILE = 32,   /* of no document and no chunk: somebody else's */
    ZD_CHANGE_SEEN_BESIDE = 64, /* documents at the path that one of a first dialect hides */
};

/** How far the change has come. */
enum zd_change_phase {
    ZD_CHANGE_DOCUMENTS, /* the node's own documents are still to be stored or erased */
    ZD_CHANGE_REFRESH,   /* they are: the listings above are refreshed */
    ZD_CHANGE_DROP,      /* which was impossible: they are dropped */
};

/** How the change ends although it goes on for the sake of the listings. */
enum zd_change_verdict {
    ZD_VERDICT_NONE,
    ZD_VERDICT_STALE,  /* it is made; listings are out of date */
    ZD_VERDICT_FAILED, /* it is not made */
    ZD_VERDICT_LOST,   /* the node is gone as well */
};

/** The way back. */
struct zd_change_undo {
    struct zd_list old;                  /* struct zd_change_old_document: the last change first */
    struct zd_change_old_document *next; /* for the one that changes next; owned, or NULL */
    bool is_final;                       /* keys are erased for good: nothing is undone */
    uint32_t n_lost;                     /* objects that could not be put back */
    struct zd_error lost_err;            /* of the first of them */
    struct zd_store_list below;          /* what was below the first parent before it was made */
    bool is_needed;                      /* by others: the parent that was made */
    bool was_unlocked;                   /* others may have changed the listings since */
    bool is_overtaken;                   /* others have written a document since: it stays */
    bool begins_again;                   /* the change is undone for the sake of a new try */
};

/** A replacement that erases the old documents and chunks first: server/write/change_erase.c */
struct zd_change_clearing {
    bool is_cleared;   /* the old documents are erased, and no new one is stored */
    bool is_overtaken; /* another process has made the node meanwhile */
};

struct zd_change {
    struct zd_dataset *dataset;     /* a reference */
    struct zd_metadata_want *want;  /* NULL once released */
    struct zd_metadata_input input; /* owned */
    char *key;                      /* of PUT_KEY and ERASE_KEY, or NULL */
    char *path;                     /* of the node */
    struct zd_written *written;     /* what input.written points to, or NULL */

    struct zd_machine machine;
    struct zd_machine_place state;
    struct zd_gather gather;
    struct zd_job job;
    uint32_t n_tries;
    struct zd_lock_want path_lock;
    struct zd_lock_want metadata_lock;
    struct zd_purge_want purge;
    struct zd_allowance_want room; /* for the texts of documents */

    struct zd_change_place *place; /* n_places of them: the root first; owned */
    size_t n_places;
    const struct zd_dialect *dialect; /* of the new documents; that of the key from the beginning */
    struct zd_meta *before;           /* what the node was; a reference, or NULL */
    struct zd_meta *now;              /* what it is during a purge; a reference, or NULL */
    struct zd_meta *meta;             /* the new document, judged; a reference, or NULL */
    struct zd_node *made;             /* as readers will find it; a reference, or NULL */
    struct zd_json *new_group;        /* the document of parents that are made; or NULL */
    struct zd_multiscale multiscale;  /* of a group that lists levels */
    uint32_t seen;                    /* bits of enum zd_change_seen */
    uint32_t enough;                  /* looking stops at one of these */
    uint64_t n_children;              /* directly below a node that is not empty */
    bool tells_stored;                /* the judged document is not the sent one alone */
    bool blames_input;                /* as in struct zd_metadata_want, with the next two */
    bool parent_is_denied;
    size_t parent_len;
    struct zd_stat stat; /* of the key that was stored */

    enum zd_change_phase phase;
    struct zd_change_document **item; /* n_items of them, in commit order; owned */
    size_t n_items;
    size_t next_item;
    struct zd_change_clearing clearing;
    struct zd_change_undo undo;
    struct zd_kept kept;               /* what is erased, until all is done */
    struct zd_change_subtree *subtree; /* of an erasure: documents below; owned, or NULL */
    uint64_t *erased_index;            /* of n_erased chunks to be reported; owned */
    size_t n_erased;

    struct zd_error err;
    const char *code; /* of the problem, or NULL */
    bool is_withdrawn;
    bool has_made;    /* there was no such node, or key */
    bool is_hidden;   /* of a key: a node of another dialect is at its path */
    bool stays;       /* of a key: there is a node with it, or without it */
    bool is_judged;   /* of a key: others wrote what refuses the node */
    bool is_storing;  /* something may be stored or erased: it is not withdrawn any more */
    bool is_reported; /* the events of its nodes are sent */
    enum zd_change_verdict verdict;
    struct zd_error verdict_err;
};

/** The node that changes. */
static inline struct zd_change_place *zd_change_target(struct zd_change *change)
{
    return &change->place[change->n_places - 1];
}

static inline bool zd_change_is_erasure(const struct zd_change *change)
{
    return change->input.kind == ZD_METADATA_ERASE || change->input.kind == ZD_METADATA_ERASE_KEY;
}

/** Whether the node is of a dialect that comes first: it hides what others keep at its path. */
static inline bool zd_change_hides(const struct zd_change *change)
{
    const struct zd_node *node = change->place[change->n_places - 1].node;
    const struct zd_dialect *dialect = node != NULL ? node->meta->dialect : change->dialect;
    return dialect != NULL && dialect->is_first;
}

static inline bool zd_change_is_put(const struct zd_change *change)
{
    return change->input.kind == ZD_METADATA_PUT || change->input.kind == ZD_METADATA_PUT_KEY;
}

/** NEXT, or FAILED with change->err, to which that status belongs. */
static inline enum zd_change_outcome zd_change_outcome_of(
    struct zd_change *change, enum zd_status status)
{
    change->err.status = status;
    return status == ZD_OK ? ZD_CHANGE_NEXT : ZD_CHANGE_FAILED;
}

/** FAILED, with a text for change->err. */
#define ZD_CHANGE_FAIL(change, ...)                                                                \
    zd_change_outcome_of(change, zd_fail(&(change)->err, __VA_ARGS__))

/** The outcome of a wait that has ended. */
static inline enum zd_change_outcome zd_change_outcome_of_wait(
    struct zd_change *change, const struct zd_wait *wait)
{
    if (wait->status != ZD_OK) {
        change->err = wait->err;
    }
    return zd_change_outcome_of(change, wait->status);
}

/* server/write/change.c */

/** In `begin`: run work on a worker, or here when it is cheap. It sets change->err.status. */
enum zd_change_outcome zd_change_run_work(
    struct zd_change *change, void (*work)(struct zd_job *job), uint64_t cost_ns);

/** In `begin`: write. @param want set but for its wait; stays where it is */
void zd_change_run_write(
    struct zd_change *change, const char *key, struct zd_store_write_want *want);

/** In `begin`: purge; set are the path and the calls. */
enum zd_change_outcome zd_change_run_purge(
    struct zd_change *change, const struct zd_purge_want *purge);

/* server/write/change_new.c: what the change holds. */

/** @param input copied. @return owned; NULL: no memory */
struct zd_change *zd_change_new(struct zd_dataset *dataset, const struct zd_metadata_input *input);

/** Forget what was found and made, so that all begins again: of the node's own documents nothing,
 * once they are stored. */
void zd_change_forget(struct zd_change *change);
void zd_change_free(struct zd_change *change); /* it holds no lock */

/* server/write/change_find.c: what is stored, and whether the change is possible there. */
zd_change_step zd_change_find_nodes;
zd_change_step zd_change_find_nodes_end;
zd_change_step zd_change_find_documents;
zd_change_step zd_change_find_documents_end;
zd_change_step zd_change_find_again; /* whether the nodes are still the ones found */
zd_change_step zd_change_find_again_end;
zd_change_step zd_change_look; /* whether the keys below allow the change */
zd_change_step zd_change_look_end;

/** In `begin`: read a document of that dialect; how, its `read` says. */
void zd_change_find_read(struct zd_change_document *document, const struct zd_dialect *dialect);

/** There is nothing to change. */
enum zd_change_outcome zd_change_find_refuse_absent(struct zd_change *change);

/** Whether a key below the node is a chunk of the old or the new one, or may be one of an old array
 * that is not understood. */
bool zd_change_find_is_chunk(const struct zd_change *change, const char *rest);

/* server/write/change_room.c: memory for their texts, before they are read. */
zd_change_step zd_change_room;
zd_change_step zd_change_room_end; /* MORE: the metadata was unlocked, all begins again */

/* server/write/change_judge.c: the new documents, judged and rendered. */
zd_change_step zd_change_judge_bounds;
zd_change_step zd_change_judge;
zd_change_step zd_change_judge_end;
zd_change_step zd_change_judge_levels;
zd_change_step zd_change_judge_levels_end;

/** How documents of clients are read. */
struct zd_reading zd_change_judge_reading(const struct zd_change *change);

/** Whether an extension unknown to this server may be stored: the dataset decides. */
bool zd_change_judge_accepts(const struct zd_change *change, const struct zd_meta *meta);

struct zd_documents zd_change_judge_documents(const struct zd_change_place *place);
uint64_t zd_change_judge_stored_bytes(const struct zd_change_place *place);

/**
 * The listing that a group has in its documents.
 *
 * @param place with a node and the bytes of its documents
 * @param ret_listing owned; NULL: it has none
 * Thread: any (worker); on failure place->change->err says why.
 */
ZD_RESULT zd_change_judge_listing(
    struct zd_change_place *place, struct zd_stored_listing **ret_listing);

/** Texts to be rendered, within the limit. The next two release them. */
struct zd_document_texts zd_change_judge_begin(const struct zd_change *change);

/** Plan to store the texts at a place; on failure place->change->err says why. */
ZD_RESULT zd_change_judge_keep(struct zd_change_place *place, struct zd_document_texts *texts);

/** The same, if this server can read them again. */
ZD_RESULT zd_change_judge_keep_readable(
    struct zd_change_place *place, struct zd_document_texts *texts);

/* server/write/change_key.c: one document, by its raw key. */

/** The node that was found at a place, if the key can change it; else it is released. */
struct zd_node *zd_change_key_pick(struct zd_change_place *place, struct zd_node *found);

/** Whether documents that make no node, or one that is hidden, have to be read. */
bool zd_change_key_wants_strays(const struct zd_change *change);
void zd_change_key_read_strays(struct zd_change *change); /* in `begin` */
zd_change_step zd_change_key_note_strays;

/** Whether the caller's condition holds, as far as the node tells; always without a key. */
bool zd_change_key_holds(const struct zd_change *change, const struct zd_node *node);

/** On a worker: set what the change makes of the node; on failure change->err says why. */
ZD_RESULT zd_change_key_judge(struct zd_change *change);
ZD_RESULT zd_change_key_judge_erasure(struct zd_change *change);

/* server/write/change_store.c: consolidated metadata of the nodes above; all that is stored. */
zd_change_step zd_change_relist;
zd_change_step zd_change_relist_end;
zd_change_step zd_change_store;
zd_change_step zd_change_store_end;
zd_change_step zd_change_store_commit;
zd_change_step zd_change_store_commit_end;

/* server/write/change_subtree.c: documents below a node that is erased. */
zd_change_step zd_change_subtree_collect;
zd_change_step zd_change_subtree_collect_end;
zd_change_step zd_change_subtree_read;
zd_change_step zd_change_subtree_read_end;
zd_change_step zd_change_subtree_erase;
zd_change_step zd_change_subtree_erase_end;

/** Whether the documents below are not too many, so that their erasure can be undone. */
bool zd_change_subtree_is_held(const struct zd_change_subtree *subtree);

void zd_change_subtree_free(struct zd_change_subtree *subtree); /* accepts NULL */

/* server/write/change_erase.c: what is erased, before and after the new document is stored. */
zd_change_step zd_change_erase_own;
zd_change_step zd_change_erase_own_end;
zd_change_step zd_change_erase_keep;
zd_change_step zd_change_erase_orphans;
zd_change_step zd_change_erase_orphans_end;
zd_change_step zd_change_erase_relock_end;
zd_change_step zd_change_erase_give_back; /* unless something is erased for good */
zd_change_step zd_change_erase_restore;
zd_change_step zd_change_erase_restore_end;
zd_change_step zd_change_erase_restored; /* and nothing else was changed */
zd_change_step zd_change_erase_rest;
zd_change_step zd_change_erase_rest_end;

/** The stored object that a document replaces; zero: there is none. */
struct zd_generation zd_change_store_replaced(const struct zd_change_document *document);

/** Whether keys are erased after the last document is stored. */
bool zd_change_erase_has_rest(const struct zd_change *change);

zd_change_step zd_change_erase_settle; /* what is kept is not needed any more */
zd_change_step zd_change_erase_settle_end;

/** Report the nodes that have changed to the subscribers of events. */
void zd_change_report(struct zd_change *change);

/** Whether the new document orphans the chunks that are stored, if there are any. */
bool zd_change_erase_orphans_chunks(const struct zd_change *change);

/* The committed or erased objects, kept until the change is complete. */

/** Memory for the next one, under its key. @retval ZD_NO_MEMORY */
ZD_RESULT zd_change_undo_prepare(struct zd_change *change, const char *key);

/** A document was committed with keeps_old. */
void zd_change_undo_keep(struct zd_change *change, struct zd_change_document *document);

/** The object in change->kept was erased; prepared with the key "". */
void zd_change_undo_mark_erased(struct zd_change *change);

/** It is not put back any more: it was the last change. */
void zd_change_undo_unmark_erased(struct zd_change *change);

/** In `begin`: look what is below the first of the parents that will be made. */
void zd_change_undo_note_below(struct zd_change *change);

/** The change can no longer be undone. */
void zd_change_undo_forget(struct zd_change *change);

zd_change_step zd_change_undo_look; /* the last one first; parents others have come to need stay */
zd_change_step zd_change_undo_look_end;
zd_change_step zd_change_undo_last;
zd_change_step zd_change_undo_last_end;
zd_change_step zd_change_undo_end;

#endif
