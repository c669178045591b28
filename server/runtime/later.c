/* Later turns of the loop: what is long is done in pieces, and others are served between them. */
#include "server/runtime/later.h"

#include <assert.h>

#include "core/base/own.h"

static void on_turn(uv_idle_t *idle)
{
    struct zd_later *later = idle->data;
    struct zd_list *link = zd_list_pop_front(&later->waiting);
    later->n_pieces = 0;
    if (link == NULL) {
        uv_idle_stop(idle);
        return;
    }
    zd_wait_end(ZD_CONTAINER(link, struct zd_wait, link), ZD_OK, NULL);
}

void zd_later_init(struct zd_later *later, uv_loop_t *loop)
{
    zd_list_init(&later->waiting);
    later->n_pieces = 0;
    uv_idle_init(loop, &later->next);
    later->next.data = later;
}

void zd_later_close(struct zd_later *later)
{
    assert(zd_list_is_empty(&later->waiting));
    uv_close((uv_handle_t *)&later->next, NULL);
}

void zd_later_want(struct zd_later *later, struct zd_wait *wait)
{
    assert(!zd_list_is_linked(&wait->link));
    zd_list_push_back(&later->waiting, &wait->link);
    uv_idle_start(&later->next, on_turn);
}

bool zd_later_take_piece(struct zd_later *later)
{
    if (later->n_pieces == ZD_LATER_PIECES) {
        return false;
    }
    later->n_pieces++;
    uv_idle_start(&later->next, on_turn); /* the next turn has as many */
    return true;
}
