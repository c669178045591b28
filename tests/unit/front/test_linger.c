/* Closed connections are held until their clients have all. */
#include "server/front/linger.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define BLOCK     (64U << 10)
#define LINGER_MS 10

/* A connection: ours, and the client's. */
struct pair {
    int ours;
    int client;
};

static void open_pair(struct pair *pair)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    pair->client = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    ck_assert_int_eq(connect(pair->client, (struct sockaddr *)&address, len), 0);
    pair->ours = accept(listener, NULL, NULL);
    ck_assert_int_ge(pair->ours, 0);
    close(listener);
}

/* Fill the pair until it takes no more. @return bytes */
static size_t fill(const struct pair *pair)
{
    static uint8_t block[BLOCK];
    size_t n_sent = 0;
    ssize_t n;
    while ((n = send(pair->ours, block, sizeof block, MSG_DONTWAIT)) > 0) {
        n_sent += (size_t)n;
    }
    return n_sent;
}

/* Ours is closed, as libmicrohttpd does. */
static void part(struct zd_lingers *partings, struct pair *pair)
{
    zd_linger_hold(partings, pair->ours, 0);
    close(pair->ours);
}

START_TEST(a_client_that_has_not_read_is_waited_for)
{
    static uint8_t block[BLOCK];
    struct zd_lingers partings;
    struct pair pair;
    ssize_t n;
    zd_linger_init(&partings);
    open_pair(&pair);
    const size_t n_sent = fill(&pair);
    part(&partings, &pair);
    ck_assert_uint_eq(zd_linger_look(&partings, LINGER_MS, LINGER_MS), 1);
    size_t n_read = 0;
    while ((n = recv(pair.client, block, sizeof block, 0)) > 0) {
        n_read += (size_t)n;
    }
    ck_assert_int_eq(n, 0); /* an end in good order */
    ck_assert_uint_eq(n_read, n_sent);
    close(pair.client);
    while (zd_linger_look(&partings, LINGER_MS, LINGER_MS) > 0) {
        usleep(1000); /* the last acknowledgement is on its way */
    }
    ck_assert_uint_eq(zd_linger_done(&partings), 0);
}
END_TEST

START_TEST(a_client_that_stays_has_a_while_to_close)
{
    struct zd_lingers partings;
    struct pair pair;
    zd_linger_init(&partings);
    open_pair(&pair);
    part(&partings, &pair);
    ck_assert_uint_eq(zd_linger_look(&partings, LINGER_MS - 1, LINGER_MS), 1);
    ck_assert_int_eq(send(pair.client, "abc", 3, MSG_NOSIGNAL), 3); /* read and dropped: no reset */
    while (zd_linger_look(&partings, LINGER_MS, LINGER_MS) > 0) {
        usleep(1000);
    }
    close(pair.client);
}
END_TEST

START_TEST(a_client_that_has_left_is_forgotten)
{
    struct zd_lingers partings;
    struct pair pair;
    const struct linger reset = {.l_onoff = 1};
    zd_linger_init(&partings);
    open_pair(&pair);
    (void)fill(&pair);
    part(&partings, &pair);
    setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(pair.client);
    while (zd_linger_look(&partings, 0, LINGER_MS) > 0) {
        usleep(1000);
    }
    open_pair(&pair);
    setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(pair.client);
    while (recv(pair.ours, &pair, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN) {
        usleep(1000);
    }
    part(&partings, &pair);
    ck_assert_uint_eq(partings.n_held, 0);
}
END_TEST

START_TEST(the_end_tells_who_does_not_have_all)
{
    struct zd_lingers partings;
    struct pair slow;
    struct pair idle;
    zd_linger_init(&partings);
    open_pair(&slow);
    open_pair(&idle);
    (void)fill(&slow);
    part(&partings, &slow);
    part(&partings, &idle);
    ck_assert_uint_eq(partings.n_held, 2);
    ck_assert_uint_ge(zd_linger_done(&partings), 1);
    ck_assert_uint_eq(partings.n_held, 0);
    close(slow.client);
    close(idle.client);
}
END_TEST

static enum zd_status hold(void *context)
{
    struct zd_lingers *partings = context;
    struct pair pair;
    open_pair(&pair);
    part(partings, &pair);
    const enum zd_status status = partings->n_held == 1 ? ZD_OK : ZD_NO_MEMORY;
    (void)zd_linger_done(partings);
    close(pair.client);
    return status;
}

START_TEST(failing_memory_is_survived)
{
    struct zd_lingers partings;
    zd_linger_init(&partings);
    zd_unit_with_failing_memory(hold, &partings);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_client_that_has_not_read_is_waited_for);
    tcase_add_test(tests, a_client_that_stays_has_a_while_to_close);
    tcase_add_test(tests, a_client_that_has_left_is_forgotten);
    tcase_add_test(tests, the_end_tells_who_does_not_have_all);
    tcase_add_test(tests, failing_memory_is_survived);
}
