/* Later turns of the loop: what is long is done in pieces, and others are served between them. */
#include "server/runtime/deferred.h"

#include <assert.h>

#include "core/base/own.h"

static void on_turn(uv_idle_t *idle)
{
    struct zd_deferred *later = idle->data;
    struct zd_list *link = zd_list_pop_front(&later->waiting);
    later->n_pieces = 0;
    if (link == NULL) {
        uv_idle_stop(idle);
        return;
    }
    zd_wait_end(ZD_CONTAINER(link, struct zd_wait, link), ZD_OK, NULL);
}

void zd_deferred_init(struct zd_deferred *later, uv_loop_t *loop)
{
    zd_list_init(&later->waiting);
    later->n_pieces = 0;
    uv_idle_init(loop, &later->next);
    later->next.data = later;
}

void zd_deferred_close(struct zd_deferred *later)
{
    assert(zd_list_is_empty(&later->waiting));
    uv_close((uv_handle_t *)&later->next, NULL);
}

void zd_deferred_want(struct zd_deferred *later, struct zd_wait *wait)
{
    assert(!zd_list_is_linked(&wait->link));
    zd_list_push_back(&later->waiting, &wait->link);
    uv_idle_start(&later->next, on_turn);
}

bool zd_deferred_take_piece(struct zd_deferred *later)
{
    if (later->n_pieces == ZD_DEFERRED_PIECES) {
        return false;
    }
    later->n_pieces++;
    uv_idle_start(&later->next, on_turn); /* the next turn has as many */
    return true;
}
