/* csv: RFC 4180 without a header line; one value a line, or one row a line. */
#include "server/format/format.h"

static bool csv_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)dtype;
    return rank <= 2;
}

static void csv_band(const struct zd_answer *answer, uint64_t first, uint64_t n_elements,
    const uint8_t *elements, struct zd_text *text)
{
    const struct zd_dtype *dtype = &answer->meta->dtype;
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
    .is_text = true,
    .accepts = csv_accepts,
    .band = csv_band,
};
