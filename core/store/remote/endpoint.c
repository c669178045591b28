/* A server that remote stores ask. */
#include "core/store/remote/endpoint.h"

#include <assert.h>

#include "core/base/hash.h"
#include "core/base/num.h"

#define NS_PER_US        1000
#define US_PER_MS        1000
#define HEDGE_COST       100
#define HEDGE_CREDIT_MAX 1000
#define LATE_PART        4 /* of the reads that began since: more late ones mean that all are */

static void free_endpoint(uv_handle_t *handle)
{
    zd_free(ZD_CONTAINER((uv_timer_t *)handle, struct zd_endpoint, alarms.timer));
}

static struct zd_endpoint *find(const struct zd_remote *remote, uint64_t id)
{
    const struct zd_list *head = &remote->endpoints;
    for (struct zd_list *at = head->next; at != head; at = at->next) {
        struct zd_endpoint *endpoint = ZD_CONTAINER(at, struct zd_endpoint, link);
        if (endpoint->id == id) {
            return endpoint;
        }
    }
    return NULL;
}

struct zd_endpoint *zd_endpoint_join(struct zd_remote *remote, uint64_t id, uv_loop_t *loop)
{
    if (!zd_list_is_linked(&remote->endpoints)) {
        zd_list_init(&remote->endpoints);
    }
    struct zd_endpoint *endpoint = id == 0 ? NULL : find(remote, id);
    if (endpoint != NULL) {
        endpoint->refs++;
        return endpoint;
    }
    endpoint = zd_alloc_zero(1, sizeof *endpoint);
    if (endpoint == NULL) {
        return NULL;
    }
    endpoint->id = id;
    endpoint->refs = 1;
    endpoint->settings = &remote->settings;
    endpoint->loop = loop;
    endpoint->seed = zd_hash_random_seed();
    zd_timers_init(&endpoint->alarms, loop);
    zd_list_init(&endpoint->lines);
    zd_list_init(&endpoint->reads);
    zd_list_push_back(&remote->endpoints, &endpoint->link);
    return endpoint;
}

void zd_endpoint_unref(struct zd_endpoint *endpoint)
{
    if (endpoint != NULL && --endpoint->refs == 0) {
        zd_list_remove(&endpoint->link);
        zd_timers_close(&endpoint->alarms, free_endpoint);
    }
}

/* ---- places ---- */

void zd_endpoint_line_init(struct zd_endpoint_line *line)
{
    *line = (struct zd_endpoint_line){0};
    for (size_t i = 0; i < ZD_ENDPOINT_LINE_PARTS; i++) {
        zd_list_init(&line->part[i]);
    }
}

/* The next one of a store; its owners take turns. */
static struct zd_endpoint_seat *pop(struct zd_endpoint_line *line)
{
    assert(line->n_waiting > 0);
    struct zd_list *link = NULL;
    while (link == NULL) {
        link = zd_list_pop_front(&line->part[line->next]);
        line->next = (line->next + 1) % ZD_ENDPOINT_LINE_PARTS;
    }
    line->n_waiting--;
    return ZD_CONTAINER(link, struct zd_endpoint_seat, link);
}

/* The next one of all. */
static struct zd_endpoint_seat *next_seat(struct zd_endpoint *endpoint)
{
    struct zd_list *first = zd_list_pop_front(&endpoint->lines);
    if (first == NULL) {
        return NULL;
    }
    struct zd_endpoint_line *line = ZD_CONTAINER(first, struct zd_endpoint_line, link);
    struct zd_endpoint_seat *seat = pop(line);
    if (line->n_waiting > 0) {
        zd_list_push_back(&endpoint->lines, &line->link);
    }
    return seat;
}

enum zd_status zd_endpoint_want(struct zd_endpoint *endpoint, struct zd_endpoint_seat *seat)
{
    struct zd_endpoint_line *line = seat->line;
    uint64_t wait_ms;
    if (!zd_breaker_passes(
            &endpoint->breaker, uv_now(endpoint->loop), endpoint->settings->breaker_ms, &wait_ms)) {
        return ZD_PAUSED;
    }
    /* The probe of a paused endpoint skips the queue, which may never move. */
    if (zd_endpoint_take(endpoint) || endpoint->breaker.is_open) {
        endpoint->n_seated += endpoint->breaker.is_open;
        seat->sit(seat);
        return ZD_OK;
    }
    const struct zd_span owner = {(const uint8_t *)&seat->owner, sizeof seat->owner};
    const uint64_t part = zd_hash_of(owner, endpoint->seed) % ZD_ENDPOINT_LINE_PARTS;
    zd_list_push_back(&line->part[part], &seat->link);
    if (line->n_waiting++ == 0) {
        zd_list_push_back(&endpoint->lines, &line->link);
    }
    return ZD_OK;
}

bool zd_endpoint_take(struct zd_endpoint *endpoint)
{
    if (endpoint->breaker.is_open || endpoint->n_seated >= endpoint->settings->connections) {
        return false;
    }
    endpoint->n_seated++;
    return true;
}

void zd_endpoint_forgo(struct zd_endpoint_seat *seat)
{
    if (zd_list_is_linked(&seat->link)) {
        zd_list_remove(&seat->link);
        if (--seat->line->n_waiting == 0) {
            zd_list_remove(&seat->line->link);
        }
    }
}

void zd_endpoint_give(struct zd_endpoint *endpoint)
{
    assert(endpoint->n_seated > 0);
    endpoint->n_seated--;
    while (endpoint->n_seated < endpoint->settings->connections) {
        struct zd_endpoint_seat *seat = next_seat(endpoint);
        if (seat == NULL) {
            return;
        }
        endpoint->n_seated++;
        seat->sit(seat);
    }
}

/* ---- whether it answers ---- */

void zd_endpoint_answered(struct zd_endpoint *endpoint)
{
    zd_breaker_succeed(&endpoint->breaker);
}

void zd_endpoint_failed(struct zd_endpoint *endpoint, uint64_t began_ms)
{
    const uint64_t pause_ms = endpoint->settings->breaker_ms;
    if (!zd_breaker_fail(&endpoint->breaker, began_ms, uv_now(endpoint->loop), pause_ms)) {
        return;
    }
    struct zd_endpoint_seat *seat = next_seat(endpoint);
    while (seat != NULL) {
        seat->leave(seat);
        seat = next_seat(endpoint);
    }
}

uint64_t zd_endpoint_paused_ms(const struct zd_endpoint *endpoint)
{
    const struct zd_breaker *breaker = &endpoint->breaker;
    const uint64_t now_ms = uv_now(endpoint->loop);
    if (!breaker->is_open) {
        return 0;
    }
    return breaker->probe_ms > now_ms ? breaker->probe_ms - now_ms : 1;
}

enum zd_status zd_endpoint_refuse(const struct zd_endpoint *endpoint, struct zd_error *err)
{
    const uint64_t wait_ms = zd_endpoint_paused_ms(endpoint);
    const enum zd_status status = zd_fail(err, ZD_PAUSED,
        "the store's endpoint failed %u times in a row; requests to it pause for %llu ms",
        endpoint->breaker.n_failures, (unsigned long long)wait_ms);
    zd_fact_retry(err, wait_ms);
    return status;
}

uint64_t zd_endpoint_random(struct zd_endpoint *endpoint, uint64_t n)
{
    const uint64_t drawn = endpoint->n_drawn++;
    const struct zd_span number = {(const uint8_t *)&drawn, sizeof drawn};
    return zd_hash_of(number, endpoint->seed) % n;
}

/* ---- how long it takes ---- */

void zd_endpoint_begin(struct zd_endpoint *endpoint, struct zd_endpoint_read *read)
{
    read->began_ns = uv_hrtime();
    read->n_earlier = endpoint->n_in_time + endpoint->n_reads++;
    zd_list_push_back(&endpoint->reads, &read->link);
}

static bool is_late(const struct zd_endpoint *endpoint, const struct zd_endpoint_read *read)
{
    const uint64_t late_us = zd_latency_late_us(&endpoint->latency, &read->range);
    return late_us > 0 && (uv_hrtime() - read->began_ns) / NS_PER_US >= late_us;
}

void zd_endpoint_end(struct zd_endpoint *endpoint, struct zd_endpoint_read *read, uint64_t n_bytes)
{
    zd_list_remove(&read->link);
    endpoint->n_reads--;
    if (n_bytes == UINT64_MAX) {
        return;
    }
    const uint64_t us = (uv_hrtime() - read->began_ns) / NS_PER_US;
    endpoint->was_late = is_late(endpoint, read);
    endpoint->n_in_time += !endpoint->was_late;
    zd_latency_note(&endpoint->latency, &read->range, n_bytes, us);
    endpoint->hedge_credit = (uint32_t)zd_min_u64(
        endpoint->hedge_credit + endpoint->settings->hedge_percent, HEDGE_CREDIT_MAX);
}

uint64_t zd_endpoint_late_ms(const struct zd_endpoint *endpoint, const struct zd_range *range)
{
    if (endpoint->settings->hedge_percent == 0) {
        return 0;
    }
    const uint64_t late_us = zd_latency_late_us(&endpoint->latency, range);
    return late_us == 0 ? 0 : zd_div_up(late_us, US_PER_MS) + 1;
}

/* Reads that began after this one and were in time, or fewer than that. */
static uint64_t in_time_since(
    const struct zd_endpoint *endpoint, const struct zd_endpoint_read *read)
{
    return endpoint->n_in_time - zd_min_u64(read->n_earlier, endpoint->n_in_time);
}

bool zd_endpoint_is_slow(const struct zd_endpoint *endpoint)
{
    uint64_t n = endpoint->n_reads;
    uint64_t n_late = 0;
    const struct zd_list *head = &endpoint->reads;
    for (struct zd_list *at = head->next; at != head; at = at->next) {
        const struct zd_endpoint_read *read = ZD_CONTAINER(at, struct zd_endpoint_read, link);
        if (is_late(endpoint, read) && n_late++ == 0) { /* the oldest one */
            n += in_time_since(endpoint, read);
        }
    }
    return n_late > 1 ? n_late * LATE_PART > n : endpoint->was_late;
}

bool zd_endpoint_take_hedge(struct zd_endpoint *endpoint)
{
    if (endpoint->hedge_credit < HEDGE_COST || !zd_endpoint_take(endpoint)) {
        return false;
    }
    endpoint->hedge_credit -= HEDGE_COST;
    return true;
}
