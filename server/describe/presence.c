/* Which chunks of an array are stored. */
#include "server/describe/presence.h"

#include <string.h>

#include "core/base/num.h"
#include "core/grid/scalar.h"
#include "server/data/survey.h"
#include "server/describe/node_json.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define SELECTION_BYTES_MAX 4096
#define ANSWER_BYTES_MAX    (UINT64_C(64) << 20)

struct presence {
    struct zd_node *node;
    struct zd_grid grid; /* of which each element is a chunk of the array */
    struct zd_selection selection;
    uint64_t n_chunks;
    uint64_t n_present;
    struct zd_survey survey;
    struct zd_buf *bitmap; /* least significant bit first */
};

static zd_step step_round;

static void leave(struct zd_request *req)
{
    struct presence *presence = req->state;
    zd_survey_done(&presence->survey);
    zd_buf_unref(presence->bitmap);
    zd_node_unref(presence->node);
    zd_free(presence);
}

static void see_object(struct zd_survey *survey, uint64_t number, struct zd_generation generation)
{
    struct presence *presence = ZD_CONTAINER(survey, struct presence, survey);
    if (zd_generation_is_set(generation)) {
        presence->n_present++;
        presence->bitmap->data[number / 8] |= (uint8_t)(1U << number % 8);
    }
}

static void emit_grid(const struct presence *presence, struct zd_emit *emit)
{
    zd_emit_key(emit, "chunk_grid_shape");
    zd_node_json_emit_lengths(emit, presence->grid.shape, presence->grid.rank);
}

static enum zd_next respond(struct zd_request *req)
{
    const struct presence *presence = req->state;
    ZD_SCOPED_TEXT(selection, SELECTION_BYTES_MAX);
    ZD_SCOPED_TEXT(bitmap, ANSWER_BYTES_MAX);
    ZD_SCOPED_TEXT(json, ANSWER_BYTES_MAX);
    zd_selection_add(&presence->selection, &selection);
    zd_scalar_add_base64(&bitmap, zd_buf_span(presence->bitmap));
    struct zd_emit emit;
    zd_emit_init(&emit, &json, zd_request_is_pretty(req));
    zd_emit_object(&emit);
    emit_grid(presence, &emit);
    zd_emit_member_text(&emit, "selection", &selection);
    zd_emit_member_u64(&emit, "n_present", presence->n_present);
    zd_emit_member_text(&emit, "bitmap", &bitmap);
    zd_emit_object_end(&emit);
    struct zd_representation answer = {0};
    return zd_respond_text(req, &json, &answer);
}

static enum zd_next step_round(struct zd_request *req)
{
    struct presence *presence = req->state;
    struct zd_error err = {0};
    enum zd_next next;
    if (zd_survey_round(&presence->survey, &next, &err) != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    return presence->survey.is_done ? respond(req) : next;
}

static enum zd_status check_limit(
    struct zd_request *req, struct presence *presence, struct zd_error *err)
{
    const uint64_t most = req->server->config->settings.limits_slice_chunks;
    if (zd_selection_overflows(&presence->selection, &presence->n_chunks)) {
        presence->n_chunks = UINT64_MAX;
    }
    if (presence->n_chunks <= most) {
        return ZD_OK;
    }
    const enum zd_status status = zd_fail(err, ZD_TOO_LARGE,
        "the request covers %llu chunks; limits.slice_chunks is %llu; request a part with slice=",
        (unsigned long long)presence->n_chunks, (unsigned long long)most);
    zd_fact_limit(err, most, presence->n_chunks);
    return status;
}

static enum zd_status prepare(
    struct zd_request *req, struct presence *presence, const char **ret_code, struct zd_error *err)
{
    const struct zd_grid *chunks = &presence->node->layout->level[0].grid;
    struct zd_span slice = {0};
    presence->grid.rank = chunks->rank;
    for (uint32_t d = 0; d < chunks->rank; d++) {
        presence->grid.shape[d] = zd_grid_count(chunks, d);
        presence->grid.chunk[d] = 1;
    }
    zd_params_find(&req->params, "slice", &slice);
    const enum zd_status status =
        zd_selection_parse(slice, chunks->rank, presence->grid.shape, &presence->selection, err);
    *ret_code = status == ZD_OUT_OF_BOUNDS ? "out_of_bounds" : "bad_slice";
    ZD_TRY(status);
    *ret_code = NULL;
    ZD_TRY(check_limit(req, presence, err));
    const uint64_t n_bytes = zd_div_up(presence->n_chunks, 8);
    presence->bitmap = zd_buf_new(n_bytes);
    if (presence->bitmap == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the bitmap");
    }
    memset(presence->bitmap->data, 0, n_bytes);
    presence->bitmap->len = n_bytes;
    return zd_survey_init(&presence->survey, &req->machine, presence->node, &presence->grid,
        &presence->selection, err);
}

enum zd_next zd_presence_step(struct zd_request *req)
{
    struct zd_error err = {0};
    const char *code = NULL;
    struct presence *presence = zd_request_new_state(req, sizeof *presence, leave);
    if (presence == NULL) {
        return ZD_DONE;
    }
    presence->node = zd_node_ref(zd_request_node(req));
    if (prepare(req, presence, &code, &err) != ZD_OK) {
        return zd_respond_error(req, code, &err);
    }
    presence->survey.see = see_object;
    req->step = step_round;
    return ZD_NEXT;
}
