/* Shared by tests of stores: a loop, a fresh store, and operations that wait. */
#include "tests/support/store.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/contract/store_impl.h"
#include "tests/support/check.h"
#include "tests/support/store_tally.h"

#define OPEN_DIRECTORIES_MAX 16

int zd_test_count;

/* Archives are only read, and remote stores need a server: tests of their own. */
static bool is_writable(const struct zd_store_ops *ops)
{
    return strcmp(ops->scheme, "zip") != 0 && !ops->is_remote;
}

int zd_test_n_stores(void)
{
    int n = 0;
    for (int at = 0; zd_stores[at] != NULL; at++) {
        n += is_writable(zd_stores[at]);
    }
    ck_assert_int_lt(n, ZD_TEST_STORES_MAX);
    return n + 1;
}

const char *zd_test_scheme(int i)
{
    int at = 0;
    for (; zd_stores[at] != NULL && (i > 0 || !is_writable(zd_stores[at])); at++) {
        i -= is_writable(zd_stores[at]);
    }
    return zd_stores[at] == NULL ? zd_store_tally_ops.scheme : zd_stores[at]->scheme;
}

static void open_at(struct zd_test_store *test, const char *location, bool durable)
{
    ck_assert_int_eq(uv_loop_init(&test->loop), 0);
    const struct zd_store_config config = {
        .location = location,
        .loop = &test->loop,
        .writable = true,
        .durable = durable,
    };
    struct zd_error err = {0};
    const enum zd_status status = zd_store_open(&config, &test->store, &err);
    ck_assert_msg(status == ZD_OK, "%s: %s", location, err.text);
}

static void open_tally(struct zd_test_store *test)
{
    open_at(test, "mem:", true);
    const struct zd_store_config config = {
        .location = "tally:", .loop = &test->loop, .writable = true, .inner = test->store};
    ck_assert_int_eq(zd_store_open_as(&zd_store_tally_ops, &config, &test->store, NULL), ZD_OK);
}

void zd_test_store_open(struct zd_test_store *test, const char *scheme)
{
    char location[80] = "mem:";
    *test = (struct zd_test_store){0};
    if (strcmp(scheme, "tally") == 0) {
        open_tally(test);
        return;
    }
    if (strcmp(scheme, "file") == 0) {
        snprintf(test->directory, sizeof test->directory, "/tmp/zarrd-test-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(test->directory));
        snprintf(location, sizeof location, "%s", test->directory);
    } else {
        ck_assert_msg(strcmp(scheme, "mem") == 0, "say here how a store \"%s\" is opened", scheme);
    }
    open_at(test, location, true);
    ck_assert_str_eq(test->store->ops->scheme, scheme);
}

void zd_test_store_join(struct zd_test_store *test, const struct zd_test_store *other, bool durable)
{
    *test = (struct zd_test_store){.is_joined = true};
    memcpy(test->directory, other->directory, sizeof test->directory);
    open_at(test, test->directory, durable);
}

int zd_test_count_temps(const struct zd_test_store *test)
{
    char command[160];
    snprintf(command, sizeof command, "find %s -type f -name '" ZD_TEMP_PREFIX "*' | wc -l",
        test->directory);
    FILE *pipe = popen(command, "r");
    int n = -1;
    ck_assert_int_eq(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

static int remove_entry(const char *path, const struct stat *file, int type, struct FTW *place)
{
    (void)file;
    (void)type;
    (void)place;
    return remove(path);
}

void zd_test_store_close(struct zd_test_store *test)
{
    zd_store_close(test->store);
    ck_assert_int_eq(uv_loop_close(&test->loop), 0);
    if (test->directory[0] != '\0' && !test->is_joined) {
        nftw(test->directory, remove_entry, OPEN_DIRECTORIES_MAX, FTW_DEPTH | FTW_PHYS);
    }
}

void zd_test_read_init(struct zd_store_read *read, const char *key)
{
    memset(read, 0, sizeof *read);
    snprintf(read->key, sizeof read->key, "%s", key);
    read->bytes_max = 1U << 30;
}

void zd_test_done(struct zd_store_op *op)
{
    (void)op;
    zd_test_count++;
}

void zd_test_wait(struct zd_test_store *test, int count)
{
    while (zd_test_count < count) {
        ck_assert_msg(uv_run(&test->loop, UV_RUN_ONCE) != 0 || zd_test_count == count,
            "%d operations of %d were done", zd_test_count, count);
    }
    ck_assert_int_eq(zd_test_count, count);
}

/* `done` comes once, and later than the call. */
static enum zd_status finish(struct zd_test_store *test, struct zd_store_op *op)
{
    ck_assert_int_eq(zd_test_count, 0);
    zd_test_wait(test, 1);
    ck_assert_int_eq(uv_run(&test->loop, UV_RUN_DEFAULT), 0);
    ck_assert_int_eq(zd_test_count, 1);
    const bool is_told =
        op->status != ZD_OK && op->status != ZD_NOT_FOUND && op->status != ZD_NOT_MODIFIED;
    ck_assert_msg(!is_told || op->err.text[0] != '\0', "no text for the status %s",
        zd_status_name(op->status));
    ck_assert_msg(!is_told || op->err.status == op->status, "the error has another status");
    return op->status;
}

static void begin(struct zd_store_op *op)
{
    zd_test_count = 0;
    op->done = zd_test_done;
}

enum zd_status zd_test_read(struct zd_test_store *test, struct zd_store_read *read)
{
    begin(&read->op);
    zd_store_read(test->store, read);
    const enum zd_status status = finish(test, &read->op);
    ck_assert_msg((status == ZD_OK) == (read->bytes != NULL), "bytes if and only if ok");
    return status;
}

enum zd_status zd_test_status(struct zd_test_store *test, struct zd_store_status *status)
{
    begin(&status->op);
    zd_store_status(test->store, status);
    return finish(test, &status->op);
}

enum zd_status zd_test_list(struct zd_test_store *test, struct zd_store_list *list)
{
    begin(&list->op);
    zd_store_list(test->store, list);
    return finish(test, &list->op);
}

enum zd_status zd_test_list_next(struct zd_test_store *test, struct zd_store_list *list)
{
    begin(&list->op);
    zd_store_list_next(test->store, list);
    return finish(test, &list->op);
}

enum zd_status zd_test_write(struct zd_test_store *test, struct zd_store_write *write)
{
    begin(&write->op);
    zd_store_write(test->store, write);
    return finish(test, &write->op);
}

enum zd_status zd_test_erase(struct zd_test_store *test, struct zd_store_write *erase)
{
    begin(&erase->op);
    zd_store_erase(test->store, erase);
    return finish(test, &erase->op);
}

struct zd_stat zd_test_put(struct zd_test_store *test, const char *key, const char *text)
{
    struct zd_store_write write = {.bytes = zd_buf_copy(zd_span_of(text))};
    snprintf(write.key, sizeof write.key, "%s", key);
    const enum zd_status status = zd_test_write(test, &write);
    ck_assert_msg(status == ZD_OK, "%s: %s", key, write.op.err.text);
    zd_buf_unref(write.bytes);
    return write.stat;
}

void zd_test_stage(
    struct zd_test_store *test, const char *key, const char *text, struct zd_store_write *write)
{
    *write =
        (struct zd_store_write){.phase = ZD_PHASE_STAGE, .bytes = zd_buf_copy(zd_span_of(text))};
    snprintf(write->key, sizeof write->key, "%s", key);
    const enum zd_status status = zd_test_write(test, write);
    ck_assert_msg(status == ZD_OK, "%s: %s", key, write->op.err.text);
    ck_assert_ptr_nonnull(write->staged);
    ck_assert_uint_eq(write->staged->size, strlen(text));
    zd_buf_unref(write->bytes);
    write->bytes = NULL;
}

void zd_test_expect(struct zd_test_store *test, const char *key, const char *text)
{
    struct zd_store_read read;
    zd_test_read_init(&read, key);
    const enum zd_status status = zd_test_read(test, &read);
    ck_assert_msg(status == (text == NULL ? ZD_NOT_FOUND : ZD_OK), "%s: %s: %s", key,
        zd_status_name(status), read.op.err.text);
    ck_assert(text == NULL || zd_span_is(zd_buf_span(read.bytes), text));
    zd_buf_unref(read.bytes);
}

void zd_test_list_text(const struct zd_store_list *list, struct zd_text *text)
{
    for (size_t i = 0; i < list->n_entries; i++) {
        (void)zd_text_addf(text, "%s%s%s", i == 0 ? "" : " ", list->entry[i].name,
            list->entry[i].is_prefix ? "/" : "");
    }
    (void)zd_text_add(text, list->has_more ? " +" : "");
}
