/* The documents that can make a node: those of every dialect, while they are read. Thread: loop. */
#ifndef ZD_DATA_NODE_DOCUMENTS_H
#define ZD_DATA_NODE_DOCUMENTS_H

#include "core/dialect/dialect.h"
#include "core/store/contract/store.h"

/** In which order they are read. */
enum zd_node_stage {
    ZD_STAGE_FIRST,   /* of the dialects that come first */
    ZD_STAGE_OTHERS,  /* of all others without an entry point */
    ZD_STAGE_LISTING, /* stored listings of groups that those make */
    ZD_STAGE_ENTRY,   /* entry points of hierarchies */
    ZD_STAGE_BEHIND,  /* the other documents of dialects that have one */
    ZD_STAGES,
};

/** A key under which some dialect has a document. */
struct zd_node_document {
    struct zd_generation generation; /* as checked or read last; zero = absent */
    struct zd_store_read read;       /* its bytes are owned; of a long listing there are none */
    struct zd_store_status check;
    bool is_listing; /* its group is a node without it */
};

struct zd_node_documents {
    struct zd_node_document *item; /* n of them, in the order of their stages; owned */
    uint32_t n;
    uint32_t n_until[ZD_STAGES]; /* up to the end of a stage */
    uint32_t n_asked;            /* up to the last that was read, or is checked */
    bool wants_listing;          /* else those of that stage are left out */
    bool is_n5;                  /* the dataset says so */
    uint32_t *number;            /* of all dialects in turn: which item, or none; owned */
};

/** The dialects' reading of the documents. */
struct zd_node_choice {
    const struct zd_dialect *dialect; /* the highest bidder, or NULL */
    uint32_t at;                      /* where its documents begin among all */
    int bid;                          /* 0: there is none */
    const struct zd_dialect *entry;   /* the dialect whose entry point was read, or NULL */
    bool is_final;                    /* no stage that is left can change it */
};

/**
 * The documents of the node at a path, each key once: some dialects share theirs.
 * @param documents zeroed
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_node_documents_find(struct zd_node_documents *documents, const char *path);
void zd_node_documents_done(struct zd_node_documents *documents); /* accepts a zeroed one */

/** Forget what was read. */
void zd_node_documents_free_bytes(struct zd_node_documents *documents);

/** Begin again with the first stage. */
void zd_node_documents_restart(struct zd_node_documents *documents);

/** Go on to the end of the next stage that has documents. @return the first one of it */
uint32_t zd_node_documents_next(struct zd_node_documents *documents);

/** Whether a document, of those up to the last, is read or checked. */
bool zd_node_documents_asks(const struct zd_node_documents *documents, uint32_t i);

/** The length of the longest document that was not read for it; 0: there is none. */
uint64_t zd_node_documents_length_of_large(const struct zd_node_documents *documents);

/** A listing that is longer than what may be read, or NULL. */
struct zd_node_document *zd_node_documents_long_listing(struct zd_node_documents *documents);

/** Go on with its state alone, which was checked. */
void zd_node_documents_leave_unread(struct zd_node_document *listing);

/** Only dialects whose documents all were read bid. A group may have a listing: then the next stage
 * is that of listings. */
struct zd_node_choice zd_node_documents_choose(struct zd_node_documents *documents);

/** The documents of the chosen dialect; borrowed. @param ret_stat of each of them */
struct zd_documents zd_node_documents_of(const struct zd_node_documents *documents,
    const struct zd_node_choice *choice, struct zd_stat ret_stat[ZD_DOCUMENTS_MAX]);

#endif
