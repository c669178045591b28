/* csv: RFC 4180; one value a line, or one row a line. The header line, if there is one, has the
 * name of the array, or what the columns of rows are called. */
#include "server/format/column.h"
#include "server/format/table.h"

static bool csv_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)dtype;
    return rank <= 2;
}

static void csv_head(const struct zd_answer *answer, struct zd_text *text)
{
    const struct zd_scalar_style style = {.bare_strings = true};
    if (!answer->has_header) {
        return;
    }
    if (answer->rank < 2) {
        zd_scalar_add_field(zd_span_of(answer->name == NULL ? "" : answer->name), text);
    }
    for (uint64_t i = 0; answer->rank == 2 && i < answer->shape[1]; i++) {
        zd_text_add(text, i == 0 ? "" : ",");
        zd_column_add(&answer->column[1], i, &style, text);
    }
    zd_text_add(text, "\r\n");
}

static void csv_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    const struct zd_dtype *dtype = &answer->dtype;
    const uint64_t n_columns = answer->rank == 2 ? answer->shape[1] : 1;
    struct zd_scalar_style style = answer->style;
    style.bare_strings = true;
    for (uint64_t i = 0; i < n_elements && text->status == ZD_OK; i++) {
        zd_scalar_add(dtype, elements + i * dtype->bytes, &style, text);
        const bool ends_row = (first + i + 1) % n_columns == 0;
        zd_text_add(text, ends_row ? "\r\n" : ",");
    }
}

const struct zd_format zd_format_csv = {
    .name = "csv",
    .media_type = "text/csv",
    .extension = "csv",
    .is_text = true,
    .table = &zd_table_csv,
    .accepts = csv_accepts,
    .head = csv_head,
    .band = csv_band,
};
