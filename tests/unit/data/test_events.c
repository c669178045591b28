/* server/data/events: who reads what, from where on, and who has missed something. */
#include "server/data/events.h"

#include <stdio.h>
#include <string.h>

#include "core/base/own.h"
#include "server/runtime/server.h"
#include "tests/support/plane.h"
#include "tests/support/unit.h"

#define REVALIDATE_MS 1000
#define TEXT_BYTES    (1 << 20)
#define MUCH          (1 << 20)
#define ID_BYTES      64

struct client {
    struct zd_events_reader reader;
    struct zd_text text;
    uint32_t n_told;
};

static void told(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct client, reader.wait)->n_told++;
}

static void open_plane(struct zd_test_plane *plane)
{
    zd_test_plane_open(plane, REVALIDATE_MS);
    plane->config.settings.events_heartbeat_ms = 3600000;
    plane->config.settings.http_request_ms = 7200000;
}

static enum zd_status open_client(
    struct zd_test_plane *plane, struct client *client, const char *path, const char *last_id)
{
    struct zd_error err = {0};
    *client = (struct client){.reader.wait.done = told};
    zd_text_init(&client->text, TEXT_BYTES);
    return zd_events_open(
        plane->dataset.events, path, last_id, &client->text, &client->reader, &err);
}

static void close_client(struct client *client)
{
    zd_events_close(&client->reader);
    zd_events_close(&client->reader); /* once more does no harm */
    zd_text_done(&client->text);
}

/* The last id in a client's text. */
static void last_id(const struct client *client, char id[ID_BYTES])
{
    const char *at = NULL;
    for (const char *next = client->text.at; (next = strstr(next, "id: ")) != NULL; next++) {
        at = next + strlen("id: ");
    }
    ck_assert_ptr_nonnull(at);
    snprintf(id, ID_BYTES, "%.*s", (int)strcspn(at, "\n"), at);
}

/* The data of all events that the text has, joined by spaces. */
static void data_of(const struct client *client, char *to, size_t size)
{
    size_t len = 0;
    to[0] = '\0';
    for (const char *at = client->text.at; (at = strstr(at, "data: ")) != NULL;) {
        at += strlen("data: ");
        len += (size_t)snprintf(
            to + len, size - len, "%s%.*s", len == 0 ? "" : " ", (int)strcspn(at, "\n"), at);
        ck_assert_uint_lt(len, size);
    }
}

static void drain(struct client *client)
{
    zd_text_clear(&client->text);
    while (zd_events_read(&client->reader, MUCH, &client->text) == ZD_NEXT) {
        ck_assert_int_eq(client->reader.wait.status, ZD_OK);
    }
}

START_TEST(a_reader_is_told_what_comes_while_it_reads)
{
    struct zd_test_plane plane;
    struct client client;
    const uint64_t indices[] = {0, 1, 2, 3};
    open_plane(&plane);
    zd_events_node(plane.dataset.events, "before", ZD_NODE_CREATED, "\"t\"");
    ck_assert_int_eq(open_client(&plane, &client, "", NULL), ZD_OK);
    ck_assert_ptr_null(strstr(client.text.at, "event:"));
    ck_assert_int_eq(zd_events_read(&client.reader, MUCH, &client.text), ZD_WAIT);
    zd_events_node(plane.dataset.events, "a", ZD_NODE_CREATED, "\"t\"");
    zd_events_chunks(plane.dataset.events, "a", 2, indices, 2, ZD_CHUNKS_WRITTEN);
    zd_events_chunks(plane.dataset.events, "a", 0, indices, 1, ZD_CHUNKS_ERASED);
    zd_events_chunks(plane.dataset.events, "a", 2, indices, 0, ZD_CHUNKS_ERASED);
    zd_events_node(plane.dataset.events, "a", ZD_NODE_DELETED, NULL);
    ck_assert_uint_eq(client.n_told, 1); /* and then it reads */
    char data[512];
    drain(&client);
    data_of(&client, data, sizeof data);
    ck_assert_str_eq(data, "{\"path\":\"a\",\"etag\":\"\\\"t\\\"\",\"change\":\"created\"} "
                           "{\"path\":\"a\",\"indices\":[[0,1],[2,3]],\"change\":\"written\"} "
                           "{\"path\":\"a\",\"indices\":[[]],\"change\":\"erased\"} "
                           "{\"path\":\"a\",\"change\":\"deleted\"}");
    close_client(&client);
    zd_test_plane_close(&plane);
}
END_TEST

static const struct {
    const char *filter;
    const char *path;
    enum zd_node_change change;
    bool is_told;
} filters[] = {
    {"", "", ZD_NODE_CHANGED, true},
    {"", "a/b", ZD_NODE_CHANGED, true},
    {"a", "a", ZD_NODE_CHANGED, true},
    {"a", "a/b", ZD_NODE_CREATED, true},
    {"a", "ab", ZD_NODE_CREATED, false},
    {"a", "", ZD_NODE_CHANGED, false},
    {"a/b", "a", ZD_NODE_CHANGED, false},
    {"a/b", "a", ZD_NODE_DELETED, true}, /* it went with it */
    {"a/b", "", ZD_NODE_DELETED, true},
    {"a/b", "a/c", ZD_NODE_DELETED, false},
};

START_TEST(a_path_picks_what_is_below_it_and_what_takes_it_away)
{
    struct zd_test_plane plane;
    struct client client;
    open_plane(&plane);
    ck_assert_int_eq(open_client(&plane, &client, filters[_i].filter, NULL), ZD_OK);
    zd_events_node(plane.dataset.events, filters[_i].path, filters[_i].change, NULL);
    drain(&client);
    ck_assert((strstr(client.text.at, "event: node") != NULL) == filters[_i].is_told);
    close_client(&client);
    zd_test_plane_close(&plane);
}
END_TEST

/* It comes back with the id that it had last, whatever that was. */
START_TEST(a_returning_reader_continues_where_it_was)
{
    struct zd_test_plane plane;
    struct client client;
    char id[ID_BYTES];
    char data[512];
    open_plane(&plane);
    ck_assert_int_eq(open_client(&plane, &client, "", NULL), ZD_OK);
    last_id(&client, id);
    close_client(&client);
    zd_events_node(plane.dataset.events, "a", ZD_NODE_CREATED, NULL);
    zd_events_node(plane.dataset.events, "b", ZD_NODE_CREATED, NULL);
    ck_assert_int_eq(open_client(&plane, &client, "", id), ZD_OK);
    ck_assert_ptr_null(strstr(client.text.at, "reset"));
    zd_text_clear(&client.text);
    ck_assert_int_eq(zd_events_read(&client.reader, 1, &client.text), ZD_NEXT);
    data_of(&client, data, sizeof data);
    ck_assert_str_eq(data, "{\"path\":\"a\",\"change\":\"created\"}");
    last_id(&client, id);
    close_client(&client);
    ck_assert_int_eq(open_client(&plane, &client, "", id), ZD_OK);
    drain(&client);
    data_of(&client, data, sizeof data);
    ck_assert_str_eq(data, "{\"path\":\"b\",\"change\":\"created\"}");
    last_id(&client, id);
    close_client(&client);
    ck_assert_int_eq(open_client(&plane, &client, "", id), ZD_OK);
    ck_assert_ptr_null(strstr(client.text.at, "reset"));
    ck_assert_int_eq(zd_events_read(&client.reader, MUCH, &client.text), ZD_WAIT);
    close_client(&client);
    zd_test_plane_close(&plane);
}
END_TEST

static const char *const strange_ids[] = {
    "", "0", "x", "-", "0000000000000000-0", "ffffffffffffffff-1", "18446744073709551616"};

START_TEST(an_unknown_id_is_told_so)
{
    struct zd_test_plane plane;
    struct client client;
    char id[ID_BYTES];
    open_plane(&plane);
    zd_events_node(plane.dataset.events, "a", ZD_NODE_CREATED, NULL);
    ck_assert_int_eq(open_client(&plane, &client, "", strange_ids[_i]), ZD_OK);
    ck_assert_ptr_nonnull(strstr(client.text.at, "event: reset\ndata: {}\nid: "));
    last_id(&client, id);
    close_client(&client);
    ck_assert_int_eq(open_client(&plane, &client, "", id), ZD_OK); /* that one is known */
    ck_assert_ptr_null(strstr(client.text.at, "reset"));
    close_client(&client);
    id[strlen(id) - 1] ^= 1; /* made up */
    ck_assert_int_eq(open_client(&plane, &client, "", id), ZD_OK);
    ck_assert_ptr_nonnull(strstr(client.text.at, "event: reset"));
    close_client(&client);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(the_window_is_bounded_and_who_missed_it_is_told_so)
{
    struct zd_test_plane plane;
    struct client slow;
    struct client later;
    char id[ID_BYTES];
    open_plane(&plane);
    plane.config.settings.events_window_bytes = 4096;
    ck_assert_int_eq(open_client(&plane, &slow, "", NULL), ZD_OK);
    last_id(&slow, id);
    for (int i = 0; i < 1000; i++) {
        zd_events_node(plane.dataset.events, "a", ZD_NODE_CHANGED, NULL);
    }
    ck_assert_int_eq(zd_events_read(&slow.reader, MUCH, &slow.text), ZD_NEXT);
    ck_assert_int_eq(slow.reader.wait.status, ZD_TOO_LARGE);
    close_client(&slow);
    ck_assert_int_eq(open_client(&plane, &later, "", id), ZD_OK);
    ck_assert_ptr_nonnull(strstr(later.text.at, "event: reset"));
    ck_assert_int_eq(zd_events_read(&later.reader, MUCH, &later.text), ZD_WAIT);
    close_client(&later);
    zd_test_plane_close(&plane);
}
END_TEST

/* Many indices are several events, none of them large, and none of them twice. */
START_TEST(many_chunks_are_told_in_parts)
{
    enum { N = 20000 };
    struct zd_test_plane plane;
    struct client client;
    uint64_t *indices = zd_alloc(N * sizeof *indices);
    ck_assert_ptr_nonnull(indices);
    for (uint64_t i = 0; i < N; i++) {
        indices[i] = i;
    }
    open_plane(&plane);
    ck_assert_int_eq(open_client(&plane, &client, "", NULL), ZD_OK);
    zd_events_chunks(plane.dataset.events, "a", 1, indices, N, ZD_CHUNKS_WRITTEN);
    drain(&client);
    uint64_t n = 0;
    uint64_t n_events = 0;
    for (const char *at = client.text.at; (at = strstr(at, "[[")) != NULL; n_events++) {
        for (at++; *at == '['; at += strcspn(at, "]") + 1, at += *at == ',' ? 1 : 0) {
            char expected[32];
            const size_t len = (size_t)snprintf(expected, sizeof expected, "[%d]", (int)n);
            ck_assert_int_eq(strncmp(at, expected, len), 0);
            n++;
        }
    }
    ck_assert_uint_eq(n, N);
    ck_assert_uint_gt(n_events, 1);
    close_client(&client);
    zd_free(indices);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(there_are_no_more_readers_than_may_be)
{
    struct zd_test_plane plane;
    struct client client[2];
    open_plane(&plane);
    plane.config.settings.events_readers = 1;
    ck_assert_int_eq(open_client(&plane, &client[0], "", NULL), ZD_OK);
    ck_assert_int_eq(open_client(&plane, &client[1], "", NULL), ZD_AGAIN);
    close_client(&client[1]);
    close_client(&client[0]);
    ck_assert_int_eq(open_client(&plane, &client[1], "", NULL), ZD_OK);
    close_client(&client[1]);
    zd_test_plane_close(&plane);
}
END_TEST

START_TEST(waiters_are_told_when_no_more_will_come)
{
    struct zd_test_plane plane;
    struct client client;
    open_plane(&plane);
    ck_assert_int_eq(open_client(&plane, &client, "", NULL), ZD_OK);
    ck_assert_int_eq(zd_events_read(&client.reader, MUCH, &client.text), ZD_WAIT);
    plane.server.is_draining = true;
    zd_events_end(plane.dataset.events);
    ck_assert_uint_eq(client.n_told, 1);
    ck_assert_int_eq(zd_events_read(&client.reader, MUCH, &client.text), ZD_NEXT);
    ck_assert_int_eq(client.reader.wait.status, ZD_CANCELLED);
    close_client(&client);
    zd_test_plane_close(&plane);
}
END_TEST

/* The timer runs while somebody reads, and not for ever. */
START_TEST(silence_is_broken_by_a_comment_with_the_id)
{
    struct zd_test_plane plane;
    struct client client;
    char id[ID_BYTES];
    char data[512];
    open_plane(&plane);
    plane.config.settings.events_heartbeat_ms = 1;
    ck_assert_int_eq(open_client(&plane, &client, "b", NULL), ZD_OK);
    zd_events_node(plane.dataset.events, "a", ZD_NODE_CREATED, NULL); /* not for it */
    zd_text_clear(&client.text);
    while (zd_events_read(&client.reader, MUCH, &client.text) == ZD_WAIT) {
        ck_assert_int_ne(uv_run(&plane.store.loop, UV_RUN_ONCE), 0);
    }
    ck_assert_int_eq(strncmp(client.text.at, ":\nid: ", 6), 0);
    last_id(&client, id);
    close_client(&client);
    zd_events_node(plane.dataset.events, "b", ZD_NODE_CREATED, NULL);
    ck_assert_int_eq(open_client(&plane, &client, "", id), ZD_OK); /* it covers the first event */
    drain(&client);
    data_of(&client, data, sizeof data);
    ck_assert_str_eq(data, "{\"path\":\"b\",\"change\":\"created\"}");
    close_client(&client);
    zd_test_plane_close(&plane); /* runs the loop until nothing is left: no timer either */
}
END_TEST

/* Ids are no count of what happens elsewhere, and no two of them are alike. */
START_TEST(a_reader_sees_no_forbidden_paths)
{
    struct zd_test_plane plane;
    struct client client;
    char id[ID_BYTES];
    char again[ID_BYTES];
    open_plane(&plane);
    ck_assert_int_eq(open_client(&plane, &client, "b", NULL), ZD_OK);
    last_id(&client, id);
    close_client(&client);
    ck_assert_int_eq(open_client(&plane, &client, "b", id), ZD_OK);
    last_id(&client, again);
    ck_assert_str_ne(id, again);
    ck_assert_uint_eq(strlen(id), 32);
    zd_text_clear(&client.text);
    plane.config.settings.events_heartbeat_ms = 0; /* due at once, but the timer says when */
    ck_assert_int_eq(zd_events_read(&client.reader, MUCH, &client.text), ZD_WAIT);
    zd_events_node(plane.dataset.events, "a", ZD_NODE_CREATED, NULL);
    ck_assert_int_eq(zd_events_read(&client.reader, MUCH, &client.text), ZD_WAIT);
    ck_assert_uint_eq(client.text.len, 0);
    close_client(&client);
    zd_test_plane_close(&plane);
}
END_TEST

static enum zd_status tell_without_memory(void *context)
{
    struct zd_test_plane *plane = context;
    struct client client;
    enum zd_status status = open_client(plane, &client, "", NULL);
    if (status == ZD_OK) {
        zd_text_clear(&client.text);
        zd_events_node(plane->dataset.events, "a", ZD_NODE_CREATED, NULL);
        status = zd_events_read(&client.reader, MUCH, &client.text) == ZD_NEXT
                     ? client.reader.wait.status
                     : ZD_INTERNAL; /* it would never learn that there was something */
        status =
            client.text.status == ZD_NO_MEMORY || status == ZD_TOO_LARGE ? ZD_NO_MEMORY : status;
    }
    close_client(&client);
    return status;
}

START_TEST(an_event_for_which_there_is_no_memory_was_missed)
{
    struct zd_test_plane plane;
    open_plane(&plane);
    zd_unit_with_failing_memory(tell_without_memory, &plane);
    zd_test_plane_close(&plane);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_reader_is_told_what_comes_while_it_reads);
    tcase_add_loop_test(
        tests, a_path_picks_what_is_below_it_and_what_takes_it_away, 0, ZD_COUNT_OF(filters));
    tcase_add_test(tests, a_returning_reader_continues_where_it_was);
    tcase_add_loop_test(tests, an_unknown_id_is_told_so, 0, ZD_COUNT_OF(strange_ids));
    tcase_add_test(tests, the_window_is_bounded_and_who_missed_it_is_told_so);
    tcase_add_test(tests, many_chunks_are_told_in_parts);
    tcase_add_test(tests, there_are_no_more_readers_than_may_be);
    tcase_add_test(tests, waiters_are_told_when_no_more_will_come);
    tcase_add_test(tests, silence_is_broken_by_a_comment_with_the_id);
    tcase_add_test(tests, a_reader_sees_no_forbidden_paths);
    tcase_add_test(tests, an_event_for_which_there_is_no_memory_was_missed);
}
