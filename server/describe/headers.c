/* The Zarr-* headers. */
#include "server/describe/headers.h"

#include <string.h>

#include "core/base/base64.h"
#include "core/base/num.h"
#include "core/grid/utf32.h"
#include "core/grid/variable.h"
#include "server/http/disposition.h"
#include "server/http/escape.h"

#define TEXT_BYTES_MAX  (UINT64_C(1) << 20)
#define TIER_BYTES_MAX  64
#define VALUE_BYTES_MAX 1024
#define ALL_BYTES_MAX   2048 /* of all values: what a connection's memory surely takes */

/* The shape of a scalar is empty. libmicrohttpd adds no empty value; a reader drops white space
 * around one (RFC 9110, 5.5). */
#define EMPTY_VALUE " "

void zd_headers_init(struct zd_headers *headers)
{
    headers->n = 0;
    zd_text_init(&headers->text, TEXT_BYTES_MAX);
}

void zd_headers_done(struct zd_headers *headers)
{
    zd_text_done(&headers->text);
}

struct zd_text *zd_headers_add(struct zd_headers *headers, const char *name)
{
    assert(headers->n < ZD_ANSWER_HEADERS_MAX);
    if (headers->n > 0) {
        zd_text_add_char(&headers->text, '\0');
    }
    headers->name[headers->n] = name;
    headers->at[headers->n] = headers->text.len;
    headers->n++;
    return &headers->text;
}

void zd_headers_cut(struct zd_headers *headers, uint32_t n)
{
    if (n < headers->n) {
        zd_text_cut(&headers->text, n == 0 ? 0 : headers->at[n] - 1);
        headers->n = n;
    }
}

void zd_headers_add_elements(
    struct zd_headers *headers, const struct zd_dtype *dtype, uint32_t rank, const uint64_t *shape)
{
    zd_dtype_add_typestr(dtype, zd_headers_add(headers, "Zarr-Dtype"));
    zd_text_add(zd_headers_add(headers, "Zarr-Data-Type"), dtype->name);
    zd_format_add_lengths(zd_headers_add(headers, "Zarr-Shape"), shape, rank);
}

void zd_headers_add_file(struct zd_headers *headers, const char *name, const char *extension)
{
    zd_disposition_add(zd_span_of(name), extension, zd_headers_add(headers, "Content-Disposition"));
}

/* Any text may be in it, which a header could not have. */
static void add_text_fill(struct zd_headers *headers, const struct zd_meta *meta)
{
    ZD_SCOPED_TEXT(utf8, VALUE_BYTES_MAX);
    zd_utf32_add((struct zd_span){.ptr = meta->fill, .len = meta->dtype.bytes}, &utf8);
    zd_escape_percent_encode(zd_text_span(&utf8), zd_headers_add(headers, "Zarr-Fill-Value"));
}

/* Any text: percent-encoded, like the names of dimensions. */
static void add_variable_fill(struct zd_headers *headers, const struct zd_meta *meta)
{
    const struct zd_span bytes = zd_variable_at(meta->fill, 0);
    if (bytes.len > VALUE_BYTES_MAX / 2) {
        return;
    }
    struct zd_text *value = zd_headers_add(headers, "Zarr-Fill-Value");
    if (meta->dtype.kind == ZD_DTYPE_STRING) {
        zd_escape_percent_encode(bytes, value);
    } else if (meta->dtype.kind == ZD_DTYPE_LIST) {
        zd_scalar_add(&meta->dtype, meta->fill, &(struct zd_scalar_style){0}, value);
    } else {
        zd_base64_add(value, bytes);
    }
}

static void add_fill(struct zd_headers *headers, const struct zd_meta *meta)
{
    if (zd_dtype_is_variable(&meta->dtype)) {
        add_variable_fill(headers, meta);
        return;
    }
    const struct zd_scalar_style style = {.bare_strings = !zd_dtype_is_complex(&meta->dtype)};
    if (meta->dtype.bytes > VALUE_BYTES_MAX / 2) {
        return;
    }
    if (meta->dtype.fields != NULL) {
        ZD_SCOPED_TEXT(object, VALUE_BYTES_MAX);
        zd_scalar_add(&meta->dtype, meta->fill, &(struct zd_scalar_style){0}, &object);
        if (object.status == ZD_OK) {
            zd_escape_percent_encode(
                zd_text_span(&object), zd_headers_add(headers, "Zarr-Fill-Value"));
        }
    } else if (meta->dtype.kind == ZD_DTYPE_UTF32) {
        add_text_fill(headers, meta);
    } else {
        zd_scalar_add(&meta->dtype, meta->fill, &style, zd_headers_add(headers, "Zarr-Fill-Value"));
    }
}

void zd_headers_add_slice(
    struct zd_headers *headers, const struct zd_answer *answer, const struct zd_listing *listing)
{
    const struct zd_view *view = &answer->meta->view;
    struct zd_text *value = zd_headers_add(headers, "Zarr-Dimensions");
    for (uint32_t d = 0; d < answer->rank; d++) {
        const char *name = zd_format_answer_dimension(answer, d);
        zd_text_add(value, d == 0 ? "" : ",");
        if (name == NULL) {
            zd_text_add_char(value, '*');
        } else {
            zd_escape_percent_encode(zd_span_of(name), value);
        }
    }
    if (!zd_selection_has_list(answer->selection)) {
        zd_selection_add(answer->selection, zd_headers_add(headers, "Zarr-Selection"));
    }
    if (view->has_origin) {
        zd_format_add_lengths(
            zd_headers_add(headers, "Zarr-Origin"), view->origin, answer->meta->grid.rank);
    }
    if (!answer->is_decoded && zd_dtype_equal(&answer->dtype, &answer->meta->dtype)) {
        add_fill(headers, answer->meta);
    }
    if (answer->units != NULL) {
        zd_escape_percent_encode(zd_span_of(answer->units), zd_headers_add(headers, "Zarr-Units"));
    }
    zd_headers_add_warnings(headers, &answer->meta->faults, listing);
}

static bool is_first_of_code(const struct zd_faults *faults, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        const struct zd_fault *before = &faults->item[k];
        if (before->severity == ZD_FAULT_WARNING &&
            strcmp(before->code, faults->item[i].code) == 0) {
            return false;
        }
    }
    return true;
}

static void add_warning(struct zd_headers *headers, const char *code, struct zd_text **value)
{
    if (*value == NULL) {
        *value = zd_headers_add(headers, "Zarr-Warning");
    } else {
        zd_text_add(*value, ",");
    }
    zd_text_add(*value, code);
}

void zd_headers_add_warnings(
    struct zd_headers *headers, const struct zd_faults *faults, const struct zd_listing *listing)
{
    struct zd_text *value = NULL;
    for (size_t i = 0; i < faults->n_items; i++) {
        if (faults->item[i].severity == ZD_FAULT_WARNING && is_first_of_code(faults, i)) {
            add_warning(headers, faults->item[i].code, &value);
        }
    }
    if (listing->tier != NULL) {
        ZD_SCOPED_TEXT(code, TIER_BYTES_MAX);
        zd_text_addf(&code, "%s_tier", listing->tier);
        add_warning(headers, code.at, &value);
    }
}

enum zd_status zd_headers_give(const struct zd_headers *headers,
    struct zd_representation *representation, struct zd_error *err)
{
    if (headers->text.status != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the headers of the answer");
    }
    size_t n_bytes = 0;
    for (uint32_t i = 0; i < headers->n; i++) {
        const char *value = headers->text.at + headers->at[i];
        const size_t len = strlen(value);
        if (len > VALUE_BYTES_MAX || n_bytes + len > ALL_BYTES_MAX) {
            continue;
        }
        n_bytes += len;
        assert(representation->n_headers < ZD_ANSWER_HEADERS_MAX);
        representation->header[representation->n_headers++] = (struct zd_header){
            .name = headers->name[i],
            .value = value[0] == '\0' ? EMPTY_VALUE : value,
        };
    }
    return ZD_OK;
}
