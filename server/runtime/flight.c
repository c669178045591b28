/* Single flight: one work on a cache entry for all its waiters. */
#include "server/runtime/flight.h"

#include <assert.h>

#include "core/base/own.h"

static void answer(struct zd_flight *flight, struct zd_wait *wait)
{
    if (flight->status == ZD_OK) {
        flight->ops->give(flight, wait);
    } else {
        zd_wait_answer(wait, flight->status, &flight->err);
    }
}

/* Free the entry first: an answered waiter may begin a new flight on it.
 * @param caller the waiter that still is inside zd_flight_begin, or NULL */
static void end(struct zd_flight *flight, const struct zd_wait *caller)
{
    struct zd_cache *cache = flight->cache;
    struct zd_cache_entry *entry = flight->entry;
    struct zd_list waiters;
    struct zd_list late;
    zd_list_take_all(&flight->waiters, &waiters);
    zd_list_take_all(&flight->late, &late);
    entry->flight = NULL;
    for (struct zd_list *link = waiters.next; link != &waiters; link = link->next) {
        answer(flight, ZD_CONTAINER(link, struct zd_wait, link));
    }
    flight->ops->settle(flight);
    for (struct zd_list *link; (link = zd_list_pop_front(&waiters)) != NULL;) {
        struct zd_wait *wait = ZD_CONTAINER(link, struct zd_wait, link);
        if (wait != caller) {
            wait->done(wait);
        }
    }
    for (struct zd_list *link; (link = zd_list_pop_front(&late)) != NULL;) {
        struct zd_wait *wait = ZD_CONTAINER(link, struct zd_wait, link);
        if (flight->ops->again(flight, wait) == ZD_NEXT) {
            wait->done(wait);
        }
    }
    if (flight->ops->done != NULL) {
        flight->ops->done(flight);
    }
    zd_free(flight);
    zd_cache_unref(cache, entry);
}

void zd_flight_end(struct zd_flight *flight)
{
    end(flight, NULL);
}

enum zd_next zd_flight_fail(struct zd_flight *flight, const struct zd_wait *wait)
{
    flight->status = wait->status;
    flight->err = wait->err;
    return ZD_DONE;
}

static enum zd_next step(struct zd_machine *machine)
{
    struct zd_flight *flight = ZD_CONTAINER(machine, struct zd_flight, machine);
    return flight->ops->step(flight);
}

static void on_end(struct zd_machine *machine)
{
    end(ZD_CONTAINER(machine, struct zd_flight, machine), NULL);
}

void *zd_flight_new(size_t bytes, const struct zd_flight_ops *ops, struct zd_cache *cache,
    struct zd_cache_entry *entry, uint64_t now_ms, struct zd_wait *wait, const char *what)
{
    struct zd_flight *flight = zd_alloc_zero(1, bytes);
    if (flight == NULL) {
        zd_cache_drop(cache, entry);
        zd_cache_unref(cache, entry);
        wait->status = zd_fail(&wait->err, ZD_NO_MEMORY, "no memory to load %s", what);
        return NULL;
    }
    flight->machine = (struct zd_machine){.step = step, .end = on_end};
    flight->ops = ops;
    flight->cache = cache;
    flight->entry = entry;
    flight->began_ms = now_ms;
    zd_list_init(&flight->waiters);
    zd_list_init(&flight->late);
    return flight;
}

static enum zd_next run(struct zd_flight *flight)
{
    return flight->ops->step == NULL ? flight->ops->begin(flight)
                                     : zd_machine_begin(&flight->machine);
}

enum zd_next zd_flight_begin(struct zd_flight *flight, struct zd_wait *wait)
{
    assert(flight->entry->flight == NULL);
    flight->entry->flight = flight;
    zd_list_push_back(&flight->waiters, &wait->link);
    if (flight->status == ZD_OK && run(flight) == ZD_WAIT) {
        return ZD_WAIT;
    }
    end(flight, wait);
    return ZD_NEXT;
}

void zd_flight_join(struct zd_flight *flight, struct zd_wait *wait)
{
    zd_list_push_back(&flight->waiters, &wait->link);
}

void zd_flight_join_late(struct zd_flight *flight, struct zd_wait *wait)
{
    zd_list_push_back(&flight->late, &wait->link);
}

/* A flight that is answering its waiters has already left its entry. */
static bool is_unwanted(const struct zd_flight *flight)
{
    return flight->entry->flight == flight && zd_list_is_empty(&flight->waiters) &&
           zd_list_is_empty(&flight->late);
}

void zd_flight_leave(struct zd_flight *flight, struct zd_wait *wait)
{
    if (!zd_list_is_linked(&wait->link)) {
        return;
    }
    zd_wait_cancel(wait);
    const bool is_filled = flight->entry->bytes > 0; /* kept: the work checks it again */
    if (flight->ops->cancel == NULL || is_filled || !is_unwanted(flight)) {
        return;
    }
    zd_cache_drop(flight->cache, flight->entry);
    if (flight->ops->cancel(flight) == ZD_DONE) {
        flight->status = ZD_CANCELLED;
        end(flight, NULL);
    }
}
