/* server/write/edit: phases of many objects are done in pieces, between which the loop turns. */
#include "server/data/seen_objects.h"
#include "server/write/edit.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define N_OBJECTS    2000
#define TURN_MAX     (N_OBJECTS / 4)
#define AT_ONCE      64
#define TEXT_OF(num) #num
#define TEXT(num)    TEXT_OF(num)

static const char array[] = "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [" TEXT(
    N_OBJECTS) "], \"data_type\": \"uint8\", "
               "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
               "{\"chunk_shape\": [1]}}, \"chunk_key_encoding\": {\"name\": \"default\"}, "
               "\"fill_value\": 0, \"codecs\": [{\"name\": \"bytes\"}]}";

/* Goes through all phases. */
struct writer {
    struct zd_machine machine;
    struct zd_edit_set set;
    enum zd_edit_phase phase;
    uint64_t n_begun_max; /* in one call */
    bool is_done;
};

struct scene {
    struct zd_test_plane plane;
    struct zd_node *node;
    struct zd_selection selection;
    struct zd_seen_objects seen;
    struct writer writer;
};

static enum zd_next step(struct zd_machine *machine)
{
    static const enum zd_edit_phase next[] = {
        [ZD_EDIT_STAGE] = ZD_EDIT_LOCK,
        [ZD_EDIT_LOCK] = ZD_EDIT_COMMIT,
        [ZD_EDIT_COMMIT] = ZD_EDIT_SETTLE,
        [ZD_EDIT_SETTLE] = ZD_EDIT_PHASES,
    };
    struct writer *writer = ZD_CONTAINER(machine, struct writer, machine);
    if (writer->phase == ZD_EDIT_PHASES) {
        return ZD_DONE;
    }
    struct zd_edit_pass *pass = &writer->set.pass[writer->phase];
    const uint64_t n_before = pass->n_begun;
    if (zd_edit_set_go_on(&writer->set, writer->phase) == ZD_WAIT) {
        writer->n_begun_max = zd_max_u64(writer->n_begun_max, pass->n_begun - n_before);
        return ZD_WAIT;
    }
    writer->n_begun_max = zd_max_u64(writer->n_begun_max, pass->n_begun - n_before);
    ck_assert_int_eq(writer->set.status, ZD_OK);
    ck_assert_uint_eq(pass->n_begun, N_OBJECTS);
    writer->phase = next[writer->phase];
    return ZD_NEXT;
}

static void end(struct zd_machine *machine)
{
    ZD_CONTAINER(machine, struct writer, machine)->is_done = true;
}

static void scene_open(struct scene *scene, bool is_slow)
{
    *scene = (struct scene){0};
    zd_test_plane_open(&scene->plane, 0);
    zd_test_plane_put(&scene->plane, "a/zarr.json", array);
    if (is_slow) {
        zd_test_plane_slow(&scene->plane);
    }
    scene->node = zd_test_plane_node(&scene->plane, "a");
    const uint64_t shape[] = {N_OBJECTS};
    zd_selection_whole(1, shape, &scene->selection);
    ck_assert_int_eq(
        zd_seen_objects_init(&scene->seen, scene->node->layout, &scene->selection, NULL), ZD_OK);
    struct writer *writer = &scene->writer;
    writer->machine = (struct zd_machine){.step = step, .end = end};
    writer->set = (struct zd_edit_set){
        .node = scene->node, .seen = &scene->seen, .is_staged = true, .n_ready = N_OBJECTS};
    ck_assert_int_eq(zd_edit_set_init(&writer->set, &writer->machine, AT_ONCE, NULL), ZD_OK);
    for (uint64_t i = 0; i < N_OBJECTS; i++) {
        struct zd_edit *edit = writer->set.object[i].want.edit;
        edit->kind = ZD_EDIT_ERASE;
        edit->part.chunk[0] = i;
    }
}

static void scene_close(struct scene *scene)
{
    zd_edit_set_release(&scene->writer.set);
    zd_test_plane_run(&scene->plane);
    ck_assert_uint_eq(scene->plane.locks.places.n_entries, 0);
    zd_seen_objects_done(&scene->seen);
    zd_node_unref(scene->node);
    zd_test_plane_close(&scene->plane);
}

START_TEST(many_objects_take_many_turns)
{
    struct scene scene;
    scene_open(&scene, _i == 1);
    ck_assert_int_eq(zd_machine_begin(&scene.writer.machine), ZD_WAIT);
    zd_test_plane_run(&scene.plane);
    ck_assert(scene.writer.is_done);
    ck_assert_uint_le(scene.writer.n_begun_max, TURN_MAX);
    scene_close(&scene);
}
END_TEST

START_TEST(leaving_between_two_turns_leaves_nothing_locked)
{
    struct scene scene;
    scene_open(&scene, _i == 1);
    scene.writer.phase = ZD_EDIT_LOCK;
    ck_assert_int_eq(zd_machine_begin(&scene.writer.machine), ZD_WAIT);
    const uint64_t n_locked = scene.writer.set.pass[ZD_EDIT_LOCK].n_begun;
    ck_assert_uint_ge(n_locked, 1);
    ck_assert_uint_lt(n_locked, N_OBJECTS);
    scene_close(&scene);
    ck_assert(!scene.writer.is_done);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, many_objects_take_many_turns, 0, 2);
    tcase_add_loop_test(tests, leaving_between_two_turns_leaves_nothing_locked, 0, 2);
}
