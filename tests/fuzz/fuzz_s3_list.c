/* Answers of object stores: a page of keys, what has become of erasures, and the code of an error.
 */
#include <string.h>

#include "core/store/s3/s3_erasures.h"
#include "core/store/s3/s3_list.h"
#include "tests/fuzz/input.h"

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

static void read_erasures(struct zd_span input)
{
    struct zd_s3_erasure erasure = {.key = "a", .tag = ""};
    struct zd_list erasures;
    zd_list_init(&erasures);
    zd_list_push_back(&erasures, &erasure.link);
    const enum zd_status status = zd_s3_erasures_read(input, &erasures, "", NULL);
    zd_fuzz_insist(status == ZD_OK || status == ZD_STORE);
    zd_fuzz_insist(status != ZD_OK || erasure.status != ZD_OK || erasure.is_told);
    zd_fuzz_insist(strspn(erasure.code, ZD_S3_CODE_CHARS) == strlen(erasure.code));
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
    read_erasures(input);
    zd_fuzz_insist(strspn(code, ZD_S3_CODE_CHARS) == strlen(code));
    return 0;
}
