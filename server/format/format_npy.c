/* npy: NumPy's own file, version 1.0: a header that says type and shape, then the elements. */
#include "server/format/format.h"

#define MAGIC            "\x93NUMPY\x01\x00"
#define MAGIC_BYTES      8
#define LENGTH_BYTES     2
#define ALIGN_BYTES      64   /* NumPy pads the header so that the elements are aligned */
#define HEADER_BYTES_MAX 4096 /* rank 32 needs less than 800 */

static bool npy_accepts(const struct zd_dtype *dtype, uint32_t rank)
{
    (void)rank;
    ZD_SCOPED_TEXT(typestr, HEADER_BYTES_MAX);
    return zd_dtype_add_typestr(dtype, &typestr) == ZD_OK;
}

static void add_dictionary(const struct zd_answer *answer, struct zd_text *text)
{
    zd_text_add(text, "{'descr': '");
    if (zd_dtype_add_typestr(&answer->meta->dtype, text) != ZD_OK) {
        return;
    }
    zd_text_add(text, "', 'fortran_order': False, 'shape': (");
    for (uint32_t d = 0; d < answer->rank; d++) {
        zd_text_add(text, d == 0 ? "" : " ");
        zd_text_add_u64(text, answer->shape[d]);
        zd_text_add(text, d + 1 < answer->rank || answer->rank == 1 ? "," : "");
    }
    zd_text_add(text, "), }");
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
    ZD_SCOPED_TEXT(head, HEADER_BYTES_MAX);
    npy_head(answer, &head);
    return head.status == ZD_OK && zd_format_is_fixed(answer, head.len, ret_bytes);
}

const struct zd_format zd_format_npy = {
    .name = "npy",
    .media_type = "application/x-npy",
    .accepts = npy_accepts,
    .size = npy_size,
    .head = npy_head,
};
