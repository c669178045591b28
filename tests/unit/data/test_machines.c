/* How many machines are alive at the same time for one request: those that have begun and are not
 * done. The linker hands this file the calls of server/runtime/machine (tests/CMakeLists.txt). */
#include <string.h>

#include "server/runtime/machine.h"
#include "tests/support/front_fake.h"
#include "tests/support/hierarchy.h"
#include "tests/support/store_fault.h"
#include "tests/support/unit.h"

#define DATASET(more)                                                                              \
    "{\"datasets\": {\"m\": {\"location\": \"mem:\", \"writable\": true, \"revalidate_ms\": " more \
    "}}}"
#define CODECS                                                                                     \
    "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],"                      \
    "\"codecs\":[{\"name\":\"bytes\"}],\"index_codecs\":[{\"name\":\"bytes\","                     \
    "\"configuration\":{\"endian\":\"little\"}}],\"index_location\":\"end\"}}]"
#define ARRAY                                                                                      \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[8],\"data_type\":\"int8\","             \
    "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4]}},"               \
    "\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,\"codecs\":" CODECS "}"

static const struct zd_test_pair initial[] = {
    {"zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\"}"},
    {"a/zarr.json", ARRAY},
};

/* ---- counting ---- */

enum zd_next __real_zd_machine_begin(struct zd_machine *machine);
enum zd_next __wrap_zd_machine_begin(struct zd_machine *machine);
void __real_zd_machine_go_on(struct zd_machine *machine);
void __wrap_zd_machine_go_on(struct zd_machine *machine);

static struct {
    struct zd_machine *machine;
    void (*end)(struct zd_machine *machine); /* the machine's own */
} alive[64];
static size_t n_alive;
static size_t n_most;

static size_t find(const struct zd_machine *machine)
{
    size_t i = 0;
    while (i < n_alive && alive[i].machine != machine) {
        i++;
    }
    return i;
}

/* The machine is done. */
static void leave(struct zd_machine *machine)
{
    const size_t i = find(machine);
    ck_assert_uint_lt(i, n_alive);
    machine->end = alive[i].end;
    alive[i] = alive[--n_alive];
}

static void end(struct zd_machine *machine)
{
    leave(machine);
    if (machine->end != NULL) {
        machine->end(machine);
    } else {
        machine->wait->done(machine->wait);
    }
}

static void enter(struct zd_machine *machine)
{
    if (find(machine) == n_alive) {
        ck_assert_uint_lt(n_alive, ZD_COUNT_OF(alive));
        alive[n_alive].machine = machine;
        alive[n_alive].end = machine->end;
        machine->end = end;
        n_alive++;
        n_most = n_alive > n_most ? n_alive : n_most;
    }
}

enum zd_next __wrap_zd_machine_begin(struct zd_machine *machine)
{
    enter(machine);
    const enum zd_next next = __real_zd_machine_begin(machine);
    if (next == ZD_DONE) {
        leave(machine);
    }
    return next;
}

/* The first steps of a request begin so, too. */
void __wrap_zd_machine_go_on(struct zd_machine *machine)
{
    enter(machine);
    __real_zd_machine_go_on(machine);
}

/* ---- requests ---- */

/* Each row: a request for one chunk at the most, and how many machines it may have. */
static const struct {
    const char *method;
    const char *target;
    const char *body;
    size_t n_most;
} requests[] = {
    {"GET", "/zarr/m/a/c/0", "", 1},
    {"GET", "/v1/datasets/m/nodes/a", "", 3},
    {"GET", "/v1/datasets/m/chunks/a?index=0&level=inner", "", 3},
    {"GET", "/v1/datasets/m/chunks/a?index=0&level=inner&decoded=1", "", 3},
    {"GET", "/v1/datasets/m/chunks/a?index=0&level=outer", "", 3},
    {"GET", "/v1/datasets/m/slices/a?slice=0:2", "", 3},
    {"PUT", "/v1/datasets/m/slices/a?slice=0:2", "xy", 4},
};

/* Cached objects are trusted, or asked for again each time. */
static const char *const configs[] = {DATASET("3600000"), DATASET("0")};

static void ask(struct zd_test_serve *serve, const char *method, const char *target,
    const char *body, bool is_slow)
{
    struct zd_fake_exchange exchange;
    zd_store_fault_set((struct zd_store_fault){.is_slow = is_slow});
    zd_fake_init(&exchange, serve, method, target);
    exchange.body = zd_span_of(body);
    n_most = 0;
    zd_fake_run(&exchange);
    ck_assert_msg(exchange.http_status == 200 || exchange.http_status == 206, "%s: %u %s", target,
        exchange.http_status, exchange.reason.at);
    zd_fake_done(&exchange);
    zd_test_hierarchy_settle(serve);
    ck_assert_uint_eq(n_alive, 0);
}

static void check(struct zd_test_serve *serve, size_t i)
{
    ask(serve, requests[i].method, requests[i].target, requests[i].body, true);
    ck_assert_msg(n_most <= requests[i].n_most, "%s %s: %zu machines, at most %zu expected",
        requests[i].method, requests[i].target, n_most, requests[i].n_most);
}

START_TEST(a_request_has_few_machines_alive)
{
    struct zd_test_serve serve;
    ck_assert_int_eq(zd_test_serve_open(&serve, configs[(size_t)_i % ZD_COUNT_OF(configs)]), ZD_OK);
    zd_store_break(zd_test_hierarchy_store(&serve));
    zd_test_hierarchy_reset(&serve, initial, ZD_COUNT_OF(initial));
    ask(&serve, "PUT", "/v1/datasets/m/slices/a", "abcdefgh", false);
    for (size_t i = 0; i < ZD_COUNT_OF(requests); i++) {
        zd_test_serve_forget(&serve);
        check(&serve, i); /* cold */
        check(&serve, i); /* cached */
    }
    zd_test_serve_close(&serve);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_request_has_few_machines_alive, 0, (int)ZD_COUNT_OF(configs));
}
