/* server/write/edit: no edit of an object is lost, and many of them cost few writes. */
#include "server/write/edit.h"

#include <string.h>

#include "core/array/chunk.h"
#include "core/store/contract/store_impl.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define LONG_MS 1000000
#define N_INNER 64 /* chunks of 4 bytes in the one shard, which is the array */
#define KEY     "a/c/0"

#define BYTES "{\"name\": \"bytes\"}"
#define CRC   "{\"name\": \"crc32c\"}"
#define INDEX "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, " CRC "]"
#define ARRAY(codecs)                                                                              \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [512], \"data_type\": \"uint8\", "  \
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [256]}}, "       \
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 7, \"codecs\": " codecs "}"

static const char sharded[] =
    ARRAY("[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [4], "
          "\"codecs\": [" BYTES ", " CRC "], \"index_codecs\": " INDEX "}}]");

/* An editor; it is told its outcome once. */
struct writer {
    struct zd_edit_want want;
    uint32_t n_told;
};

struct scene {
    struct zd_test_plane plane;
    struct zd_node *node;
    struct writer writer[N_INNER];
};

/* Another process, which writes its inner chunk, the last one, each time that this one is about to
 * write. */
static struct {
    struct scene *scene;
    struct zd_store_ops ops; /* of the store as it is */
    struct zd_store_write write[32];
    uint32_t n_left;
    uint32_t n_written;
} other;

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct writer, want.wait)->n_told++;
}

/* Work goes to workers, or is done on the loop: as the loop test's number says. */
static void scene_open(struct scene *scene, int i)
{
    *scene = (struct scene){0};
    zd_test_plane_open(&scene->plane, LONG_MS);
    other.ops = scene->plane.ops;
    zd_test_plane_put(&scene->plane, "a/zarr.json", sharded);
    scene->plane.config.settings.workers_inline_us = i % 2 == 0 ? 0 : 100000;
    if (i >= 2) {
        zd_test_plane_slow(&scene->plane);
    }
    scene->node = zd_test_plane_node(&scene->plane, "a");
    ck_assert_uint_eq(scene->node->layout->n_levels, 2);
}

static void scene_close(struct scene *scene)
{
    for (size_t i = 0; i < N_INNER; i++) {
        zd_edit_release(&scene->writer[i].want);
    }
    zd_test_plane_run(&scene->plane);
    zd_node_unref(scene->node);
    ck_assert_uint_eq(scene->plane.server.edits.n_entries, 0);
    zd_test_plane_close(&scene->plane);
}

/* An edit of one inner chunk to four times that value. */
static struct zd_edit *new_edit(uint64_t inner, uint8_t value)
{
    struct zd_edit *edit = zd_rewrite_edit_new();
    ck_assert_ptr_nonnull(edit);
    edit->kind = ZD_EDIT_DECODED;
    edit->level = 1;
    edit->part.chunk[0] = inner;
    edit->bytes = zd_buf_new(4);
    ck_assert_ptr_nonnull(edit->bytes);
    memset(edit->bytes->data, value, 4);
    edit->bytes->len = 4;
    edit->is_verified = true;
    return edit;
}

static struct zd_edit_want *set_want(struct scene *scene, uint64_t i, struct zd_edit *edit)
{
    struct writer *writer = &scene->writer[i];
    zd_edit_release(&writer->want);
    *writer = (struct writer){.want = {.wait.done = told, .edit = edit}};
    return &writer->want;
}

static enum zd_next begin(struct scene *scene, uint64_t i, struct zd_edit *edit)
{
    return zd_edit_want(scene->node, set_want(scene, i, edit));
}

static void run(struct scene *scene)
{
    zd_test_plane_run(&scene->plane);
}

static uint64_t n_writes(const struct scene *scene)
{
    return scene->plane.store.store->n_writes;
}

static struct zd_buf *read_object(struct scene *scene)
{
    struct zd_store_read read;
    zd_test_read_init(&read, KEY);
    const enum zd_status status = zd_test_read(&scene->plane.store, &read);
    ck_assert(status == ZD_OK || status == ZD_NOT_FOUND);
    return read.bytes;
}

/* The value of each inner chunk, past all caches; 0: it is absent. */
static void look(struct scene *scene, uint8_t value[N_INNER])
{
    memset(value, 0, N_INNER);
    ZD_AUTO(zd_buf) stored = read_object(scene);
    if (stored == NULL) {
        return;
    }
    ZD_AUTO(zd_buf) elements = NULL;
    ck_assert_int_eq(
        zd_chunk_decode(&scene->node->layout->level[0], stored, &elements, NULL), ZD_OK);
    for (size_t i = 0; i < N_INNER; i++) {
        value[i] = elements->data[4 * i] == 7 ? 0 : elements->data[4 * i];
    }
}

static void ignore(struct zd_store_op *op)
{
    ck_assert_int_eq(op->status, ZD_OK);
    zd_buf_unref(((struct zd_store_write *)(void *)op)->bytes);
}

/* Straight from memory: the loop does not turn in here. */
static void write_of_other(struct zd_store *store)
{
    struct zd_store_read read;
    struct zd_edit *edit = new_edit(N_INNER - 1, (uint8_t)(100 + other.n_written));
    zd_test_read_init(&read, KEY);
    const enum zd_status status = other.ops.read_now(store, &read);
    ck_assert(status == ZD_OK || status == ZD_NOT_FOUND);
    ZD_AUTO(zd_buf) old = read.bytes;
    struct zd_rewrite rewrite = {.layout = other.scene->node->layout,
        .old = old,
        .bytes_max = SIZE_MAX,
        .edit = &edit,
        .n_edits = 1};
    ck_assert_int_eq(zd_rewrite(&rewrite, NULL), ZD_OK);
    zd_rewrite_edit_free(edit);
    struct zd_store_write *write = &other.write[other.n_written++];
    *write =
        (struct zd_store_write){.op = {.store = store, .done = ignore}, .bytes = rewrite.bytes};
    memcpy(write->key, KEY, sizeof KEY);
    other.ops.write(store, write);
}

static void write_second(struct zd_store *store, struct zd_store_write *write)
{
    if (other.n_left > 0 && write->phase != ZD_PHASE_STAGE) {
        other.n_left--;
        write_of_other(store);
    }
    other.ops.write(store, write);
}

static void erase_second(struct zd_store *store, struct zd_store_write *erase)
{
    if (other.n_left > 0) {
        other.n_left--;
        write_of_other(store);
    }
    other.ops.erase(store, erase);
}

static void let_other_write(struct scene *scene, uint32_t n)
{
    other.scene = scene;
    other.n_left = n;
    other.n_written = 0;
    scene->plane.ops.write = write_second;
    scene->plane.ops.erase = erase_second;
}

START_TEST(an_edit_is_written)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    ck_assert_int_eq(begin(&scene, 0, new_edit(3, 33)), ZD_WAIT);
    ck_assert_uint_eq(scene.writer[0].n_told, 0);
    run(&scene);
    const struct zd_edit_want *want = &scene.writer[0].want;
    ck_assert_uint_eq(scene.writer[0].n_told, 1);
    ck_assert_int_eq(want->wait.status, ZD_OK);
    ck_assert_uint_eq(want->edit->counts.n_written, 1);
    ck_assert_uint_gt(want->stat.size, 0);
    look(&scene, value);
    ck_assert_uint_eq(value[3], 33);
    const struct zd_generation generation = want->stat.generation;
    const uint64_t n = n_writes(&scene);
    if (begin(&scene, 1, new_edit(3, 33)) == ZD_WAIT) { /* which it has already */
        run(&scene);
    }
    ck_assert_int_eq(scene.writer[1].want.wait.status, ZD_OK);
    ck_assert_uint_eq(scene.writer[1].want.edit->counts.n_unchanged, 1);
    ck_assert(zd_generation_equal(scene.writer[1].want.stat.generation, generation));
    ck_assert_uint_eq(n_writes(&scene), n);
    scene_close(&scene);
}
END_TEST

START_TEST(edits_of_one_object_cost_two_writes)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    const uint64_t before = n_writes(&scene);
    for (size_t i = 0; i < N_INNER; i++) {
        ck_assert_int_eq(begin(&scene, i, new_edit(i, (uint8_t)(i + 10))), ZD_WAIT);
    }
    run(&scene);
    look(&scene, value);
    for (size_t i = 0; i < N_INNER; i++) {
        ck_assert_uint_eq(scene.writer[i].n_told, 1);
        ck_assert_int_eq(scene.writer[i].want.wait.status, ZD_OK);
        ck_assert_uint_eq(value[i], i + 10);
    }
    ck_assert_uint_eq(n_writes(&scene) - before, 2); /* the first, and all that came meanwhile */
    scene_close(&scene);
}
END_TEST

/* The index, and 8 bytes for each of three inner chunks: a whole shard has no room. */
START_TEST(an_edit_that_makes_an_object_too_large_fails_alone)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    ck_assert_int_eq(begin(&scene, 0, new_edit(0, 10)), ZD_WAIT);
    run(&scene);
    scene.plane.config.settings.limits_object_bytes = N_INNER * 16 + 4 + 3 * 8;
    for (size_t i = 0; i < 4; i++) {
        struct zd_edit *edit = new_edit(i, (uint8_t)(i + 20));
        if (i == 2) {
            zd_buf_unref(edit->bytes);
            edit->level = 0;
            edit->part.chunk[0] = 0;
            edit->bytes = zd_buf_new(4 * (size_t)N_INNER);
            ck_assert_ptr_nonnull(edit->bytes);
            memset(edit->bytes->data, 30, edit->bytes->cap);
            edit->bytes->len = edit->bytes->cap;
        }
        ck_assert_int_eq(begin(&scene, i, edit), ZD_WAIT);
    }
    run(&scene);
    look(&scene, value);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(scene.writer[i].n_told, 1);
        ck_assert_int_eq(scene.writer[i].want.wait.status, i == 2 ? ZD_TOO_LARGE : ZD_OK);
        ck_assert_uint_eq(value[i], i == 2 ? 0 : i + 20);
    }
    scene_close(&scene);
}
END_TEST

START_TEST(whole_chunks_are_not_read)
{
    struct scene scene;
    scene_open(&scene, _i);
    const uint64_t n_reads = scene.plane.store.store->n_reads;
    struct zd_edit *edit = zd_rewrite_edit_new();
    edit->kind = ZD_EDIT_DECODED;
    edit->bytes = zd_buf_new(256);
    memset(edit->bytes->data, 5, 256);
    edit->bytes->len = 256;
    edit->is_verified = true;
    ck_assert_int_eq(begin(&scene, 0, edit), ZD_WAIT);
    run(&scene);
    ck_assert_int_eq(scene.writer[0].want.wait.status, ZD_OK);
    struct zd_edit *erasure = zd_rewrite_edit_new();
    erasure->kind = ZD_EDIT_ERASE;
    ck_assert_int_eq(begin(&scene, 0, erasure), ZD_WAIT);
    run(&scene);
    ck_assert_int_eq(scene.writer[0].want.wait.status, ZD_OK);
    ck_assert_uint_eq(scene.writer[0].want.edit->counts.n_erased, 1);
    ck_assert_uint_eq(scene.writer[0].want.stat.size, 0);
    struct zd_edit *again = zd_rewrite_edit_new();
    again->kind = ZD_EDIT_ERASE;
    ck_assert_int_eq(begin(&scene, 0, again), ZD_WAIT);
    run(&scene);
    ck_assert_int_eq(scene.writer[0].want.wait.status, ZD_OK);
    ck_assert_uint_eq(scene.writer[0].want.edit->counts.n_unchanged, 1);
    ck_assert_uint_eq(scene.plane.store.store->n_reads, n_reads);
    scene_close(&scene);
}
END_TEST

START_TEST(another_processs_write_meanwhile_survives)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    let_other_write(&scene, 5);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(begin(&scene, i, new_edit(i, 50)), ZD_WAIT);
    }
    run(&scene);
    look(&scene, value);
    ck_assert_uint_eq(other.n_written, 5);
    ck_assert_uint_eq(value[N_INNER - 1], 104);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(scene.writer[i].want.wait.status, ZD_OK);
        ck_assert_uint_eq(value[i], 50);
    }
    scene_close(&scene);
}
END_TEST

START_TEST(a_change_that_always_loses_gives_up)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    let_other_write(&scene, ZD_TRIES_MAX);
    ck_assert_int_eq(begin(&scene, 0, new_edit(0, 50)), ZD_WAIT);
    run(&scene);
    ck_assert_int_eq(scene.writer[0].want.wait.status, ZD_STORE);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 0);
    ck_assert_uint_eq(value[N_INNER - 1], 100 + ZD_TRIES_MAX - 1);
    scene_close(&scene);
}
END_TEST

/* Each has seen the same object: one of them may write, also beside those that do not care. */
START_TEST(only_the_first_of_equal_conditions_holds)
{
    struct scene scene;
    uint32_t n_made = 0;
    scene_open(&scene, _i);
    ck_assert_int_eq(begin(&scene, 0, new_edit(0, 1)), ZD_WAIT);
    run(&scene);
    const struct zd_generation seen = scene.writer[0].want.stat.generation;
    for (size_t i = 1; i < 9; i++) {
        struct zd_edit_want *want = set_want(&scene, i, new_edit(1, (uint8_t)i));
        want->condition = ZD_CONDITION_GENERATION;
        want->generation = seen;
        ck_assert_int_eq(zd_edit_want(scene.node, want), ZD_WAIT);
    }
    ck_assert_int_eq(begin(&scene, 9, new_edit(2, 9)), ZD_WAIT);
    run(&scene);
    for (size_t i = 1; i < 9; i++) {
        const enum zd_status status = scene.writer[i].want.wait.status;
        ck_assert(status == ZD_OK || status == ZD_PRECONDITION);
        n_made += status == ZD_OK;
    }
    ck_assert_uint_eq(n_made, 1);
    ck_assert_int_eq(scene.writer[9].want.wait.status, ZD_OK);
    scene_close(&scene);
}
END_TEST

START_TEST(a_condition_holds_against_other_processes_too)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    let_other_write(&scene, 1);
    struct zd_edit_want *want = set_want(&scene, 0, new_edit(0, 1));
    want->condition = ZD_CONDITION_ABSENT;
    ck_assert_int_eq(zd_edit_want(scene.node, want), ZD_WAIT);
    run(&scene);
    ck_assert_int_eq(want->wait.status, ZD_PRECONDITION);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 0);
    ck_assert_uint_eq(value[N_INNER - 1], 100);
    scene_close(&scene);
}
END_TEST

START_TEST(a_dry_edit_tells_and_writes_nothing)
{
    struct scene scene;
    scene_open(&scene, _i);
    const uint64_t before = n_writes(&scene);
    struct zd_edit_want *want = set_want(&scene, 0, new_edit(0, 1));
    want->is_dry = true;
    if (zd_edit_want(scene.node, want) == ZD_WAIT) {
        run(&scene);
    }
    ck_assert_int_eq(want->wait.status, ZD_OK);
    ck_assert_uint_eq(want->edit->counts.n_written, 1);
    ck_assert_uint_eq(want->stat.size, 0);
    ck_assert_uint_eq(n_writes(&scene), before);
    scene_close(&scene);
}
END_TEST

/* The first is dropped unless it is being stored; the second waits for it, and is dropped. */
START_TEST(a_leaving_writer_loses_only_unstored_edits)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    ck_assert_int_eq(begin(&scene, 0, new_edit(0, 10)), ZD_WAIT);
    ck_assert_int_eq(begin(&scene, 1, new_edit(1, 11)), ZD_WAIT);
    ck_assert_int_eq(begin(&scene, 2, new_edit(2, 12)), ZD_WAIT);
    const bool is_storing = zd_edit_is_storing(&scene.writer[0].want);
    zd_edit_release(&scene.writer[0].want);
    zd_edit_release(&scene.writer[1].want);
    run(&scene);
    look(&scene, value);
    ck_assert_uint_eq(value[0], is_storing ? 10 : 0);
    ck_assert_uint_eq(value[1], 0);
    ck_assert_uint_eq(value[2], 12);
    ck_assert_uint_eq(scene.writer[0].n_told + scene.writer[1].n_told, 0);
    scene_close(&scene);
}
END_TEST

/* The second object of the array, by a chunk of the first level. */
static struct zd_edit *second_object(uint8_t value)
{
    return new_edit(N_INNER, value);
}

static void wait_if(struct scene *scene, enum zd_next next)
{
    if (next == ZD_WAIT) {
        run(scene);
    }
}

static void stage_two(struct scene *scene)
{
    wait_if(scene, zd_edit_staged(scene->node, set_want(scene, 0, new_edit(0, 20)), ZD_EDIT_LOCK));
    wait_if(
        scene, zd_edit_staged(scene->node, set_want(scene, 1, second_object(21)), ZD_EDIT_LOCK));
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(scene->writer[i].want.wait.status, ZD_OK);
    }
    const enum zd_next first = zd_edit_staged(NULL, &scene->writer[0].want, ZD_EDIT_STAGE);
    wait_if(scene, zd_edit_staged(NULL, &scene->writer[1].want, ZD_EDIT_STAGE));
    wait_if(scene, first);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(scene->writer[i].want.wait.status, ZD_OK);
        ck_assert_uint_eq(scene->writer[i].want.edit->counts.n_written, 1);
    }
}

START_TEST(staged_objects_are_seen_when_they_are_committed)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    stage_two(&scene);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 0);
    ck_assert_int_eq(begin(&scene, 2, new_edit(1, 30)), ZD_WAIT); /* waits for the lock */
    run(&scene);
    ck_assert_uint_eq(scene.writer[2].n_told, 0);
    for (size_t i = 0; i < 2; i++) {
        wait_if(&scene, zd_edit_staged(NULL, &scene.writer[i].want, ZD_EDIT_COMMIT));
        ck_assert_int_eq(scene.writer[i].want.wait.status, ZD_OK);
        ck_assert_uint_gt(scene.writer[i].want.stat.size, 0);
    }
    run(&scene);
    ck_assert_uint_eq(scene.writer[2].n_told, 0); /* it may be undone yet */
    for (size_t i = 0; i < 2; i++) {
        wait_if(&scene, zd_edit_staged(NULL, &scene.writer[i].want, ZD_EDIT_SETTLE));
        ck_assert_int_eq(scene.writer[i].want.wait.status, ZD_OK);
    }
    run(&scene);
    ck_assert_uint_eq(scene.writer[2].n_told, 1);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 20);
    ck_assert_uint_eq(value[1], 30);
    scene_close(&scene);
}
END_TEST

/* An object that was there, one that was not, and one that goes. */
START_TEST(an_undone_change_leaves_the_old_state)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    wait_if(&scene, begin(&scene, 2, new_edit(0, 9)));
    stage_two(&scene);
    for (size_t i = 0; i < 2; i++) {
        wait_if(&scene, zd_edit_staged(NULL, &scene.writer[i].want, ZD_EDIT_COMMIT));
    }
    look(&scene, value);
    ck_assert_uint_eq(value[0], 20);
    for (size_t i = 0; i < 2; i++) {
        wait_if(&scene, zd_edit_staged(NULL, &scene.writer[i].want, ZD_EDIT_UNDO));
        ck_assert_int_eq(scene.writer[i].want.wait.status, ZD_OK);
    }
    ck_assert_int_eq(begin(&scene, 2, new_edit(1, 30)), ZD_WAIT);
    run(&scene);
    ck_assert_uint_eq(scene.writer[2].n_told, 0); /* still locked */
    zd_test_expect(&scene.plane.store, "a/c/1", NULL);
    zd_edit_release(&scene.writer[0].want);
    run(&scene);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 9);
    ck_assert_uint_eq(value[1], 30);
    scene_close(&scene);
}
END_TEST

START_TEST(another_processs_later_write_is_not_undone)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    stage_two(&scene);
    wait_if(&scene, zd_edit_staged(NULL, &scene.writer[0].want, ZD_EDIT_COMMIT));
    let_other_write(&scene, 1);
    wait_if(&scene, zd_edit_staged(NULL, &scene.writer[0].want, ZD_EDIT_UNDO));
    ck_assert_int_eq(scene.writer[0].want.wait.status, ZD_PRECONDITION);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 20);
    ck_assert_uint_eq(value[N_INNER - 1], 100);
    scene_close(&scene);
}
END_TEST

START_TEST(staged_and_released_objects_were_never_there)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    stage_two(&scene);
    zd_edit_release(&scene.writer[0].want);
    ck_assert_int_eq(begin(&scene, 2, new_edit(1, 30)), ZD_WAIT);
    run(&scene);
    zd_edit_release(&scene.writer[1].want);
    run(&scene);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 0);
    ck_assert_uint_eq(value[1], 30);
    scene_close(&scene);
}
END_TEST

START_TEST(leaving_at_any_time_leaves_nothing_locked)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    struct zd_edit_want *want = set_want(&scene, 0, new_edit(0, 20));
    wait_if(&scene, zd_edit_staged(scene.node, want, ZD_EDIT_LOCK));
    (void)zd_edit_staged(
        scene.node, set_want(&scene, 1, new_edit(1, 21)), ZD_EDIT_LOCK); /* waits */
    zd_edit_release(&scene.writer[1].want);
    (void)zd_edit_staged(NULL, want, ZD_EDIT_STAGE);
    zd_edit_release(want);
    ck_assert_int_eq(begin(&scene, 2, new_edit(2, 22)), ZD_WAIT);
    run(&scene);
    ck_assert_int_eq(scene.writer[2].want.wait.status, ZD_OK);
    want = set_want(&scene, 0, new_edit(3, 23));
    wait_if(&scene, zd_edit_staged(scene.node, want, ZD_EDIT_LOCK));
    wait_if(&scene, zd_edit_staged(NULL, want, ZD_EDIT_STAGE));
    (void)zd_edit_staged(NULL, want, ZD_EDIT_COMMIT); /* goes on */
    zd_edit_release(want);
    run(&scene);
    look(&scene, value);
    ck_assert_uint_eq(value[0] + value[1], 0);
    ck_assert_uint_eq(value[2], 22);
    ck_assert_uint_eq(value[3], 23);
    scene_close(&scene);
}
END_TEST

START_TEST(a_commit_that_is_beaten_is_made_again)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    stage_two(&scene);
    let_other_write(&scene, 3);
    wait_if(&scene, zd_edit_staged(NULL, &scene.writer[0].want, ZD_EDIT_COMMIT));
    ck_assert_int_eq(scene.writer[0].want.wait.status, ZD_OK);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 20);
    ck_assert_uint_eq(value[N_INNER - 1], 102);
    scene_close(&scene);
}
END_TEST

START_TEST(a_commit_with_a_condition_fails_when_it_is_beaten)
{
    struct scene scene;
    uint8_t value[N_INNER];
    scene_open(&scene, _i);
    struct zd_edit_want *want = set_want(&scene, 0, new_edit(0, 20));
    want->condition = ZD_CONDITION_ABSENT;
    wait_if(&scene, zd_edit_staged(scene.node, want, ZD_EDIT_LOCK));
    wait_if(&scene, zd_edit_staged(NULL, want, ZD_EDIT_STAGE));
    ck_assert_int_eq(want->wait.status, ZD_OK);
    let_other_write(&scene, 1);
    wait_if(&scene, zd_edit_staged(NULL, want, ZD_EDIT_COMMIT));
    ck_assert_int_eq(want->wait.status, ZD_PRECONDITION);
    look(&scene, value);
    ck_assert_uint_eq(value[0], 0);
    scene_close(&scene);
}
END_TEST

START_TEST(a_corrupt_object_is_told_with_its_key_and_stays)
{
    struct scene scene;
    scene_open(&scene, _i);
    zd_test_plane_put(&scene.plane, KEY, "no shard, but longer than its index may be");
    wait_if(&scene, begin(&scene, 0, new_edit(0, 1)));
    ck_assert_int_eq(scene.writer[0].want.wait.status, ZD_CORRUPT);
    ck_assert_ptr_nonnull(strstr(scene.writer[0].want.wait.err.text, KEY));
    zd_test_expect(&scene.plane.store, KEY, "no shard, but longer than its index may be");
    scene_close(&scene);
}
END_TEST

/* Three edits at once, of which some go together. */
static enum zd_status edit_in_need(void *context)
{
    struct scene *scene = context;
    enum zd_status status = ZD_OK;
    struct zd_edit *edit[3] = {zd_rewrite_edit_new(), zd_rewrite_edit_new(), zd_rewrite_edit_new()};
    for (size_t i = 0; i < 3; i++) {
        if (edit[i] == NULL) {
            status = ZD_NO_MEMORY;
            continue;
        }
        edit[i]->level = 1;
        edit[i]->part.chunk[0] = i;
        edit[i]->kind = ZD_EDIT_ERASE;
        (void)begin(scene, i, edit[i]);
    }
    run(scene);
    for (size_t i = 0; i < 3; i++) {
        const struct zd_edit_want *want = &scene->writer[i].want;
        if (edit[i] != NULL && want->wait.status != ZD_OK) {
            status = want->wait.status;
        }
        zd_edit_release(&scene->writer[i].want);
    }
    return status;
}

static enum zd_status stage_in_need(void *context)
{
    struct scene *scene = context;
    struct zd_edit *edit = zd_rewrite_edit_new();
    if (edit == NULL) {
        return ZD_NO_MEMORY;
    }
    struct zd_edit_want *want = set_want(scene, 0, edit);
    edit->kind = ZD_EDIT_ERASE;
    edit->level = 1;
    wait_if(scene, zd_edit_staged(scene->node, want, ZD_EDIT_LOCK));
    if (want->wait.status == ZD_OK) {
        wait_if(scene, zd_edit_staged(NULL, want, ZD_EDIT_STAGE));
    }
    if (want->wait.status == ZD_OK) {
        wait_if(scene, zd_edit_staged(NULL, want, ZD_EDIT_COMMIT));
    }
    const enum zd_status status = want->wait.status;
    if (status == ZD_OK) {
        wait_if(scene, zd_edit_staged(NULL, want, ZD_EDIT_UNDO));
        ck_assert_int_eq(want->wait.status, ZD_OK);
    }
    zd_edit_release(want);
    run(scene);
    return status;
}

START_TEST(without_memory_nothing_hangs)
{
    struct scene scene;
    scene_open(&scene, _i);
    for (size_t i = 0; i < 6; i++) {
        wait_if(&scene, begin(&scene, i, new_edit(i, 9)));
    }
    zd_unit_with_failing_memory(edit_in_need, &scene);
    wait_if(&scene, begin(&scene, 0, new_edit(0, 9)));
    zd_unit_with_failing_memory(stage_in_need, &scene);
    scene_close(&scene);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    const TTest *const all[] = {
        an_edit_is_written,
        edits_of_one_object_cost_two_writes,
        an_edit_that_makes_an_object_too_large_fails_alone,
        whole_chunks_are_not_read,
        another_processs_write_meanwhile_survives,
        a_change_that_always_loses_gives_up,
        only_the_first_of_equal_conditions_holds,
        a_condition_holds_against_other_processes_too,
        a_dry_edit_tells_and_writes_nothing,
        a_leaving_writer_loses_only_unstored_edits,
        staged_objects_are_seen_when_they_are_committed,
        an_undone_change_leaves_the_old_state,
        another_processs_later_write_is_not_undone,
        staged_and_released_objects_were_never_there,
        leaving_at_any_time_leaves_nothing_locked,
        a_commit_that_is_beaten_is_made_again,
        a_commit_with_a_condition_fails_when_it_is_beaten,
        a_corrupt_object_is_told_with_its_key_and_stays,
        without_memory_nothing_hangs,
    };
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        tcase_add_loop_test(tests, all[i], 0, 4);
    }
}
