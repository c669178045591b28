/* /v1/limits: every limit with its value and unit, and how much of it is used. */
#include "server/config/settings.h"
#include "server/request/admit.h"
#include "server/request/handler.h"
#include "server/runtime/server.h"

#define DOCUMENT_BYTES_MAX (64U << 10)

static void emit_memory(struct zd_emit *emit, const struct zd_memory *memory)
{
    zd_emit_member_object(emit, "memory");
    zd_emit_member_u64(emit, "bytes", memory->bytes);
    zd_emit_member_string(emit, "bounded_by", memory->bounded_by);
    zd_emit_member_u64(emit, "requests_bytes", memory->work_bytes);
    zd_emit_member_u64(emit, "decoded_bytes", memory->decoded_bytes);
    zd_emit_member_u64(emit, "encoded_bytes", memory->encoded_bytes);
    zd_emit_member_u64(emit, "metadata_bytes", memory->metadata_bytes);
    zd_emit_object_end(emit);
}

static void emit_lane(struct zd_emit *emit, const char *name, const struct zd_lane *lane)
{
    uint64_t n_shed = 0;
    for (size_t i = 0; i < ZD_SHEDS; i++) {
        n_shed += lane->n_shed[i];
    }
    zd_emit_member_object(emit, name);
    zd_emit_member_u64(emit, "bytes_max", lane->bytes_max);
    zd_emit_member_u64(emit, "bytes", lane->bytes);
    zd_emit_member_u64(emit, "working_max", lane->places_max);
    zd_emit_member_u64(emit, "working", lane->n_working);
    zd_emit_member_u64(emit, "waiting", lane->n_waiting);
    zd_emit_member_u64(emit, "n_admitted", lane->n_admitted);
    zd_emit_member_u64(emit, "n_waited", lane->n_waited);
    zd_emit_member_u64(emit, "waited_ms", lane->waited_ms);
    zd_emit_member_u64(emit, "n_refused", n_shed);
    zd_emit_object_end(emit);
}

static void emit_admission(struct zd_emit *emit, const struct zd_admission *admission)
{
    zd_emit_member_object(emit, "admission");
    zd_emit_member_u64(emit, "small_bytes", admission->limits.small_bytes);
    zd_emit_member_u64(emit, "waiting_max", admission->limits.waiting_max);
    zd_emit_member_u64(emit, "wait_ms", admission->limits.wait_ms);
    for (size_t i = 0; i < ZD_LANES; i++) {
        emit_lane(emit, zd_admission_lane_name(i), &admission->lane[i]);
    }
    zd_emit_object_end(emit);
}

static enum zd_next step_limits(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_key(&emit, "limits");
    zd_setting_emit_limits(&req->server->config->settings, &emit);
    emit_memory(&emit, &req->server->memory);
    emit_admission(&emit, &req->server->admit->admission);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, &(struct zd_representation){0});
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/limits",
        .first = step_limits,
        .scope = ZD_SCOPE_ADMIN,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_limits = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
