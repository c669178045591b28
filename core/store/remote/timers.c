/* Many alarms on one timer of the loop. */
#include "core/store/remote/timers.h"

#include "core/base/num.h"
#include "core/base/own.h"

static struct zd_timer *alarm_of(struct zd_list *link)
{
    return ZD_CONTAINER(link, struct zd_timer, link);
}

static void on_timer(uv_timer_t *timer);

static void arm(struct zd_timers *alarms)
{
    if (zd_list_is_empty(&alarms->set)) {
        (void)uv_timer_stop(&alarms->timer);
        return;
    }
    const uint64_t now_ms = uv_now(alarms->timer.loop);
    const uint64_t at_ms = alarm_of(alarms->set.next)->at_ms;
    (void)uv_timer_start(&alarms->timer, on_timer, at_ms > now_ms ? at_ms - now_ms : 0, 0);
}

/* A timer that is set while others ring waits for the next turn. */
static void on_timer(uv_timer_t *timer)
{
    struct zd_timers *alarms = ZD_CONTAINER(timer, struct zd_timers, timer);
    const uint64_t now_ms = uv_now(timer->loop);
    struct zd_list due;
    zd_list_init(&due);
    while (!zd_list_is_empty(&alarms->set) && alarm_of(alarms->set.next)->at_ms <= now_ms) {
        zd_list_push_back(&due, zd_list_pop_front(&alarms->set));
    }
    arm(alarms);
    while (!zd_list_is_empty(&due)) {
        struct zd_timer *alarm = alarm_of(zd_list_pop_front(&due));
        alarm->ring(alarm);
    }
}

void zd_timers_init(struct zd_timers *alarms, uv_loop_t *loop)
{
    zd_list_init(&alarms->set);
    (void)uv_timer_init(loop, &alarms->timer);
}

void zd_timers_close(struct zd_timers *alarms, uv_close_cb closed)
{
    (void)uv_timer_stop(&alarms->timer);
    uv_close((uv_handle_t *)&alarms->timer, closed);
}

void zd_timers_set(struct zd_timers *alarms, struct zd_timer *alarm, uint64_t delay_ms)
{
    zd_list_remove(&alarm->link);
    if (ckd_add(&alarm->at_ms, uv_now(alarms->timer.loop), delay_ms)) {
        alarm->at_ms = UINT64_MAX;
    }
    struct zd_list *place = alarms->set.prev;
    while (place != &alarms->set && alarm_of(place)->at_ms > alarm->at_ms) {
        place = place->prev;
    }
    zd_list_insert_after(place, &alarm->link);
    if (place == &alarms->set) {
        arm(alarms);
    }
}

void zd_timers_hasten(struct zd_timers *alarms)
{
    const uint64_t now_ms = uv_now(alarms->timer.loop);
    for (struct zd_list *at = alarms->set.next; at != &alarms->set; at = at->next) {
        alarm_of(at)->at_ms = zd_min_u64(alarm_of(at)->at_ms, now_ms);
    }
    arm(alarms);
}

void zd_timers_clear(struct zd_timers *alarms, struct zd_timer *alarm)
{
    if (zd_list_is_linked(&alarm->link)) {
        zd_list_remove(&alarm->link);
        if (zd_list_is_empty(&alarms->set)) {
            (void)uv_timer_stop(&alarms->timer);
        }
    }
}
