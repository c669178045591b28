/* The use of rates by each client. */
#include "server/request/rate_table.h"

#include "core/base/num.h"
#include "core/base/own.h"

#define NS_PER_S  UINT64_C(1000000000)
#define WINDOW_NS (ZD_RATE_TABLE_WINDOW_S * NS_PER_S)
#define TIME_MAX  (UINT64_MAX / 2) /* centuries */

enum zd_status zd_rate_table_init(struct zd_rate_table *table, struct zd_error *err)
{
    const size_t n = (size_t)ZD_RATE_TABLE_SETS * ZD_RATE_TABLE_PLACES;
    table->place = zd_alloc_zero(n, sizeof *table->place); /* takes memory as it is used */
    return table->place == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for the rates of clients")
                                : ZD_OK;
}

void zd_rate_table_done(struct zd_rate_table *table)
{
    zd_free(table->place);
    table->place = NULL;
}

static bool is_full(const struct zd_rate_place *place, uint64_t now_ns)
{
    return place->requests_ns <= now_ns && place->bytes_ns <= now_ns;
}

/* The client's place, or one that nobody needs; else the one that newcomers share. */
static struct zd_rate_place *find(
    const struct zd_rate_table *table, uint64_t client, uint64_t now_ns)
{
    struct zd_rate_place *set = &table->place[client % ZD_RATE_TABLE_SETS * ZD_RATE_TABLE_PLACES];
    struct zd_rate_place *free_place = NULL;
    for (size_t i = 0; i < ZD_RATE_TABLE_PLACES - 1; i++) {
        if (set[i].client == client) {
            return &set[i];
        }
        if (free_place == NULL && is_full(&set[i], now_ns)) {
            free_place = &set[i];
        }
    }
    return free_place == NULL ? &set[ZD_RATE_TABLE_PLACES - 1] : free_place;
}

/* How long a bucket takes to give so much. */
static uint64_t cost_ns(uint64_t amount, uint64_t per_s)
{
    const uint64_t whole_s = zd_min_u64(amount / per_s, TIME_MAX / NS_PER_S);
    return whole_s * NS_PER_S + amount % per_s * NS_PER_S / per_s;
}

/* How much of its window has been used; more than all of it is a debt. */
static uint64_t used_ns(uint64_t full_ns, uint64_t now_ns)
{
    return full_ns > now_ns ? full_ns - now_ns : 0;
}

static uint64_t left(uint64_t used, uint64_t per_s)
{
    const uint64_t rest_ns = WINDOW_NS - zd_min_u64(used, WINDOW_NS);
    return rest_ns / NS_PER_S * per_s + rest_ns % NS_PER_S * per_s / NS_PER_S;
}

static struct zd_rate_left look(
    const struct zd_rate_place *place, const struct zd_rate_limits *limits, uint64_t now_ns)
{
    struct zd_rate_left of_client = {.requests = UINT64_MAX, .bytes = UINT64_MAX};
    if (limits->requests > 0) {
        const uint64_t used = used_ns(place->requests_ns, now_ns);
        const uint64_t then = used + cost_ns(1, limits->requests);
        of_client.requests = left(used, limits->requests);
        of_client.requests_wait_ns = then > WINDOW_NS ? then - WINDOW_NS : 0;
    }
    if (limits->bytes > 0) {
        const uint64_t used = used_ns(place->bytes_ns, now_ns);
        of_client.bytes = left(used, limits->bytes);
        of_client.bytes_wait_ns = used >= WINDOW_NS ? used - WINDOW_NS + 1 : 0;
    }
    return of_client;
}

/* A place that is given to another client, or is full, begins anew. */
static void use(struct zd_rate_place *place, uint64_t client, uint64_t now_ns)
{
    if (place->client != client && is_full(place, now_ns)) {
        *place = (struct zd_rate_place){.client = client};
    }
    place->requests_ns = zd_max_u64(place->requests_ns, now_ns);
    place->bytes_ns = zd_max_u64(place->bytes_ns, now_ns);
}

struct zd_rate_left zd_rate_table_look(const struct zd_rate_table *table, uint64_t client,
    const struct zd_rate_limits *limits, uint64_t now_ns)
{
    return look(find(table, client, now_ns), limits, now_ns);
}

bool zd_rate_table_take(struct zd_rate_table *table, uint64_t client,
    const struct zd_rate_limits *limits, uint64_t now_ns)
{
    struct zd_rate_place *place = find(table, client, now_ns);
    const struct zd_rate_left before = look(place, limits, now_ns);
    if (before.requests_wait_ns > 0 || before.bytes_wait_ns > 0) {
        return false;
    }
    use(place, client, now_ns);
    place->requests_ns += limits->requests > 0 ? cost_ns(1, limits->requests) : 0;
    return true;
}

void zd_rate_table_pay(struct zd_rate_table *table, uint64_t client,
    const struct zd_rate_limits *limits, uint64_t bytes, uint64_t now_ns)
{
    if (limits->bytes > 0 && bytes > 0) {
        struct zd_rate_place *place = find(table, client, now_ns);
        use(place, client, now_ns);
        place->bytes_ns = zd_min_u64(place->bytes_ns + cost_ns(bytes, limits->bytes), TIME_MAX);
    }
}
