/* server/request/request: the steps of a request, their turns and their end. */
#include "server/request/request.h"

#include <string.h>

#include "tests/support/front_fake.h"
#include "tests/support/unit.h"

#define CONFIG "{\"datasets\": {\"m\": {\"location\": \"mem:\"}}}"
#define TURN   2000000 /* ns: more than one turn has */

static uint32_t n_steps;
static uint32_t n_freed;

static enum zd_next step_last(struct zd_request *req)
{
    const struct zd_representation rep = {0};
    n_steps++;
    return zd_respond(req, &rep);
}

/* Takes more than a turn. */
static enum zd_next step_long(struct zd_request *req)
{
    const uint64_t began_ns = uv_hrtime();
    while (uv_hrtime() - began_ns < TURN) {
    }
    n_steps++;
    req->step = step_last;
    return ZD_NEXT;
}

static enum zd_next step_short(struct zd_request *req)
{
    n_steps++;
    req->step = step_last;
    return ZD_NEXT;
}

static enum zd_next step_wait(struct zd_request *req)
{
    req->step = step_last;
    return ZD_WAIT;
}

static void count_free(struct zd_request *req)
{
    (void)req;
    n_freed++;
}

static void begin(struct zd_fake_exchange *exchange, struct zd_test_serve *serve, zd_step *step)
{
    ck_assert_int_eq(zd_test_serve_open(serve, CONFIG), ZD_OK);
    zd_fake_init(exchange, serve, "GET", "/");
    exchange->request.step = step;
    n_steps = 0;
    n_freed = 0;
}

static void end(struct zd_fake_exchange *exchange, struct zd_test_serve *serve)
{
    zd_fake_done(exchange);
    zd_test_serve_close(serve);
}

START_TEST(short_steps_run_at_once)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    begin(&exchange, &serve, step_short);
    zd_fake_start(&exchange);
    ck_assert_uint_eq(n_steps, 2);
    ck_assert(exchange.is_done);
    ck_assert_uint_eq(exchange.http_status, 200);
    end(&exchange, &serve);
}
END_TEST

START_TEST(after_a_long_step_others_have_their_turn)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    begin(&exchange, &serve, step_long);
    zd_fake_start(&exchange);
    ck_assert_uint_eq(n_steps, 1);
    ck_assert(!exchange.is_done);
    zd_fake_turn(&exchange);
    ck_assert_uint_eq(n_steps, 2);
    ck_assert(exchange.is_done);
    end(&exchange, &serve);
}
END_TEST

START_TEST(a_wait_wakes_the_request)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    begin(&exchange, &serve, step_wait);
    struct zd_wait wait = zd_machine_wait(&exchange.request.machine);
    zd_fake_start(&exchange);
    ck_assert(!exchange.is_done);
    wait.done(&wait);
    ck_assert(exchange.is_done);
    end(&exchange, &serve);
}
END_TEST

START_TEST(a_client_that_hangs_up_ends_the_state_once)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    begin(&exchange, &serve, step_wait);
    exchange.request.state = &n_freed;
    exchange.request.state_free = count_free;
    zd_fake_start(&exchange);
    zd_fake_hang_up(&exchange);
    ck_assert_uint_eq(n_freed, 1);
    ck_assert_uint_eq(n_steps, 0);
    end(&exchange, &serve);
    ck_assert_uint_eq(n_freed, 1);
}
END_TEST

START_TEST(a_new_request_in_the_same_memory_knows_nothing_of_the_last)
{
    struct zd_test_serve serve;
    struct zd_fake_exchange exchange;
    begin(&exchange, &serve, step_short);
    zd_fake_run(&exchange);
    struct zd_request *req = &exchange.request;
    zd_request_init(req, serve.server, &exchange.path);
    ck_assert(!req->is_answered && req->step == NULL && req->method == NULL);
    ck_assert_ptr_eq(req->gather.machine, &req->machine);
    end(&exchange, &serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, short_steps_run_at_once);
    tcase_add_test(tests, after_a_long_step_others_have_their_turn);
    tcase_add_test(tests, a_wait_wakes_the_request);
    tcase_add_test(tests, a_client_that_hangs_up_ends_the_state_once);
    tcase_add_test(tests, a_new_request_in_the_same_memory_knows_nothing_of_the_last);
}
