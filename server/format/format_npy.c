/* npy: a NumPy file of version 1.0: a header with type and shape, then the elements. */
#include "server/format/format.h"

#include <string.h>

#include "core/base/num.h"
#include "server/format/npy_head.h"

#define MAGIC            "\x93NUMPY\x01\x00"
#define MAGIC_BYTES      8
#define LENGTH_BYTES     2
#define ALIGN_BYTES      64   /* NumPy pads the header so that the elements are aligned */
#define HEADER_BYTES_MAX 4096 /* rank 32 needs less than 800 */

static bool npy_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)dtype; /* NumPy has a name for each */
    (void)rank;
    return true;
}

#define BEFORE_TYPE  "{'descr': '"
#define BEFORE_SHAPE "', 'fortran_order': False, 'shape': ("
#define AFTER_SHAPE  "), }"

static size_t n_digits(uint64_t value)
{
    size_t n = 1;
    for (; value > 9; value /= 10) {
        n++;
    }
    return n;
}

/* The length of what npy_head writes, padding included, without writing it. */
static size_t head_bytes(const struct zd_answer *answer)
{
    size_t len = MAGIC_BYTES + LENGTH_BYTES + strlen(BEFORE_TYPE BEFORE_SHAPE AFTER_SHAPE "\n");
    len += strlen("<f") + n_digits(answer->meta->dtype.bytes);
    for (uint32_t d = 0; d < answer->rank; d++) {
        const bool has_comma = d + 1 < answer->rank || answer->rank == 1;
        len += n_digits(answer->shape[d]) + (d == 0 ? 0 : 1) + (has_comma ? 1 : 0);
    }
    return (size_t)zd_div_up(len, ALIGN_BYTES) * ALIGN_BYTES;
}

static void add_dictionary(const struct zd_answer *answer, struct zd_text *text)
{
    zd_text_add(text, BEFORE_TYPE);
    if (zd_dtype_add_typestr(&answer->meta->dtype, text) != ZD_OK) {
        return;
    }
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
    while ((MAGIC_BYTES + LENGTH_BYTES + dictionary.len + 1) % ALIGN_BYTES != 0 &&
           dictionary.status == ZD_OK) {
        zd_text_add_char(&dictionary, ' ');
    }
    zd_text_add_char(&dictionary, '\n');
    zd_text_add_bytes(text, MAGIC, MAGIC_BYTES);
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

const struct zd_format zd_format_npy = {
    .name = "npy",
    .media_type = "application/x-npy",
    .accepts = npy_accepts,
    .size = npy_size,
    .head = npy_head,
    .read_head = zd_npy_head_read,
};
