/* The parameters of a listing. */
#include "server/describe/tree_ask.h"

#include <string.h>

#include "core/base/num.h"
#include "core/store/contract/path.h"
#include "server/describe/tree_cursor.h"

#define NODE_BYTES 2048 /* of a node in a listing, estimated */

static const char *const type_names[] = {"all", "group", "array", NULL};

/* Paths that a cursor or a pattern names belong to the listing. */
static ZD_RESULT read_texts(
    const struct zd_params *params, struct zd_tree_ask *ask, struct zd_error *err)
{
    struct zd_span value = {.len = 0};
    if (zd_params_find(params, "match", &value)) {
        ask->match = zd_strndup(value.len == 0 ? "" : (const char *)value.ptr, value.len);
        if (ask->match == NULL) {
            return zd_fail(err, ZD_NO_MEMORY, "cannot allocate a pattern");
        }
    }
    if (zd_params_find(params, "cursor", &value)) {
        ZD_TRY(zd_tree_cursor_parse(value, &ask->after, err));
        if (strcmp(ask->after, ask->path) != 0 && !zd_path_is_below(ask->after, ask->path)) {
            return zd_fail_name(err, "cursor", "cursor belongs to another listing");
        }
    }
    if (!zd_params_find(params, "fields", &value)) {
        return ZD_OK;
    }
    ZD_TRY(zd_fields_parse(value, zd_node_fields, &ask->fields, err));
    if (ask->fields.n > 0 && ask->fields.n < ZD_FIELDS_MAX) {
        /* A row without its path would be of no use. */
        ask->fields.field[ask->fields.n++] = "path";
    }
    return ZD_OK;
}

/* Combinations that could not be answered truly. */
static ZD_RESULT judge_ask(
    const struct zd_params *params, const struct zd_tree_ask *ask, struct zd_error *err)
{
    if (ask->check && ask->after != NULL) {
        return zd_fail(err, ZD_INVALID, "check=1 cannot be combined with cursor");
    }
    if (ask->format == ZD_TREE_JSON) {
        return ZD_OK;
    }
    static const char *const senseless[] = {"limit", "cursor", "fields", "check"};
    for (size_t i = 0; i < ZD_COUNT_OF(senseless); i++) {
        struct zd_span value;
        if (zd_params_find(params, senseless[i], &value)) {
            return zd_fail_name(err, senseless[i],
                "format=%s returns one whole document and cannot be combined with %s",
                zd_tree_document_name(ask->format), senseless[i]);
        }
    }
    return ZD_OK;
}

enum zd_status zd_tree_ask_parse(const struct zd_params *params, uint64_t nodes_max,
    struct zd_tree_ask *ask, struct zd_error *err)
{
    const struct zd_params_range depths = {.initial = UINT64_MAX, .most = UINT64_MAX};
    const struct zd_params_range limits = {.initial = nodes_max, .least = 1, .most = nodes_max};
    static const enum zd_node_type types[] = {ZD_NODE_UNKNOWN, ZD_NODE_GROUP, ZD_NODE_ARRAY};
    uint32_t type = 0;
    ZD_TRY(zd_params_u64(params, "depth", depths, &ask->depth_max, err));
    ZD_TRY(zd_params_u64(params, "limit", limits, &ask->limit, err));
    ZD_TRY(zd_params_flag(params, "check", false, &ask->check, err));
    ZD_TRY(zd_params_choice(params, "node_type", type_names, &type, err));
    ask->type = types[type];
    ZD_TRY(read_texts(params, ask, err));
    return judge_ask(params, ask, err);
}

/* So many nodes are as long as a page, or a document, may be. */
static bool is_full_with(const struct zd_tree_ask *ask, uint64_t n)
{
    return ask->bytes_max != 0 && ask->bytes_max / NODE_BYTES <= n;
}

bool zd_tree_ask_may_be_long(const struct zd_tree_ask *ask, uint64_t n)
{
    const bool is_page = ask->limit <= n || is_full_with(ask, n);
    const bool looks_further = ask->match != NULL || ask->type != ZD_NODE_UNKNOWN || ask->check;
    return !is_page || (looks_further && ask->format == ZD_TREE_JSON);
}
