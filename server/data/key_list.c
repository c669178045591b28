/* The keys below a prefix, in no cache. */
#include "server/data/key_list.h"

#include <stdio.h>

struct zd_key_list_load {
    struct zd_dataset *dataset; /* a reference */
    struct zd_store_list list;
    struct zd_key_list *want; /* NULL once it was released */
    bool is_running;
};

static void free_list_load(struct zd_key_list_load *load)
{
    zd_store_list_done(&load->list);
    zd_dataset_unref(load->dataset);
    zd_free(load);
}

static void list_answered(struct zd_store_op *op)
{
    struct zd_key_list_load *load = ZD_CONTAINER(op, struct zd_key_list_load, list.op);
    struct zd_key_list *want = load->want;
    load->is_running = false;
    if (want == NULL) {
        free_list_load(load);
        return;
    }
    want->list = &load->list;
    zd_wait_answer(&want->wait, op->status, op->status == ZD_OK ? NULL : &op->err);
    want->wait.done(&want->wait);
}

enum zd_next zd_key_list_want(
    struct zd_dataset *dataset, const char *prefix, size_t n_max, struct zd_key_list *want)
{
    want->list = NULL;
    want->load = NULL;
    struct zd_key_list_load *load = zd_alloc_zero(1, sizeof *load);
    if (load == NULL) {
        want->wait.status = zd_fail(&want->wait.err, ZD_NO_MEMORY, "%s: no memory", prefix);
        return ZD_NEXT;
    }
    load->dataset = zd_dataset_ref(dataset);
    (void)snprintf(load->list.prefix, sizeof load->list.prefix, "%s", prefix);
    load->list.op.done = list_answered;
    load->list.n_max = n_max;
    load->list.visits_max = want->visits_max;
    load->want = want;
    load->is_running = true;
    want->load = load;
    zd_store_list(dataset->store, &load->list);
    return ZD_WAIT;
}

void zd_key_list_next(struct zd_key_list *want)
{
    struct zd_key_list_load *load = want->load;
    want->list = NULL;
    load->is_running = true;
    zd_store_list_next(load->dataset->store, &load->list);
}

void zd_key_list_release(struct zd_key_list *want)
{
    struct zd_key_list_load *load = want->load;
    want->load = NULL;
    want->list = NULL;
    if (load == NULL) {
        return;
    }
    load->want = NULL;
    if (load->is_running) {
        zd_store_cancel(&load->list.op);
    } else {
        free_list_load(load);
    }
}
