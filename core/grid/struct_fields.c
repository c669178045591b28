/* Fields of structures: made one after the other, then counted and never changed. */
#include "core/grid/struct_fields.h"

#include <assert.h>
#include <string.h>

#include "core/base/num.h"

#define NAME_BYTES_MAX 255
#define ROOM_FIRST     8
#define TEXT_BYTES_MAX (1U << 20)
#define LEAD_MAX       0x7FU
#define POINT_OF_FOUR  0x10000U /* the first that UTF-16 has as a pair */

struct zd_struct_fields *zd_struct_fields_new(void)
{
    struct zd_struct_fields *fields = zd_alloc_zero(1, sizeof *fields);
    if (fields != NULL) {
        atomic_init(&fields->refs, 1);
    }
    return fields;
}

struct zd_struct_fields *zd_struct_fields_ref(struct zd_struct_fields *fields)
{
    if (fields != NULL) {
        atomic_fetch_add_explicit(&fields->refs, 1, memory_order_relaxed);
    }
    return fields;
}

void zd_struct_fields_unref(struct zd_struct_fields *fields)
{
    if (fields == NULL || atomic_fetch_sub_explicit(&fields->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (uint32_t i = 0; i < fields->n; i++) {
        zd_free(fields->field[i].name);
    }
    zd_free(fields->field);
    zd_free(fields->typestr);
    zd_free(fields->descr);
    zd_free(fields);
}

/* Whether a field beside the next one of that depth has the name. */
static bool has_name(const struct zd_struct_fields *fields, const char *name, uint32_t depth)
{
    for (uint32_t i = fields->n; i > 0 && fields->field[i - 1].depth >= depth; i--) {
        const struct zd_field *other = &fields->field[i - 1];
        if (other->depth == depth && strcmp(other->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum zd_status make_room(struct zd_struct_fields *fields)
{
    if (fields->n < fields->n_room) {
        return ZD_OK;
    }
    const uint32_t n_room = fields->n == 0 ? ROOM_FIRST : 2 * fields->n;
    struct zd_field *grown = zd_realloc(fields->field, n_room * sizeof *grown);
    if (grown == NULL) {
        return ZD_NO_MEMORY;
    }
    fields->field = grown;
    fields->n_room = n_room;
    return ZD_OK;
}

enum zd_status zd_struct_fields_add(
    struct zd_struct_fields *fields, const char *name, uint32_t depth, const struct zd_dtype *dtype)
{
    assert(depth == 0 || (fields->n > 0 && depth <= fields->field[fields->n - 1].depth + 1));
    if (name[0] == '\0' || has_name(fields, name, depth)) {
        return ZD_INVALID;
    }
    if (fields->n == ZD_STRUCT_FIELDS_MAX || strlen(name) > NAME_BYTES_MAX ||
        depth >= ZD_STRUCT_DEPTH_MAX) {
        return ZD_TOO_LARGE;
    }
    ZD_TRY(make_room(fields));
    struct zd_field field = {.name = zd_strdup(name), .depth = depth, .n_items = 1};
    if (field.name == NULL) {
        return ZD_NO_MEMORY;
    }
    if (dtype == NULL) {
        field.dtype = (struct zd_dtype){.kind = ZD_DTYPE_STRUCT, .unit_bytes = 1, .name = "struct"};
    } else {
        field.dtype = *dtype;
    }
    fields->field[fields->n++] = field;
    return ZD_OK;
}

enum zd_status zd_struct_fields_add_array(struct zd_struct_fields *fields, const char *name,
    uint32_t depth, const struct zd_dtype *dtype, uint32_t rank, const uint64_t *shape)
{
    uint64_t n_items;
    assert(rank > 0 && rank <= ZD_FIELD_RANK_MAX);
    const bool overflows = zd_product_overflows(&n_items, shape, rank);
    if (!overflows && n_items == 0) {
        return ZD_INVALID;
    }
    if (overflows || n_items > ZD_DTYPE_BYTES_MAX / dtype->bytes) {
        return ZD_TOO_LARGE;
    }
    ZD_TRY(zd_struct_fields_add(fields, name, depth, dtype));
    struct zd_field *field = &fields->field[fields->n - 1];
    field->rank = rank;
    field->n_items = (uint32_t)n_items;
    for (uint32_t d = 0; d < rank; d++) {
        field->shape[d] = (uint32_t)shape[d];
    }
    fields->has_array = true;
    return ZD_OK;
}

/* ---- as NumPy spells them ---- */

static const char hex_digits[] = "0123456789abcdef";

static void add_hex(struct zd_text *text, char letter, uint32_t value, uint32_t n_digits)
{
    zd_text_add_char(text, '\\');
    zd_text_add_char(text, letter);
    for (uint32_t i = n_digits; i-- > 0;) {
        zd_text_add_char(text, hex_digits[value >> (4 * i) & 0xFU]);
    }
}

/* The next character of UTF-8. */
static uint32_t next_point(const uint8_t **at)
{
    const uint8_t first = *(*at)++;
    const unsigned n_more = first <= LEAD_MAX ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    uint32_t point = n_more == 0 ? first : first & (0x3FU >> n_more);
    for (unsigned i = 0; i < n_more; i++) {
        point = point << 6 | (*(*at)++ & 0x3FU);
    }
    return point;
}

/* A name in ASCII, which headers can have: as a string of JSON (in ") or of Python. */
static void add_name(struct zd_text *text, const char *name, char quote)
{
    zd_text_add_char(text, quote);
    for (const uint8_t *at = (const uint8_t *)name; *at != '\0';) {
        const uint32_t point = next_point(&at);
        if (point == (uint8_t)quote || point == '\\') {
            zd_text_add_char(text, '\\');
            zd_text_add_char(text, (char)point);
        } else if (point >= ' ' && point < LEAD_MAX) {
            zd_text_add_char(text, (char)point);
        } else if (point < POINT_OF_FOUR) {
            add_hex(text, 'u', point, 4);
        } else if (quote == '\'') {
            add_hex(text, 'U', point, 8);
        } else {
            add_hex(text, 'u', 0xD800U + ((point - POINT_OF_FOUR) >> 10), 4);
            add_hex(text, 'u', 0xDC00U + ((point - POINT_OF_FOUR) & 0x3FFU), 4);
        }
    }
    zd_text_add_char(text, quote);
}

/* How a list of fields is written. */
struct spelling {
    char quote;
    const char *open;
    const char *between; /* name and type */
    const char *close;
    const char *next;
    const char *close_one; /* behind a shape of one dimension */
};

static const struct spelling json_spelling = {'"', "[", ",", "]", ",", "]"};
static const struct spelling python_spelling = {'\'', "(", ", ", ")", ", ", ",)"};

static void add_type(struct zd_text *text, const struct zd_dtype *dtype, char quote)
{
    char typestr[ZD_DTYPE_TYPESTR_BYTES];
    zd_dtype_typestr(dtype, typestr);
    if (dtype->small != NULL) { /* within a structure its bits */
        zd_text_addf(text, "%c|V%u%c", quote, dtype->bytes, quote);
    } else {
        zd_text_addf(text, "%c%s%c", quote, typestr, quote);
    }
}

static void add_shape(
    struct zd_text *text, const struct zd_field *field, const struct spelling *spelling)
{
    for (uint32_t d = 0; d < field->rank; d++) {
        zd_text_add(text, d == 0 ? spelling->between : spelling->next);
        zd_text_add(text, d == 0 ? spelling->open : "");
        zd_text_add_u64(text, field->shape[d]);
    }
    if (field->rank > 0) {
        zd_text_add(text, field->rank == 1 ? spelling->close_one : spelling->close);
    }
}

static void close_lists(struct zd_text *text, const struct spelling *spelling, uint32_t n)
{
    for (; n > 0; n--) {
        zd_text_addf(text, "]%s", spelling->close);
    }
}

static enum zd_status spell(
    const struct zd_struct_fields *fields, const struct spelling *spelling, char **ret_text)
{
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    uint32_t depth = 0;
    bool is_first = true;
    zd_text_add_char(&text, '[');
    for (uint32_t i = 0; i < fields->n; i++) {
        const struct zd_field *field = &fields->field[i];
        if (field->depth < depth) {
            close_lists(&text, spelling, depth - field->depth);
            depth = field->depth;
        }
        zd_text_add(&text, is_first ? "" : spelling->next);
        zd_text_add(&text, spelling->open);
        add_name(&text, field->name, spelling->quote);
        zd_text_add(&text, spelling->between);
        is_first = field->dtype.kind == ZD_DTYPE_STRUCT;
        if (is_first) {
            zd_text_add_char(&text, '[');
            depth++;
        } else {
            add_type(&text, &field->dtype, spelling->quote);
            add_shape(&text, field, spelling);
            zd_text_add(&text, spelling->close);
        }
    }
    close_lists(&text, spelling, depth);
    zd_text_add_char(&text, ']');
    *ret_text = text.status == ZD_OK ? zd_strdup(text.at) : NULL;
    return *ret_text == NULL ? ZD_NO_MEMORY : ZD_OK;
}

/* ---- the whole ---- */

static bool is_empty(const struct zd_struct_fields *fields, uint32_t i)
{
    return fields->field[i].dtype.kind == ZD_DTYPE_STRUCT &&
           (i + 1 == fields->n || fields->field[i + 1].depth <= fields->field[i].depth);
}

enum zd_status zd_struct_fields_finish(struct zd_struct_fields *fields, struct zd_dtype *ret_dtype)
{
    uint32_t bytes = 0;
    uint32_t unit_bytes = 1;
    for (uint32_t i = 0; i < fields->n; i++) {
        struct zd_field *field = &fields->field[i];
        if (is_empty(fields, i)) {
            return ZD_INVALID;
        }
        field->offset = bytes;
        bytes += zd_dtype_field_bytes(field); /* of a structure 0: its fields count */
        if (bytes > ZD_DTYPE_BYTES_MAX) {
            return ZD_TOO_LARGE;
        }
        fields->is_loose = fields->is_loose || zd_dtype_is_loose(&field->dtype);
        unit_bytes = field->dtype.unit_bytes > 1 ? ZD_DTYPE_UNITS_DIFFER : unit_bytes;
    }
    if (bytes == 0) {
        return ZD_INVALID;
    }
    ZD_TRY(spell(fields, &json_spelling, &fields->typestr));
    ZD_TRY(spell(fields, &python_spelling, &fields->descr));
    *ret_dtype = (struct zd_dtype){
        .kind = ZD_DTYPE_STRUCT,
        .bytes = bytes,
        .unit_bytes = unit_bytes,
        .fields = fields,
        .name = "struct",
    };
    return ZD_OK;
}
