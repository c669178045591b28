/* Fuzzes core/dialect/n5/dialect_n5: any bytes make a node, refused or not, and the document of a
 * good one is a good one of v3. The first line of the input is the document of the root, the rest
 * that of the node. */
#include <string.h>

#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)
#define TEXT_BYTES_MAX  (1U << 22) /* a document may grow when it is translated: 1e300 */

static struct zd_reading reading_of(enum zd_judgement judgement, size_t bytes_max)
{
    return (struct zd_reading){
        .zep10 = true,
        .judgement = judgement,
        .limits = {.bytes_max = bytes_max, .nodes_max = 10000, .depth_max = 64},
        .consolidated_bytes_max = 1U << 20,
    };
}

/* A translated document needs no leniency. */
static void check_document(const struct zd_meta *meta)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_WRITE, TEXT_BYTES_MAX);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    ZD_AUTO(zd_meta) again = NULL;
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, meta->document);
    zd_fuzz_insist(text.status == ZD_OK);
    zd_fuzz_insist(zd_dialect_judge(zd_text_span(&text), &reading, &again, NULL) == ZD_OK);
    zd_fuzz_insist(!zd_meta_is_refused(again));
    zd_fuzz_insist(zd_json_equal(again->document, meta->document));
}

static void check(struct zd_span own, struct zd_span root, bool is_reversed)
{
    struct zd_reading reading = reading_of(ZD_JUDGE_READ, INPUT_BYTES_MAX);
    reading.is_reversed = is_reversed;
    const struct zd_documents documents = {
        .text = {own, root}, .present = {true, root.len > 0}, .is_n5 = is_reversed};
    ZD_AUTO(zd_meta) meta = NULL;
    zd_fuzz_insist(zd_dialect_find("n5")->parse(&documents, &reading, &meta, NULL) == ZD_OK);
    if (!zd_meta_is_refused(meta)) {
        check_document(meta);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const uint8_t *line_end = len == 0 ? NULL : memchr(data, '\n', len);
    const size_t first = line_end == NULL ? 0 : (size_t)(line_end - data);
    const size_t rest_at = line_end == NULL ? 0 : first + 1;
    const struct zd_span root = {.ptr = data, .len = first};
    const struct zd_span own = {.ptr = data + rest_at, .len = len - rest_at};
    check(own, root, false);
    check(own, root, true);
    return 0;
}
