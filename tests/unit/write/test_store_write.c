/* server/write/store_write, changes: what was written is seen, by whoever asks next. */
#include "server/data/catalog.h"
#include "server/write/store_write.h"

#include <string.h>

#include "core/array/chunk.h"
#include "core/base/own.h"
#include "core/store/contract/store_impl.h"
#include "server/data/chunks.h"
#include "server/data/object_cache.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define FOR_EVER_MS UINT64_MAX

#define GROUP "{\"zarr_format\": 3, \"node_type\": \"group\"}"

struct writer {
    struct zd_store_write_want want;
    uint32_t n_told;
};

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct writer, want.wait)->n_told++;
}

static void ignore(struct zd_wait *wait)
{
    (void)wait;
}

static struct zd_buf *bytes_of(const char *text)
{
    struct zd_buf *bytes = zd_buf_new(strlen(text));
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes->data, text, strlen(text));
    bytes->len = strlen(text);
    return bytes;
}

/* Begins; the bytes are the write's from then on. */
static enum zd_next begin_put(
    struct zd_test_plane *plane, struct writer *writer, const char *key, const char *text)
{
    ZD_AUTO(zd_buf) bytes = bytes_of(text);
    *writer = (struct writer){.want = {.wait.done = told, .kind = ZD_WRITE_PUT, .bytes = bytes}};
    return zd_store_write_want(&plane->dataset, key, &writer->want);
}

static enum zd_status put(struct zd_test_plane *plane, const char *key, const char *text)
{
    struct writer writer;
    ck_assert_int_eq(begin_put(plane, &writer, key, text), ZD_WAIT);
    ck_assert_uint_eq(writer.n_told, 0);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(writer.n_told, 1);
    zd_store_write_release(&writer.want);
    return writer.want.wait.status;
}

static enum zd_status erase(struct zd_test_plane *plane, const char *key)
{
    struct writer writer = {.want = {.wait.done = told, .kind = ZD_WRITE_ERASE}};
    ck_assert_int_eq(zd_store_write_want(&plane->dataset, key, &writer.want), ZD_WAIT);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(writer.n_told, 1);
    return writer.want.wait.status;
}

/* Look into the object cache; the text is ended by NUL, "" when there is no such key. */
static void look(struct zd_test_plane *plane, const char *key, char text[32])
{
    struct zd_object_want want = {.wait.done = ignore};
    if (zd_objects_want(&plane->dataset, key, ZD_OBJECT_BYTES, &want) == ZD_WAIT) {
        zd_test_plane_run(plane);
    }
    const size_t len = want.wait.status == ZD_OK ? want.bytes->len : 0;
    ck_assert(want.wait.status == ZD_OK || want.wait.status == ZD_NOT_FOUND);
    ck_assert_uint_lt(len, 32);
    memcpy(text, len == 0 ? "" : (const char *)want.bytes->data, len);
    text[len] = '\0';
    zd_objects_release(&want);
}

static enum zd_status look_for_directory(struct zd_test_plane *plane, const char *path)
{
    struct zd_object_want want = {.wait.done = ignore};
    if (zd_objects_want(&plane->dataset, path, ZD_OBJECT_DIRECTORY, &want) == ZD_WAIT) {
        zd_test_plane_run(plane);
    }
    return want.wait.status;
}

static enum zd_status look_for_node(struct zd_test_plane *plane, const char *path)
{
    struct zd_node_want want = {.wait.done = ignore};
    if (zd_catalog_want(&plane->dataset, path, &want) == ZD_WAIT) {
        zd_test_plane_run(plane);
    }
    zd_node_unref(want.node);
    return want.wait.status;
}

START_TEST(immutable_entries_are_forgotten_when_they_change)
{
    struct zd_test_plane plane;
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    plane.dataset.config.immutable = true;
    look(&plane, "a/c/0", text);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(look_for_directory(&plane, "a"), ZD_NOT_FOUND);
    ck_assert_int_eq(put(&plane, "a/c/0", "first"), ZD_OK);
    look(&plane, "a/c/0", text);
    ck_assert_str_eq(text, "first");
    ck_assert_int_eq(look_for_directory(&plane, "a"), ZD_OK);
    ck_assert_int_eq(look_for_directory(&plane, "a/c"), ZD_OK);
    ck_assert_int_eq(put(&plane, "a/c/0", "second"), ZD_OK);
    look(&plane, "a/c/0", text);
    ck_assert_str_eq(text, "second");
    ck_assert_int_eq(erase(&plane, "a/c/0"), ZD_OK);
    look(&plane, "a/c/0", text);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(look_for_directory(&plane, "a"), ZD_NOT_FOUND);
    ck_assert_int_eq(erase(&plane, "a/c/0"), ZD_NOT_FOUND);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_node_comes_and_goes_with_its_document)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, FOR_EVER_MS);
    plane.dataset.config.immutable = true;
    ck_assert_int_eq(look_for_node(&plane, ""), ZD_NOT_FOUND);
    ck_assert_int_eq(look_for_node(&plane, "a"), ZD_NOT_FOUND);
    ck_assert_int_eq(put(&plane, "zarr.json", GROUP), ZD_OK);
    ck_assert_int_eq(put(&plane, "a/zarr.json", GROUP), ZD_OK);
    ck_assert_int_eq(look_for_node(&plane, ""), ZD_OK);
    ck_assert_int_eq(look_for_node(&plane, "a"), ZD_OK);
    ck_assert_int_eq(erase(&plane, "a/zarr.json"), ZD_OK);
    ck_assert_int_eq(look_for_node(&plane, "a"), ZD_NOT_FOUND);
    ck_assert_int_eq(look_for_node(&plane, ""), ZD_OK);
    zd_test_plane_close(&plane);
}
END_TEST

/* The store reads before the write, and tells it after it: the cache must not keep that. */
START_TEST(a_read_under_way_does_not_bring_back_what_was_before)
{
    struct zd_test_plane plane;
    struct writer writer;
    struct zd_object_want object = {.wait.done = ignore};
    struct zd_node_want node = {.wait.done = ignore};
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    plane.dataset.config.immutable = true;
    zd_test_plane_slow(&plane);
    zd_test_plane_put(&plane, "a/c/0", "old");
    ck_assert_int_eq(zd_objects_want(&plane.dataset, "a/c/0", ZD_OBJECT_BYTES, &object), ZD_WAIT);
    ck_assert_int_eq(zd_catalog_want(&plane.dataset, "a", &node), ZD_WAIT);
    ck_assert_int_eq(begin_put(&plane, &writer, "a/c/0", "new"), ZD_WAIT);
    zd_test_plane_run(&plane);
    zd_objects_release(&object);
    look(&plane, "a/c/0", text);
    ck_assert_str_eq(text, "new");
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_write_goes_on_when_nobody_waits_and_is_seen)
{
    struct zd_test_plane plane;
    struct writer writer;
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    look(&plane, "a/c/0", text);
    ck_assert_int_eq(begin_put(&plane, &writer, "a/c/0", "left"), ZD_WAIT);
    zd_store_write_release(&writer.want);
    zd_store_write_release(&writer.want);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(writer.n_told, 0);
    ck_assert_uint_eq(plane.dataset.refs, 1 + plane.server.objects.map.n_entries);
    look(&plane, "a/c/0", text);
    ck_assert_str_eq(text, "left");
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_condition_that_does_not_hold_tells_that_others_wrote)
{
    struct zd_test_plane plane;
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    look(&plane, "k", text);
    zd_test_plane_put(&plane, "k", "of others"); /* past the caches */
    ZD_AUTO(zd_buf) bytes = bytes_of("mine");
    struct writer writer = {.want = {.wait.done = told,
                                .kind = ZD_WRITE_PUT,
                                .bytes = bytes,
                                .condition = ZD_CONDITION_ABSENT}};
    ck_assert_int_eq(zd_store_write_want(&plane.dataset, "k", &writer.want), ZD_WAIT);
    zd_test_plane_run(&plane);
    ck_assert_int_eq(writer.want.wait.status, ZD_PRECONDITION);
    look(&plane, "k", text);
    ck_assert_str_eq(text, "of others");
    zd_test_plane_close(&plane);
}
END_TEST

/* Cut where the memory of a key ends, it would be another, valid one. */
START_TEST(a_key_that_is_too_long_is_refused)
{
    struct zd_test_plane plane;
    struct writer writer;
    char key[ZD_KEY_BYTES_MAX + 2] = "";
    zd_test_plane_open(&plane, FOR_EVER_MS);
    for (size_t i = 0; i <= ZD_KEY_BYTES_MAX; i++) {
        key[i] = i % 100 == 99 ? '/' : 'k';
    }
    ck_assert_int_eq(begin_put(&plane, &writer, key, "x"), ZD_NEXT);
    ck_assert_int_eq(writer.want.wait.status, ZD_INVALID);
    ck_assert_uint_eq(plane.store.store->n_writes, 0);
    zd_store_write_release(&writer.want);
    zd_test_plane_close(&plane);
}
END_TEST

static enum zd_status stage(struct zd_test_plane *plane, struct writer *writer, const char *text)
{
    ZD_AUTO(zd_buf) bytes = bytes_of(text);
    *writer = (struct writer){.want = {.wait.done = told, .kind = ZD_WRITE_STAGE, .bytes = bytes}};
    ck_assert_int_eq(zd_store_write_want(&plane->dataset, "k", &writer->want), ZD_WAIT);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(writer->n_told, 1);
    return writer->want.wait.status;
}

static enum zd_status commit(
    struct zd_test_plane *plane, struct writer *writer, enum zd_condition condition)
{
    writer->want.kind = ZD_WRITE_COMMIT;
    writer->want.condition = condition;
    ck_assert_int_eq(zd_store_write_want(&plane->dataset, "k", &writer->want), ZD_WAIT);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(writer->n_told, 2);
    zd_store_write_release(&writer->want);
    return writer->want.wait.status;
}

START_TEST(staged_objects_are_seen_when_they_are_committed)
{
    struct zd_test_plane plane;
    struct writer writer;
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    look(&plane, "k", text);
    ck_assert_int_eq(stage(&plane, &writer, "staged"), ZD_OK);
    ck_assert_ptr_nonnull(writer.want.staged);
    look(&plane, "k", text);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(commit(&plane, &writer, ZD_CONDITION_ABSENT), ZD_OK);
    ck_assert_uint_eq(writer.want.stat.size, strlen("staged"));
    look(&plane, "k", text);
    ck_assert_str_eq(text, "staged");
    ck_assert_int_eq(stage(&plane, &writer, "again"), ZD_OK);
    ck_assert_int_eq(commit(&plane, &writer, ZD_CONDITION_ABSENT), ZD_PRECONDITION);
    look(&plane, "k", text);
    ck_assert_str_eq(text, "staged");
    zd_test_plane_close(&plane);
}
END_TEST

static enum zd_status end_keeping(
    struct zd_test_plane *plane, struct writer *writer, enum zd_store_write_kind kind)
{
    writer->want.kind = kind;
    if (zd_store_write_want(&plane->dataset, "k", &writer->want) == ZD_WAIT) {
        zd_test_plane_run(plane);
    }
    ck_assert_ptr_null(writer->want.load);
    return writer->want.wait.status;
}

/* To "new", of what was there or not: or to nothing, when text is NULL. */
static void change_keeping(struct zd_test_plane *plane, struct writer *writer, const char *text)
{
    if (text != NULL) {
        ck_assert_int_eq(stage(plane, writer, text), ZD_OK);
    } else {
        *writer = (struct writer){.want = {.wait.done = told}};
    }
    writer->want.kind = text != NULL ? ZD_WRITE_COMMIT : ZD_WRITE_ERASE;
    writer->want.keeps_old = true;
    ck_assert_int_eq(zd_store_write_want(&plane->dataset, "k", &writer->want), ZD_WAIT);
    zd_test_plane_run(plane);
    ck_assert_int_eq(writer->want.wait.status, ZD_OK);
}

static const struct undo_fact {
    const char *before; /* NULL: nothing */
    const char *after;
} undo_facts[] = {{"old", "new"}, {NULL, "new"}, {"old", NULL}};

START_TEST(readers_see_the_old_state_after_an_undo)
{
    const struct undo_fact *fact = &undo_facts[_i];
    struct zd_test_plane plane;
    struct writer writer;
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    plane.dataset.config.immutable = true;
    if (fact->before != NULL) {
        ck_assert_int_eq(put(&plane, "k", fact->before), ZD_OK);
    }
    change_keeping(&plane, &writer, fact->after);
    look(&plane, "k", text);
    ck_assert_str_eq(text, fact->after == NULL ? "" : fact->after);
    ck_assert_int_eq(end_keeping(&plane, &writer, ZD_WRITE_UNDO), ZD_OK);
    look(&plane, "k", text);
    ck_assert_str_eq(text, fact->before == NULL ? "" : fact->before);
    ck_assert_int_eq(end_keeping(&plane, &writer, ZD_WRITE_UNDO), ZD_OK); /* there is nothing */
    change_keeping(&plane, &writer, fact->after);
    ck_assert_int_eq(end_keeping(&plane, &writer, ZD_WRITE_SETTLE), ZD_OK);
    look(&plane, "k", text);
    ck_assert_str_eq(text, fact->after == NULL ? "" : fact->after);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(later_writes_of_others_are_not_undone)
{
    const struct undo_fact *fact = &undo_facts[_i];
    struct zd_test_plane plane;
    struct writer writer;
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    if (fact->before != NULL) {
        ck_assert_int_eq(put(&plane, "k", fact->before), ZD_OK);
    }
    change_keeping(&plane, &writer, fact->after);
    zd_test_plane_put(&plane, "k", "of others"); /* past the caches */
    ck_assert_int_eq(end_keeping(&plane, &writer, ZD_WRITE_UNDO), ZD_PRECONDITION);
    look(&plane, "k", text);
    ck_assert_str_eq(text, "of others");
    zd_test_plane_close(&plane);
}
END_TEST

/* The sanitizer tells whether the store was given back what it holds. */
START_TEST(kept_and_released_objects_are_discarded)
{
    struct zd_test_plane plane;
    struct writer writer;
    zd_test_plane_open(&plane, FOR_EVER_MS);
    ck_assert_int_eq(put(&plane, "k", "old"), ZD_OK);
    change_keeping(&plane, &writer, "new");
    zd_store_write_release(&writer.want);
    ck_assert_int_eq(stage(&plane, &writer, "newer"), ZD_OK);
    writer.want.kind = ZD_WRITE_COMMIT;
    writer.want.keeps_old = true;
    ck_assert_int_eq(zd_store_write_want(&plane.dataset, "k", &writer.want), ZD_WAIT);
    zd_store_write_release(&writer.want); /* under way */
    zd_test_plane_run(&plane);
    change_keeping(&plane, &writer, "newest");
    writer.want.kind = ZD_WRITE_SETTLE;
    ck_assert_int_eq(zd_store_write_want(&plane.dataset, "k", &writer.want), ZD_WAIT);
    zd_store_write_release(&writer.want);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(plane.dataset.refs, 1);
    zd_test_expect(&plane.store, "k", "newest");
    zd_test_plane_close(&plane);
}
END_TEST

/* The sanitizer tells whether the store was given back what it holds. */
START_TEST(staged_and_released_objects_are_discarded)
{
    struct zd_test_plane plane;
    struct writer writer;
    char text[32];
    zd_test_plane_open(&plane, FOR_EVER_MS);
    ck_assert_int_eq(stage(&plane, &writer, "staged"), ZD_OK);
    zd_store_write_release(&writer.want);
    zd_store_write_release(&writer.want);
    ZD_AUTO(zd_buf) bytes = bytes_of("under way");
    struct writer left = {.want = {.wait.done = told, .kind = ZD_WRITE_STAGE, .bytes = bytes}};
    ck_assert_int_eq(zd_store_write_want(&plane.dataset, "k", &left.want), ZD_WAIT);
    zd_store_write_release(&left.want);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(left.n_told, 0);
    ck_assert_uint_eq(plane.dataset.refs, 1);
    look(&plane, "k", text);
    ck_assert_str_eq(text, "");
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_store_that_takes_no_writes_any_more_says_so)
{
    struct zd_test_plane plane;
    struct writer writer;
    zd_test_plane_open(&plane, FOR_EVER_MS);
    ck_assert_int_eq(stage(&plane, &writer, "staged"), ZD_OK);
    zd_store_stop_writes(plane.store.store, "the disk is gone");
    ck_assert_int_eq(commit(&plane, &writer, ZD_CONDITION_NONE), ZD_READ_ONLY);
    ck_assert_int_eq(put(&plane, "k", "x"), ZD_READ_ONLY);
    ck_assert_int_eq(stage(&plane, &writer, "x"), ZD_READ_ONLY);
    ck_assert_ptr_null(writer.want.staged);
    ck_assert_ptr_nonnull(strstr(writer.want.wait.err.text, "the disk is gone"));
    zd_test_plane_close(&plane);
}
END_TEST

/* ---- every order in which reads, writes and their ends can come ---- */

#define N_ROUNDS  60
#define N_EVENTS  200 /* fewer writes than a byte counts */
#define N_LOOKERS 6
#define TRIES_MAX 5 /* of server/data/chunks, to read what is replaced meanwhile */

#define BYTES "{\"name\": \"bytes\"}"
#define SHARDS                                                                                     \
    "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [1], \"codecs\": "      \
    "[" BYTES                                                                                      \
    "], \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]}}"
#define ARRAY(codecs)                                                                              \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [2], \"data_type\": \"uint8\", "    \
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2]}}, "         \
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, \"codecs\": [" codecs     \
    "]}"

/* A value that only grows, as the elements of an array's one chunk. */
struct value {
    const char *path;
    const char *document;
    const char *key;
    struct zd_node *node;
    uint8_t written;
    uint8_t acknowledged;
    struct writer writer;
    bool is_writing;
};

static struct value values[] = {
    {.path = "v", .document = ARRAY(BYTES), .key = "v/c/0"},
    {.path = "s", .document = ARRAY(SHARDS), .key = "s/c/0"},
};

/* Operations of the store: it has read or written, and has not reported yet. */
static struct zd_store_op *held[64];
static size_t n_held;

static void hold(struct zd_store_op *op)
{
    ck_assert_uint_lt(n_held, ZD_COUNT_OF(held));
    held[n_held++] = op;
}

static const struct zd_store_ops *mem_ops(void)
{
    const struct zd_store_ops *const *ops = zd_stores;
    while (strcmp((*ops)->scheme, "mem") != 0) {
        ops++;
    }
    return *ops;
}

static void hold_read(struct zd_store *store, struct zd_store_read *read)
{
    read->op.status = mem_ops()->read_now(store, read);
    hold(&read->op);
}

static void hold_status(struct zd_store *store, struct zd_store_status *status)
{
    status->op.status = mem_ops()->status_now(store, status);
    hold(&status->op);
}

static void cancel_nothing(struct zd_store *store, struct zd_store_op *op)
{
    (void)store;
    (void)op;
}

static void let_one_go(void)
{
    if (n_held > 0) {
        const size_t i = zd_unit_random() % n_held;
        struct zd_store_op *op = held[i];
        held[i] = held[--n_held];
        op->done(op);
    }
}

/* A reader of a value, through the cache of objects or that of decoded chunks. */
struct looker {
    const struct value *value;
    bool is_chunk;
    bool is_busy;
    uint8_t least; /* what was acknowledged when it asked */
    struct zd_object_want object;
    struct zd_chunk_want chunk;
};

static void judge(struct looker *looker)
{
    const struct zd_wait *wait = looker->is_chunk ? &looker->chunk.wait : &looker->object.wait;
    const struct zd_buf *bytes = looker->is_chunk ? looker->chunk.data : looker->object.bytes;
    const bool was_replaced = looker->is_chunk && wait->status == ZD_STORE;
    ck_assert_msg(wait->status == ZD_OK || was_replaced, "%s", wait->err.text);
    /* A read gives up after TRIES_MAX tries, and each newer object costs it at most two: the next
     * index may come from a read that began before the object was replaced. The first index may be
     * as old as `least`, since an unacknowledged write has not yet changed the caches. */
    const int n_newer = looker->value->written - looker->least;
    ck_assert_msg(!was_replaced || 2 * n_newer >= TRIES_MAX, "%d newer objects", n_newer);
    ck_assert(was_replaced || bytes != NULL);
    ck_assert_msg(was_replaced || bytes->data[0] >= looker->least,
        "%s of %s: %d was acknowledged, %d is told", looker->is_chunk ? "chunk" : "object",
        looker->value->path, looker->least, bytes->data[0]);
    looker->is_busy = false;
    if (looker->is_chunk) {
        zd_chunks_release(&looker->chunk);
    } else {
        zd_objects_release(&looker->object);
    }
}

static void object_seen(struct zd_wait *wait)
{
    judge(ZD_CONTAINER(wait, struct looker, object.wait));
}

static void chunk_seen(struct zd_wait *wait)
{
    judge(ZD_CONTAINER(wait, struct looker, chunk.wait));
}

static void start_look(struct zd_test_plane *plane, struct looker *looker)
{
    const struct value *value = &values[zd_unit_random() % ZD_COUNT_OF(values)];
    enum zd_next next = ZD_WAIT;
    *looker = (struct looker){
        .value = value,
        .is_chunk = zd_unit_random() % 2 == 0,
        .is_busy = true,
        .least = value->acknowledged,
        .object.wait.done = object_seen,
        .chunk.part = {.step = {1}, .count = {1}},
    };
    if (looker->is_chunk) {
        zd_chunks_want_init(&looker->chunk, chunk_seen, NULL);
        next = zd_chunks_want(value->node, &looker->chunk);
    } else {
        next = zd_objects_want(&plane->dataset, value->key, ZD_OBJECT_BYTES, &looker->object);
    }
    if (next == ZD_NEXT) {
        judge(looker);
    }
}

static struct zd_buf *bytes_of_value(const struct value *value, uint8_t number)
{
    ZD_AUTO(zd_buf) data = zd_buf_new(2);
    struct zd_buf *stored = NULL;
    struct zd_error err = {0};
    ck_assert_ptr_nonnull(data);
    data->len = 2;
    memset(data->data, number, 2);
    ck_assert_int_eq(zd_chunk_encode(&value->node->layout->level[0], data, &stored, &err), ZD_OK);
    return stored;
}

/* The store has it from here on; it is acknowledged when the loop turns. */
static void start_write(struct zd_test_plane *plane, struct value *value)
{
    if (value->is_writing) {
        return;
    }
    ZD_AUTO(zd_buf) bytes = bytes_of_value(value, ++value->written);
    value->writer = (struct writer){.want = {.wait.done = told, .bytes = bytes}};
    value->is_writing = true;
    ck_assert_int_eq(
        zd_store_write_want(&plane->dataset, value->key, &value->writer.want), ZD_WAIT);
}

static void acknowledge(struct zd_test_plane *plane)
{
    zd_test_plane_run(plane); /* what is held is not waited for */
    for (size_t i = 0; i < ZD_COUNT_OF(values); i++) {
        if (values[i].is_writing) {
            ck_assert_int_eq(values[i].writer.want.wait.status, ZD_OK);
            values[i].acknowledged = values[i].written;
            values[i].is_writing = false;
        }
    }
}

static void open_values(struct zd_test_plane *plane)
{
    zd_test_plane_open(plane, FOR_EVER_MS);
    plane->dataset.config.immutable = true;
    n_held = 0;
    for (size_t i = 0; i < ZD_COUNT_OF(values); i++) {
        struct value *value = &values[i];
        ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
        zd_text_addf(&key, "%s/zarr.json", value->path);
        zd_test_plane_put(plane, key.at, value->document);
        value->node = zd_test_plane_node(plane, value->path);
        value->written = 0;
        value->acknowledged = 0;
        value->is_writing = false;
        start_write(plane, value);
    }
    acknowledge(plane);
    plane->ops.read = hold_read;
    plane->ops.status = hold_status;
    plane->ops.cancel = cancel_nothing;
    plane->ops.read_now = NULL;
    plane->ops.status_now = NULL;
}

/* Do something at random. */
static void happen(struct zd_test_plane *plane, struct looker lookers[N_LOOKERS])
{
    struct looker *looker = &lookers[zd_unit_random() % N_LOOKERS];
    switch (zd_unit_random() % 5) {
    case 0:
        start_write(plane, &values[zd_unit_random() % ZD_COUNT_OF(values)]);
        break;
    case 1:
        acknowledge(plane);
        break;
    case 2:
    case 3:
        let_one_go();
        break;
    default:
        if (!looker->is_busy) {
            start_look(plane, looker);
        }
        break;
    }
}

START_TEST(whatever_comes_in_between_nobody_is_told_less_than_was_acknowledged)
{
    struct zd_test_plane plane;
    struct looker lookers[N_LOOKERS] = {0};
    for (int round = 0; round < N_ROUNDS; round++) {
        open_values(&plane);
        for (int i = 0; i < N_EVENTS; i++) {
            happen(&plane, lookers);
        }
        acknowledge(&plane);
        while (n_held > 0) {
            let_one_go();
        }
        for (size_t i = 0; i < ZD_COUNT_OF(values); i++) {
            zd_node_unref(values[i].node);
        }
        zd_test_plane_close(&plane);
    }
}
END_TEST

static enum zd_status put_and_run(void *context)
{
    struct zd_test_plane *plane = context;
    struct writer writer;
    ZD_AUTO(zd_buf) bytes = zd_buf_new(1);
    if (bytes == NULL) {
        return ZD_NO_MEMORY;
    }
    bytes->len = 1;
    bytes->data[0] = 'x';
    writer = (struct writer){.want = {.wait.done = told, .bytes = bytes}};
    (void)zd_store_write_want(&plane->dataset, "k", &writer.want);
    zd_test_plane_run(plane);
    return writer.want.wait.status;
}

START_TEST(without_memory_nothing_is_written)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, FOR_EVER_MS);
    zd_unit_with_failing_memory(put_and_run, &plane);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, immutable_entries_are_forgotten_when_they_change);
    tcase_add_test(tests, a_node_comes_and_goes_with_its_document);
    tcase_add_test(tests, a_read_under_way_does_not_bring_back_what_was_before);
    tcase_add_test(tests, a_write_goes_on_when_nobody_waits_and_is_seen);
    tcase_add_test(tests, a_condition_that_does_not_hold_tells_that_others_wrote);
    tcase_add_test(tests, a_key_that_is_too_long_is_refused);
    tcase_add_test(tests, staged_objects_are_seen_when_they_are_committed);
    tcase_add_loop_test(tests, readers_see_the_old_state_after_an_undo, 0, ZD_COUNT_OF(undo_facts));
    tcase_add_loop_test(tests, later_writes_of_others_are_not_undone, 0, ZD_COUNT_OF(undo_facts));
    tcase_add_test(tests, kept_and_released_objects_are_discarded);
    tcase_add_test(tests, staged_and_released_objects_are_discarded);
    tcase_add_test(tests, a_store_that_takes_no_writes_any_more_says_so);
    tcase_add_test(tests, whatever_comes_in_between_nobody_is_told_less_than_was_acknowledged);
    tcase_add_test(tests, without_memory_nothing_is_written);
}
