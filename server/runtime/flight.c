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
    flight->ops->settle(flight);
    for (struct zd_list *link; (link = zd_list_pop_front(&waiters)) != NULL;) {
        struct zd_wait *wait = ZD_CONTAINER(link, struct zd_wait, link);
        answer(flight, wait);
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
    flight->ops->free(flight);
    zd_cache_unref(cache, entry);
}

static void on_end(struct zd_machine *machine)
{
    end(ZD_CONTAINER(machine, struct zd_flight, machine), NULL);
}

enum zd_next zd_flight_begin(struct zd_flight *flight, struct zd_wait *wait)
{
    assert(flight->entry->flight == NULL);
    flight->machine.end = on_end;
    flight->entry->flight = flight;
    zd_list_init(&flight->waiters);
    zd_list_init(&flight->late);
    zd_list_push_back(&flight->waiters, &wait->link);
    if (flight->status == ZD_OK && zd_machine_begin(&flight->machine) == ZD_WAIT) {
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
