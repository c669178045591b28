/* The state that all wires of a front share. */
#include "server/front/wires.h"

#include "server/front/descriptors.h"
#include "server/runtime/server.h"

#define LINGER_MS     2000
#define REST_MS       50
#define ANSWER_BYTES  4096 /* of the connection's memory: the head of an answer */
#define ENTRIES_BYTES 3072 /* of it, beside the longest head */
#define FIELDS_MAX    100

bool zd_wires_may_open(const struct zd_wires *wires, const struct sockaddr *address)
{
    return zd_connection_limits_may_come(&wires->visitors, address);
}

uint64_t zd_wires_memory_bytes(const struct zd_settings *settings)
{
    return settings->http_connection_bytes + ENTRIES_BYTES + ANSWER_BYTES;
}

enum zd_status zd_wires_new(struct zd_server *server, uint64_t n_max,
    void (*over)(struct zd_deadline *deadline), struct zd_wires **ret_wires, struct zd_error *err)
{
    const struct zd_settings *settings = &server->config->settings;
    struct zd_wires *wires = zd_alloc_zero(1, sizeof *wires);
    if (wires == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the connections");
    }
    wires->server = server;
    wires->limits = (struct zd_guard_limits){
        .target_bytes = settings->limits_url_bytes,
        .head_bytes = settings->http_connection_bytes,
        .n_fields = FIELDS_MAX,
        .memory_bytes = settings->http_connection_bytes + ENTRIES_BYTES,
        .body_bytes = settings->limits_body_bytes,
        .upload_bytes = settings->limits_upload_bytes,
    };
    zd_list_init(&wires->open);
    zd_linger_init(&wires->partings);
    zd_map_init(&wires->visitors.by_peer);
    wires->visitors.n_max = n_max;
    wires->visitors.n_each_max = settings->http_address_connections;
    wires->visitors.trusted = &server->trusted_proxies;
    const uint64_t term_ms[ZD_TERMS] = {
        [ZD_TERM_HEAD] = settings->http_head_ms,
        [ZD_TERM_BODY] = settings->http_body_ms,
        [ZD_TERM_ANSWER] = settings->http_reader_ms,
        [ZD_TERM_LINGERING] = LINGER_MS,
        [ZD_TERM_RESTING] = REST_MS,
    };
    for (size_t i = 0; i < ZD_TERMS; i++) {
        zd_deadlines_init(&wires->running[i], server->loop, term_ms[i], over);
    }
    *ret_wires = wires;
    return ZD_OK;
}

void zd_wires_close(struct zd_wires *wires)
{
    for (size_t i = 0; wires != NULL && i < ZD_TERMS; i++) {
        zd_deadlines_close(&wires->running[i]);
    }
}

void zd_wires_free(struct zd_wires *wires)
{
    if (wires != NULL) {
        (void)zd_linger_done(&wires->partings);
        zd_map_done(&wires->visitors.by_peer);
    }
    zd_free(wires);
    zd_descriptors_done();
}
