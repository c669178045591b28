/* Waiting for something that others may wait for too. */
#include "server/runtime/wait.h"

#include "core/base/own.h"

void zd_wait_answer(struct zd_wait *wait, enum zd_status status, const struct zd_error *err)
{
    wait->status = status;
    if (err != NULL) {
        wait->err = *err;
    } else {
        wait->err.facts.set = 0; /* an error is large: only its emptiness is set */
        wait->err.text[0] = '\0';
    }
    wait->err.status = status;
}

void zd_wait_end(struct zd_wait *wait, enum zd_status status, const struct zd_error *err)
{
    zd_wait_answer(wait, status, err);
    wait->done(wait);
}

void zd_wait_tell(struct zd_list *waiters, enum zd_status status, const struct zd_error *err)
{
    struct zd_list told;
    zd_list_take_all(waiters, &told);
    for (struct zd_list *link; (link = zd_list_pop_front(&told)) != NULL;) {
        zd_wait_end(ZD_CONTAINER(link, struct zd_wait, link), status, err);
    }
}
