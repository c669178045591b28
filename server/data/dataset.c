/* One dataset: its references, and how fresh answers about it must be. */
#include "server/data/dataset.h"

#include <assert.h>

#include "core/base/num.h"
#include "server/config/dataset_config.h"
#include "server/data/events.h"
#include "server/runtime/server.h"

struct zd_dataset *zd_dataset_ref(struct zd_dataset *dataset)
{
    if (dataset != NULL) {
        dataset->refs++;
    }
    return dataset;
}

void zd_dataset_unref(struct zd_dataset *dataset)
{
    if (dataset == NULL) {
        return;
    }
    assert(dataset->refs > 0);
    dataset->refs--;
    if (dataset->refs == 0) {
        zd_list_remove(&dataset->link);
        zd_events_free(dataset->events);
        zd_store_close(dataset->store);
        zd_dataset_config_done(&dataset->config);
        zd_free(dataset);
    }
}

struct zd_dataset *zd_dataset_find(struct zd_server *server, struct zd_span name)
{
    for (size_t i = 0; i < server->n_datasets; i++) {
        if (zd_span_is(name, server->dataset[i]->config.name)) {
            return server->dataset[i];
        }
    }
    return NULL;
}

struct zd_reading zd_dataset_reading(const struct zd_dataset *dataset)
{
    const struct zd_settings *settings = &dataset->server->config->settings;
    return (struct zd_reading){
        .zep10 = !dataset->config.strict,
        .judgement = ZD_JUDGE_READ,
        .limits =
            {
                .bytes_max = settings->limits_document_bytes,
                .nodes_max = settings->limits_document_nodes,
                .depth_max = settings->limits_document_depth,
            },
        .consolidated_bytes_max = settings->limits_consolidated_bytes,
    };
}

bool zd_dataset_trusts(const struct zd_dataset *dataset, uint64_t checked_ms)
{
    return dataset->config.immutable ||
           uv_now(dataset->server->loop) - checked_ms < dataset->revalidate_ms;
}

void zd_dataset_join(const struct zd_dataset *dataset, struct zd_flight *flight,
    enum zd_freshness freshness, struct zd_wait *wait)
{
    if (freshness == ZD_JOINING ||
        (freshness == ZD_TRUSTED && zd_dataset_trusts(dataset, flight->began_ms))) {
        zd_flight_join(flight, wait);
    } else {
        zd_flight_join_late(flight, wait);
    }
}

uint64_t zd_dataset_trusts_until(const struct zd_dataset *dataset, uint64_t checked_ms)
{
    uint64_t until_ms = 0;
    return ckd_add(&until_ms, checked_ms, dataset->revalidate_ms) ? UINT64_MAX : until_ms;
}
