/* Answers of object stores: a page of keys, and the code of an error. */
#include <string.h>

#include "core/store/s3_list.h"
#include "core/store/s3_xml.h"
#include "tests/fuzz/input.h"

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static enum zd_status count_key(
    void *context, struct zd_span key, bool is_prefix, struct zd_error *err)
{
    uint64_t *n_keys = context;
    (void)is_prefix;
    (void)err;
    zd_fuzz_insist(key.len <= ZD_S3_XML_TEXT_BYTES_MAX);
    ++*n_keys;
    return ZD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_span input = {.ptr = data, .len = len};
    char code[ZD_S3_CODE_BYTES_MAX + 1];
    struct zd_s3_list_page page;
    uint64_t n_keys = 0;
    const enum zd_status status = zd_s3_list_read(input, count_key, &n_keys, &page, NULL);
    zd_fuzz_insist(status == ZD_OK || status == ZD_STORE);
    zd_fuzz_insist(status != ZD_OK || n_keys == page.n_keys);
    zd_s3_list_done(&page);
    zd_s3_xml_error(input, code);
    zd_fuzz_insist(strspn(code, WORD) == strlen(code));
    return 0;
}
