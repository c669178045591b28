/* Deadlines that are equally far away when they begin. */
#include "server/runtime/deadlines.h"

#include "core/base/num.h"
#include "core/base/own.h"

static struct zd_deadline *first_of(const struct zd_deadlines *deadlines)
{
    return ZD_CONTAINER(deadlines->running.next, struct zd_deadline, link);
}

static void on_timer(uv_timer_t *timer);

/* A timer that runs is early enough: it was started for one that began before all of these. */
static void arm(struct zd_deadlines *deadlines)
{
    if (zd_list_is_empty(&deadlines->running) || uv_is_active((uv_handle_t *)&deadlines->timer)) {
        return;
    }
    const uint64_t at_ms = first_of(deadlines)->at_ms;
    const uint64_t now_ms = uv_now(deadlines->timer.loop);
    uv_timer_start(&deadlines->timer, on_timer, at_ms - zd_min_u64(now_ms, at_ms), 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct zd_deadlines *deadlines = timer->data;
    const uint64_t now_ms = uv_now(timer->loop);
    while (!zd_list_is_empty(&deadlines->running) && first_of(deadlines)->at_ms <= now_ms) {
        struct zd_deadline *first = first_of(deadlines);
        zd_deadline_stop(first);
        deadlines->over(first);
    }
    arm(deadlines);
}

void zd_deadlines_init(struct zd_deadlines *deadlines, uv_loop_t *loop, uint64_t after_ms,
    void (*over)(struct zd_deadline *deadline))
{
    zd_list_init(&deadlines->running);
    deadlines->after_ms = after_ms;
    deadlines->over = over;
    uv_timer_init(loop, &deadlines->timer);
    deadlines->timer.data = deadlines;
    uv_unref((uv_handle_t *)&deadlines->timer);
}

void zd_deadlines_close(struct zd_deadlines *deadlines)
{
    uv_close((uv_handle_t *)&deadlines->timer, NULL);
}

void zd_deadline_start(struct zd_deadlines *deadlines, struct zd_deadline *deadline)
{
    zd_deadline_stop(deadline);
    deadline->at_ms = uv_now(deadlines->timer.loop) + deadlines->after_ms;
    zd_list_push_back(&deadlines->running, &deadline->link);
    arm(deadlines);
}
