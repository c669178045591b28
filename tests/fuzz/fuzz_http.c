/* Fuzzes what is read of answers of HTTP: heads (core/store/transfer/transfer_head), indexes
 * (core/store/http/http_index) and words (core/store/http/http_answer). The first byte says which.
 */
#include <string.h>

#include "core/store/http/http_answer.h"
#include "core/store/http/http_index.h"
#include "core/store/contract/key.h"
#include "tests/fuzz/input.h"

static enum zd_status check_entry(void *context, const char *name, bool is_prefix)
{
    size_t *n = context;
    (void)is_prefix;
    zd_fuzz_insist(zd_key_segment_is_valid(zd_span_of(name)));
    zd_fuzz_insist(strchr(name, '/') == NULL);
    return ++*n > 1000 ? ZD_AGAIN : ZD_OK;
}

static void read_head(struct zd_span input)
{
    struct zd_transfer_head head;
    struct zd_transfer_field field[] = {{.name = "a"}};
    zd_transfer_head_init(&head, field, 1);
    while (input.len > 0) {
        char *line = zd_fuzz_line(&input);
        zd_transfer_head_add(&head, field, 1, zd_span_of(line));
        zd_free(line);
    }
    zd_fuzz_insist(!head.has_range || head.range_len >= 1);
    zd_fuzz_insist(!head.has_range || head.range_size == ZD_TRANSFER_UNKNOWN ||
                   head.range_len <= head.range_size - head.range_first);
    zd_fuzz_insist(strlen(field[0].value) <= ZD_TRANSFER_FIELD_BYTES_MAX);
    const struct zd_range asked = {.kind = ZD_RANGE_SUFFIX, .first = 1, .len = UINT64_MAX};
    struct zd_error err = {0};
    if (zd_http_answer_judge_part(&head, &asked, &err) == ZD_OK) {
        zd_fuzz_insist(head.range_first == 0 && head.range_len == head.range_size);
    }
    zd_fuzz_insist(zd_generation_is_set(zd_http_answer_stat(&head, 0).generation));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    char code[ZD_HTTP_ANSWER_CODE_BYTES + 1];
    size_t n = 0;
    switch (zd_fuzz_byte(&input) % 4) {
    case 0:
        read_head(input);
        break;
    case 1:
        (void)(zd_http_index_read(input, "text/html", check_entry, &n, NULL) == ZD_OK);
        break;
    case 2:
        (void)(zd_http_index_read(input, "application/json", check_entry, &n, NULL) == ZD_OK);
        break;
    default:
        zd_http_answer_find_code(input, code);
        zd_fuzz_insist(strlen(code) <= ZD_HTTP_ANSWER_CODE_BYTES);
        break;
    }
    return 0;
}
