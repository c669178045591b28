/* GET /v1/colormaps: the colours of every map. */
#include "core/base/hash.h"
#include "core/picture/colormap.h"
#include "server/request/handler.h"

#define DOCUMENT_BYTES_MAX (1U << 20)

static void emit_map(struct zd_emit *emit, uint32_t map)
{
    zd_emit_key(emit, zd_colormap_names[map]);
    zd_emit_array(emit);
    for (uint32_t i = 0; i < ZD_COLORMAP_COLORS; i++) {
        const uint32_t color = zd_colormap_color(map, i);
        zd_emit_array(emit);
        zd_emit_u64(emit, color >> 16);
        zd_emit_u64(emit, color >> 8 & UINT8_MAX);
        zd_emit_u64(emit, color & UINT8_MAX);
        zd_emit_array_end(emit);
    }
    zd_emit_array_end(emit);
}

static enum zd_next step_get(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    zd_emit_key(&emit, "colormaps");
    zd_emit_object(&emit);
    for (uint32_t i = 0; zd_colormap_names[i] != NULL; i++) {
        emit_map(&emit, i);
    }
    zd_emit_object_end(&emit);
    zd_emit_object_end(&emit);
    struct zd_representation document = {
        .keep_until_ms = UINT64_MAX, /* it cannot change while the process lives */
    };
    zd_tag_format(document.etag, zd_hash_of(zd_text_span(&text), 0), "colormaps");
    return zd_respond_text(req, &text, &document);
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/colormaps",
        .first = step_get,
        .scope = ZD_SCOPE_READ,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_colormaps = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
