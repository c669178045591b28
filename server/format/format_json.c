/* json: an object that describes the answer, with its elements as nested lists; of several answers
 * an object of those, by name. */
#include "server/format/format.h"

#include "core/base/num.h"
#include "server/format/table.h"
#include "server/format/text_reader.h"

#define VALUE_BYTES_MAX 65536
#define INDENT          2

/* Lists of the head stay on one line, pretty or not. */
static void emit_shape(const struct zd_answer *answer, struct zd_emit *emit)
{
    ZD_SCOPED_TEXT(list, VALUE_BYTES_MAX);
    zd_text_add_char(&list, '[');
    zd_format_add_lengths(&list, answer->shape, answer->rank);
    zd_text_add_char(&list, ']');
    zd_emit_key(emit, "shape");
    zd_emit_raw(emit, zd_text_span(&list));
    if (list.status != ZD_OK) {
        emit->text->status = list.status;
    }
}

static void emit_dimensions(const struct zd_answer *answer, struct zd_emit *emit)
{
    zd_emit_member_array(emit, "dimensions");
    for (uint32_t d = 0; d < answer->rank; d++) {
        const char *name = zd_format_answer_dimension(answer, d);
        if (name == NULL) {
            zd_emit_null(emit);
        } else {
            zd_emit_string(emit, name);
        }
    }
    zd_emit_array_end(emit);
}

/* ---- several answers ---- */

/* How deep the object of the answer is in the body. */
static uint32_t depth_of(const struct zd_answer *answer)
{
    return answer->all == NULL ? 0 : 1;
}

/* Write the text before the object. */
static void begin_member(const struct zd_answer *answer, struct zd_emit *emit)
{
    if (answer->all == NULL) {
        return;
    }
    emit->depth = depth_of(answer);
    if (answer == zd_format_answer_at(answer, 0)) {
        zd_text_add_char(emit->text, '{');
    } else {
        emit->has_item[emit->depth] = true;
    }
    zd_emit_key(emit, answer->name == NULL ? "" : answer->name);
}

/* Write the text after the object. */
static void end_member(const struct zd_answer *answer, struct zd_text *text)
{
    const uint32_t n = zd_format_n_answers(answer);
    if (answer->all != NULL && answer == zd_format_answer_at(answer, n - 1)) {
        zd_text_add(text, answer->pretty ? "\n}\n" : "}");
    }
}

/* ---- head, bands, tail ---- */

static void json_head(const struct zd_answer *answer, struct zd_text *text)
{
    ZD_SCOPED_TEXT(selection, VALUE_BYTES_MAX);
    if (zd_selection_add(answer->selection, &selection) != ZD_OK) {
        text->status = selection.status;
        return;
    }
    struct zd_emit emit;
    zd_emit_init(&emit, text, answer->pretty);
    begin_member(answer, &emit);
    zd_emit_object(&emit);
    emit_shape(answer, &emit);
    zd_emit_member_string(&emit, "data_type", answer->dtype.name);
    emit_dimensions(answer, &emit);
    if (!zd_selection_has_list(answer->selection)) {
        zd_emit_member_string(&emit, "selection", selection.at);
    }
    zd_emit_key(&emit, "data");
}

/* Nested lists of the dimensions 0 .. rank, written item by item. */
struct nest {
    uint32_t rank;
    uint64_t n_items[ZD_RANK_MAX]; /* in one list of dimension d: product(shape[d .. rank)); >= 1 */
    bool pretty;
    uint32_t depth; /* of the object that they are in */
};

/* True when the number of items does not fit 64 bits. */
static bool nest_overflows(struct nest *nest, const struct zd_answer *answer, uint32_t rank)
{
    *nest = (struct nest){.rank = rank, .pretty = answer->pretty, .depth = depth_of(answer)};
    for (uint32_t d = 0; d < rank; d++) {
        uint64_t n_items;
        if (zd_product_overflows(&n_items, answer->shape + d, rank - d)) {
            return true;
        }
        nest->n_items[d] = zd_max_u64(n_items, 1);
    }
    return false;
}

static void add_line(const struct nest *nest, uint32_t depth, struct zd_text *text)
{
    if (nest->pretty) {
        zd_text_addf(text, "\n%*s", (int)(INDENT * (nest->depth + depth + 1)), "");
    }
}

/* Commas and opening brackets before item i. */
static void nest_before(const struct nest *nest, uint64_t i, struct zd_text *text)
{
    uint32_t first = nest->rank; /* lists of dimensions first .. rank begin here */
    while (first > 0 && i % nest->n_items[first - 1] == 0) {
        first--;
    }
    if (i > 0) {
        zd_text_add(text, nest->pretty && first == nest->rank ? ", " : ",");
    }
    for (uint32_t d = first; d < nest->rank; d++) {
        if (d > 0) {
            add_line(nest, d, text);
        }
        zd_text_add_char(text, '[');
    }
}

/* Closing brackets after item i. */
static void nest_after(const struct nest *nest, uint64_t i, struct zd_text *text)
{
    for (uint32_t d = nest->rank; d > 0 && (i + 1) % nest->n_items[d - 1] == 0; d--) {
        if (d < nest->rank) {
            add_line(nest, d - 1, text);
        }
        zd_text_add_char(text, ']');
    }
}

static void json_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    const struct zd_dtype *dtype = &answer->dtype;
    struct nest nest;
    if (nest_overflows(&nest, answer, answer->rank)) {
        text->status = ZD_TOO_LARGE;
    }
    for (uint64_t i = 0; i < n_elements && text->status == ZD_OK; i++) {
        nest_before(&nest, first + i, text);
        zd_scalar_add(dtype, elements + i * dtype->bytes, &answer->style, text);
        nest_after(&nest, first + i, text);
    }
}

/* No element makes a list of dimension `rank`, yet those outside it have items. */
static void add_empty_lists(const struct zd_answer *answer, struct zd_text *text)
{
    uint32_t rank = 0;
    uint64_t n_lists = 1;
    while (answer->shape[rank] != 0) {
        rank++;
    }
    struct nest nest;
    if (nest_overflows(&nest, answer, rank) ||
        zd_product_overflows(&n_lists, answer->shape, rank)) {
        text->status = ZD_TOO_LARGE;
    }
    for (uint64_t i = 0; i < n_lists && text->status == ZD_OK; i++) {
        nest_before(&nest, i, text);
        zd_text_add(text, "[]");
        nest_after(&nest, i, text);
    }
}

static void json_tail(const struct zd_answer *answer, struct zd_text *text)
{
    if (answer->n_elements == 0) {
        add_empty_lists(answer, text);
    }
    if (answer->all == NULL) {
        zd_text_add(text, answer->pretty ? "\n}\n" : "}");
    } else {
        zd_text_add(text, answer->pretty ? "\n  }" : "}");
        end_member(answer, text);
    }
}

const struct zd_format zd_format_json = {
    .name = "json",
    .media_type = "application/json",
    .extension = "json",
    .takes_several = true,
    .is_text = true,
    .table = &zd_table_json,
    .head = json_head,
    .tail = json_tail,
    .band = json_band,
    .read_text = zd_text_reader_feed,
};
