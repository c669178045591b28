/* Reading a slice: its length, its cost, and its body band by band. */
#include "server/slice/slice.h"

#include <string.h>

#include "core/base/num.h"
#include "core/grid/touch.h"
#include "core/grid/variable.h"
#include "core/grid/widen.h"
#include "server/request/admit.h"
#include "server/runtime/server.h"

#define ADD_NS              1 /* to add an element to a cell */
#define ENCODE_NS           60
#define COPIED_BYTES_PER_NS 2                   /* by formats that hardly encode */
#define TEXT_BYTES          16                  /* of most numbers, or less */
#define LIST_TEXT_TIMES     16                  /* text of numbers to their bytes, in lists */
#define VARIABLE_TEXT_BYTES (UINT64_C(8) << 20) /* of elements of any length, at once */

/* Parts of http.stream_bytes: what one band has, and the chunks on their way to it. */
#define BAND_PART   4
#define FLIGHT_PART 2

#define FLIGHT_BYTES_MAX (UINT64_C(64) << 20) /* decoded chunks held at once, not streamed */
#define JOINED_BYTES_MAX (UINT64_C(16) << 20) /* the same of what is reduced */

void zd_slice_release(struct zd_task *task)
{
    struct zd_slice *slice = ZD_CONTAINER(task, struct zd_slice, read.task);
    struct zd_server *server = slice->read.node->dataset->server;
    struct zd_slice_shared *shared = slice->shared;
    zd_fetch_release(&slice->read.fetch);
    zd_fetch_drop(&slice->read.fetch);
    zd_text_done(&slice->text);
    zd_buf_unref(slice->elements);
    zd_buf_unref(slice->body);
    zd_free(slice->column);
    if (slice->columns != NULL) {
        zd_slice_columns_release(slice->columns);
        zd_free(slice->columns);
    }
    zd_slice_read_done(&slice->read);
    zd_slice_result_done(&slice->result);
    if (slice->format != NULL && shared == NULL) {
        zd_format_close(slice->format, &slice->answer);
    }
    zd_slice_keep_spare(server, slice);
    if (shared != NULL && --shared->n_held == 0) {
        shared->release(shared);
    }
}

/* The size of an element of the answer. */
static uint64_t element_bytes(const struct zd_slice *slice)
{
    return slice->answer.dtype.bytes;
}

bool zd_slice_is_encoded(const struct zd_slice *slice)
{
    return zd_format_encodes(slice->format) || zd_widen_is_needed(&slice->answer.dtype);
}

static const struct zd_settings *settings_of(const struct zd_slice *slice)
{
    return &slice->read.node->dataset->server->config->settings;
}

static uint64_t target_bytes(const struct zd_slice *slice)
{
    const uint64_t stream_bytes = settings_of(slice)->http_stream_bytes;
    return zd_slice_is_large(slice) ? stream_bytes / BAND_PART : stream_bytes;
}

/* A text that is longer is streamed; so long can be one piece of it. */
static uint64_t variable_text_max(const struct zd_slice *slice)
{
    const uint64_t window = ZD_STREAM_WINDOW_TIMES * settings_of(slice)->http_stream_bytes;
    return zd_max_u64(window, VARIABLE_TEXT_BYTES);
}

/* So many numbers are the text of an element. */
static uint64_t texts_of_element(const struct zd_slice *slice)
{
    return slice->format->is_table ? slice->answer.rank + 1 : 1;
}

/* Time that encoding elements takes. */
static uint64_t encode_ns(const struct zd_slice *slice, uint64_t n_elements)
{
    return slice->format->is_binary ? n_elements * slice->answer.dtype.bytes / COPIED_BYTES_PER_NS
                                    : n_elements * ENCODE_NS * texts_of_element(slice);
}

uint64_t zd_slice_expect_ns(const struct zd_slice *slice)
{
    const struct zd_slice_view view = zd_slice_read_view(&slice->read);
    const uint64_t copy_ns = zd_slice_view_bytes(&view) / COPIED_BYTES_PER_NS;
    return copy_ns + (zd_slice_is_encoded(slice) ? encode_ns(slice, slice->answer.n_elements) : 0);
}

/* Elements that one piece of work encodes. */
static uint64_t work_elements(const struct zd_slice *slice)
{
    return slice->format->is_binary
               ? zd_max_u64(
                     ZD_WORKERS_PIECE_NS * COPIED_BYTES_PER_NS / slice->answer.dtype.bytes, 1)
               : zd_max_u64(ZD_WORKERS_PIECE_NS / (ENCODE_NS * texts_of_element(slice)), 1);
}

/* Its text is as long as it happens to be. */
static bool is_variable(const struct zd_slice *slice)
{
    return zd_dtype_is_variable(&slice->answer.dtype);
}

/* An estimate of the text of an element. */
static uint64_t text_bytes(const struct zd_slice *slice)
{
    return TEXT_BYTES * texts_of_element(slice);
}

static uint64_t piece_elements(const struct zd_slice *slice)
{
    const uint64_t n_left = slice->band.n_elements - slice->n_encoded;
    if (is_variable(slice)) {
        const uint8_t *elements = slice->made + slice->n_encoded * element_bytes(slice);
        const bool is_list = slice->answer.dtype.kind == ZD_DTYPE_LIST;
        return zd_variable_count(elements, n_left, text_bytes(slice),
            target_bytes(slice) / (is_list ? LIST_TEXT_TIMES : 1));
    }
    const uint64_t each =
        slice->format->is_binary ? zd_widen_dtype(&slice->answer.dtype).bytes : text_bytes(slice);
    return zd_min_u64(zd_max_u64(zd_slice_room_bytes(slice) / each, 1), n_left);
}

static void add_tail(struct zd_slice *slice)
{
    if (slice->format->tail != NULL) {
        slice->format->tail(&slice->answer, &slice->text);
    }
}

/* Encode the next elements of the band, for one piece of work. @return whether there are more */
static bool encode(struct zd_slice *slice)
{
    const uint64_t n = zd_min_u64(slice->encode_end - slice->n_encoded, work_elements(slice));
    const uint64_t first = slice->band.first + slice->n_encoded;
    const uint8_t *elements = slice->made + slice->n_encoded * element_bytes(slice);
    zd_format_band(slice->format, &slice->answer, first, n, elements, &slice->text);
    slice->n_encoded += n;
    if (first + n == slice->end) {
        add_tail(slice);
    }
    return slice->n_encoded < slice->encode_end;
}

/* The text becomes the body, or a piece of it. */
static void take_text(struct zd_slice *slice)
{
    slice->encoded = slice->format->is_binary ? zd_text_take_buf(&slice->text, &slice->body)
                                              : zd_text_buf(&slice->text, &slice->body);
    zd_text_clear(&slice->text);
}

static bool begins_body(const struct zd_slice *slice)
{
    return slice->shared == NULL || slice->is_first;
}

static bool ends_body(const struct zd_slice *slice)
{
    return slice->shared == NULL || slice->is_last;
}

/* All elements as far as encode_end are encoded. */
static void end_encoding(struct zd_slice *slice)
{
    const bool is_made = slice->band.first + slice->n_encoded == slice->end;
    if (slice->is_streamed) {
        take_text(slice);
        return;
    }
    slice->is_encoding = false;
    if (is_made && ends_body(slice)) {
        take_text(slice);
        zd_text_done(&slice->text);
    }
}

/* Work on one lot of chunks, and encode the band once it is complete. */
void zd_slice_work(struct zd_task *task)
{
    struct zd_slice *slice = ZD_CONTAINER(task, struct zd_slice, read.task);
    if (!slice->is_encoding) {
        task->job.has_more = zd_slice_result_work(&slice->result, &slice->read.fetch);
        slice->is_encoding = !task->job.has_more && slice->read.fetch.is_last &&
                             zd_slice_is_encoded(slice) && !slice->is_streamed &&
                             !slice->result.has_failed;
        slice->encode_end = slice->band.n_elements;
    }
    if (slice->is_encoding) {
        task->job.has_more = encode(slice);
        if (!task->job.has_more) {
            end_encoding(slice);
        }
    }
}

struct zd_slice *zd_slice_new(struct zd_request *req, const struct zd_slice_read_kind *kind)
{
    struct zd_slice *slice = zd_slice_take_spare(req->server);
    if (slice == NULL) {
        return NULL;
    }
    zd_slice_read_init(&slice->read, req, kind);
    zd_text_init(&slice->text, 0);
    return slice;
}

void zd_slice_cut(struct zd_slice *slice, uint64_t first, uint64_t len)
{
    const uint64_t element = element_bytes(slice);
    const uint64_t head = slice->head_bytes;
    const uint64_t last = first + len; /* within the length */
    slice->is_range = true;
    slice->range_first = first;
    slice->range_len = len;
    slice->begin = first <= head ? 0 : (first - head) / element;
    slice->end = last <= head ? 0 : zd_div_up(last - head, element);
    slice->begin = zd_min_u64(slice->begin, slice->end);
}

void zd_slice_uncut(struct zd_slice *slice)
{
    slice->is_range = false;
    slice->begin = 0;
    slice->end = slice->answer.n_elements;
}

uint64_t zd_slice_wanted_bytes(const struct zd_slice *slice)
{
    if (slice->length_is_known) {
        return slice->is_range ? slice->range_len : slice->length;
    }
    const uint64_t each = zd_max_u64(element_bytes(slice), text_bytes(slice));
    uint64_t n;
    return ckd_mul(&n, slice->answer.n_elements, each) ? UINT64_MAX : n;
}

bool zd_slice_is_large(const struct zd_slice *slice)
{
    return slice->shared != NULL ? slice->shared->is_large
                                 : slice->is_grown || zd_slice_wanted_bytes(slice) >
                                                          settings_of(slice)->http_stream_bytes;
}

/* Bands end with rows of chunks: a smaller band would decode the same chunks several times. A row
 * may exceed the window of a stream. */
static uint64_t band_elements(const struct zd_slice *slice)
{
    const struct zd_grid *grid = &zd_layout_leaf(slice->read.node->layout)->grid;
    /* Little is to be borrowed from chunks. */
    const uint64_t wanted = is_variable(slice) ? 1 : target_bytes(slice) / element_bytes(slice);
    const uint64_t row = zd_touch_row_elements(grid, &slice->result.blocks.places);
    const uint64_t n_left = slice->end - slice->begin;
    return zd_max_u64(zd_min_u64(zd_max_u64(wanted, row), n_left), 1);
}

static uint64_t band_bytes(const struct zd_slice *slice)
{
    return band_elements(slice) * element_bytes(slice);
}

uint64_t zd_slice_room_bytes(const struct zd_slice *slice)
{
    const uint64_t least = is_variable(slice) ? variable_text_max(slice) : TEXT_BYTES;
    return zd_slice_is_encoded(slice) ? zd_max_u64(target_bytes(slice), least) : band_bytes(slice);
}

/* Decoded chunks that may be held at once, on their way into the body. */
static uint64_t flight_bytes(const struct zd_slice *slice)
{
    if (zd_slice_result_joins(&slice->result)) { /* however little is answered */
        return zd_admit_flight_bytes(slice->read.task.req, JOINED_BYTES_MAX);
    }
    return zd_slice_is_large(slice) ? settings_of(slice)->http_stream_bytes / FLIGHT_PART
                                    : zd_admit_flight_bytes(slice->read.task.req, FLIGHT_BYTES_MAX);
}

/* A ceiling for the body of a format that encodes. */
static size_t encoded_max(const struct zd_slice *slice)
{
    if (is_variable(slice)) {
        return variable_text_max(slice);
    }
    if (slice->shared != NULL) {
        return slice->shared->text_max;
    }
    return slice->length_is_known ? slice->length : zd_format_answer_text_max(&slice->answer);
}

/* The body, or the window of a stream and the band on its way there. */
static uint64_t body_bytes(const struct zd_slice *slice)
{
    const uint64_t elements = zd_slice_is_encoded(slice) ? band_bytes(slice) : 0;
    if (is_variable(slice)) { /* streamed or not: it may turn out to be long */
        return 2 * variable_text_max(slice) + elements;
    }
    if (zd_slice_is_large(slice)) {
        const uint64_t window = ZD_STREAM_WINDOW_TIMES * settings_of(slice)->http_stream_bytes;
        return zd_max_u64(window, band_bytes(slice)) + elements;
    }
    if (zd_slice_is_encoded(slice)) {
        return encoded_max(slice) + elements;
    }
    return slice->head_bytes + (slice->end - slice->begin) * element_bytes(slice);
}

uint64_t zd_slice_held_bytes(const struct zd_slice *slice)
{
    const struct zd_slice_view view = zd_slice_read_view(&slice->read);
    const uint64_t n_parts = zd_slice_view_chunks(&view);
    return body_bytes(slice) + zd_slice_result_held_bytes(&slice->result, band_elements(slice)) +
           zd_fetch_held_bytes(slice->read.node, n_parts, flight_bytes(slice));
}

static enum zd_status begin_encoded(struct zd_slice *slice, uint64_t n_band, struct zd_error *err)
{
    slice->text.len_max = encoded_max(slice);
    if (begins_body(slice)) {
        zd_text_clear(&slice->text);
    }
    if (slice->shared == NULL) {
        ZD_TRY(zd_format_open(slice->format, &slice->answer, err));
    }
    if (slice->format->head != NULL) {
        slice->format->head(&slice->answer, &slice->text);
    }
    if (slice->elements == NULL) {
        const uint64_t n = zd_min_u64(n_band, slice->end);
        slice->elements = zd_buf_new(n * element_bytes(slice));
    }
    return slice->elements == NULL ? zd_fail(err, ZD_NO_MEMORY, "no memory for a band of the slice")
                                   : ZD_OK;
}

/* Begin the window; nothing was pushed into an older one. */
static void begin_stream(struct zd_slice *slice)
{
    struct zd_stream *stream = &slice->read.task.req->stream;
    zd_stream_done(stream);
    zd_stream_init(stream, ZD_STREAM_WINDOW_TIMES * settings_of(slice)->http_stream_bytes);
    if (!slice->is_range) {
        slice->range_first = 0;
        slice->range_len = slice->length;
    }
}

static enum zd_status begin_bytes(struct zd_slice *slice, struct zd_error *err)
{
    const uint64_t n = slice->end - slice->begin;
    zd_buf_unref(slice->body);
    slice->body = zd_buf_new(slice->head_bytes + n * element_bytes(slice));
    if (slice->body == NULL) {
        return zd_fail(
            err, ZD_NO_MEMORY, "no memory for a body of %llu elements", (unsigned long long)n);
    }
    if (slice->format->head != NULL) {
        ZD_SCOPED_TEXT(head, slice->head_bytes);
        slice->format->head(&slice->answer, &head);
        ZD_TRY(head.status);
        memcpy(slice->body->data, head.at, head.len);
    }
    return ZD_OK;
}

enum zd_status zd_slice_begin(struct zd_slice *slice, struct zd_error *err)
{
    const struct zd_level *leaf = zd_layout_leaf(slice->read.node->layout);
    const struct zd_slice_view view = zd_slice_read_view(&slice->read);
    slice->is_streamed = zd_slice_is_large(slice);
    const uint64_t n_band = band_elements(slice);
    if (slice->read.fetch.n_part == 0) {
        ZD_TRY(zd_fetch_init(&slice->read.fetch, zd_task_gather(slice->read.task.req),
            slice->read.node, zd_slice_view_chunks(&view), flight_bytes(slice), err));
    }
    /* An array that changes all the time is read as it is; but each object of a stream is read in
     * one state. */
    slice->read.fetch.seen =
        slice->read.is_tagless && !slice->is_streamed ? NULL : &slice->read.seen;
    slice->read.fetch.element_ns = zd_slice_result_joins(&slice->result) ? ADD_NS : 0;
    slice->read.fetch.n_parts = 0;
    slice->read.fetch.n_absent = 0;
    zd_bands_init(
        &slice->bands, &leaf->grid, &slice->result.blocks.places, slice->begin, slice->end, n_band);
    ZD_TRY(zd_slice_result_begin(&slice->result, n_band, err));
    if (slice->is_streamed && begins_body(slice)) {
        begin_stream(slice);
    }
    if (zd_slice_is_encoded(slice)) {
        return begin_encoded(slice, n_band, err);
    }
    return slice->is_streamed ? ZD_OK : begin_bytes(slice, err);
}

/* Where the elements of the band go; NULL without memory. */
static uint8_t *place_of_band(struct zd_slice *slice)
{
    const uint64_t element = element_bytes(slice);
    if (zd_slice_is_encoded(slice)) {
        return slice->elements->data;
    }
    if (!slice->is_streamed) {
        return slice->body->data + slice->head_bytes + (slice->band.first - slice->begin) * element;
    }
    zd_buf_unref(slice->body);
    slice->body = zd_stream_buf(&slice->read.task.req->stream, band_bytes(slice));
    if (slice->body == NULL) {
        return NULL;
    }
    slice->body->len = slice->band.n_elements * element;
    return slice->body->data;
}

enum zd_status zd_slice_next_band(struct zd_slice *slice, bool *ret_is_over, struct zd_error *err)
{
    if (!zd_bands_next(&slice->bands, &slice->band)) {
        *ret_is_over = true;
        return ZD_OK;
    }
    uint8_t *to = place_of_band(slice);
    if (to == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a band of the slice");
    }
    zd_slice_result_band(&slice->result, &slice->band, to);
    slice->made = to;
    slice->n_encoded = 0;
    zd_fetch_begin(&slice->read.fetch, &slice->result.source);
    *ret_is_over = false;
    return ZD_OK;
}

bool zd_slice_has_grown(struct zd_slice *slice)
{
    if (!is_variable(slice) || slice->is_streamed || slice->encoded != ZD_TOO_LARGE) {
        return false;
    }
    slice->is_grown = true;
    return true;
}

enum zd_status zd_slice_check_encoded(const struct zd_slice *slice, struct zd_error *err)
{
    if (slice->encoded == ZD_TOO_LARGE && is_variable(slice)) {
        return zd_fail(err, ZD_TOO_LARGE, "one element as %s exceeds the limit of %llu bytes",
            slice->format->name, (unsigned long long)variable_text_max(slice));
    }
    if (slice->encoded != ZD_OK) {
        return zd_fail(err, slice->encoded, "cannot encode the slice as %s: %s",
            slice->format->name, zd_status_name(slice->encoded));
    }
    return ZD_OK;
}

bool zd_slice_next_piece(struct zd_slice *slice)
{
    slice->is_encoding = zd_slice_is_encoded(slice) && slice->n_encoded < slice->band.n_elements;
    slice->encode_end = slice->n_encoded + piece_elements(slice);
    return slice->is_encoding;
}

/* Push bytes [first, end) of a buffer, if there are any. Takes the buffer. */
static void give_bytes(struct zd_slice *slice, struct zd_buf *bytes, uint64_t first, uint64_t end)
{
    if (first < end) {
        zd_request_give(slice->read.task.req, bytes, first, end - first);
    } else {
        zd_buf_unref(bytes);
    }
}

/* Push the wanted bytes of a buffer that begins at `position` of the whole body. */
static void give_wanted(struct zd_slice *slice, struct zd_buf *bytes, uint64_t position)
{
    const uint64_t first = zd_max_u64(position, slice->range_first);
    const uint64_t end = zd_min_u64(position + bytes->len, slice->range_first + slice->range_len);
    give_bytes(slice, bytes, first - position, first < end ? end - position : 0);
}

static enum zd_status give_head(struct zd_slice *slice, struct zd_error *err)
{
    ZD_SCOPED_TEXT(head, slice->head_bytes);
    slice->format->head(&slice->answer, &head);
    struct zd_buf *bytes = NULL;
    const enum zd_status status = zd_text_buf(&head, &bytes);
    if (status != ZD_OK) {
        return zd_fail(err, status, "no memory for the header of the body");
    }
    give_wanted(slice, bytes, 0);
    return ZD_OK;
}

enum zd_status zd_slice_give(struct zd_slice *slice, struct zd_error *err)
{
    if (zd_slice_is_encoded(slice)) {
        slice->is_encoding = false;
        struct zd_buf *piece = ZD_TAKE(slice->body); /* a format with state may add nothing */
        give_bytes(slice, piece, 0, piece->len);
        return ZD_OK;
    }
    if (slice->band.first == 0 && slice->head_bytes > 0) {
        ZD_TRY(give_head(slice, err));
    }
    const uint64_t position = slice->head_bytes + slice->band.first * element_bytes(slice);
    give_wanted(slice, ZD_TAKE(slice->body), position);
    return ZD_OK;
}

uint64_t zd_slice_cost_ns(const struct zd_slice_read *read)
{
    const struct zd_slice *slice = ZD_CONTAINER(read, const struct zd_slice, read);
    if (slice->is_encoding) {
        return encode_ns(slice, piece_elements(slice));
    }
    const bool is_encoded_too =
        zd_slice_is_encoded(slice) && read->fetch.is_last && !slice->is_streamed;
    return zd_slice_result_cost_ns(&slice->result, &read->fetch) +
           (is_encoded_too ? encode_ns(slice, slice->band.n_elements) : 0);
}

/* The range may begin inside the head or inside an element. */
static void cut_body(struct zd_slice *slice)
{
    struct zd_buf *body = slice->body;
    const uint64_t skip = slice->range_first - slice->begin * element_bytes(slice);
    body->data += skip; /* it is not shared yet, and complete */
    body->cap -= skip;
    body->len = slice->range_len;
}

enum zd_status zd_slice_finish(struct zd_slice *slice, struct zd_error *err)
{
    if (zd_slice_is_encoded(slice)) {
        const bool is_taken = slice->is_streamed || ends_body(slice);
        if (slice->answer.n_elements == 0) {
            add_tail(slice);
        }
        if (slice->answer.n_elements == 0 && is_taken) {
            take_text(slice);
        }
        return zd_slice_check_encoded(slice, err);
    }
    slice->body->len = slice->body->cap;
    if (slice->is_range) {
        cut_body(slice);
    }
    return ZD_OK;
}

void zd_slice_rest(struct zd_slice *slice)
{
    zd_fetch_done(&slice->read.fetch);
    zd_slice_result_done(&slice->result);
    zd_buf_unref(ZD_TAKE(slice->elements));
}
