/* server/data/chunks, shards, encoded: one read and one decode for all who want a chunk. */
#include "server/data/chunks.h"

#include <string.h>

#include "core/array/chunk.h"
#include "server/data/object_cache.h"
#include "server/data/chunk_read.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define LONG_MS 1000000

#define ARRAY(shape, chunk, codecs)                                                                \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": " shape                             \
    ", \"data_type\": \"uint8\", "                                                                 \
    "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": " chunk          \
    "}}, \"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 7, \"codecs\": " codecs  \
    "}"
#define BYTES "{\"name\": \"bytes\"}"
#define GZIP  "{\"name\": \"gzip\", \"configuration\": {\"level\": 1}}"
#define LZ4                                                                                        \
    "{\"name\": \"blosc\", \"configuration\": {\"cname\": \"lz4\", \"clevel\": 5, \"shuffle\": "   \
    "\"noshuffle\", \"blocksize\": 0}}"
#define SHARDS(chunk, codecs, place)                                                               \
    "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": " chunk                 \
    ", \"codecs\": [" codecs "], \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": "     \
    "{\"endian\": \"little\"}}, {\"name\": \"crc32c\"}], \"index_location\": \"" place "\"}}"

#define SIDE       256 /* of the one shard or chunk: 64 KiB */
#define INNER_SIDE 64

static const char plain[] = ARRAY("[256, 256]", "[256, 256]", "[" BYTES "]");
static const char zipped[] = ARRAY("[256, 256]", "[256, 256]", "[" BYTES ", " GZIP "]");
static const char packed[] = ARRAY("[256, 256]", "[256, 256]", "[" BYTES ", " LZ4 "]");
static const char sharded[] =
    ARRAY("[256, 256]", "[256, 256]", "[" SHARDS("[64, 64]", BYTES ", " GZIP, "end") "]");
static const char sharded_at_start[] =
    ARRAY("[256, 256]", "[256, 256]", "[" SHARDS("[64, 64]", BYTES, "start") "]");
static const char nested[] = ARRAY("[256, 256]", "[256, 256]",
    "[" SHARDS("[128, 128]", SHARDS("[64, 64]", BYTES ", " GZIP, "end"), "end") "]");
/* 16,384 inner chunks: the index is read by pages */
static const char paged[] =
    ARRAY("[256, 256]", "[256, 256]", "[" SHARDS("[2, 2]", BYTES, "end") "]");
static const char paged_at_start[] =
    ARRAY("[256, 256]", "[256, 256]", "[" SHARDS("[2, 2]", BYTES, "start") "]");
static const char paged_within[] = ARRAY("[256, 256]", "[256, 256]",
    "[" SHARDS("[256, 256]", SHARDS("[2, 2]", BYTES, "end"), "end") "]");

static const struct {
    const char *document;
    uint32_t n_levels;
    uint64_t n_reads; /* of one cold chunk of the last level */
    uint64_t n_decodes;
} arrays[] = {
    {plain, 1, 1, 1},
    {zipped, 1, 1, 1},
    {packed, 1, 1, 1},
    {sharded, 2, 2, 2},
    {sharded_at_start, 2, 2, 2},
    {nested, 3, 3, 3},
    {paged, 2, 2, 1},
    {paged_at_start, 2, 2, 1},
    {paged_within, 3, 3, 2},
};

struct ask {
    struct zd_chunk_want want;
    enum zd_next next;
    uint32_t n_told;
};

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct ask, want.wait)->n_told++;
}

static void encoded_told(struct zd_wait *wait)
{
    (void)wait;
}

static uint8_t element(uint64_t y, uint64_t x)
{
    return (uint8_t)(1 + (y * 31 + x * 7) % 251); /* never 0, nor always the fill value */
}

/* Store the whole array as its one object. */
static void put_object(struct zd_test_plane *plane)
{
    struct zd_node *node = zd_test_plane_node(plane, "a");
    ZD_AUTO(zd_buf) data = zd_buf_new(SIDE * SIDE);
    ZD_AUTO(zd_buf) stored = NULL;
    data->len = SIDE * SIDE;
    for (uint64_t i = 0; i < SIDE * SIDE; i++) {
        data->data[i] = element(i / SIDE, i % SIDE);
    }
    struct zd_error err = {0};
    const enum zd_status status = zd_chunk_encode(&node->layout->level[0], data, &stored, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
    zd_test_plane_put_bytes(plane, "a/c/0/0", stored);
    zd_node_unref(node);
}

static struct zd_node *open_plane(
    struct zd_test_plane *plane, const char *document, uint64_t revalidate_ms)
{
    zd_test_plane_open(plane, revalidate_ms);
    zd_test_plane_put(plane, "a/zarr.json", document);
    put_object(plane);
    zd_test_plane_forget(plane);
    return zd_test_plane_node(plane, "a");
}

static void close_plane(struct zd_test_plane *plane, struct zd_node *node)
{
    zd_node_unref(node);
    zd_test_plane_close(plane);
}

/* The whole last-level chunk that holds an element. */
static struct zd_part whole_chunk_at(const struct zd_node *node, uint64_t y, uint64_t x)
{
    const struct zd_grid *grid = &zd_layout_leaf(node->layout)->grid;
    return (struct zd_part){
        .chunk = {y / grid->chunk[0], x / grid->chunk[1]},
        .step = {1, 1},
        .count = {grid->chunk[0], grid->chunk[1]},
    };
}

static void begin(struct zd_node *node, uint64_t y, uint64_t x, struct ask *ask)
{
    ask->want.wait.done = told;
    ask->want.part = whole_chunk_at(node, y, x);
    ask->next = zd_chunks_want(node, &ask->want);
}

static void check_data(const struct zd_node *node, uint64_t y, uint64_t x, const struct ask *ask)
{
    const struct zd_grid *grid = &zd_layout_leaf(node->layout)->grid;
    const struct zd_buf *data = ask->want.data;
    ck_assert_msg(ask->want.wait.status == ZD_OK, "%s", ask->want.wait.err.text);
    ck_assert_ptr_nonnull(data);
    ck_assert(!ask->want.is_span);
    const uint64_t at = y % grid->chunk[0] * grid->chunk[1] + x % grid->chunk[1];
    ck_assert_uint_eq(data->len, grid->chunk[0] * grid->chunk[1]);
    ck_assert_uint_eq(data->data[at], element(y, x));
}

static void want_and_check(
    struct zd_test_plane *plane, struct zd_node *node, uint64_t y, uint64_t x)
{
    struct ask ask = {0};
    begin(node, y, x, &ask);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(ask.n_told, ask.next == ZD_WAIT);
    check_data(node, y, x, &ask);
    zd_chunks_release(&ask.want);
}

#define N_ASKS 64

START_TEST(many_who_want_one_chunk_cost_one_read_and_one_decode)
{
    struct zd_test_plane plane;
    struct ask ask[N_ASKS] = {0};
    struct zd_node *node = open_plane(&plane, arrays[_i].document, LONG_MS);
    ck_assert_uint_eq(node->layout->n_levels, arrays[_i].n_levels);
    zd_test_plane_slow(&plane);
    const uint64_t n_reads = plane.dataset.store->n_reads;
    for (int i = 0; i < N_ASKS; i++) {
        begin(node, 200, 100, &ask[i]);
        ck_assert_int_eq(ask[i].next, ZD_WAIT);
    }
    zd_test_plane_run(&plane);
    for (int i = 0; i < N_ASKS; i++) {
        ck_assert_uint_eq(ask[i].n_told, 1);
        check_data(node, 200, 100, &ask[i]);
        zd_chunks_release(&ask[i].want);
    }
    ck_assert_uint_eq(plane.dataset.store->n_reads - n_reads, arrays[_i].n_reads);
    ck_assert_uint_eq(plane.server.metrics.n_decodes, arrays[_i].n_decodes);
    want_and_check(&plane, node, 200, 100);
    ck_assert_uint_eq(plane.dataset.store->n_reads - n_reads, arrays[_i].n_reads);
    close_plane(&plane, node);
}
END_TEST

START_TEST(every_chunk_is_found)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, arrays[_i].document, LONG_MS);
    for (int slow = 0; slow < 2; slow++) {
        for (uint64_t i = 0; i < 16; i++) {
            want_and_check(&plane, node, i / 4 * INNER_SIDE + i, i % 4 * INNER_SIDE + 2 * i);
        }
        zd_test_plane_forget(&plane);
        zd_test_plane_slow(&plane);
    }
    close_plane(&plane, node);
}
END_TEST

START_TEST(an_absent_object_is_remembered_as_absent)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, arrays[_i].document, LONG_MS);
    struct zd_store_write erase = {.key = "a/c/0/0"};
    ck_assert_int_eq(zd_test_erase(&plane.store, &erase), ZD_OK);
    const uint64_t n_reads = plane.dataset.store->n_reads;
    for (int i = 0; i < 3; i++) {
        struct ask ask = {0};
        begin(node, 0, 0, &ask);
        zd_test_plane_run(&plane);
        ck_assert_int_eq(ask.want.wait.status, ZD_OK);
        ck_assert_ptr_null(ask.want.data);
        ck_assert_uint_eq(ask.want.generation.word[0] | ask.want.generation.word[1], 0);
        zd_chunks_release(&ask.want);
    }
    ck_assert_uint_eq(plane.dataset.store->n_reads - n_reads, 1);
    close_plane(&plane, node);
}
END_TEST

START_TEST(a_replaced_object_is_read_anew)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, arrays[_i].document, 0);
    for (int slow = 0; slow < 2; slow++) {
        want_and_check(&plane, node, 70, 130);
        const uint64_t n_reads = plane.dataset.store->n_reads;
        want_and_check(&plane, node, 70, 130); /* checked, not read */
        ck_assert_uint_eq(plane.dataset.store->n_reads, n_reads);
        struct zd_store_write erase = {.key = "a/c/0/0"};
        ck_assert_int_eq(zd_test_erase(&plane.store, &erase), ZD_OK);
        struct ask ask = {0};
        begin(node, 70, 130, &ask);
        zd_test_plane_run(&plane);
        ck_assert_ptr_null(ask.want.data);
        put_object(&plane);
        want_and_check(&plane, node, 70, 130);
        zd_test_plane_slow(&plane);
    }
    close_plane(&plane, node);
}
END_TEST

/* Another process erases while the store's answer is on its way: of the same chunk, and of another
 * one, which may be in the same shard. */
START_TEST(a_read_after_a_write_never_gets_the_old_bytes)
{
    struct zd_test_plane plane;
    struct ask early = {0};
    struct ask late[N_ASKS] = {0};
    struct zd_store_write erase = {.key = "a/c/0/0"};
    struct zd_node *node = open_plane(&plane, arrays[_i].document, 0);
    zd_test_plane_hold(&plane);
    begin(node, 200, 100, &early);
    zd_test_plane_run(&plane);
    ck_assert_int_eq(zd_test_erase(&plane.store, &erase), ZD_OK);
    for (int i = 0; i < N_ASKS; i++) {
        begin(node, i % 2 == 0 ? 200 : 10, 100, &late[i]);
    }
    zd_chunks_release(&late[2].want);
    zd_test_plane_release(&plane);
    zd_test_plane_run(&plane);
    ck_assert_uint_eq(early.n_told, 1);
    for (int i = 0; i < N_ASKS; i++) {
        ck_assert_uint_eq(late[i].n_told, late[i].next == ZD_WAIT && i != 2);
        ck_assert(i == 2 || late[i].want.wait.status == ZD_OK);
        ck_assert_ptr_null(late[i].want.data);
        zd_chunks_release(&late[i].want);
    }
    zd_chunks_release(&early.want);
    close_plane(&plane, node);
}
END_TEST

START_TEST(an_object_replaced_between_index_and_chunk_is_read_again)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, _i == 0 ? sharded : paged, LONG_MS);
    want_and_check(&plane, node, 0, 0); /* the index, or a page of it, is kept from now on */
    put_object(&plane);                 /* the same bytes, another generation */
    want_and_check(&plane, node, 0, _i == 0 ? INNER_SIDE : 2);
    want_and_check(&plane, node, 200, 200);
    close_plane(&plane, node);
}
END_TEST

START_TEST(only_the_needed_page_of_a_large_index_is_read_and_kept)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, _i == 0 ? paged : paged_at_start, LONG_MS);
    const struct zd_store *store = plane.dataset.store;
    const uint64_t n_bytes = store->n_read_bytes;
    want_and_check(&plane, node, 200, 200);
    ck_assert_uint_eq(store->n_read_bytes - n_bytes, (16 << 10) + 4);
    want_and_check(&plane, node, 200, 202);
    ck_assert_uint_eq(store->n_read_bytes - n_bytes, (16 << 10) + 8);
    want_and_check(&plane, node, 0, 0);
    ck_assert_uint_eq(store->n_read_bytes - n_bytes, (32 << 10) + 12);
    close_plane(&plane, node);
}
END_TEST

START_TEST(little_of_a_linear_chunk_is_read_alone)
{
    struct zd_test_plane plane;
    const bool is_sharded = _i == 1;
    struct zd_node *node = open_plane(&plane, is_sharded ? sharded_at_start : plain, LONG_MS);
    struct ask ask = {.want = {.wait.done = told, .part = {.step = {1, 1}, .count = {1, 3}}}};
    ask.want.part.from[0] = 10;
    ask.want.part.from[1] = 20;
    const uint64_t before = plane.dataset.store->n_read_bytes;
    (void)zd_chunks_want(node, &ask.want);
    zd_test_plane_run(&plane);
    ck_assert_int_eq(ask.want.wait.status, ZD_OK);
    ck_assert(!is_sharded == ask.want.is_span); /* inner chunks of 4 KiB are read whole */
    if (!is_sharded) {
        ck_assert_uint_eq(ask.want.data->len, 3);
        ck_assert_uint_eq(ask.want.data->data[2], element(10, 22));
        ck_assert_uint_eq(plane.dataset.store->n_read_bytes - before, 3);
    }
    zd_chunks_release(&ask.want);
    want_and_check(&plane, node, 10, 20);
    (void)zd_chunks_want(node, &ask.want); /* the whole chunk is there by now */
    ck_assert(!ask.want.is_span);
    zd_chunks_release(&ask.want);
    close_plane(&plane, node);
}
END_TEST

/* Some elements near the start of the compressed chunk. */
static void want_part(struct zd_test_plane *plane, struct zd_node *node, struct ask *ask)
{
    *ask = (struct ask){.want = {.wait.done = told, .part = {.step = {1, 1}, .count = {1, 3}}}};
    ask->want.part.from[0] = 10;
    ask->want.part.from[1] = 20;
    ask->next = zd_chunks_want(node, &ask->want);
    zd_test_plane_run(plane);
}

START_TEST(part_of_a_chunk_is_decoded_once_and_then_all_of_it)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, packed, LONG_MS);
    plane.config.settings.workers_inline_us = _i == 0 ? 150 : 0;
    static const uint64_t decoded_bytes[] = {3, SIDE * SIDE, 0};
    for (size_t i = 0; i < ZD_COUNT_OF(decoded_bytes); i++) {
        struct ask ask;
        const uint64_t before = plane.server.metrics.n_decoded_bytes;
        want_part(&plane, node, &ask);
        ck_assert_int_eq(ask.want.wait.status, ZD_OK);
        ck_assert(ask.want.is_span == (i == 0));
        ck_assert_uint_eq(ask.want.data->len, i == 0 ? 3 : SIDE * SIDE);
        const uint64_t at = i == 0 ? 0 : 10 * SIDE + 20;
        ck_assert_uint_eq(ask.want.data->data[at + 2], element(10, 22));
        ck_assert_uint_eq(plane.server.metrics.n_decoded_bytes - before, decoded_bytes[i]);
        zd_chunks_release(&ask.want);
    }
    close_plane(&plane, node);
}
END_TEST

START_TEST(parts_of_a_chunk_too_large_to_keep_are_decoded_each_time)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, packed, LONG_MS);
    plane.server.chunks.entry_bytes_max = SIDE * SIDE - 1;
    for (int i = 0; i < 3; i++) {
        struct ask ask;
        want_part(&plane, node, &ask);
        ck_assert(ask.want.is_span);
        zd_chunks_release(&ask.want);
    }
    close_plane(&plane, node);
}
END_TEST

START_TEST(a_partly_wanted_chunk_may_be_absent_or_corrupt)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, packed, LONG_MS);
    zd_test_plane_put(&plane, "a/c/0/0", "no frame");
    struct ask ask;
    want_part(&plane, node, &ask);
    ck_assert_int_eq(ask.want.wait.status, ZD_CORRUPT);
    ck_assert_ptr_nonnull(strstr(ask.want.wait.err.text, "a/c/0/0"));
    zd_chunks_release(&ask.want);
    zd_node_unref(node);
    zd_test_plane_close(&plane);
    zd_test_plane_open(&plane, LONG_MS);
    zd_test_plane_put(&plane, "a/zarr.json", packed);
    node = zd_test_plane_node(&plane, "a");
    for (int i = 0; i < 2; i++) {
        const uint64_t n_reads = plane.dataset.store->n_reads;
        want_part(&plane, node, &ask);
        ck_assert_int_eq(ask.want.wait.status, ZD_OK);
        ck_assert_ptr_null(ask.want.data);
        ck_assert_uint_eq(plane.dataset.store->n_reads - n_reads, i == 0 ? 1 : 0);
        zd_chunks_release(&ask.want);
    }
    close_plane(&plane, node);
}
END_TEST

START_TEST(stored_bytes_of_any_level_are_given_unchanged)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, arrays[_i].document, LONG_MS);
    for (uint32_t level = 0; level < node->layout->n_levels; level++) {
        const struct zd_level *at = &node->layout->level[level];
        struct zd_stored_chunk_want want = {.wait.done = encoded_told, .level = level};
        want.index[0] = 200 / at->grid.chunk[0];
        want.index[1] = 100 / at->grid.chunk[1];
        ck_assert_int_eq(zd_chunk_stored_want(node, &want), ZD_NEXT);
        ck_assert_msg(want.wait.status == ZD_OK, "%s", want.wait.err.text);
        ZD_AUTO(zd_buf) data = NULL;
        struct zd_error err = {0};
        ck_assert_int_eq(zd_chunk_decode(at, want.bytes, &data, &err), ZD_OK);
        const uint64_t y = 200 % at->grid.chunk[0];
        const uint64_t x = 100 % at->grid.chunk[1];
        ck_assert_uint_eq(data->data[y * at->grid.chunk[1] + x], element(200, 100));
        zd_chunk_stored_release(&want);
        ck_assert_ptr_null(want.bytes);
    }
    close_plane(&plane, node);
}
END_TEST

START_TEST(bytes_that_do_not_decode_are_corrupt_and_name_their_key)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, arrays[_i].document, 0);
    for (int len = 0; len < 40; len += 13) {
        char text[64] = "";
        memset(text, 'x', (size_t)len);
        zd_test_plane_put(&plane, "a/c/0/0", text);
        struct ask ask = {0};
        begin(node, 0, 0, &ask);
        zd_test_plane_run(&plane);
        ck_assert_int_eq(ask.want.wait.status, ZD_CORRUPT);
        ck_assert_ptr_nonnull(strstr(ask.want.wait.err.text, "a/c/0/0"));
        zd_chunks_release(&ask.want);
    }
    put_object(&plane);
    want_and_check(&plane, node, 3, 3); /* that is not remembered */
    close_plane(&plane, node);
}
END_TEST

START_TEST(a_fault_of_the_store_is_told_to_all_and_not_remembered)
{
    struct zd_test_plane plane;
    struct ask ask[3] = {0};
    struct zd_node *node = open_plane(&plane, arrays[_i].document, 0);
    want_and_check(&plane, node, 3, 3);
    zd_test_plane_break(&plane);
    for (int i = 0; i < 3; i++) {
        begin(node, i == 2 ? 200 : 3, 3, &ask[i]);
    }
    zd_test_plane_run(&plane);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ask[i].want.wait.status, ZD_STORE);
        ck_assert_ptr_null(ask[i].want.data);
    }
    zd_test_plane_mend(&plane);
    want_and_check(&plane, node, 3, 3);
    close_plane(&plane, node);
}
END_TEST

/* A waiter that leaves does not disturb the others; when all leave, the work is dropped at any
 * stage. */
START_TEST(leaving_waiters_disturb_no_others)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, arrays[_i].document, LONG_MS);
    zd_test_plane_slow(&plane);
    plane.config.settings.workers_inline_us = 0; /* every decode is a job */
    for (int n_turns = 0; n_turns < 8; n_turns++) {
        struct ask ask[3] = {0};
        for (int i = 0; i < 3; i++) {
            begin(node, 5, 6, &ask[i]);
        }
        for (int i = 0; i < n_turns; i++) {
            (void)uv_run(&plane.store.loop, UV_RUN_ONCE);
        }
        zd_chunks_release(&ask[1].want);
        zd_chunks_release(&ask[0].want);
        if (n_turns % 2 == 0) {
            zd_chunks_release(&ask[2].want);
            want_and_check(&plane, node, 5, 6); /* anew, while the old work ends */
        } else {
            zd_test_plane_run(&plane);
            check_data(node, 5, 6, &ask[2]);
            zd_chunks_release(&ask[2].want);
        }
        zd_test_plane_forget(&plane);
    }
    close_plane(&plane, node);
}
END_TEST

/* A single chunk of 64 KiB of gzip is decoded at once; when many are wanted, workers share them. */
START_TEST(many_chunks_do_not_hold_the_loop)
{
    struct zd_test_plane plane;
    struct zd_node *node = open_plane(&plane, zipped, LONG_MS);
    plane.config.settings.workers_inline_us = 150;
    for (uint64_t n_together = 1; n_together <= 64; n_together *= 8) {
        struct ask ask = {.want.n_together = n_together};
        const uint64_t n_jobs = plane.server.metrics.n_jobs;
        begin(node, 3, 3, &ask);
        zd_test_plane_run(&plane);
        ck_assert_int_eq(ask.want.wait.status, ZD_OK);
        ck_assert_uint_eq(plane.server.metrics.n_jobs - n_jobs, n_together == 1 ? 0 : 1);
        zd_chunks_release(&ask.want);
        zd_test_plane_forget(&plane);
    }
    close_plane(&plane, node);
}
END_TEST

static struct zd_node *cold_node;

static enum zd_status want_cold_part(void *context)
{
    struct zd_test_plane *plane = context;
    zd_cache_done(&plane->server.chunks);
    zd_cache_init(&plane->server.chunks, "chunks", 1U << 20, zd_chunk_free);
    struct ask ask;
    want_part(plane, cold_node, &ask);
    const enum zd_status status = ask.want.wait.status;
    zd_chunks_release(&ask.want);
    return status;
}

START_TEST(without_memory_there_is_no_part_and_nothing_leaks)
{
    struct zd_test_plane plane;
    cold_node = open_plane(&plane, packed, LONG_MS);
    zd_unit_with_failing_memory(want_cold_part, &plane);
    close_plane(&plane, cold_node);
}
END_TEST

static enum zd_status want_cold(void *context)
{
    struct zd_test_plane *plane = context;
    zd_cache_done(&plane->server.chunks);
    zd_cache_done(&plane->server.objects);
    zd_cache_init(&plane->server.objects, "objects", 1U << 20, zd_object_free);
    zd_cache_init(&plane->server.chunks, "chunks", 1U << 20, zd_chunk_free);
    struct ask ask = {0};
    begin(cold_node, 5, 6, &ask);
    zd_test_plane_run(plane);
    enum zd_status status = ask.want.wait.status;
    zd_chunks_release(&ask.want);
    if (status == ZD_OK) {
        struct zd_stored_chunk_want want = {
            .wait.done = encoded_told, .level = cold_node->layout->n_levels - 1};
        (void)zd_chunk_stored_want(cold_node, &want);
        zd_test_plane_run(plane);
        status = want.wait.status;
        zd_chunk_stored_release(&want);
    }
    return status;
}

START_TEST(without_memory_there_is_no_chunk_and_nothing_leaks)
{
    struct zd_test_plane plane;
    cold_node = open_plane(&plane, arrays[_i].document, LONG_MS);
    zd_unit_with_failing_memory(want_cold, &plane);
    close_plane(&plane, cold_node);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    const int n = (int)ZD_COUNT_OF(arrays);
    tcase_add_loop_test(tests, many_who_want_one_chunk_cost_one_read_and_one_decode, 0, n);
    tcase_add_loop_test(tests, every_chunk_is_found, 0, n);
    tcase_add_loop_test(tests, an_absent_object_is_remembered_as_absent, 0, n);
    tcase_add_loop_test(tests, a_replaced_object_is_read_anew, 0, n);
    tcase_add_loop_test(tests, a_read_after_a_write_never_gets_the_old_bytes, 0, n);
    tcase_add_loop_test(tests, an_object_replaced_between_index_and_chunk_is_read_again, 0, 2);
    tcase_add_loop_test(tests, only_the_needed_page_of_a_large_index_is_read_and_kept, 0, 2);
    tcase_add_loop_test(tests, little_of_a_linear_chunk_is_read_alone, 0, 2);
    tcase_add_loop_test(tests, stored_bytes_of_any_level_are_given_unchanged, 0, n);
    tcase_add_loop_test(tests, bytes_that_do_not_decode_are_corrupt_and_name_their_key, 0, n);
    tcase_add_loop_test(tests, a_fault_of_the_store_is_told_to_all_and_not_remembered, 0, n);
    tcase_add_loop_test(tests, leaving_waiters_disturb_no_others, 0, n);
    tcase_add_test(tests, many_chunks_do_not_hold_the_loop);
    tcase_add_loop_test(tests, part_of_a_chunk_is_decoded_once_and_then_all_of_it, 0, 2);
    tcase_add_test(tests, parts_of_a_chunk_too_large_to_keep_are_decoded_each_time);
    tcase_add_test(tests, a_partly_wanted_chunk_may_be_absent_or_corrupt);
    tcase_add_test(tests, without_memory_there_is_no_part_and_nothing_leaks);
    tcase_add_loop_test(tests, without_memory_there_is_no_chunk_and_nothing_leaks, 0, n);
}
