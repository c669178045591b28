/* server/write/bounds: bounds are never false, and many who widen them cost few changes of the
 * document.
 */
#include "server/write/bounds.h"

#include <string.h>

#include "core/store/contract/store_impl.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define LONG_MS 1000000
#define N       8
#define KEY     "a/zarr.json"

#define ARRAY(dtype, min, max, more)                                                               \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [8], \"data_type\": \"" dtype       \
    "\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [1]}}, "     \
    "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, "                         \
    "\"codecs\": [{\"name\": \"bytes\"}], "                                                        \
    "\"extensions\": [{\"name\": \"example.array-statistics\", "                                   \
    "\"configuration\": {\"min\": " min ", \"max\": " max "}}]" more "}"

static const char initial[] = ARRAY("int8", "1", "1", "");
static const char of_other[] = ARRAY("int8", "1", "50", ", \"attributes\": {\"of\": \"another\"}");

/* A writer about to store an element. */
struct writer {
    struct zd_bounds_want want;
    struct zd_written written;
    uint32_t n_told;
};

struct scene {
    struct zd_test_plane plane;
    struct zd_node *node; /* as it was in the beginning */
    struct writer writer[N];
};

/* Another process, which stores its document each time that this one is about to. */
static struct {
    struct zd_store_ops ops; /* of the store as it is */
    const char *document;
    struct zd_store_write write[32];
    uint32_t n_left;
    uint32_t n_written;
} other;

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct writer, want.wait)->n_told++;
}

/* The store answers at once or later: as the loop test's number says. */
static void scene_open(struct scene *scene, int i)
{
    *scene = (struct scene){0};
    zd_test_plane_open(&scene->plane, LONG_MS);
    other.ops = scene->plane.ops;
    zd_test_plane_put(&scene->plane, KEY, initial);
    if (i > 0) {
        zd_test_plane_slow(&scene->plane);
    }
    scene->node = zd_test_plane_node(&scene->plane, "a");
    scene->plane.store.store->n_writes = 0;
}

static void scene_close(struct scene *scene)
{
    for (size_t i = 0; i < N; i++) {
        zd_node_unref(ZD_TAKE(scene->writer[i].want.node));
    }
    zd_node_unref(scene->node);
    ck_assert_uint_eq(scene->plane.server.bounds.n_entries, 0);
    zd_test_plane_close(&scene->plane);
}

static uint64_t n_writes(const struct scene *scene)
{
    return scene->plane.store.store->n_writes;
}

static struct writer *begin(struct scene *scene, size_t i, int8_t element, enum zd_next *ret_next)
{
    struct writer *writer = &scene->writer[i];
    zd_node_unref(ZD_TAKE(writer->want.node));
    *writer = (struct writer){
        .want = {.wait.done = told, .node = zd_node_ref(scene->node), .written = &writer->written},
    };
    zd_written_init(&writer->written, scene->node->meta);
    zd_written_add(&writer->written, &element, 1);
    *ret_next = zd_bounds_want(&writer->want);
    return writer;
}

static struct writer *widen(struct scene *scene, size_t i, int8_t element)
{
    enum zd_next next;
    struct writer *writer = begin(scene, i, element, &next);
    zd_test_plane_run(&scene->plane);
    ck_assert_uint_eq(writer->n_told, next == ZD_WAIT);
    return writer;
}

static void check_bounds(const struct zd_node *node, int8_t min, int8_t max)
{
    ck_assert_int_eq(*(const int8_t *)node->meta->view.min, min);
    ck_assert_int_eq(*(const int8_t *)node->meta->view.max, max);
}

static void check_stored(struct scene *scene, int8_t min, int8_t max)
{
    zd_test_plane_forget(&scene->plane);
    ZD_AUTO(zd_node) node = zd_test_plane_node(&scene->plane, "a");
    check_bounds(node, min, max);
}

static void ignore(struct zd_store_op *op)
{
    ck_assert_int_eq(op->status, ZD_OK);
    zd_buf_unref(((struct zd_store_write *)(void *)op)->bytes);
}

static void write_second(struct zd_store *store, struct zd_store_write *write)
{
    if (other.n_left > 0 && write->phase != ZD_PHASE_STAGE) {
        struct zd_store_write *first = &other.write[other.n_written++];
        const size_t len = strlen(other.document);
        other.n_left--;
        *first = (struct zd_store_write){
            .op = {.store = store, .done = ignore}, .bytes = zd_buf_new(len)};
        memcpy(first->bytes->data, other.document, len);
        first->bytes->len = len;
        memcpy(first->key, KEY, sizeof KEY);
        other.ops.write(store, first);
    }
    other.ops.write(store, write);
}

static void let_other_write(struct scene *scene, const char *document, uint32_t n)
{
    other.document = document;
    other.n_left = n;
    other.n_written = 0;
    scene->plane.ops.write = write_second;
}

START_TEST(bounds_are_widened_before_an_element_that_is_outside)
{
    struct scene scene;
    scene_open(&scene, _i);
    const struct writer *writer = widen(&scene, 0, -9);
    ck_assert_int_eq(writer->want.wait.status, ZD_OK);
    check_bounds(writer->want.node, -9, 1);
    check_stored(&scene, -9, 1);
    ck_assert_uint_eq(n_writes(&scene), 2); /* staged, committed */
    scene_close(&scene);
}
END_TEST

START_TEST(elements_inside_ask_for_nothing)
{
    struct scene scene;
    scene_open(&scene, _i);
    enum zd_next next;
    const struct writer *writer = begin(&scene, 0, 1, &next);
    ck_assert_int_eq(next, ZD_NEXT);
    ck_assert_int_eq(writer->want.wait.status, ZD_OK);
    ck_assert_ptr_eq(writer->want.node, scene.node);
    ck_assert_uint_eq(n_writes(&scene), 0);
    scene_close(&scene);
}
END_TEST

START_TEST(writers_that_come_meanwhile_share_one_change)
{
    struct scene scene;
    scene_open(&scene, _i);
    for (size_t i = 0; i < N; i++) {
        enum zd_next next;
        (void)begin(&scene, i, (int8_t)(10 + i), &next);
        ck_assert_int_eq(next, ZD_WAIT);
    }
    zd_test_plane_run(&scene.plane);
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(scene.writer[i].want.wait.status, ZD_OK);
        ck_assert_uint_eq(scene.writer[i].n_told, 1);
        check_bounds(scene.writer[i].want.node, 1, i == 0 ? 10 : 10 + N - 1);
    }
    check_stored(&scene, 1, 10 + N - 1);
    ck_assert_uint_eq(n_writes(&scene), 4); /* the first one's, and one for all others */
    scene_close(&scene);
}
END_TEST

/* The writer's view is old by now. */
START_TEST(a_document_that_is_right_already_is_not_stored_again)
{
    struct scene scene;
    scene_open(&scene, _i);
    zd_test_plane_put(&scene.plane, KEY, of_other);
    scene.plane.store.store->n_writes = 0;
    const struct writer *writer = widen(&scene, 0, 49);
    ck_assert_int_eq(writer->want.wait.status, ZD_OK);
    check_bounds(writer->want.node, 1, 50);
    ck_assert_uint_eq(n_writes(&scene), 0);
    scene_close(&scene);
}
END_TEST

START_TEST(another_processs_change_meanwhile_stays)
{
    struct scene scene;
    scene_open(&scene, _i);
    let_other_write(&scene, of_other, 3);
    const struct writer *writer = widen(&scene, 0, 60);
    ck_assert_int_eq(writer->want.wait.status, ZD_OK);
    ck_assert_uint_eq(other.n_written, 3);
    check_stored(&scene, 1, 60);
    ck_assert_ptr_nonnull(
        zd_json_member(zd_json_member(writer->want.node->meta->document, "attributes"), "of"));
    scene_close(&scene);
}
END_TEST

START_TEST(a_change_that_always_loses_gives_up)
{
    struct scene scene;
    scene_open(&scene, _i);
    let_other_write(&scene, of_other, ZD_COUNT_OF(other.write));
    const struct writer *writer = widen(&scene, 0, 60);
    ck_assert_int_eq(writer->want.wait.status, ZD_STORE);
    check_stored(&scene, 1, 50);
    scene_close(&scene);
}
END_TEST

START_TEST(an_array_that_is_gone_or_another_one_is_told)
{
    static const char *const documents[] = {
        "{\"zarr_format\": 3, \"node_type\": \"group\"}",
        ARRAY("int16", "1", "1", ""),
    };
    for (size_t i = 0; i < ZD_COUNT_OF(documents); i++) {
        struct scene scene;
        scene_open(&scene, _i);
        zd_test_plane_put(&scene.plane, KEY, documents[i]);
        scene.plane.store.store->n_writes = 0;
        ck_assert_int_eq(widen(&scene, 0, 60)->want.wait.status, ZD_NOT_FOUND);
        ck_assert_uint_eq(n_writes(&scene), 0);
        scene_close(&scene);
    }
}
END_TEST

static enum zd_status widen_in_need(void *context)
{
    struct scene *scene = context;
    enum zd_status status = ZD_OK;
    enum zd_next next;
    for (size_t i = 0; i < 3; i++) {
        (void)begin(scene, i, (int8_t)(10 + i), &next);
    }
    zd_test_plane_run(&scene->plane);
    for (size_t i = 0; i < 3; i++) {
        const struct writer *writer = &scene->writer[i];
        ck_assert(!writer->want.is_under_way);
        status = writer->want.wait.status == ZD_OK ? status : writer->want.wait.status;
    }
    return status;
}

START_TEST(without_memory_nothing_hangs)
{
    struct scene scene;
    scene_open(&scene, _i);
    zd_unit_with_failing_memory(widen_in_need, &scene);
    scene_close(&scene);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    const TTest *const all[] = {
        bounds_are_widened_before_an_element_that_is_outside,
        elements_inside_ask_for_nothing,
        writers_that_come_meanwhile_share_one_change,
        a_document_that_is_right_already_is_not_stored_again,
        another_processs_change_meanwhile_stays,
        a_change_that_always_loses_gives_up,
        an_array_that_is_gone_or_another_one_is_told,
        without_memory_nothing_hangs,
    };
    for (size_t i = 0; i < ZD_COUNT_OF(all); i++) {
        tcase_add_loop_test(tests, all[i], 0, 2);
    }
}
