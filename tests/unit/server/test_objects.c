/* server/objects: what exists, which generation, its bytes; one question for many. */
#include "server/objects.h"

#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define LONG_MS 1000000

struct ask {
    struct zd_object_want want;
    enum zd_next next;
    uint32_t n_told;
    struct ask *cancels; /* when it is told; or NULL */
};

static void told(struct zd_wait *wait)
{
    struct ask *ask = ZD_CONTAINER(wait, struct ask, want.wait);
    ask->n_told++;
    if (ask->cancels != NULL) {
        zd_wait_cancel(&ask->cancels->want.wait);
    }
}

static void begin(
    struct zd_test_plane *plane, const char *key, enum zd_object_part part, struct ask *ask)
{
    ask->want.wait.done = told;
    ask->next = zd_objects_want(&plane->dataset, key, part, &ask->want);
}

/* The status; the bytes, if any, must be `text`. */
static enum zd_status ask_now(
    struct zd_test_plane *plane, const char *key, enum zd_object_part part, const char *text)
{
    struct ask ask = {0};
    begin(plane, key, part, &ask);
    zd_test_plane_run(plane);
    ck_assert_uint_eq(ask.n_told, ask.next == ZD_WAIT);
    if (ask.want.bytes != NULL) {
        ck_assert_ptr_nonnull(text);
        ck_assert(zd_span_is(zd_buf_span(ask.want.bytes), text));
        zd_buf_unref(ask.want.bytes);
    } else {
        ck_assert(ask.want.wait.status != ZD_OK || part != ZD_OBJECT_BYTES);
    }
    return ask.want.wait.status;
}

static const struct {
    const char *key;
    enum zd_object_part part;
    enum zd_status status;
    const char *text;
} facts[] = {
    {"a/b", ZD_OBJECT_STATUS, ZD_OK, NULL},
    {"a/b", ZD_OBJECT_BYTES, ZD_OK, "bytes"},
    {"empty", ZD_OBJECT_BYTES, ZD_OK, ""},
    {"a", ZD_OBJECT_STATUS, ZD_NOT_FOUND, NULL}, /* a directory is no object */
    {"a", ZD_OBJECT_DIRECTORY, ZD_OK, NULL},
    {"a/b", ZD_OBJECT_DIRECTORY, ZD_NOT_FOUND, NULL},
    {"x", ZD_OBJECT_BYTES, ZD_NOT_FOUND, NULL},
    {"x", ZD_OBJECT_DIRECTORY, ZD_NOT_FOUND, NULL},
    /* No store has such keys: that is certain. */
    {"", ZD_OBJECT_STATUS, ZD_NOT_FOUND, NULL},
    {"a//b", ZD_OBJECT_STATUS, ZD_NOT_FOUND, NULL},
    {"../a", ZD_OBJECT_BYTES, ZD_NOT_FOUND, NULL},
};

static void put_all(struct zd_test_plane *plane)
{
    zd_test_plane_put(plane, "a/b", "bytes");
    zd_test_plane_put(plane, "empty", "");
}

START_TEST(an_object_is_what_the_store_says)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    for (int slow = 0; slow < 2; slow++) {
        if (slow) {
            zd_test_plane_forget(&plane);
            zd_test_plane_slow(&plane);
        }
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(
                ask_now(&plane, facts[_i].key, facts[_i].part, facts[_i].text), facts[_i].status);
        }
    }
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(what_is_known_is_not_asked_again)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_STATUS, NULL), ZD_OK);
        ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
        ck_assert_int_eq(ask_now(&plane, "x", ZD_OBJECT_BYTES, NULL), ZD_NOT_FOUND);
        ck_assert_int_eq(ask_now(&plane, "x", ZD_OBJECT_STATUS, NULL), ZD_NOT_FOUND);
    }
    ck_assert_uint_eq(plane.dataset.store->n_statuses, 1);
    ck_assert_uint_eq(plane.dataset.store->n_reads, 2);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(what_is_never_trusted_is_checked_but_not_read_again)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, 0);
    put_all(&plane);
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
    ck_assert_uint_eq(plane.dataset.store->n_reads, 1);
    ck_assert_uint_eq(plane.dataset.store->n_statuses, 1);
    zd_test_plane_put(&plane, "a/b", "others");
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "others"), ZD_OK);
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_STATUS, NULL), ZD_OK);
    zd_test_plane_close(&plane);
}
END_TEST

#define N_ASKS 64

START_TEST(many_who_want_one_object_cost_one_read)
{
    struct zd_test_plane plane;
    struct ask ask[N_ASKS] = {0};
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    zd_test_plane_slow(&plane);
    for (int i = 0; i < N_ASKS; i++) {
        begin(&plane, "a/b", ZD_OBJECT_BYTES, &ask[i]);
        ck_assert_int_eq(ask[i].next, ZD_WAIT);
    }
    zd_test_plane_run(&plane);
    for (int i = 0; i < N_ASKS; i++) {
        ck_assert_uint_eq(ask[i].n_told, 1);
        ck_assert(zd_span_is(zd_buf_span(ask[i].want.bytes), "bytes"));
        zd_buf_unref(ask[i].want.bytes);
    }
    ck_assert_uint_eq(plane.dataset.store->n_reads, 1);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(each_gets_the_part_it_wanted)
{
    struct zd_test_plane plane;
    struct ask ask[4] = {0};
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    zd_test_plane_slow(&plane);
    for (int i = 0; i < 4; i++) {
        begin(&plane, "a/b", i % 2 == 0 ? ZD_OBJECT_STATUS : ZD_OBJECT_BYTES, &ask[i]);
    }
    zd_test_plane_run(&plane);
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(ask[i].n_told, 1);
        ck_assert_int_eq(ask[i].want.wait.status, ZD_OK);
        ck_assert_uint_eq(ask[i].want.stat.size, 5);
        ck_assert_int_eq(ask[i].want.bytes != NULL, i % 2);
        zd_buf_unref(ask[i].want.bytes);
    }
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(one_who_is_told_may_cancel_the_others)
{
    struct zd_test_plane plane;
    struct ask ask[4] = {0};
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    zd_test_plane_slow(&plane);
    for (int i = 0; i < 4; i++) {
        begin(&plane, "a/b", ZD_OBJECT_BYTES, &ask[i]);
    }
    ask[0].cancels = &ask[1];
    zd_wait_cancel(&ask[3].want.wait);
    zd_test_plane_run(&plane);
    const uint32_t n_told[] = {1, 0, 1, 0};
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(ask[i].n_told, n_told[i]);
        zd_buf_unref(ask[i].want.bytes);
    }
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_fault_is_told_to_all_and_not_remembered)
{
    struct zd_test_plane plane;
    struct ask ask[3] = {0};
    zd_test_plane_open(&plane, 0);
    put_all(&plane);
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
    zd_test_plane_break(&plane);
    begin(&plane, "a/b", ZD_OBJECT_BYTES, &ask[0]);
    begin(&plane, "a/b", ZD_OBJECT_STATUS, &ask[1]);
    begin(&plane, "a", ZD_OBJECT_DIRECTORY, &ask[2]);
    zd_test_plane_run(&plane);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ask[i].want.wait.status, ZD_STORE);
        ck_assert_int_eq(ask[i].want.wait.err.status, ZD_STORE);
        ck_assert_str_eq(ask[i].want.wait.err.text, "the disk is gone");
    }
    zd_test_plane_mend(&plane);
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
    ck_assert_int_eq(ask_now(&plane, "a", ZD_OBJECT_DIRECTORY, NULL), ZD_OK);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(an_object_that_was_forgotten_is_asked_for_again)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
    zd_test_plane_put(&plane, "a/b", "others");
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
    zd_objects_forget(&plane.dataset, "a/b");
    zd_objects_forget(&plane.dataset, "never/known");
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "others"), ZD_OK);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(an_object_over_the_limit_is_too_large)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    plane.config.settings.limits_object_bytes = 5;
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, "bytes"), ZD_OK);
    zd_test_plane_forget(&plane);
    plane.config.settings.limits_object_bytes = 4;
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_BYTES, NULL), ZD_TOO_LARGE);
    ck_assert_int_eq(ask_now(&plane, "a/b", ZD_OBJECT_STATUS, NULL), ZD_OK);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(bytes_too_large_for_the_cache_are_given_but_not_kept)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    plane.server.objects.bytes_max = 8192;
    struct zd_buf *bytes = zd_buf_new(4096);
    memset(bytes->data, 'x', 4096);
    bytes->len = 4096;
    zd_test_plane_put_bytes(&plane, "big", bytes);
    for (int i = 0; i < 2; i++) {
        struct ask ask = {0};
        begin(&plane, "big", ZD_OBJECT_BYTES, &ask);
        ck_assert_int_eq(ask.want.wait.status, ZD_OK);
        ck_assert_uint_eq(ask.want.bytes->len, 4096);
        zd_buf_unref(ask.want.bytes);
    }
    ck_assert_uint_eq(plane.dataset.store->n_reads, 2);
    const uint64_t n_statuses = plane.dataset.store->n_statuses;
    ck_assert_int_eq(ask_now(&plane, "big", ZD_OBJECT_STATUS, NULL), ZD_OK); /* that is kept */
    ck_assert_uint_eq(plane.dataset.store->n_statuses, n_statuses);
    zd_buf_unref(bytes);
    zd_test_plane_close(&plane);
}
END_TEST

static void range_told(struct zd_wait *wait)
{
    (void)wait;
}

START_TEST(a_range_may_be_left_while_the_store_works_on_it)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    for (int slow = 0; slow < 2; slow++) {
        struct zd_range_want want = {
            .wait.done = range_told,
            .range = {.kind = ZD_RANGE_SUFFIX, .len = 2},
        };
        const enum zd_next next = zd_objects_want_range(&plane.dataset, "a/b", &want);
        ck_assert_int_eq(next, slow ? ZD_WAIT : ZD_NEXT);
        zd_test_plane_run(&plane);
        ck_assert(zd_span_is(zd_buf_span(want.bytes), "es"));
        ck_assert_uint_eq(want.stat.size, 5);
        zd_objects_release_range(&want);
        ck_assert_ptr_null(want.bytes);
        zd_test_plane_slow(&plane);
        (void)zd_objects_want_range(&plane.dataset, "a/b", &want);
        zd_objects_release_range(&want);
        zd_test_plane_run(&plane);
        ck_assert_ptr_null(want.bytes);
    }
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_range_of_another_generation_is_refused)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    struct zd_range_want want = {
        .wait.done = range_told,
        .range = {.kind = ZD_RANGE_FROM_TO, .first = 1, .len = 2},
        .only_generation = {{1234, 5678}},
    };
    if (zd_objects_want_range(&plane.dataset, "a/b", &want) == ZD_WAIT) {
        zd_test_plane_run(&plane);
    }
    ck_assert_int_eq(want.wait.status, ZD_PRECONDITION);
    ck_assert_ptr_null(want.bytes);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(a_listing_may_be_left_at_any_time)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    for (int left = 0; left < 2; left++) {
        struct zd_list_want want = {.wait.done = range_told};
        ck_assert_int_eq(zd_objects_want_list(&plane.dataset, "", "a", 10, &want), ZD_WAIT);
        if (!left) {
            zd_test_plane_run(&plane);
            ck_assert_int_eq(want.wait.status, ZD_OK);
            ck_assert_uint_eq(want.list->n_entries, 1);
            ck_assert_str_eq(want.list->entry[0].name, "empty");
        }
        zd_objects_release_list(&want);
        zd_objects_release_list(&want);
        zd_test_plane_run(&plane);
    }
    zd_test_plane_close(&plane);
}
END_TEST

static enum zd_status ask_everything(void *context)
{
    struct zd_test_plane *plane = context;
    zd_test_plane_forget(plane);
    enum zd_status status = ZD_OK;
    for (int i = 0; i < 3 && status == ZD_OK; i++) {
        struct ask ask = {0};
        begin(plane, i == 2 ? "a" : "a/b", (enum zd_object_part)i, &ask);
        zd_test_plane_run(plane);
        status = ask.want.wait.status;
        zd_buf_unref(ask.want.bytes);
    }
    struct zd_range_want range = {.wait.done = range_told};
    (void)zd_objects_want_range(&plane->dataset, "a/b", &range);
    zd_test_plane_run(plane);
    status = status == ZD_OK ? range.wait.status : status;
    zd_objects_release_range(&range);
    struct zd_list_want list = {.wait.done = range_told};
    (void)zd_objects_want_list(&plane->dataset, "", "a", 10, &list);
    zd_test_plane_run(plane);
    status = status == ZD_OK ? list.wait.status : status;
    zd_objects_release_list(&list);
    return status;
}

START_TEST(without_memory_all_is_told_and_nothing_kept)
{
    struct zd_test_plane plane;
    zd_test_plane_open(&plane, LONG_MS);
    put_all(&plane);
    zd_unit_with_failing_memory(ask_everything, &plane);
    zd_test_plane_slow(&plane);
    zd_unit_with_failing_memory(ask_everything, &plane);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, an_object_is_what_the_store_says, 0, (int)ZD_COUNT_OF(facts));
    tcase_add_test(tests, what_is_known_is_not_asked_again);
    tcase_add_test(tests, what_is_never_trusted_is_checked_but_not_read_again);
    tcase_add_test(tests, many_who_want_one_object_cost_one_read);
    tcase_add_test(tests, each_gets_the_part_it_wanted);
    tcase_add_test(tests, one_who_is_told_may_cancel_the_others);
    tcase_add_test(tests, a_fault_is_told_to_all_and_not_remembered);
    tcase_add_test(tests, an_object_that_was_forgotten_is_asked_for_again);
    tcase_add_test(tests, an_object_over_the_limit_is_too_large);
    tcase_add_test(tests, bytes_too_large_for_the_cache_are_given_but_not_kept);
    tcase_add_test(tests, a_range_may_be_left_while_the_store_works_on_it);
    tcase_add_test(tests, a_range_of_another_generation_is_refused);
    tcase_add_test(tests, a_listing_may_be_left_at_any_time);
    tcase_add_test(tests, without_memory_all_is_told_and_nothing_kept);
}
