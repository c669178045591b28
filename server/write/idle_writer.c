/* Stores at rest. */
#include "server/write/idle_writer.h"

#include "core/base/own.h"
#include "server/runtime/server.h"

#define REST_MS 1000 /* without a write; it is seen within as long again */

/* A store that goes to rest. */
struct rest {
    struct zd_store_op op;
    struct zd_dataset *dataset; /* a reference */
};

static void rest_done(struct zd_store_op *op)
{
    struct rest *rest = ZD_CONTAINER(op, struct rest, op);
    zd_dataset_unref(rest->dataset);
    zd_free(rest);
}

/* Without memory it rests after a later write, or when it is closed. */
static void begin(struct zd_dataset *dataset)
{
    struct rest *rest = zd_alloc_zero(1, sizeof *rest);
    if (rest != NULL) {
        rest->op.done = rest_done;
        rest->dataset = zd_dataset_ref(dataset);
        zd_store_rest(dataset->store, &rest->op);
    }
}

static void on_timer(uv_timer_t *timer);

static void wait_on(struct zd_idle_writers *rests)
{
    if (!zd_list_is_empty(&rests->waiting) && !uv_is_active((uv_handle_t *)&rests->timer)) {
        uv_timer_start(&rests->timer, on_timer, REST_MS, 0);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct zd_idle_writers *rests = timer->data;
    struct zd_list all;
    zd_list_take_all(&rests->waiting, &all);
    for (struct zd_list *at = zd_list_pop_front(&all); at != NULL; at = zd_list_pop_front(&all)) {
        struct zd_dataset *dataset = ZD_CONTAINER(at, struct zd_dataset, rest);
        if (uv_now(timer->loop) - dataset->wrote_ms < REST_MS) {
            zd_list_push_back(&rests->waiting, at);
        } else {
            begin(dataset);
        }
    }
    wait_on(rests);
}

void zd_idle_writer_init(struct zd_server *server)
{
    struct zd_idle_writers *rests = server->rests;
    zd_list_init(&rests->waiting);
    uv_timer_init(server->loop, &rests->timer);
    rests->timer.data = rests;
    uv_unref((uv_handle_t *)&rests->timer);
}

void zd_idle_writer_close(struct zd_server *server)
{
    uv_close((uv_handle_t *)&server->rests->timer, NULL);
}

void zd_idle_writer_after_write(struct zd_dataset *dataset)
{
    struct zd_idle_writers *rests = dataset->server->rests;
    dataset->wrote_ms = uv_now(dataset->server->loop);
    if (!zd_list_is_linked(&dataset->rest)) {
        zd_list_push_back(&rests->waiting, &dataset->rest);
    }
    wait_on(rests);
}
