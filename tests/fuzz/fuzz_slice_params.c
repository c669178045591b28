/* Bodies that ask for a slice: what was accepted can be asked for by a query too, and is the same
 * then. */
#include <string.h>

#include "core/base/num.h"
#include "server/http/escape.h"
#include "server/runtime/server.h"
#include "server/slice/slice_params.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 14)
#define QUERY_BYTES_MAX (1U << 17)

static void add_param(struct zd_text *query, const char *name, struct zd_span value)
{
    zd_text_add(query, query->len == 0 ? "" : "&");
    zd_text_add(query, name);
    zd_text_add(query, "=");
    (void)zd_escape_percent_encode(value, query);
}

static void add_shape(struct zd_text *query, const struct zd_slice_params *ask)
{
    zd_text_add(query, query->len == 0 ? "expected_shape=" : "&expected_shape=");
    for (uint32_t d = 0; d < ask->rank; d++) {
        zd_text_add(query, d == 0 ? "" : ",");
        zd_text_add_u64(query, ask->shape[d]);
    }
}

static void add_query(const struct zd_slice_params *ask, struct zd_text *query)
{
    add_param(query, "slice", zd_text_span(&ask->slice));
    if (ask->has_format) {
        add_param(query, "format", zd_text_span(&ask->format));
    }
    if (ask->has_shape) {
        add_shape(query, ask);
    }
    add_param(query, "nan", zd_span_of(ask->style.nan_null ? "null" : "string"));
    add_param(query, "ints", zd_span_of(ask->style.ints_string ? "string" : "number"));
    zd_fuzz_insist(query->status == ZD_OK);
}

static void check_equal(const struct zd_slice_params *a, const struct zd_slice_params *b)
{
    zd_fuzz_insist(zd_span_equal(zd_text_span(&a->slice), zd_text_span(&b->slice)));
    zd_fuzz_insist(a->has_format == b->has_format && a->has_shape == b->has_shape);
    zd_fuzz_insist(zd_span_equal(zd_text_span(&a->format), zd_text_span(&b->format)));
    zd_fuzz_insist(a->rank == b->rank && a->rank <= ZD_RANK_MAX);
    zd_fuzz_insist(memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
    zd_fuzz_insist(a->style.nan_null == b->style.nan_null);
    zd_fuzz_insist(a->style.ints_string == b->style.ints_string);
}

static void check_by_query(const struct zd_slice_params *ask, const struct zd_server *server)
{
    struct zd_params params;
    struct zd_slice_params again;
    const char *code = NULL;
    ZD_SCOPED_TEXT(query, QUERY_BYTES_MAX);
    add_query(ask, &query);
    zd_slice_params_init(&again, server);
    zd_fuzz_insist(zd_params_parse(zd_text_span(&query), zd_slice_params_of_slices,
                       zd_slice_params_repeated, &params, NULL) == ZD_OK);
    zd_fuzz_insist(zd_slice_params_query(&again, &params, &code, NULL) == ZD_OK);
    check_equal(ask, &again);
    zd_slice_params_done(&again);
    zd_params_done(&params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_config config = {.settings.limits_body_bytes = INPUT_BYTES_MAX};
    const struct zd_server server = {.config = &config};
    const struct zd_json_limits limits = {
        .bytes_max = INPUT_BYTES_MAX, .nodes_max = 1000, .depth_max = 16};
    const struct zd_span text = {.ptr = data, .len = len};
    ZD_AUTO(zd_json) body = NULL;
    struct zd_error err = {0};
    struct zd_slice_params ask;
    const char *code = NULL;
    if (zd_json_parse(text, &limits, &body, NULL) != ZD_OK) {
        return 0;
    }
    zd_slice_params_init(&ask, &server);
    if (zd_slice_params_body(&ask, body, &code, &err) == ZD_OK) {
        check_by_query(&ask, &server);
    } else {
        zd_fuzz_insist(code != NULL && err.text[0] != '\0');
    }
    zd_slice_params_done(&ask);
    return 0;
}
