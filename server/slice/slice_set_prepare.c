/* Several slices in one body: what they are together, before anything is read. */
#include <string.h>

#include "core/base/num.h"
#include "server/http/accept.h"
#include "server/request/dependence.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"
#include "server/slice/slice_set.h"

#define FORMATS_MAX  32
#define DEFAULT_NAME "npz"
#define MEMBER_BYTES 4096 /* what names and marks of an answer take in a text, and more */

static struct zd_slice *slice_at(const struct zd_slice_set *set, uint32_t i)
{
    return set->part[i].slice;
}

static const struct zd_slice_params *ask_of(const struct zd_slice_set *set)
{
    return &slice_at(set, 0)->read.ask;
}

static const struct zd_settings *settings_of(const struct zd_slice_set *set)
{
    return &set->req->server->config->settings;
}

void zd_slice_set_close(struct zd_slice_set *set)
{
    if (set->state != NULL) {
        set->format->close(ZD_TAKE(set->state));
    }
    zd_free((void *)ZD_TAKE(set->answer));
}

/* ---- the format ---- */

static bool accepts(const struct zd_format *format, const struct zd_answer *answer)
{
    return format->takes_several &&
           zd_format_accepts(format, &answer->dtype, answer->rank, answer->shape);
}

static bool accepts_named(const struct zd_slice_set *set, const struct zd_format *format)
{
    for (uint32_t i = 0; i < set->n_named; i++) {
        if (!accepts(format, &slice_at(set, i)->answer)) {
            return false;
        }
    }
    return true;
}

/* By its name, else the one that Accept prefers: npz among equals, then the first by name. */
static const struct zd_format *choose(const struct zd_slice_set *set)
{
    const struct zd_slice_params *ask = ask_of(set);
    const struct zd_format *best = NULL;
    uint32_t best_quality = 0;
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        const struct zd_format *format = zd_formats[i];
        if (!accepts_named(set, format)) {
            continue;
        }
        if (ask->has_format) {
            best = zd_span_is(zd_text_span(&ask->format), format->name) ? format : best;
            continue;
        }
        const uint32_t quality =
            zd_accept_quality(zd_dependence_accept(set->req), format->media_type);
        const bool is_default = strcmp(format->name, DEFAULT_NAME) == 0;
        if (quality > best_quality || (quality == best_quality && quality > 0 && is_default)) {
            best = format;
            best_quality = quality;
        }
    }
    return best;
}

static enum zd_next refuse_format(struct zd_slice_set *set, const char *why)
{
    const char *allowed[FORMATS_MAX + 1];
    size_t n = 0;
    const bool by_name = ask_of(set)->has_format;
    for (size_t i = 0; zd_formats[i] != NULL && n < FORMATS_MAX; i++) {
        const struct zd_format *format = zd_formats[i];
        if (format != set->format && accepts_named(set, format)) {
            allowed[n++] = by_name ? format->name : format->media_type;
        }
    }
    allowed[n] = NULL;
    const struct zd_problem problem = {.code = "not_acceptable", .detail = why, .allowed = allowed};
    return zd_respond_problem(set->req, &problem);
}

/* Coordinates that the format cannot express stay out. */
static void drop_coordinates(struct zd_slice_set *set)
{
    uint32_t n = set->n_named;
    for (uint32_t i = set->n_named; i < set->n_parts; i++) {
        struct zd_slice_set_part part = set->part[i];
        if (accepts(set->format, &part.slice->answer)) {
            set->part[n++] = part;
        } else {
            zd_slice_read_end(&part.slice->read);
            zd_free(part.path);
        }
    }
    set->n_parts = n;
}

/* ---- limits ---- */

/* Sums of the read and the answered elements of all slices. */
struct sum {
    uint64_t n_bytes;  /* as slices count: read, or answered */
    uint64_t n_joined; /* that are read where several elements become one */
    uint64_t n_chunks;
};

static void add(uint64_t *sum, uint64_t n)
{
    if (ckd_add(sum, *sum, n)) {
        *sum = UINT64_MAX;
    }
}

static struct sum sum_of(const struct zd_slice_set *set)
{
    struct sum sum = {0};
    for (uint32_t i = 0; i < set->n_parts; i++) {
        const struct zd_slice *slice = slice_at(set, i);
        const struct zd_slice_view view = zd_slice_read_view(&slice->read);
        const bool joins = zd_slice_result_joins(&slice->result);
        const uint64_t n_read = zd_slice_view_bytes(&view);
        const uint64_t n = zd_slice_result_bytes(&slice->result);
        add(&sum.n_bytes, joins ? n : zd_max_u64(n, n_read));
        add(&sum.n_joined, joins ? n_read : 0);
        add(&sum.n_chunks, zd_slice_view_chunks(&view));
    }
    return sum;
}

static enum zd_status check_limit(
    uint64_t n, uint64_t most, const char *what, const char *setting, struct zd_error *err)
{
    return n <= most ? ZD_OK
                     : zd_fail_limit(err, most, n,
                           "the arrays have %llu %s in total; %s is %llu: request fewer arrays, or "
                           "smaller selections",
                           (unsigned long long)n, what, setting, (unsigned long long)most);
}

/* Compared as one slice is, before any chunk is touched. */
static enum zd_status check_limits(const struct zd_slice_set *set, struct zd_error *err)
{
    const struct zd_settings *settings = settings_of(set);
    const struct sum sum = sum_of(set);
    ZD_TRY(
        check_limit(sum.n_bytes, settings->limits_slice_bytes, "bytes", "limits.slice_bytes", err));
    ZD_TRY(check_limit(sum.n_joined, settings->limits_stats_bytes, "bytes to be reduced",
        "limits.stats_bytes", err));
    return check_limit(
        sum.n_chunks, settings->limits_slice_chunks, "chunks", "limits.slice_chunks", err);
}

/* ---- one dimension has one length ---- */

/* Whether dimension d of a part is as long as that of the same name in the parts before. */
static enum zd_status check_length(
    const struct zd_slice_set *set, uint32_t part, uint32_t d, struct zd_error *err)
{
    const struct zd_answer *answer = &slice_at(set, part)->answer;
    const char *name = zd_format_answer_dimension(answer, d);
    for (uint32_t i = 0; name != NULL && i < part; i++) {
        const struct zd_answer *before = &slice_at(set, i)->answer;
        for (uint32_t k = 0; k < before->rank; k++) {
            const char *other = zd_format_answer_dimension(before, k);
            if (other != NULL && strcmp(name, other) == 0 && before->shape[k] != answer->shape[d]) {
                return zd_fail(err, ZD_UNSUPPORTED,
                    "dimension '%.100s' has %llu elements in '%.100s' and %llu in '%.100s'; in a "
                    "netCDF file a dimension has one length",
                    name, (unsigned long long)before->shape[k], before->name,
                    (unsigned long long)answer->shape[d], answer->name);
            }
        }
    }
    return ZD_OK;
}

static enum zd_status check_lengths(const struct zd_slice_set *set, struct zd_error *err)
{
    for (uint32_t i = 0; set->format->has_dimensions && i < set->n_named; i++) {
        for (uint32_t d = 0; d < slice_at(set, i)->answer.rank; d++) {
            ZD_TRY(check_length(set, i, d, err));
        }
    }
    return ZD_OK;
}

/* ---- what they are together ---- */

static enum zd_status add_answers(struct zd_slice_set *set, struct zd_error *err)
{
    const struct zd_json *attributes = set->is_of_one ? NULL : set->node->meta->attributes;
    set->answer = (const struct zd_answer **)zd_alloc_zero(set->n_parts, sizeof *set->answer);
    if (set->answer == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the answers of several arrays");
    }
    set->shared.answers =
        (struct zd_answers){.at = set->answer, .n = set->n_parts, .attributes = attributes};
    for (uint32_t i = 0; i < set->n_parts; i++) {
        struct zd_slice *slice = slice_at(set, i);
        slice->format = set->format;
        slice->answer.all = &set->shared.answers;
        slice->is_first = i == 0;
        slice->is_last = i + 1 == set->n_parts;
        set->answer[i] = &slice->answer;
    }
    return ZD_OK;
}

/* How long the body is, or may be. */
static void measure(struct zd_slice_set *set)
{
    const struct zd_answer *first = set->answer[0];
    uint64_t n_bytes = 0;
    uint64_t text_max = 0;
    bool is_variable = false;
    set->length_is_known = set->format->size != NULL && set->format->size(first, &set->length);
    for (uint32_t i = 0; i < set->n_parts; i++) {
        const struct zd_slice *slice = slice_at(set, i);
        is_variable = is_variable || zd_dtype_is_variable(&slice->answer.dtype);
        if (ckd_add(&n_bytes, n_bytes, zd_slice_wanted_bytes(slice)) ||
            ckd_add(&text_max, text_max, zd_format_answer_text_max(&slice->answer)) ||
            ckd_add(&text_max, text_max, (uint64_t)MEMBER_BYTES)) {
            n_bytes = UINT64_MAX;
            text_max = SIZE_MAX;
            break;
        }
    }
    n_bytes = set->length_is_known ? set->length : n_bytes;
    set->shared.text_max = set->length_is_known ? set->length : text_max;
    /* The size of elements of variable length is unknown until they are read. */
    set->shared.is_large = is_variable || n_bytes > settings_of(set)->http_stream_bytes;
}

static enum zd_next step_headers(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    struct zd_slice *first = slice_at(set, 0);
    struct zd_headers *headers = &first->read.headers;
    if (set->is_of_one) {
        zd_slice_add_headers(first);
    } else {
        zd_headers_add_file(headers, zd_node_name(set->node), set->format->extension);
    }
    req->step = zd_slice_set_survey;
    return ZD_NEXT;
}

/* Everything that can be refused is refused here. */
static enum zd_status plan_all(struct zd_slice_set *set, struct zd_error *err)
{
    ZD_TRY(check_lengths(set, err));
    ZD_TRY(check_limits(set, err));
    zd_slice_set_close(set);
    ZD_TRY(add_answers(set, err));
    struct zd_answer first = *set->answer[0];
    ZD_TRY(zd_format_open(set->format, &first, err));
    zd_format_close(set->format, &first);
    measure(set);
    for (uint32_t i = 0; i < set->n_parts; i++) {
        struct zd_slice_read *read = &slice_at(set, i)->read;
        zd_seen_objects_done(&read->seen);
        ZD_TRY(zd_seen_objects_init(&read->seen, read->node->layout, &read->selection, err));
    }
    return ZD_OK;
}

enum zd_next zd_slice_set_prepare(struct zd_request *req)
{
    struct zd_slice_set *set = zd_slice_set_of(req);
    struct zd_error err = {0};
    zd_json_unref(ZD_TAKE(req->json)); /* not to be held while the request waits for memory */
    set->format = set->is_of_one ? set->format : choose(set);
    if (set->format == NULL) {
        return refuse_format(set, "that format cannot hold these arrays together");
    }
    drop_coordinates(set);
    (void)zd_slice_set_take(set, 0);
    if (set->is_of_one && set->n_parts == 1) {
        return zd_slice_set_go_alone(set);
    }
    const enum zd_status status = plan_all(set, &err);
    if (status == ZD_UNSUPPORTED) {
        return refuse_format(set, err.text);
    }
    if (status != ZD_OK) {
        return zd_respond_error(req, NULL, &err);
    }
    zd_request_set_node(req, set->node);
    return zd_request_want_parent_groups(req, step_headers);
}
