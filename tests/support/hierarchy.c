/* All that the first dataset of a test's server holds. */
#include "tests/support/hierarchy.h"

#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "core/store/contract/store.h"
#include "tests/support/store_fault.h"
#include "tests/support/work.h"
#include "server/data/catalog.h"
#include "tests/support/check.h"

#define QUIET_TURNS 8 /* without a job, then nothing is under way */
#define TEXT_MAX    (1U << 20)

static bool is_done;

static void done(struct zd_store_op *op)
{
    (void)op;
    is_done = true;
}

static void wait_for(struct zd_test_serve *serve)
{
    while (!is_done) {
        (void)uv_run(serve->server->loop, UV_RUN_ONCE);
    }
    is_done = false;
}

struct zd_store *zd_test_hierarchy_store(struct zd_test_serve *serve)
{
    return serve->server->dataset[0]->store;
}

void zd_test_hierarchy_expect(struct zd_test_serve *serve, const struct zd_test_pair *pair)
{
    struct zd_store_read read = {.op.done = done, .bytes_max = TEXT_MAX};
    snprintf(read.key, sizeof read.key, "%s", pair->key);
    zd_store_read(zd_test_hierarchy_store(serve), &read);
    wait_for(serve);
    ck_assert_int_eq(read.op.status, ZD_OK);
    ck_assert_msg(zd_span_is(zd_buf_span(read.bytes), pair->bytes), "%s holds %.*s", pair->key,
        (int)read.bytes->len, (const char *)read.bytes->data);
    zd_buf_unref(read.bytes);
}

void zd_test_hierarchy_settle(struct zd_test_serve *serve)
{
    for (int n_quiet = 0; n_quiet < QUIET_TURNS; n_quiet++) {
        (void)uv_run(serve->server->loop, UV_RUN_NOWAIT);
        n_quiet = zd_test_work_count() == 0 ? n_quiet : 0;
    }
}

bool zd_test_hierarchy_ask(struct zd_test_serve *serve, const char *request,
    const struct zd_test_fault *fault, struct zd_test_answer *ret_answer)
{
    const bool is_memory = fault->status == ZD_OK;
    zd_store_fault_set((struct zd_store_fault){
        .n = is_memory ? 0 : fault->n, .status = fault->status, .is_slow = fault->is_slow});
    const uint64_t before = zd_alloc_count();
    zd_alloc_fail_at(is_memory ? fault->n : 0);
    zd_test_serve_ask(serve, request, ret_answer);
    zd_alloc_fail_at(0);
    const bool was_met =
        is_memory ? zd_alloc_count() - before >= fault->n : zd_store_fault_count() >= fault->n;
    zd_test_hierarchy_settle(serve);
    return was_met;
}

static void list_all(struct zd_test_serve *serve, struct zd_store_list *list)
{
    *list = (struct zd_store_list){.op.done = done, .deep = true, .n_max = 100};
    zd_store_list(zd_test_hierarchy_store(serve), list);
    wait_for(serve);
}

static void write_key(struct zd_test_serve *serve, const char *key, const char *bytes)
{
    struct zd_store *store = zd_test_hierarchy_store(serve);
    struct zd_store_write write = {.op.done = done};
    ZD_AUTO(zd_buf) buf = bytes == NULL ? NULL : zd_buf_copy(zd_span_of(bytes));
    write.bytes = buf;
    snprintf(write.key, sizeof write.key, "%s", key);
    if (bytes == NULL) {
        zd_store_erase(store, &write);
    } else {
        zd_store_write(store, &write);
    }
    wait_for(serve);
    ck_assert_int_eq(write.op.status, ZD_OK);
}

void zd_test_hierarchy_reset(
    struct zd_test_serve *serve, const struct zd_test_pair *pair, size_t n_pairs)
{
    struct zd_store_list list;
    zd_store_fault_set((struct zd_store_fault){.n = 0});
    list_all(serve, &list);
    for (size_t i = 0; i < list.n_entries; i++) {
        write_key(serve, list.entry[i].name, NULL);
    }
    zd_store_list_done(&list);
    for (size_t i = 0; i < n_pairs; i++) {
        write_key(serve, pair[i].key, pair[i].bytes);
    }
    zd_test_serve_forget(serve);
}

struct zd_buf *zd_test_hierarchy_read(struct zd_test_serve *serve, const char *key)
{
    struct zd_store_read read = {.op.done = done, .bytes_max = TEXT_MAX};
    zd_store_fault_set((struct zd_store_fault){.n = 0});
    snprintf(read.key, sizeof read.key, "%s", key);
    zd_store_read(zd_test_hierarchy_store(serve), &read);
    wait_for(serve);
    ck_assert(read.op.status == ZD_OK || read.op.status == ZD_NOT_FOUND);
    return read.op.status == ZD_OK ? read.bytes : NULL;
}

static void break_no_lines(char *at)
{
    for (; *at != '\0'; at++) {
        if (*at == '\n') {
            *at = ' ';
        }
    }
}

void zd_test_hierarchy_text(struct zd_test_serve *serve, char to[ZD_HIERARCHY_TEXT_BYTES])
{
    struct zd_store_list list;
    size_t len = 0;
    zd_store_fault_set((struct zd_store_fault){.n = 0});
    list_all(serve, &list);
    to[0] = '\0';
    for (size_t i = 0; i < list.n_entries; i++) {
        const char *key = list.entry[i].name;
        ZD_AUTO(zd_buf) bytes = zd_test_hierarchy_read(serve, key);
        ck_assert_ptr_nonnull(bytes);
        const int n_bytes = strcmp(key, "zarr.json") == 0 ? 0 : (int)bytes->len;
        const size_t from = len;
        len += (size_t)snprintf(to + len, ZD_HIERARCHY_TEXT_BYTES - len, "%s=%.*s", key, n_bytes,
            (const char *)bytes->data);
        ck_assert_uint_lt(len + 1, ZD_HIERARCHY_TEXT_BYTES);
        break_no_lines(to + from);
        to[len++] = '\n';
        to[len] = '\0';
    }
    zd_store_list_done(&list);
}
