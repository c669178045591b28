/* Problem documents (RFC 9457): the one place that turns a status into HTTP. */
#include "server/http/problem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/aside.h"
#include "core/base/num.h"
#include "core/base/scan.h"

#define UNAVAILABLE 503
#define TYPE_BYTES  64 /* of a problem type: the longest code and what stands before it */

const struct zd_problem_kind zd_problem_kinds[] = {
    {"bad_request", 400, "The request is malformed"},
    {"bad_path", 400, "The path is malformed"},
    {"bad_slice", 400, "The slice is malformed"},
    {"bad_parameter", 400, "A parameter value is invalid"},
    {"unknown_parameter", 400, "A parameter is unknown, repeated or malformed"},
    {"out_of_bounds", 400, "An index is out of bounds"},
    {"not_an_array", 400, "The node is not an array"},
    {"not_a_group", 400, "The node is not a group"},
    {"bad_body", 400, "The body is malformed"},
    {"not_representable", 400, "The value cannot be represented in the data type"},
    {"no_coordinate", 400, "The dimension has no coordinate"},
    {"value_not_found", 400, "The coordinate has no such value"},
    {"not_monotonic", 400, "The coordinate is not monotonic"},
    {"unauthorized", 401, "A credential is required"},
    {"forbidden", 403, "The credential does not allow this"},
    {"no_such_route", 404, "There is no such resource"},
    {"dataset_not_found", 404, "There is no such dataset"},
    {"node_not_found", 404, "There is no such node"},
    {"key_not_found", 404, "There is no such key"},
    {"chunk_absent", 404, "The chunk is not stored"},
    {"method_not_allowed", 405, "The method is not allowed here"},
    {"read_only", 405, "The dataset is read-only"},
    {"not_acceptable", 406, "No acceptable format"},
    {"request_timeout", 408, "The request timed out"},
    {"shape_mismatch", 409, "The shape does not match"},
    {"changed", 409, "The data kept changing while it was read"},
    {"chunks_exist", 409, "The change would orphan stored chunks"},
    {"not_empty", 409, "The node has children"},
    {"parent_is_array", 409, "The parent is an array"},
    {"precondition_failed", 412, "A precondition failed"},
    {"too_large", 413, "A limit is exceeded"},
    {"uri_too_long", 414, "The request target is too long"},
    {"unsupported_media_type", 415, "The body's media type is not supported"},
    {"range_not_satisfiable", 416, "The range is not satisfiable"},
    {"misdirected", 421, "Unknown Host header"},
    {"invalid_metadata", 422, "The metadata is invalid"},
    {"unsupported_extension", 422, "An extension is not supported"},
    {"unsupported_codec", 422, "A codec is not supported"},
    {"unsupported_data_type", 422, "The data type is not supported"},
    {"unsupported_grid", 422, "The chunk grid is not supported"},
    {"precondition_required", 428, "A precondition is required"},
    {"rate_limited", 429, "Too many requests"},
    {"headers_too_large", 431, "The request head is too large"},
    {"corrupt_chunk", 500, "A stored chunk is corrupt"},
    {"internal", 500, "Internal server error"},
    {"store_error", 502, "The store failed"},
    {"overloaded", 503, "The server or its store is overloaded"},
    {"draining", 503, "The server is shutting down"},
    {"store_timeout", 504, "The store did not answer in time"},
    {"store_unsupported", 501, "The store does not support this request"},
    {"no_space", 507, "The store is full"},
    {NULL, 0, NULL},
};

/* NULL: no such code. */
static const struct zd_problem_kind *find_kind(const char *code)
{
    const struct zd_problem_kind *kind = zd_problem_kinds;
    while (kind->code != NULL && strcmp(kind->code, code) != 0) {
        kind++;
    }
    return kind->code == NULL ? NULL : kind;
}

const struct zd_problem_kind *zd_problem_kind(const char *code)
{
    const struct zd_problem_kind *kind = find_kind(code);
    assert(kind != NULL);
    return kind;
}

const struct zd_problem_kind *zd_problem_kind_of(const struct zd_problem *problem)
{
    static const struct zd_problem_kind others[] = {
        {"corrupt_chunk", 422, "The bytes are not a valid chunk"},
        {"store_error", 503, "A store is unavailable or stopped accepting writes"},
    };
    const bool is_gone = problem->err != NULL && problem->err->status == ZD_GONE;
    const unsigned http_status = is_gone ? 503 : problem->http_status;
    for (size_t i = 0; i < ZD_COUNT_OF(others); i++) {
        if (http_status == others[i].http_status && strcmp(problem->code, others[i].code) == 0) {
            return &others[i];
        }
    }
    return zd_problem_kind(problem->code);
}

const char *zd_problem_code_of(enum zd_status status)
{
    static const char *const codes[] = {
        [ZD_OK] = "internal",
        [ZD_NOT_MODIFIED] = "internal",
        [ZD_INTERNAL] = "internal",
        [ZD_INVALID] = "bad_request",
        [ZD_UNSUPPORTED] = "unsupported_codec",
        [ZD_CORRUPT] = "corrupt_chunk",
        [ZD_OUT_OF_BOUNDS] = "out_of_bounds",
        [ZD_TOO_LARGE] = "too_large",
        [ZD_NOT_FOUND] = "key_not_found",
        [ZD_PRECONDITION] = "precondition_failed",
        [ZD_READ_ONLY] = "read_only",
        [ZD_STORE] = "store_error",
        [ZD_GONE] = "store_error",
        [ZD_TIMEOUT] = "store_timeout",
        [ZD_UNABLE] = "store_unsupported",
        [ZD_PAUSED] = "overloaded",
        [ZD_NO_SPACE] = "no_space",
        [ZD_NO_MEMORY] = "overloaded",
        [ZD_AGAIN] = "overloaded",
        [ZD_CANCELLED] = "draining", /* a shutdown drops queued work */
    };
    return codes[status];
}

static enum zd_unavailable unavailable_of(enum zd_status status)
{
    if (status == ZD_PAUSED) {
        return ZD_UNAVAILABLE_PAUSED;
    }
    return status == ZD_AGAIN ? ZD_UNAVAILABLE_CONTENTION : ZD_UNAVAILABLE_NO_MEMORY;
}

enum zd_unavailable zd_problem_unavailable(const struct zd_problem *problem)
{
    if (problem->unavailable != ZD_UNAVAILABLE_BY_CODE) {
        return problem->unavailable;
    }
    if (strcmp(problem->code, "overloaded") == 0) {
        return problem->err == NULL ? ZD_UNAVAILABLE_NO_MEMORY
                                    : unavailable_of(problem->err->status);
    }
    if (strcmp(problem->code, "store_error") == 0) {
        return ZD_UNAVAILABLE_STORE;
    }
    assert(strcmp(problem->code, "draining") == 0);
    return ZD_UNAVAILABLE_DRAINING;
}

const char *zd_problem_unavailable_name(enum zd_unavailable why)
{
    static const char *const names[ZD_UNAVAILABLES] = {
        [ZD_UNAVAILABLE_BY_CODE] = "",
        [ZD_UNAVAILABLE_QUEUE_FULL] = "queue_full",
        [ZD_UNAVAILABLE_WAIT_EXPECTED] = "wait_expected",
        [ZD_UNAVAILABLE_WAIT_OVER] = "wait_over",
        [ZD_UNAVAILABLE_BODIES] = "bodies",
        [ZD_UNAVAILABLE_CONNECTIONS] = "connections",
        [ZD_UNAVAILABLE_READERS] = "event_readers",
        [ZD_UNAVAILABLE_DRAINING] = "draining",
        [ZD_UNAVAILABLE_NO_MEMORY] = "no_memory",
        [ZD_UNAVAILABLE_STORE] = "store",
        [ZD_UNAVAILABLE_CONTENTION] = "contention",
        [ZD_UNAVAILABLE_PAUSED] = "store_paused",
    };
    return names[why];
}

/* Faults speak with the codes of the table where the table has one. */
static bool is_problem_code(const char *code)
{
    return strncmp(code, "unsupported_", 12) == 0 && strcmp(code, "unsupported_media_type") != 0;
}

const char *zd_problem_code_of_faults(const struct zd_faults *faults)
{
    if (faults->n_invalid > 0) {
        return "invalid_metadata";
    }
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        const bool may_be_code =
            fault->severity == ZD_FAULT_UNSUPPORTED && is_problem_code(fault->code);
        const struct zd_problem_kind *kind = may_be_code ? find_kind(fault->code) : NULL;
        if (kind != NULL) {
            return kind->code;
        }
    }
    return faults->out_of_memory ? "overloaded" : "unsupported_extension";
}

static void emit_text_if(struct zd_emit *emit, const char *name, const char *text)
{
    if (text != NULL) {
        zd_emit_member_string(emit, name, text);
    }
}

/* Facts are byte copies that may be cut inside a character: JSON is UTF-8 always. */
static void emit_fact(struct zd_emit *emit, const char *name, const char *fact)
{
    size_t len = strlen(fact);
    while (len > 0 && !zd_scan_is_utf8((struct zd_span){(const uint8_t *)fact, len})) {
        len--;
    }
    zd_emit_key(emit, name);
    zd_emit_string_span(emit, (struct zd_span){(const uint8_t *)fact, len});
}

static void emit_facts(struct zd_emit *emit, const struct zd_facts *facts, bool faults_say_names)
{
    if (facts->set & ZD_FACT_POINTER) {
        emit_fact(emit, "pointer", facts->pointer);
    }
    if (facts->set & ZD_FACT_DIM) {
        zd_emit_member_u64(emit, "dim", facts->dim);
    }
    if (facts->set & ZD_FACT_INDEX) {
        zd_emit_key(emit, "index");
        zd_emit_i64(emit, facts->index);
    }
    if (facts->set & ZD_FACT_SIZE) {
        zd_emit_member_u64(emit, "size", facts->size);
    }
    if (facts->set & ZD_FACT_LIMIT) {
        zd_emit_member_u64(emit, "limit", facts->limit);
    }
    if (facts->set & ZD_FACT_REQUESTED) {
        zd_emit_member_u64(emit, "requested", facts->requested);
    }
    if (facts->set & ZD_FACT_POSITION) {
        zd_emit_member_u64(emit, "position", facts->position);
    }
    if (facts->set & ZD_FACT_EXPECTED) {
        emit_fact(emit, "expected", facts->expected);
    }
    if (facts->set & ZD_FACT_FOUND) {
        emit_fact(emit, "found", facts->found);
    }
    if ((facts->set & ZD_FACT_NAME) && !faults_say_names) {
        zd_emit_member_array(emit, "names");
        zd_emit_string(emit, facts->name);
        zd_emit_array_end(emit);
    }
}

static bool was_named_before(const struct zd_faults *faults, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        const struct zd_fault *fault = &faults->item[k];
        if (fault->severity == ZD_FAULT_UNSUPPORTED && fault->name != NULL &&
            strcmp(fault->name, faults->item[i].name) == 0) {
            return true;
        }
    }
    return false;
}

void zd_problem_emit_names(const struct zd_faults *faults, struct zd_emit *emit)
{
    zd_emit_member_array(emit, "names");
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        if (fault->severity == ZD_FAULT_UNSUPPORTED && fault->name != NULL &&
            !was_named_before(faults, i)) {
            zd_emit_string(emit, fault->name);
        }
    }
    zd_emit_array_end(emit);
}

static void emit_errors(struct zd_emit *emit, const struct zd_faults *faults)
{
    zd_emit_member_array(emit, "errors");
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        if (fault->severity == ZD_FAULT_WARNING) {
            continue;
        }
        zd_emit_object(emit);
        emit_text_if(emit, "pointer", fault->pointer);
        zd_emit_member_string(emit, "code", fault->code);
        emit_text_if(emit, "detail", fault->detail);
        emit_text_if(emit, "expected", fault->expected);
        emit_text_if(emit, "found", fault->found);
        zd_emit_object_end(emit);
    }
    zd_emit_array_end(emit);
}

struct zd_problem zd_problem_without_facts(const struct zd_problem *problem)
{
    const unsigned http_status = zd_problem_kind_of(problem)->http_status;
    return (struct zd_problem){
        .code = problem->code,
        .http_status = http_status,
        .detail = "the change is refused; details are hidden, because the credential may not read "
                  "the stored data",
        .allow = problem->allow,
        .rate_limit = problem->rate_limit,
        .rate_limit_policy = problem->rate_limit_policy,
        .retry_after_s = problem->retry_after_s,
        .unavailable =
            http_status == UNAVAILABLE ? zd_problem_unavailable(problem) : ZD_UNAVAILABLE_BY_CODE,
    };
}

const char *zd_problem_detail(const struct zd_problem *problem)
{
    if (problem->detail != NULL) {
        return problem->detail;
    }
    return problem->err != NULL && problem->err->text[0] != '\0'
               ? problem->err->text
               : zd_problem_kind_of(problem)->title;
}

const char *zd_problem_public_detail(
    const struct zd_problem *problem, char room[ZD_PROBLEM_DETAIL_BYTES])
{
    const char *detail = zd_problem_detail(problem);
    if (strchr(detail, ZD_ASIDE_BEGIN) == NULL && strchr(detail, ZD_ASIDE_END) == NULL) {
        return detail;
    }
    (void)snprintf(room, ZD_PROBLEM_DETAIL_BYTES, "%s", detail);
    zd_aside_drop(room);
    return room;
}

static void emit_document(
    const struct zd_problem *problem, const char *instance, struct zd_emit *emit)
{
    const struct zd_problem_kind *kind = zd_problem_kind_of(problem);
    zd_emit_object(emit);
    char type[TYPE_BYTES];
    (void)snprintf(type, sizeof type, "urn:zarrd:problem:%s", kind->code);
    zd_emit_member_string(emit, "type", type);
    zd_emit_member_string(emit, "title", kind->title);
    zd_emit_member_u64(emit, "status", kind->http_status);
    char detail[ZD_PROBLEM_DETAIL_BYTES];
    emit_fact(emit, "detail", zd_problem_public_detail(problem, detail));
    zd_emit_member_string(emit, "instance", instance);
    zd_emit_member_string(emit, "code", kind->code);
    if (problem->err != NULL) {
        emit_facts(emit, &problem->err->facts, problem->faults != NULL);
    }
    if (problem->faults != NULL) {
        zd_problem_emit_names(problem->faults, emit);
        emit_errors(emit, problem->faults);
    }
    if (problem->allowed != NULL) {
        zd_emit_member_array(emit, "allowed");
        for (size_t i = 0; problem->allowed[i] != NULL; i++) {
            zd_emit_string(emit, problem->allowed[i]);
        }
        zd_emit_array_end(emit);
    }
    const struct zd_json *extra = problem->extra;
    for (void *at = zd_json_next(extra, NULL); at != NULL; at = zd_json_next(extra, at)) {
        zd_emit_member_json(emit, zd_json_iter_name(at), zd_json_iter_value(at));
    }
    zd_emit_object_end(emit);
}

void zd_problem_add(const struct zd_problem *problem, const char *instance, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, false);
    emit_document(problem, instance, &emit);
}

void zd_problem_add_pretty(
    const struct zd_problem *problem, const char *instance, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, true);
    emit_document(problem, instance, &emit);
}
