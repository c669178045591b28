/* Shared by the operations of the store "s3:". Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_STORE_H
#define ZD_CORE_STORE_S3_S3_STORE_H

#include "core/store/s3/s3_access.h"
#include "core/store/contract/store.h"
#include "core/store/contract/turns.h"

#define ZD_S3_TAG_BYTES_MAX 95   /* longer ones are not remembered */
#define ZD_S3_TAGS          1024 /* that are remembered: generations share places */

struct zd_s3_batch;

/** An object that was seen: its tag is what stores are asked with, and a generation does not say
 * it. */
struct zd_s3_tag {
    struct zd_stat stat;
    char etag[ZD_S3_TAG_BYTES_MAX + 1]; /* without quotes; "" = none is remembered here */
};

/** How an engine treats conditions of writes; probed before the first conditional write. */
struct zd_s3_abilities {
    bool is_known;
    bool creates;      /* If-None-Match: * lets one of many writers win */
    bool swaps;        /* If-Match lets one of many writers win */
    bool erases;       /* DELETE obeys If-Match */
    bool erases_many;  /* and so does an erasure of many objects, of each its tag */
    bool has_bare_tag; /* tags are compared without their quotes */
};

/** The same of uploads in parts: their conditions are those of the completion. */
struct zd_s3_upload_abilities {
    bool is_known; /* of the next two */
    bool creates;
    bool swaps;
    bool is_lacking; /* the engine has no uploads */
};

/** How large bodies are sent; tests have smaller ones. */
struct zd_s3_sizes {
    uint64_t upload_over; /* longer bodies are uploaded in parts */
    uint64_t part_bytes;  /* of each but the last one, or more */
    uint64_t put_bytes;   /* of one request, at most */
};

/** The head of op.private_state of a running operation. */
struct zd_s3_state {
    void (*cancel)(struct zd_store_op *op);
};

/** The store. */
struct zd_s3_store {
    struct zd_store store; /* first member */
    struct zd_s3_access access;
    struct zd_turns turns;          /* of writes */
    uint64_t staged_bytes;          /* staged or kept, in memory */
    struct zd_store_memory *memory; /* what they are counted in, too; borrowed; or NULL */
    struct zd_s3_tag *tag;          /* ZD_S3_TAGS of them, owned */
    bool misreads_suffixes;      /* it answers suffixes with other bytes: they are not asked for */
    struct zd_s3_abilities able; /* core/store/s3/s3_probe.h */
    bool is_probing;
    struct zd_list waiting; /* what waits for the probe */
    struct zd_s3_sizes sizes;
    struct zd_s3_upload_abilities uploads; /* core/store/s3/s3_upload_probe.h */
    bool is_probing_uploads;
    struct zd_list uploads_waiting; /* what waits for that probe */
    bool lacks_batches;             /* the engine has no erasure of many objects */
    struct zd_s3_batch *gathering;  /* core/store/s3/s3_batch.h: erasures join it; NULL = none */
};

static inline struct zd_s3_store *zd_s3_store_of(struct zd_store *store)
{
    return ZD_CONTAINER(store, struct zd_s3_store, store);
}

/**
 * The generation of an object with that tag. Equal tags and sizes are equal bytes: an object that
 * gets its old bytes back has its old generation.
 *
 * @param etag as a header has it
 */
struct zd_generation zd_s3_store_generation(const char *etag, uint64_t size);

/** Remember the tag of an object. @param etag as a header has it */
void zd_s3_store_remember(struct zd_s3_store *s3, const struct zd_stat *stat, const char *etag);

/** The tag of a remembered generation, or NULL. */
const struct zd_s3_tag *zd_s3_store_recall(
    const struct zd_s3_store *s3, struct zd_generation generation);

/** A tag with the quotes that the engine compares. @param ret_value of ZD_S3_TAG_BYTES_MAX + 3 */
void zd_s3_store_spell(const struct zd_s3_store *s3, const char *etag, char *ret_value);

/** An operation of the store is over: its status is set. */
static inline void zd_s3_store_end(struct zd_store_op *op)
{
    op->private_state = NULL;
    op->done(op);
}

#endif
