/* Turns: an operation waits in its turn's list, then in `ready`, then it runs. */
#include "core/store/contract/turns.h"

#include <assert.h>

void zd_turns_init(struct zd_turns *turns, void (*run)(struct zd_store_op *op))
{
    *turns = (struct zd_turns){.run = run};
    zd_list_init(&turns->ready);
    for (size_t i = 0; i < ZD_TURNS; i++) {
        zd_list_init(&turns->turn[i].waiting);
    }
}

static struct zd_store_op *op_of(struct zd_list *link)
{
    return ZD_CONTAINER(link, struct zd_store_op, link);
}

static void run_ready(struct zd_turns *turns)
{
    while (turns->n_running < ZD_TURNS_AT_ONCE) {
        struct zd_list *link = zd_list_pop_front(&turns->ready);
        if (link == NULL) {
            return;
        }
        turns->n_running++;
        turns->run(op_of(link));
    }
}

/* op->private_state: the turn it has; NULL while it waits for one, or needs none. */
static void give_turn(struct zd_turns *turns, struct zd_turn *turn, struct zd_store_op *op)
{
    turn->is_taken = true;
    op->private_state = turn;
    zd_list_push_back(&turns->ready, &op->link);
}

static void pass_turn_on(struct zd_turns *turns, struct zd_store_op *op)
{
    struct zd_turn *turn = op->private_state;
    if (turn == NULL) {
        return;
    }
    struct zd_list *next = zd_list_pop_front(&turn->waiting);
    op->private_state = NULL;
    turn->is_taken = false;
    if (next != NULL) {
        give_turn(turns, turn, op_of(next));
    }
}

void zd_turns_take(struct zd_turns *turns, struct zd_store_op *op, uint64_t hash)
{
    struct zd_turn *turn = &turns->turn[hash % ZD_TURNS];
    if (turn->is_taken) {
        zd_list_push_back(&turn->waiting, &op->link);
        return;
    }
    give_turn(turns, turn, op);
    run_ready(turns);
}

void zd_turns_take_any(struct zd_turns *turns, struct zd_store_op *op)
{
    zd_list_push_back(&turns->ready, &op->link);
    run_ready(turns);
}

void zd_turns_end(struct zd_turns *turns, struct zd_store_op *op)
{
    assert(turns->n_running > 0);
    turns->n_running--;
    pass_turn_on(turns, op);
    run_ready(turns);
}

bool zd_turns_leave(struct zd_turns *turns, struct zd_store_op *op)
{
    if (!zd_list_is_linked(&op->link)) {
        return false;
    }
    zd_list_remove(&op->link);
    pass_turn_on(turns, op);
    run_ready(turns);
    return true;
}

void zd_turns_pause(struct zd_turns *turns)
{
    assert(turns->n_running > 0);
    turns->n_running--;
    run_ready(turns);
}

void zd_turns_resume(struct zd_turns *turns)
{
    turns->n_running++;
}

bool zd_turns_are_waited_for(const struct zd_turns *turns)
{
    return !zd_list_is_empty(&turns->ready);
}

bool zd_turns_are_idle(const struct zd_turns *turns)
{
    return turns->n_running == 0 && zd_list_is_empty(&turns->ready);
}
