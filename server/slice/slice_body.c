/* The elements of a slice that is written, out of the body of its request. */
#include "server/slice/slice_body.h"

#include <string.h>

#include "core/base/num.h"
#include "core/grid/utf32.h"
#include "core/grid/variable.h"
#include "core/grid/widen.h"
#include "server/request/admit.h"
#include "server/request/body.h"
#include "server/request/connection.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define DEFAULT_TYPE    "application/octet-stream"
#define TYPES_MAX       8           /* media types that can be read */
#define PIECE_BYTES     (16U << 10) /* of text that is read at once */
#define HEAD_ROOM_BYTES PIECE_BYTES /* room for a head, and for elements that are narrowed */
#define WANT_PART       2           /* of the window, received at once */
#define LIST_BYTES_MAX  1024        /* 32 numbers of 20 digits */

static void refuse_type(struct zd_request *req, const char *content_type)
{
    const char *allowed[TYPES_MAX + 1] = {NULL};
    struct zd_error err = {0};
    size_t n = 0;
    for (size_t i = 0; zd_formats[i] != NULL && n < TYPES_MAX; i++) {
        if (zd_format_is_readable(zd_formats[i])) {
            allowed[n++] = zd_formats[i]->media_type;
        }
    }
    err.status = zd_fail_expected(&err, ZD_UNSUPPORTED, NULL, content_type,
        "media type %s is not supported for elements", content_type);
    const struct zd_problem problem = {
        .code = "unsupported_media_type", .err = &err, .allowed = allowed};
    zd_respond_problem(req, &problem);
}

const struct zd_format *zd_slice_body_format(struct zd_request *req)
{
    const char *sent = zd_connection_header(req, "Content-Type");
    const char *type = sent == NULL ? DEFAULT_TYPE : sent;
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        if (zd_format_is_readable(zd_formats[i]) &&
            zd_body_is_type(type, zd_formats[i]->media_type)) {
            return zd_formats[i];
        }
    }
    refuse_type(req, type);
    return NULL;
}

enum zd_status zd_slice_body_check_dtype(
    const struct zd_format *format, const struct zd_dtype *dtype, struct zd_error *err)
{
    return zd_dtype_is_variable(dtype) && format->read_text == NULL
               ? zd_fail(
                     err, ZD_UNSUPPORTED, "send elements of %s as application/json", dtype->name)
               : ZD_OK;
}

uint64_t zd_slice_body_variable_bytes(const struct zd_slice_body *body)
{
    const struct zd_upload *upload = &body->req->upload;
    const uint64_t unknown = body->req->server->config->settings.limits_body_bytes;
    const uint64_t bytes = upload->has_length ? upload->length : unknown;
    return zd_dtype_is_variable(body->dtype) ? bytes : 0;
}

void zd_slice_body_init(struct zd_slice_body *body, struct zd_request *req,
    const struct zd_format *format, const struct zd_dtype *dtype)
{
    *body = (struct zd_slice_body){.req = req, .format = format, .dtype = dtype};
}

void zd_slice_body_done(struct zd_slice_body *body)
{
    zd_text_reader_done(&body->reader);
    zd_free(body->piece);
    *body = (struct zd_slice_body){0};
}

void zd_slice_body_expect(
    struct zd_slice_body *body, uint32_t rank, const uint64_t *shape, bool is_single)
{
    body->rank = is_single ? 0 : rank;
    body->is_single = is_single;
    memcpy(body->shape, shape, body->rank * sizeof *shape);
    const bool overflows = zd_product_overflows(&body->n_elements, body->shape, body->rank);
    assert(!overflows); /* the limits were checked */
    (void)overflows;
}

/* ---- comparing the body with what is expected ---- */

/* The size of an element in the body. */
static uint64_t element_bytes(const struct zd_slice_body *body)
{
    return zd_widen_dtype(body->dtype).bytes;
}

static uint64_t data_bytes(const struct zd_slice_body *body)
{
    return body->n_elements * element_bytes(body);
}

static enum zd_status bad_bytes(
    const struct zd_slice_body *body, const char *relation, uint64_t found, struct zd_error *err)
{
    const unsigned long long expected = data_bytes(body);
    const enum zd_status failed =
        zd_fail(err, ZD_INVALID, "the body has %s%llu bytes%s, expected %llu: %llu elements of %s",
            relation, (unsigned long long)found, body->head.bytes > 0 ? " of elements" : "",
            expected, (unsigned long long)body->n_elements, body->dtype->name);
    zd_fact_expected(err, "%llu bytes", expected);
    zd_fact_found(err, "%s%llu bytes", relation, (unsigned long long)found);
    return failed;
}

enum zd_status zd_slice_body_check_length(const struct zd_slice_body *body, struct zd_error *err)
{
    const struct zd_upload *upload = &body->req->upload;
    const bool has_head = body->format->head != NULL; /* which says more of what is wrong */
    if (!upload->has_length || has_head || body->format->read_text != NULL) {
        return ZD_OK;
    }
    return upload->length == data_bytes(body) ? ZD_OK : bad_bytes(body, "", upload->length, err);
}

static void add_shape(struct zd_text *text, const uint64_t *shape, uint32_t rank)
{
    zd_text_add(text, "(");
    zd_format_add_lengths(text, shape, rank);
    zd_text_add(text, ")");
}

static enum zd_status bad_shape(const struct zd_slice_body *body, struct zd_error *err)
{
    ZD_SCOPED_TEXT(expected, LIST_BYTES_MAX);
    ZD_SCOPED_TEXT(found, LIST_BYTES_MAX);
    add_shape(&expected, body->shape, body->rank);
    add_shape(&found, body->head.shape, body->head.rank);
    return zd_fail_expected(err, ZD_INVALID, expected.at, found.at,
        "the body has shape %s, but the slice has shape %s", found.at, expected.at);
}

static bool is_of_one(const struct zd_body_head *head)
{
    uint64_t n = 0;
    return !zd_product_overflows(&n, head->shape, head->rank) && n == 1;
}

/* Whether both orders are the same: at most one dimension is longer than 1. */
static bool has_one_order(const struct zd_body_head *head)
{
    uint32_t n_long = 0;
    for (uint32_t d = 0; d < head->rank; d++) {
        n_long += head->shape[d] > 1;
    }
    return n_long <= 1;
}

static enum zd_status judge_head(const struct zd_slice_body *body, struct zd_error *err)
{
    const struct zd_body_head *head = &body->head;
    const bool is_same =
        body->is_single ? is_of_one(head)
                        : head->rank == body->rank && memcmp(head->shape, body->shape,
                                                          body->rank * sizeof *body->shape) == 0;
    if (head->has_shape && !is_same) {
        return bad_shape(body, err);
    }
    if (head->is_reversed && !has_one_order(head)) {
        return zd_fail_expected(err, ZD_INVALID, "fortran_order False", "True",
            "the body has Fortran order: send it in C order");
    }
    const struct zd_upload *upload = &body->req->upload;
    const uint64_t found = upload->length - head->bytes;
    return upload->has_length && found != data_bytes(body) ? bad_bytes(body, "", found, err)
                                                           : ZD_OK;
}

/* ---- receiving ---- */

static void start_call(struct zd_slice_body *body)
{
    body->waits = false;
    body->is_done = true;
}

/* The call is made again once some of n bytes have come. */
static void want(struct zd_slice_body *body, uint64_t n)
{
    const struct zd_upload *upload = &body->req->upload;
    const uint64_t most = zd_max_u64(upload->window->cap / WANT_PART, 1);
    const size_t wanted = (size_t)zd_max_u64(zd_min_u64(n, most), 1);
    body->waits = zd_body_stream_want(body->req, wanted) == ZD_WAIT;
    body->is_done = false;
}

static enum zd_status make_room(struct zd_slice_body *body, size_t len, struct zd_error *err)
{
    if (body->piece == NULL) {
        body->piece = zd_alloc(len);
    }
    return body->piece == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory to read the body") : ZD_OK;
}

/* ---- the head ---- */

static enum zd_status receive_head(struct zd_slice_body *body, struct zd_error *err)
{
    const size_t n_missing = body->head.bytes - body->piece_len;
    const size_t n = zd_body_stream_take(body->req, body->piece + body->piece_len, n_missing);
    body->piece_len += n;
    if (n == 0 && zd_upload_is_over(&body->req->upload)) {
        return zd_fail(
            err, ZD_INVALID, "the body ends within its header, after %zu bytes", body->piece_len);
    }
    if (n == 0) {
        want(body, n_missing);
    }
    return ZD_OK;
}

static enum zd_status read_head(struct zd_slice_body *body, struct zd_error *err)
{
    body->has_head = body->has_head || body->format->read_head == NULL;
    ZD_TRY(body->has_head ? ZD_OK : make_room(body, HEAD_ROOM_BYTES, err));
    while (!body->has_head && body->is_done) {
        const struct zd_span head = {.ptr = body->piece, .len = body->piece_len};
        const enum zd_status status = body->format->read_head(body->dtype, head, &body->head, err);
        if (status == ZD_AGAIN) {
            ZD_TRY(receive_head(body, err));
        } else {
            ZD_TRY(status);
            body->has_head = true;
            body->piece_len = 0;
        }
    }
    return ZD_OK;
}

enum zd_status zd_slice_body_begin(struct zd_slice_body *body, struct zd_error *err)
{
    start_call(body);
    if (body->format->read_text != NULL) {
        zd_text_reader_init(&body->reader, body->dtype, body->rank, body->shape);
        zd_text_reader_allow(&body->reader, zd_slice_body_variable_bytes(body));
        body->reader.answer = body->answer.meta == NULL ? NULL : &body->answer;
        return make_room(body, PIECE_BYTES, err);
    }
    ZD_TRY(read_head(body, err));
    return body->has_head ? judge_head(body, err) : ZD_OK;
}

/* ---- bodies of unknown length ---- */

bool zd_slice_body_is_measured_late(const struct zd_slice_body *body)
{
    return body->format->read_text != NULL || body->format->head != NULL;
}

uint64_t zd_slice_body_whole_bytes(const struct zd_slice_body *body)
{
    const struct zd_request *req = body->req;
    const uint64_t bytes_max =
        zd_admit_flight_bytes(req, req->server->config->settings.limits_write_bytes);
    const uint64_t bytes = data_bytes(body);
    return body->is_append && body->format->read_text == NULL && bytes < bytes_max ? bytes + 1 : 0;
}

size_t zd_slice_body_window_bytes(const struct zd_slice_body *body)
{
    const struct zd_upload *upload = &body->req->upload;
    const uint64_t most = body->req->server->config->settings.http_stream_bytes;
    const uint64_t bytes = upload->has_length ? zd_min_u64(upload->length, most) : most;
    return zd_max_u64(zd_max_u64(bytes, zd_slice_body_whole_bytes(body)), 1);
}

enum zd_status zd_slice_body_ask(
    const struct zd_slice_body *body, uint64_t bytes_max, struct zd_error *err)
{
    const size_t bytes = zd_min_u64(zd_slice_body_window_bytes(body), bytes_max);
    return zd_body_stream_ask(body->req, bytes, err);
}

/* Elements of one step along the dimension; false: that many there cannot be. */
static bool step_elements(const struct zd_slice_body *body, uint32_t dim, uint64_t *ret_n)
{
    uint64_t shape[ZD_RANK_MAX];
    memcpy(shape, body->shape, body->rank * sizeof *shape);
    shape[dim] = 1;
    return !zd_product_overflows(ret_n, shape, body->rank) &&
           !ckd_mul(ret_n, *ret_n, element_bytes(body));
}

static enum zd_status set_length(
    struct zd_slice_body *body, uint32_t dim, uint64_t length, struct zd_error *err)
{
    body->shape[dim] = length;
    body->is_measured = true;
    return zd_product_overflows(&body->n_elements, body->shape, body->rank)
               ? zd_fail(err, ZD_TOO_LARGE, "the body has more than 2^64 elements")
               : ZD_OK;
}

static enum zd_status measure_bytes(struct zd_slice_body *body, uint32_t dim, struct zd_error *err)
{
    const struct zd_upload *upload = &body->req->upload;
    uint64_t each = 0;
    if (!upload->has_length) {
        return zd_fail_expected(
            err, ZD_INVALID, "Content-Length", NULL, "appending raw bytes requires Content-Length");
    }
    const bool fits = step_elements(body, dim, &each);
    if (fits && each == 0) {
        return zd_fail_expected(err, ZD_INVALID, "npy or json", NULL,
            "the appended length cannot be inferred from raw bytes, because another dimension has "
            "length 0: send npy or json");
    }
    if (!fits || upload->length % each != 0) {
        const enum zd_status failed =
            zd_fail(err, ZD_INVALID, "the body has %llu bytes, expected a multiple of %llu",
                (unsigned long long)upload->length, (unsigned long long)each);
        zd_fact_expected(err, "a multiple of %llu bytes", (unsigned long long)each);
        zd_fact_found(err, "%llu bytes", (unsigned long long)upload->length);
        return failed;
    }
    return set_length(body, dim, upload->length / each, err);
}

static enum zd_status measure_head(struct zd_slice_body *body, uint32_t dim, struct zd_error *err)
{
    ZD_TRY(read_head(body, err));
    if (!body->has_head) {
        return ZD_OK;
    }
    if (body->head.rank != body->rank) {
        return bad_shape(body, err);
    }
    ZD_TRY(set_length(body, dim, body->head.shape[dim], err));
    return judge_head(body, err);
}

/* In text, nesting gives the shape; the reader reports other errors. */
static enum zd_status measure_lists(struct zd_slice_body *body, uint32_t dim, struct zd_error *err)
{
    struct zd_json *parsed = NULL;
    ZD_TRY(zd_body_take_parsed(body->req, &body->piece, &parsed, err));
    ZD_AUTO(zd_json) json = parsed;
    const struct zd_json *list =
        zd_json_is(json, ZD_JSON_OBJECT) ? zd_json_member(json, "data") : json;
    for (uint32_t d = 0; d < dim; d++) {
        list = zd_json_element(list, 0);
    }
    return set_length(body, dim, zd_json_count(list), err);
}

/* Text is parsed whole. */
static enum zd_status receive_text(struct zd_slice_body *body, size_t max, struct zd_error *err)
{
    ZD_TRY(make_room(body, zd_max_u64(max + 1, PIECE_BYTES), err));
    size_t n = 1;
    while (n > 0) {
        n = zd_body_stream_take(
            body->req, body->piece + body->piece_len, max + 1 - body->piece_len);
        body->piece_len += n;
    }
    if (body->piece_len > max) {
        return zd_fail_limit(err, max, body->piece_len,
            "appended JSON must fit in memory; it exceeds limits.body_bytes (%zu)", max);
    }
    if (!zd_upload_is_over(&body->req->upload)) {
        want(body, PIECE_BYTES);
    }
    return ZD_OK;
}

static enum zd_status measure_text(struct zd_slice_body *body, uint32_t dim, struct zd_error *err)
{
    const struct zd_settings *settings = &body->req->server->config->settings;
    const size_t max = settings->limits_body_bytes;
    const struct zd_json_limits limits = {
        .bytes_max = max, .nodes_max = max, .depth_max = settings->limits_document_depth};
    if (!zd_body_is_parsed(body->req)) {
        ZD_TRY(receive_text(body, max, err));
        if (!body->is_done) {
            return ZD_OK;
        }
        if (zd_body_parse(body->req, &body->piece, body->piece_len, &limits) == ZD_WAIT) {
            body->waits = true;
            body->is_done = false;
            return ZD_OK;
        }
    }
    body->has_head = true;
    return measure_lists(body, dim, err);
}

enum zd_status zd_slice_body_measure(struct zd_slice_body *body, uint32_t dim, struct zd_error *err)
{
    start_call(body);
    if (body->format->read_text != NULL) {
        return measure_text(body, dim, err);
    }
    return body->format->head != NULL ? measure_head(body, dim, err)
                                      : measure_bytes(body, dim, err);
}

/* ---- elements ---- */

void zd_slice_body_aim(struct zd_slice_body *body, uint8_t *to, uint64_t n_elements)
{
    body->to = to;
    body->to_bytes = n_elements * body->dtype->bytes;
    body->got_bytes = 0;
    body->n_taken = 0;
    body->reader.to = to;
    body->reader.n_room = n_elements;
}

/* The first of these elements that no array of the type may have; n_elements: there is none. */
static uint64_t find_bad(const struct zd_dtype *dtype, const uint8_t *elements, uint64_t n_elements)
{
    uint64_t i = 0;
    if (dtype->n_low_bits > 0) {
        for (; i < n_elements; i++) {
            uint8_t settled = elements[i];
            zd_dtype_settle(dtype, &settled, 1);
            if (settled != elements[i]) {
                break;
            }
        }
        return i;
    }
    if (dtype->kind != ZD_DTYPE_UTF32) {
        return n_elements;
    }
    while (i < n_elements && zd_utf32_is_valid((struct zd_span){
                                 .ptr = elements + i * dtype->bytes, .len = dtype->bytes})) {
        i++;
    }
    return i;
}

/* Elements that have come since the last call. */
static enum zd_status take_elements(struct zd_slice_body *body, struct zd_error *err)
{
    const struct zd_dtype *dtype = body->dtype;
    const uint64_t n = body->got_bytes / dtype->bytes - body->n_taken;
    uint8_t *from = body->to + body->n_taken * dtype->bytes;
    if (body->head.is_swapped) {
        zd_dtype_swap(dtype, from, from, n);
    }
    if (find_bad(dtype, from, n) < n) {
        return dtype->kind == ZD_DTYPE_UTF32
                   ? zd_fail_expected(err, ZD_INVALID,
                         "characters up to U+10FFFF, without surrogates", NULL,
                         "the body has an element of %s with a code that is not a character",
                         dtype->name)
                   : zd_fail_expected(err, ZD_INVALID, "integers within the range of the type",
                         NULL, "the body contains an integer outside the range of %s", dtype->name);
    }
    body->n_taken += n;
    return ZD_OK;
}

/* Floats that came, as small ones. */
static enum zd_status narrow_piece(
    struct zd_slice_body *body, const struct zd_dtype *wide, struct zd_error *err)
{
    const size_t n = body->piece_len / wide->bytes;
    if (body->head.is_swapped) {
        zd_dtype_swap(wide, body->piece, body->piece, n);
    }
    if (zd_widen_back(body->dtype, body->to + body->got_bytes, body->piece, n) < n) {
        return zd_fail_expected(err, ZD_INVALID, "numbers within the range of the type", NULL,
            "the body contains a number that %s cannot represent", body->dtype->name);
    }
    body->got_bytes += n * body->dtype->bytes;
    body->piece_len -= n * wide->bytes;
    memmove(body->piece, body->piece + n * wide->bytes, body->piece_len);
    return ZD_OK;
}

static enum zd_status fill_narrowed(struct zd_slice_body *body, struct zd_error *err)
{
    const struct zd_dtype wide = zd_widen_dtype(body->dtype);
    const uint64_t n_elements = (body->to_bytes - body->got_bytes) / body->dtype->bytes;
    ZD_TRY(make_room(body, HEAD_ROOM_BYTES, err));
    const size_t most = zd_min_u64(n_elements * wide.bytes, HEAD_ROOM_BYTES) - body->piece_len;
    const size_t n = zd_body_stream_take(body->req, body->piece + body->piece_len, most);
    body->piece_len += n;
    ZD_TRY(narrow_piece(body, &wide, err));
    if (n == 0 && zd_upload_is_over(&body->req->upload)) {
        return bad_bytes(body, "", body->req->upload.came_bytes - body->head.bytes, err);
    }
    if (n == 0) {
        want(body, most);
    }
    return ZD_OK;
}

static enum zd_status fill_bytes(struct zd_slice_body *body, struct zd_error *err)
{
    if (zd_widen_is_needed(body->dtype)) {
        return fill_narrowed(body, err);
    }
    const uint64_t n_missing = body->to_bytes - body->got_bytes;
    const size_t n = zd_body_stream_take(body->req, body->to + body->got_bytes, n_missing);
    body->got_bytes += n;
    ZD_TRY(take_elements(body, err));
    if (n < n_missing && zd_upload_is_over(&body->req->upload)) {
        return bad_bytes(body, "", body->req->upload.came_bytes - body->head.bytes, err);
    }
    if (n < n_missing) {
        want(body, n_missing - n);
    }
    return ZD_OK;
}

/* Read one piece of text. A text held whole is read in pieces, too, so that other requests have
 * their turn. */
static enum zd_status read_piece(
    struct zd_slice_body *body, bool *ret_is_over, struct zd_error *err)
{
    if (body->piece_at == body->piece_len) {
        body->piece_at = 0;
        body->piece_len = zd_body_stream_take(body->req, body->piece, PIECE_BYTES);
    }
    const struct zd_span piece = {.ptr = body->piece + body->piece_at,
        .len = zd_min_u64(body->piece_len - body->piece_at, PIECE_BYTES)};
    size_t n_used = 0;
    *ret_is_over = piece.len == 0 && zd_upload_is_over(&body->req->upload);
    if (*ret_is_over) {
        return zd_text_reader_end(&body->reader, err);
    }
    if (piece.len == 0) {
        want(body, PIECE_BYTES);
        return ZD_OK;
    }
    ZD_TRY(body->format->read_text(&body->reader, piece, &n_used, err));
    body->piece_at += n_used;
    return ZD_OK;
}

static enum zd_status fill_text(struct zd_slice_body *body, struct zd_error *err)
{
    bool is_over;
    ZD_TRY(read_piece(body, &is_over, err));
    body->got_bytes = body->to_bytes - body->reader.n_room * body->dtype->bytes;
    return ZD_OK;
}

enum zd_status zd_slice_body_fill(struct zd_slice_body *body, struct zd_error *err)
{
    start_call(body);
    if (body->got_bytes < body->to_bytes) {
        ZD_TRY(body->format->read_text != NULL ? fill_text(body, err) : fill_bytes(body, err));
    }
    body->is_done = body->got_bytes == body->to_bytes;
    return ZD_OK;
}

enum zd_status zd_slice_body_settle(
    struct zd_slice_body *body, struct zd_buf **elements, struct zd_error *err)
{
    struct zd_buf *packed;
    if (!zd_dtype_is_variable(body->dtype)) {
        return ZD_OK;
    }
    const uint64_t n = body->to_bytes / body->dtype->bytes;
    const struct zd_span bytes = zd_text_span(&body->reader.bytes);
    ZD_TRY(zd_variable_join((*elements)->data, n, bytes, &packed, err));
    zd_buf_unref(*elements);
    *elements = packed;
    zd_text_clear(&body->reader.bytes);
    return ZD_OK;
}

enum zd_status zd_slice_body_end(struct zd_slice_body *body, struct zd_error *err)
{
    bool is_over = body->format->read_text == NULL;
    start_call(body);
    while (!is_over && body->is_done) {
        ZD_TRY(read_piece(body, &is_over, err));
    }
    if (body->format->read_text != NULL || zd_upload_is_over(&body->req->upload)) {
        return ZD_OK;
    }
    if (body->req->upload.held_bytes > 0) {
        return bad_bytes(body, "more than ", data_bytes(body), err);
    }
    want(body, 1);
    return ZD_OK;
}
