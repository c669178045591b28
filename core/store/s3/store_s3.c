/* The stores "s3:" and "gs:": objects of a bucket, asked by the protocol of Amazon S3. */
#include <string.h>

#include "core/store/s3/s3_names.h"
#include "core/store/contract/store_impl.h"
#include "core/store/s3/s3_read.h"
#include "core/store/s3/s3_store.h"
#include "core/store/s3/s3_write.h"
#include "core/base/secret_file.h"

static enum zd_status judge_file(const struct zd_json *options, struct zd_error *err)
{
    const char *file = zd_json_string(zd_json_member(options, "credentials_file"));
    return file == NULL ? ZD_OK : zd_secret_file_judge("credentials_file", file, err);
}

static enum zd_status s3_judge(
    const char *location, const struct zd_json *options, struct zd_error *err)
{
    struct zd_s3_bucket bucket;
    const enum zd_status status = zd_s3_bucket_init(location, options, &bucket, err);
    zd_s3_bucket_done(&bucket);
    return status == ZD_OK ? judge_file(options, err) : status;
}

/* Check the location alone. */
static enum zd_status s3_find_place(const char *location, uint64_t *ret_place, struct zd_error *err)
{
    ZD_TRY(s3_judge(location, NULL, err));
    *ret_place = 0;
    return ZD_OK;
}

static enum zd_status s3_find_place_now(const char *location, uint64_t *ret_place)
{
    return s3_find_place(location, ret_place, NULL) == ZD_OK ? ZD_OK : ZD_AGAIN;
}

static void s3_close(struct zd_store *store)
{
    struct zd_s3_store *s3 = zd_s3_store_of(store);
    zd_s3_access_close(&s3->access);
    zd_free(s3->tag);
    zd_free(store->location);
    zd_free(s3);
}

static enum zd_status s3_open(
    const struct zd_store_config *config, struct zd_store **ret_store, struct zd_error *err)
{
    if (config->remote == NULL) {
        return zd_fail(
            err, ZD_INVALID, "%.200s: remote stores cannot be opened here", config->location);
    }
    struct zd_s3_store *s3 = zd_alloc_zero(1, sizeof *s3);
    if (s3 == NULL || zd_store_init(&s3->store, config) != ZD_OK) {
        zd_free(s3);
        return zd_fail(err, ZD_NO_MEMORY, "%.200s: no memory for the store", config->location);
    }
    zd_list_init(&s3->waiting);
    zd_list_init(&s3->uploads_waiting);
    zd_s3_write_init(s3);
    s3->memory = config->memory;
    s3->tag = zd_alloc_zero(ZD_S3_TAGS, sizeof *s3->tag);
    enum zd_status status = s3->tag == NULL
                                ? zd_fail(err, ZD_NO_MEMORY, "%.200s: no memory", config->location)
                                : zd_s3_access_open(config, &s3->access, err);
    if (status == ZD_OK) {
        status = judge_file(config->options, err);
    }
    if (status != ZD_OK) {
        s3_close(&s3->store);
        return status;
    }
    s3->store.endpoint = s3->access.bucket.endpoint;
    s3->store.space = s3->access.bucket.space;
    s3->store.base = s3->access.bucket.prefix;
    *ret_store = &s3->store;
    return ZD_OK;
}

static void s3_read(struct zd_store *store, struct zd_store_read *read)
{
    zd_s3_read(zd_s3_store_of(store), read);
}

static void s3_status(struct zd_store *store, struct zd_store_status *status)
{
    zd_s3_read_status(zd_s3_store_of(store), status);
}

static void s3_list(struct zd_store *store, struct zd_store_list *list)
{
    zd_s3_names_list(zd_s3_store_of(store), list);
}

static void s3_write(struct zd_store *store, struct zd_store_write *write)
{
    zd_s3_write(zd_s3_store_of(store), write);
}

static void s3_erase(struct zd_store *store, struct zd_store_write *erase)
{
    zd_s3_write_erase(zd_s3_store_of(store), erase);
}

static void s3_discard(struct zd_store *store, struct zd_store_write *write)
{
    zd_s3_write_discard(zd_s3_store_of(store), write);
}

/* The operation's state begins with its function for cancelling. */
static void s3_cancel(struct zd_store *store, struct zd_store_op *op)
{
    const struct zd_s3_state *state =
        zd_s3_write_leave(zd_s3_store_of(store), op) ? NULL : op->private_state;
    if (state != NULL) {
        state->cancel(op);
    }
}

const struct zd_store_ops zd_store_ops_s3 = {
    .scheme = "s3",
    .accepts = zd_s3_bucket_accepts,
    .usage = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX",
    .meaning = "objects of an S3 bucket",
    .is_remote = true,
    .schema = zd_s3_bucket_schema,
    .judge = s3_judge,
    .default_revalidate_ms = ZD_REMOTE_REVALIDATE_MS,
    .open = s3_open,
    .close = s3_close,
    .find_place = s3_find_place,
    .find_place_now = s3_find_place_now,
    .read = s3_read,
    .status = s3_status,
    .list = s3_list,
    .write = s3_write,
    .erase = s3_erase,
    .discard = s3_discard,
    .cancel = s3_cancel,
};
