/* The end of what remote stores wait for. */
#include "core/store/transfer/remote_stop.h"

#include "core/store/remote/endpoint.h"
#include "core/store/transfer/transfer.h"

void zd_remote_stop(struct zd_remote *remote)
{
    const struct zd_list *head = &remote->endpoints;
    remote->settings.retries = 0;
    if (remote->pool != NULL) {
        zd_transfer_pool_stop(remote->pool);
    }
    for (struct zd_list *at = head->next; at != NULL && at != head; at = at->next) {
        zd_timers_hasten(&ZD_CONTAINER(at, struct zd_endpoint, link)->alarms);
    }
}
