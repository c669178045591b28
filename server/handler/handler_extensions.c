/* /v1/extensions: the extensions that this build understands, from the registries. */
#include "core/codec/codec.h"
#include "core/dialect/dialect.h"
#include "core/extension/data_type.h"
#include "core/extension/extension.h"
#include "core/grid/dtype.h"
#include "core/store/contract/store.h"
#include "server/format/format.h"
#include "server/request/handler.h"

#define DOCUMENT_BYTES_MAX (1U << 20)

/* Parts of the core without a registry: each has one implementation. */
struct part {
    const char *name;
    const char *schema;
    bool is_only_read;
};

#define SEPARATOR                                                                                  \
    "{\"type\":\"object\",\"properties\":{\"separator\":{\"enum\":[\"/\",\".\"]}},"                \
    "\"additionalProperties\":false}"

/* The draft of it, `rectangular`, is no name of its own: documents are normalised. */
#define LENGTH  "{\"type\":\"integer\",\"minimum\":1}"
#define RUN     "{\"type\":\"array\",\"items\":" LENGTH ",\"minItems\":2,\"maxItems\":2}"
#define LENGTHS "{\"type\":\"array\",\"items\":{\"anyOf\":[" LENGTH "," RUN "]}}"
#define RECTILINEAR                                                                                \
    "{\"type\":\"object\",\"properties\":{\"kind\":{\"enum\":[\"inline\"]},\"chunk_shapes\":{"     \
    "\"type\":\"array\",\"items\":{\"anyOf\":[" LENGTH "," LENGTHS "]}}},"                         \
    "\"required\":[\"kind\",\"chunk_shapes\"],\"additionalProperties\":false}"

static const struct part grids[] = {
    {.name = "regular",
        .schema =
            "{\"type\":\"object\",\"properties\":{\"chunk_shape\":{\"type\":\"array\",\"items\":"
            "{\"type\":\"integer\",\"minimum\":1}}},\"required\":[\"chunk_shape\"],"
            "\"additionalProperties\":false}"},
    {.name = "rectilinear", .schema = RECTILINEAR},
    {.name = NULL},
};
static const struct part key_encodings[] = {
    {.name = "default", .schema = SEPARATOR},
    {.name = "v2", .schema = SEPARATOR},
    {.name = "suffix",
        .schema = "{\"type\":\"object\",\"properties\":{\"suffix\":{\"type\":\"string\"},\"base_"
                  "encoding\":"
                  "{}},\"required\":[\"suffix\",\"base_encoding\"],\"additionalProperties\":false}",
        .is_only_read = true},
    {.name = NULL},
};

/* The members that every entry has. */
static void begin_entry(struct zd_emit *emit, const char *name, const char *const *aliases,
    bool can_write, const char *schema)
{
    zd_emit_object(emit);
    zd_emit_member_string(emit, "name", name);
    zd_emit_member_array(emit, "aliases");
    for (size_t i = 0; aliases != NULL && aliases[i] != NULL; i++) {
        zd_emit_string(emit, aliases[i]);
    }
    zd_emit_array_end(emit);
    zd_emit_member_bool(emit, "read", true);
    zd_emit_member_bool(emit, "write", can_write);
    zd_emit_key(emit, "configuration");
    zd_emit_raw(emit, zd_span_of(schema == NULL ? "null" : schema));
}

static void emit_entry(struct zd_emit *emit, const char *name, const char *const *aliases,
    bool can_write, const char *schema)
{
    begin_entry(emit, name, aliases, can_write, schema);
    zd_emit_object_end(emit);
}

static void emit_parts(struct zd_emit *emit, const char *key, const struct part *part)
{
    zd_emit_member_array(emit, key);
    for (; part->name != NULL; part++) {
        emit_entry(emit, part->name, NULL, !part->is_only_read, part->schema);
    }
    zd_emit_array_end(emit);
}

static void emit_data_types(struct zd_emit *emit)
{
    zd_emit_member_array(emit, "data_types");
    for (size_t i = 0; zd_dtype_names[i] != NULL; i++) {
        const char *const aliases[] = {zd_dtype_alias(zd_dtype_names[i]), NULL};
        emit_entry(emit, zd_dtype_names[i], aliases, true, NULL);
    }
    for (const struct zd_data_type_form *form = zd_data_type_forms; form->name != NULL; form++) {
        emit_entry(emit, form->name, NULL, true, form->schema);
    }
    zd_emit_array_end(emit);
}

static void emit_dialects(struct zd_emit *emit)
{
    zd_emit_member_array(emit, "dialects");
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        const struct zd_dialect *dialect = zd_dialects[i];
        emit_entry(emit, dialect->name, NULL, zd_dialect_is_writable(dialect), NULL);
    }
    zd_emit_array_end(emit);
}

static void emit_codecs(struct zd_emit *emit)
{
    zd_emit_member_array(emit, "codecs");
    for (size_t i = 0; zd_codecs[i] != NULL; i++) {
        const struct zd_codec *codec = zd_codecs[i];
        emit_entry(emit, codec->name, codec->aliases, zd_codec_is_writable(codec), codec->schema);
    }
    zd_emit_array_end(emit);
}

static void emit_generic(struct zd_emit *emit)
{
    zd_emit_member_array(emit, "extensions");
    for (size_t i = 0; zd_extensions[i] != NULL; i++) {
        emit_entry(emit, zd_extensions[i]->name, NULL, true, zd_extensions[i]->schema);
    }
    zd_emit_array_end(emit);
}

static void emit_stores(struct zd_emit *emit)
{
    zd_emit_member_array(emit, "stores");
    struct zd_store_scheme scheme;
    for (size_t i = 0; zd_store_scheme(i, &scheme); i++) {
        emit_entry(emit, scheme.name, NULL, scheme.is_writable, NULL);
    }
    zd_emit_array_end(emit);
}

static void emit_formats(struct zd_emit *emit)
{
    zd_emit_member_array(emit, "formats");
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        const struct zd_format *format = zd_formats[i];
        begin_entry(emit, format->name, NULL, zd_format_is_readable(format), NULL);
        zd_emit_member_string(emit, "media_type", format->media_type);
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
    emit_data_types(&emit);
    emit_parts(&emit, "chunk_grids", grids);
    emit_parts(&emit, "chunk_key_encodings", key_encodings);
    emit_generic(&emit);
    emit_stores(&emit);
    emit_formats(&emit);
    zd_emit_object_end(&emit);
    return zd_respond_text(req, &text, &(struct zd_representation){0});
}

static const struct zd_route routes[] = {
    {.method = "GET",
        .path = "/v1/extensions",
        .first = step_extensions,
        .scope = ZD_SCOPE_READ,
        .params = zd_params_none},
};

const struct zd_handler zd_handler_extensions = {.route = routes, .n_routes = ZD_COUNT_OF(routes)};
