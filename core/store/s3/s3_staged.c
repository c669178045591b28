/* Memory of a bucket's store: staged bytes and old objects. */
#include "core/store/s3/s3_staged.h"

#include "core/base/num.h"

#define STAGED_BYTES_MAX (UINT64_C(1) << 30) /* of a store, staged and kept */

struct staged {
    struct zd_staged staged; /* first member */
    struct zd_buf *bytes;    /* shared */
};

uint64_t zd_s3_staged_room(const struct zd_s3_store *s3)
{
    const struct zd_store_memory *memory = s3->memory;
    const uint64_t own = STAGED_BYTES_MAX - zd_min_u64(STAGED_BYTES_MAX, s3->staged_bytes);
    return memory == NULL
               ? own
               : zd_min_u64(own, memory->bytes_max - zd_min_u64(memory->bytes_max, memory->bytes));
}

enum zd_status zd_s3_staged_refuse(
    const struct zd_s3_store *s3, struct zd_store_write *write, uint64_t bytes)
{
    const uint64_t room = zd_s3_staged_room(s3);
    const enum zd_status status = zd_fail(&write->op.err, ZD_NO_SPACE,
        "%.200s: to store these objects together needs %llu more bytes of memory; %llu are free",
        write->key, (unsigned long long)bytes, (unsigned long long)room);
    zd_fact_limit(&write->op.err, room, bytes);
    return status;
}

void zd_s3_staged_count(struct zd_s3_store *s3, uint64_t bytes)
{
    s3->staged_bytes += bytes;
    if (s3->memory != NULL) {
        s3->memory->bytes += bytes;
    }
}

void zd_s3_staged_uncount(struct zd_s3_store *s3, uint64_t bytes)
{
    s3->staged_bytes -= bytes;
    if (s3->memory != NULL) {
        s3->memory->bytes -= bytes;
    }
}

enum zd_status zd_s3_staged_keep(
    struct zd_s3_store *s3, struct zd_store_write *write, struct zd_buf *bytes)
{
    if (bytes->len > zd_s3_staged_room(s3)) {
        return zd_s3_staged_refuse(s3, write, bytes->len);
    }
    struct staged *staged = zd_alloc(sizeof *staged);
    if (staged == NULL) {
        return zd_fail(&write->op.err, ZD_NO_MEMORY, "%.200s: no memory", write->key);
    }
    *staged = (struct staged){
        .staged = {.store = &s3->store, .size = bytes->len},
        .bytes = zd_buf_ref(bytes),
    };
    zd_s3_staged_count(s3, bytes->len);
    write->staged = &staged->staged;
    return ZD_OK;
}

struct zd_buf *zd_s3_staged_bytes(const struct zd_staged *staged)
{
    return ZD_CONTAINER(staged, struct staged, staged)->bytes;
}

void zd_s3_staged_drop(struct zd_s3_store *s3, struct zd_store_write *write)
{
    if (write->staged != NULL) {
        struct staged *staged = ZD_CONTAINER(write->staged, struct staged, staged);
        zd_s3_staged_uncount(s3, staged->bytes->len);
        zd_buf_unref(staged->bytes);
        zd_free(staged);
        write->staged = NULL;
    }
}
