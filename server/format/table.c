/* Tables: one row an element, with one column a dimension and then its value. */
#include "server/format/table.h"

#include "core/base/emit.h"
#include "server/format/column.h"

#define NAME_BYTES_MAX 65536
#define COMMA          ","

/* The state of a body. */
struct table {
    bool is_time; /* the values count time */
    struct zd_cf_time time;
};

static enum zd_status table_open(
    const struct zd_answer *answer, void **ret_state, struct zd_error *err)
{
    struct table *table = zd_alloc_zero(1, sizeof *table);
    if (table == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for a table");
    }
    table->is_time = zd_column_find_time(answer, &table->time);
    *ret_state = table;
    return ZD_OK;
}

static void table_close(void *state)
{
    zd_free(state);
}

/* The name of a column: of a dimension, or of the values. */
static void add_name(const struct zd_answer *answer, uint32_t column, struct zd_text *name)
{
    if (column < answer->rank) {
        zd_column_add_name(answer, column, name);
    } else {
        zd_text_add(name, answer->name == NULL ? "" : answer->name);
    }
}

/* ---- rows ---- */

/* The outer coordinates, shared by rows that differ in the last one only. */
static void add_outer(const struct zd_answer *answer, uint64_t row,
    const struct zd_scalar_style *style, struct zd_text *text)
{
    uint64_t position[ZD_RANK_MAX];
    for (uint32_t d = answer->rank; d-- > 0;) {
        position[d] = row % answer->shape[d];
        row /= answer->shape[d];
    }
    for (uint32_t d = 0; d + 1 < answer->rank; d++) {
        zd_column_add(&answer->column[d], position[d], style, text);
        zd_text_add(text, COMMA);
    }
}

/* How rows are written. */
struct form {
    struct zd_scalar_style style;
    const char *begin; /* of the first row, */
    const char *next;  /* and of others */
    const char *end;
};

static void add_rows(const struct zd_answer *answer, const struct form *form, uint64_t first,
    uint64_t n_rows, const uint8_t *elements, struct zd_text *text)
{
    const struct table *table = answer->state;
    const struct zd_cf_time *time = table->is_time ? &table->time : NULL;
    const uint32_t last = answer->rank - 1; /* of rank 0: no column */
    const uint64_t n_inner = answer->rank == 0 ? 1 : answer->shape[last];
    ZD_SCOPED_TEXT(outer, zd_format_answer_text_max(answer));
    uint64_t inner = first % n_inner;
    for (uint64_t i = 0; i < n_rows && text->status == ZD_OK; i++, inner++) {
        if (i == 0 || inner == n_inner) {
            inner = i == 0 ? inner : 0;
            zd_text_clear(&outer);
            add_outer(answer, first + i, &form->style, &outer);
        }
        zd_text_add(text, first + i == 0 ? form->begin : form->next);
        zd_text_add_bytes(text, outer.at, outer.len);
        if (answer->rank > 0) {
            zd_column_add(&answer->column[last], inner, &form->style, text);
            zd_text_add(text, COMMA);
        }
        zd_column_add_element(
            &answer->dtype, time, elements + i * answer->dtype.bytes, &form->style, text);
        zd_text_add(text, form->end);
    }
    if (text->status == ZD_OK) {
        text->status = outer.status;
    }
}

/* ---- csv ---- */

static void csv_head(const struct zd_answer *answer, struct zd_text *text)
{
    for (uint32_t i = 0; answer->has_header && i <= answer->rank; i++) {
        ZD_SCOPED_TEXT(name, NAME_BYTES_MAX);
        add_name(answer, i, &name);
        zd_scalar_add_field(zd_text_span(&name), text);
        zd_text_add(text, i < answer->rank ? COMMA : "\r\n");
    }
}

static void csv_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    struct form form = {.style = answer->style, .begin = "", .next = "", .end = "\r\n"};
    form.style.bare_strings = true;
    add_rows(answer, &form, first, n_elements, elements, text);
}

const struct zd_format zd_table_csv = {
    .name = "csv",
    .media_type = "text/csv",
    .extension = "csv",
    .is_text = true,
    .is_table = true,
    .open = table_open,
    .close = table_close,
    .head = csv_head,
    .band = csv_band,
};

/* ---- json ---- */

static void json_head(const struct zd_answer *answer, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, answer->pretty);
    zd_emit_object(&emit);
    zd_emit_member_array(&emit, "columns");
    for (uint32_t i = 0; i <= answer->rank; i++) {
        ZD_SCOPED_TEXT(name, NAME_BYTES_MAX);
        add_name(answer, i, &name);
        zd_emit_text(&emit, &name);
    }
    zd_emit_array_end(&emit);
    zd_emit_key(&emit, "rows");
    zd_text_add_char(text, '[');
}

static void json_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    const struct form form = {
        .style = answer->style,
        .begin = answer->pretty ? "\n    [" : "[",
        .next = answer->pretty ? ",\n    [" : ",[",
        .end = "]",
    };
    add_rows(answer, &form, first, n_elements, elements, text);
}

static void json_tail(const struct zd_answer *answer, struct zd_text *text)
{
    zd_text_add(text, answer->pretty && answer->n_elements > 0 ? "\n  ]" : "]");
    zd_text_add(text, answer->pretty ? "\n}\n" : "}");
}

const struct zd_format zd_table_json = {
    .name = "json",
    .media_type = "application/json",
    .extension = "json",
    .is_text = true,
    .is_table = true,
    .open = table_open,
    .close = table_close,
    .head = json_head,
    .band = json_band,
    .tail = json_tail,
};
