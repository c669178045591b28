/* npy: a NumPy file: a header with type and shape, then the elements. Written in version 1.0, read
 * strictly in 1.0, 2.0 and 3.0: a dictionary of exactly descr, fortran_order and shape. */
#include "server/format/format.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/base/scan.h"
#include "core/grid/widen.h"

#define MAGIC            "\x93NUMPY"
#define MAGIC_BYTES      6
#define VERSION          "\x01\x00"
#define BEFORE_LENGTH    8 /* magic and version */
#define LENGTH_BYTES     2
#define ALIGN_BYTES      64 /* NumPy pads the header so that the elements are aligned */
#define DESCR_BYTES_MAX  9000
#define HEADER_BYTES_MAX (DESCR_BYTES_MAX + 1024) /* rank 32 needs less than 800 */
#define QUOTES           2
#define WORD_BYTES_MAX   64
#define DESCR            1U
#define FORTRAN          2U
#define SHAPE            4U
#define LETTERS          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define TYPE_CHARACTERS  LETTERS "0123456789<>|=[]"

#define BEFORE_TYPE  "{'descr': "
#define BEFORE_SHAPE ", 'fortran_order': False, 'shape': ("
#define AFTER_SHAPE  "), }"

/* ---- writing ---- */

static size_t n_digits(uint64_t value)
{
    size_t n = 1;
    for (; value > 9; value /= 10) {
        n++;
    }
    return n;
}

/* A type as Python has it: a string, or a list of fields. */
static const char *descr_of(
    const struct zd_dtype *dtype, char space[ZD_DTYPE_TYPESTR_BYTES + QUOTES])
{
    char typestr[ZD_DTYPE_TYPESTR_BYTES];
    if (dtype->fields != NULL) {
        return dtype->fields->descr;
    }
    zd_dtype_typestr(dtype, typestr);
    (void)snprintf(space, ZD_DTYPE_TYPESTR_BYTES + QUOTES, "'%s'", typestr);
    return space;
}

/* A list of fields may be longer than any head that NumPy reads. */
static bool npy_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)rank;
    return !zd_dtype_is_variable(dtype) &&
           (dtype->fields == NULL || strlen(dtype->fields->descr) <= DESCR_BYTES_MAX);
}

/* The length of the head that npy_head writes, padding included. */
static size_t head_bytes(const struct zd_answer *answer)
{
    size_t len = BEFORE_LENGTH + LENGTH_BYTES + strlen(BEFORE_TYPE BEFORE_SHAPE AFTER_SHAPE "\n");
    char space[ZD_DTYPE_TYPESTR_BYTES + QUOTES];
    len += strlen(descr_of(&answer->dtype, space));
    for (uint32_t d = 0; d < answer->rank; d++) {
        const bool has_comma = d + 1 < answer->rank || answer->rank == 1;
        len += n_digits(answer->shape[d]) + (d == 0 ? 0 : 1) + (has_comma ? 1 : 0);
    }
    return (size_t)zd_div_up(len, ALIGN_BYTES) * ALIGN_BYTES;
}

static void add_dictionary(const struct zd_answer *answer, struct zd_text *text)
{
    char space[ZD_DTYPE_TYPESTR_BYTES + QUOTES];
    zd_text_add(text, BEFORE_TYPE);
    zd_text_add(text, descr_of(&answer->dtype, space));
    zd_text_add(text, BEFORE_SHAPE);
    for (uint32_t d = 0; d < answer->rank; d++) {
        zd_text_add(text, d == 0 ? "" : " ");
        zd_text_add_u64(text, answer->shape[d]);
        zd_text_add(text, d + 1 < answer->rank || answer->rank == 1 ? "," : "");
    }
    zd_text_add(text, AFTER_SHAPE);
}

static void npy_head(const struct zd_answer *answer, struct zd_text *text)
{
    ZD_SCOPED_TEXT(dictionary, HEADER_BYTES_MAX);
    add_dictionary(answer, &dictionary);
    while ((BEFORE_LENGTH + LENGTH_BYTES + dictionary.len + 1) % ALIGN_BYTES != 0 &&
           dictionary.status == ZD_OK) {
        zd_text_add_char(&dictionary, ' ');
    }
    zd_text_add_char(&dictionary, '\n');
    zd_text_add_bytes(text, MAGIC VERSION, BEFORE_LENGTH);
    zd_text_add_char(text, (char)(dictionary.len & 0xff));
    zd_text_add_char(text, (char)(dictionary.len >> 8));
    zd_text_add_bytes(text, dictionary.at, dictionary.len);
    if (text->status == ZD_OK) {
        text->status = dictionary.status;
    }
}

static bool npy_size(const struct zd_answer *answer, uint64_t *ret_bytes)
{
    return zd_format_fixed_size(answer, head_bytes(answer), ret_bytes);
}

/* ---- reading ---- */

/* The parser: the header, and the position in it. */
struct head {
    struct zd_scan scan;
    const struct zd_dtype *dtype;
    struct zd_body_head *to;
    uint32_t seen; /* of the three members */
};

static enum zd_status bad(const struct head *head, const char *expected, struct zd_error *err)
{
    const size_t n_left = (size_t)(head->scan.end - head->scan.at);
    const enum zd_status failed =
        zd_fail(err, ZD_INVALID, "the npy header is malformed at byte %zu: expected %s",
            zd_scan_position(&head->scan), expected);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%.*s", (int)zd_min_u64(n_left, WORD_BYTES_MAX), head->scan.at);
    return failed;
}

static enum zd_status expect(struct head *head, char c, const char *what, struct zd_error *err)
{
    zd_scan_skip_spaces(&head->scan);
    if (!zd_scan_char(&head->scan, c)) {
        return bad(head, what, err);
    }
    zd_scan_skip_spaces(&head->scan);
    return ZD_OK;
}

/* A Python string of such characters, in either quotes. */
static enum zd_status read_string(struct head *head, const char *characters, const char *what,
    struct zd_span *ret_string, struct zd_error *err)
{
    const bool is_single = zd_scan_char(&head->scan, '\'');
    if (!(is_single || zd_scan_char(&head->scan, '"')) ||
        zd_scan_run(&head->scan, characters, WORD_BYTES_MAX, ret_string) != ZD_OK ||
        !zd_scan_char(&head->scan, is_single ? '\'' : '"')) {
        return bad(head, what, err);
    }
    return ZD_OK;
}

static bool is_order(uint8_t c)
{
    return c == '<' || c == '>' || c == '|' || c == '=';
}

/* The list of fields that is ours, with every field in one byte order. */
static enum zd_status read_fields(struct head *head, struct zd_error *err)
{
    const char *descr = head->dtype->fields->descr;
    bool is_little = false;
    bool is_big = false;
    for (; *descr != '\0'; descr++) {
        const char c = (char)(head->scan.at < head->scan.end ? *head->scan.at : '\0');
        const bool is_other = *descr == '<' && c == '>';
        if (c != *descr && !is_other) {
            return bad(head, "the fields of the array, as in the header Zarr-Dtype", err);
        }
        is_big = is_big || is_other;
        is_little = is_little || (c == '<' && !is_other);
        head->scan.at++;
    }
    if (is_big && is_little) {
        return bad(head, "the same byte order for all fields", err);
    }
    head->to->is_swapped = is_big;
    return ZD_OK;
}

/* "<f4" of a float32: anything but the order must be the same. */
static enum zd_status read_descr(struct head *head, struct zd_error *err)
{
    if (head->dtype->fields != NULL) {
        return read_fields(head, err);
    }
    struct zd_span found = {0};
    char wanted[ZD_DTYPE_TYPESTR_BYTES];
    ZD_TRY(
        read_string(head, TYPE_CHARACTERS, "the name of a data type, such as '<f4'", &found, err));
    zd_dtype_typestr(head->dtype, wanted);
    const uint8_t order = found.len > 0 ? found.ptr[0] : 0;
    const bool has_order = is_order(order);
    const struct zd_span type = {.ptr = found.ptr + has_order, .len = found.len - has_order};
    if (!zd_span_is(type, wanted + 1)) {
        const enum zd_status failed = zd_fail(err, ZD_INVALID,
            "the npy file has elements of type %.*s, but the array has %s (%s)", (int)found.len,
            (const char *)found.ptr, wanted, head->dtype->name);
        zd_fact_expected(err, "%s", wanted);
        zd_fact_found(err, "%.*s", (int)found.len, (const char *)found.ptr);
        return failed;
    }
    head->to->is_swapped = order == '>' && zd_widen_dtype(head->dtype).unit_bytes > 1;
    return ZD_OK;
}

static enum zd_status read_fortran(struct head *head, struct zd_error *err)
{
    head->to->is_reversed = zd_scan_word(&head->scan, "True");
    if (!head->to->is_reversed && !zd_scan_word(&head->scan, "False")) {
        return bad(head, "True or False", err);
    }
    return ZD_OK;
}

/* A tuple: "()", "(3,)", "(3, 4)". */
static enum zd_status read_shape(struct head *head, struct zd_error *err)
{
    static const char what[] = "a tuple of at most 32 lengths";
    struct zd_body_head *to = head->to;
    bool has_comma = true;
    to->rank = 0;
    to->has_shape = true;
    ZD_TRY(expect(head, '(', what, err));
    while (!zd_scan_char(&head->scan, ')')) {
        if (!has_comma || to->rank == ZD_RANK_MAX ||
            zd_scan_u64(&head->scan, UINT64_MAX, &to->shape[to->rank]) != ZD_OK) {
            return bad(head, what, err);
        }
        to->rank++;
        zd_scan_skip_spaces(&head->scan);
        has_comma = zd_scan_char(&head->scan, ',');
        zd_scan_skip_spaces(&head->scan);
    }
    return to->rank == 1 && !has_comma ? bad(head, what, err) : ZD_OK; /* "(3)" is no tuple */
}

static enum zd_status read_member(struct head *head, struct zd_error *err)
{
    static const struct {
        const char *name;
        uint32_t bit;
        enum zd_status (*read)(struct head *head, struct zd_error *err);
    } members[] = {
        {"descr", DESCR, read_descr},
        {"fortran_order", FORTRAN, read_fortran},
        {"shape", SHAPE, read_shape},
    };
    static const char what[] = "'descr', 'fortran_order' and 'shape', each once";
    struct zd_span name = {0};
    ZD_TRY(read_string(head, LETTERS, what, &name, err));
    for (size_t i = 0; i < ZD_COUNT_OF(members); i++) {
        if (zd_span_is(name, members[i].name) && (head->seen & members[i].bit) == 0) {
            head->seen |= members[i].bit;
            ZD_TRY(expect(head, ':', "a colon", err));
            return members[i].read(head, err);
        }
    }
    return bad(head, what, err);
}

static enum zd_status read_dictionary(struct head *head, struct zd_error *err)
{
    bool has_comma = true;
    ZD_TRY(expect(head, '{', "a dictionary", err));
    while (!zd_scan_char(&head->scan, '}')) {
        if (!has_comma) {
            return bad(head, "a comma, or the end of the dictionary", err);
        }
        ZD_TRY(read_member(head, err));
        zd_scan_skip_spaces(&head->scan);
        has_comma = zd_scan_char(&head->scan, ',');
        zd_scan_skip_spaces(&head->scan);
    }
    zd_scan_skip_spaces(&head->scan);
    if (head->seen != (DESCR | FORTRAN | SHAPE)) {
        return bad(head, "all of descr, fortran_order and shape", err);
    }
    if (!zd_scan_char(&head->scan, '\n') || !zd_scan_at_end(&head->scan)) {
        return bad(head, "spaces and one line feed after the dictionary", err);
    }
    return ZD_OK;
}

static enum zd_status bad_magic(struct zd_error *err)
{
    return zd_fail_expected(err, ZD_INVALID, "\\x93NUMPY, version 1.0, 2.0 or 3.0", NULL,
        "the body is not an npy file: it does not begin with \\x93NUMPY and version 1.0, 2.0 or "
        "3.0");
}

static enum zd_status need(size_t n, struct zd_body_head *ret_head)
{
    ret_head->bytes = n;
    return ZD_AGAIN;
}

static enum zd_status npy_read_head(const struct zd_dtype *dtype, struct zd_span bytes,
    struct zd_body_head *ret_head, struct zd_error *err)
{
    const size_t n_magic = zd_min_u64(bytes.len, MAGIC_BYTES);
    if (n_magic > 0 && memcmp(bytes.ptr, MAGIC, n_magic) != 0) {
        return bad_magic(err);
    }
    if (bytes.len < BEFORE_LENGTH) {
        return need(BEFORE_LENGTH, ret_head);
    }
    const uint8_t major = bytes.ptr[MAGIC_BYTES];
    if (major < 1 || major > 3 || bytes.ptr[MAGIC_BYTES + 1] != 0) {
        return bad_magic(err);
    }
    const size_t from = BEFORE_LENGTH + (major == 1 ? 2 : 4);
    if (bytes.len < from) {
        return need(from, ret_head);
    }
    const uint8_t *at = bytes.ptr + BEFORE_LENGTH;
    const size_t len = major == 1 ? zd_load_u16(at) : zd_load_u32(at);
    if (len > ZD_BODY_HEAD_MAX - from) {
        const enum zd_status failed = zd_fail(err, ZD_INVALID,
            "the npy header has %zu bytes; the limit is %zu", len, ZD_BODY_HEAD_MAX - from);
        zd_fact_limit(err, ZD_BODY_HEAD_MAX - from, len);
        return failed;
    }
    if (bytes.len < from + len) {
        return need(from + len, ret_head);
    }
    struct zd_body_head found = {.bytes = from + len};
    const struct zd_span text = {.ptr = bytes.ptr + from, .len = len};
    struct head head = {.scan = zd_scan_of(text), .dtype = dtype, .to = &found};
    ZD_TRY(read_dictionary(&head, err));
    *ret_head = found;
    return ZD_OK;
}

const struct zd_format zd_format_npy = {
    .name = "npy",
    .media_type = "application/x-npy",
    .extension = "npy",
    .accepts = npy_accepts,
    .size = npy_size,
    .head = npy_head,
    .read_head = npy_read_head,
};
