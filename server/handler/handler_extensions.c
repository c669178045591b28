/* /v1/extensions: what this build understands, from the registries. */
#include "core/codec/codec.h"
#include "core/dialect/dialect.h"
#include "core/extension/extension.h"
#include "core/grid/dtype.h"
#include "core/store/store.h"
#include "server/format/format.h"
#include "server/handler/handler.h"
#include "server/server.h"

#define DOCUMENT_BYTES_MAX (1U << 20)

static const char *const no_params[] = {NULL};

/* Parts of the core that have no registry: there is one way to do each. */
static const char *const grids[] = {"regular", NULL};
static const char *const key_encodings[] = {"default", "v2", NULL};

static void emit_schema(struct zd_emit *emit, const char *schema)
{
    zd_emit_key(emit, "configuration");
    if (schema == NULL) {
        zd_emit_null(emit);
    } else {
        zd_emit_raw(emit, zd_span_of(schema));
    }
}

static void emit_entry(struct zd_emit *emit, const char *name, const char *const *aliases,
    bool can_write, const char *schema)
{
    zd_emit_object(emit);
    zd_emit_member_string(emit, "name", name);
    zd_emit_key(emit, "aliases");
    zd_emit_array(emit);
    for (size_t i = 0; aliases != NULL && aliases[i] != NULL; i++) {
        zd_emit_string(emit, aliases[i]);
    }
    zd_emit_array_end(emit);
    zd_emit_member_bool(emit, "read", true);
    zd_emit_member_bool(emit, "write", can_write);
    emit_schema(emit, schema);
    zd_emit_object_end(emit);
}

static void emit_names(
    struct zd_emit *emit, const char *key, const char *const *names, bool can_write)
{
    zd_emit_key(emit, key);
    zd_emit_array(emit);
    for (size_t i = 0; names[i] != NULL; i++) {
        emit_entry(emit, names[i], NULL, can_write, NULL);
    }
    zd_emit_array_end(emit);
}

static void emit_dialects(struct zd_emit *emit)
{
    zd_emit_key(emit, "dialects");
    zd_emit_array(emit);
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        emit_entry(emit, zd_dialects[i]->name, NULL, false, NULL);
    }
    zd_emit_array_end(emit);
}

static void emit_codecs(struct zd_emit *emit)
{
    zd_emit_key(emit, "codecs");
    zd_emit_array(emit);
    for (size_t i = 0; zd_codecs[i] != NULL; i++) {
        const struct zd_codec *codec = zd_codecs[i];
        emit_entry(emit, codec->name, codec->aliases, codec->encode != NULL, codec->schema);
    }
    zd_emit_array_end(emit);
}

static void emit_generic(struct zd_emit *emit)
{
    zd_emit_key(emit, "extensions");
    zd_emit_array(emit);
    for (size_t i = 0; zd_extensions[i] != NULL; i++) {
        emit_entry(emit, zd_extensions[i]->name, NULL, true, zd_extensions[i]->schema);
    }
    zd_emit_array_end(emit);
}

static void emit_stores(struct zd_emit *emit)
{
    zd_emit_key(emit, "stores");
    zd_emit_array(emit);
    for (size_t i = 0; zd_stores[i] != NULL; i++) {
        emit_entry(emit, zd_stores[i]->scheme, NULL, zd_stores[i]->write != NULL, NULL);
    }
    zd_emit_array_end(emit);
}

static void emit_formats(struct zd_emit *emit)
{
    zd_emit_key(emit, "formats");
    zd_emit_array(emit);
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        zd_emit_object(emit);
        zd_emit_member_string(emit, "name", zd_formats[i]->name);
        zd_emit_member_string(emit, "media_type", zd_formats[i]->media_type);
        zd_emit_member_bool(emit, "read", true);
        zd_emit_member_bool(emit, "write", false);
        zd_emit_object_end(emit);
    }
    zd_emit_array_end(emit);
}

static enum zd_next step_extensions(struct zd_request *req)
{
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    emit_dialects(&emit);
    emit_codecs(&emit);
    emit_names(&emit, "data_types", zd_dtype_names, true);
    emit_names(&emit, "chunk_grids", grids, true);
    emit_names(&emit, "chunk_key_encodings", key_encodings, true);
    emit_generic(&emit);
    emit_stores(&emit);
    emit_formats(&emit);
    zd_emit_object_end(&emit);
    struct zd_representation representation = {0};
    return zd_respond_json(req, &text, &representation);
}

static const struct zd_route routes[] = {
    {.method = "GET", .path = "/v1/extensions", .first = step_extensions, .params = no_params},
};

const struct zd_handler zd_handler_extensions = {
    .name = "extensions",
    .route = routes,
    .n_routes = sizeof routes / sizeof routes[0],
};
