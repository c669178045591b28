/* Fuzzes core/dialect/dialect_v3: any bytes make a node, refused or not, and a good one reads back
 * as itself. */
#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)
#define TEXT_BYTES_MAX  (1U << 22) /* a document may grow when it is normalised: 1e300 */

static struct zd_meta *parse(struct zd_span text, enum zd_judgement judgement, size_t bytes_max)
{
    const struct zd_reading reading = {
        .zep10 = true,
        .judgement = judgement,
        .limits = {.bytes_max = bytes_max, .nodes_max = 10000, .depth_max = 64},
        .consolidated_bytes_max = 1U << 20,
    };
    const struct zd_documents documents = {.text = {text}, .present = {true}};
    struct zd_meta *meta = NULL;
    zd_fuzz_insist(zd_dialect_find("v3")->parse(&documents, &reading, &meta, NULL) == ZD_OK);
    return meta;
}

/* A normalised document needs no leniency. */
static void check_normal(const struct zd_meta *meta)
{
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, meta->document);
    zd_fuzz_insist(text.status == ZD_OK);
    ZD_AUTO(zd_meta) again = parse(zd_text_span(&text), ZD_JUDGE_WRITE, TEXT_BYTES_MAX);
    zd_fuzz_insist(!zd_meta_is_refused(again));
    zd_fuzz_insist(zd_json_equal(again->document, meta->document));
}

static void walk_listing(const struct zd_meta *meta)
{
    size_t iter = 0;
    struct zd_stored_node node;
    while (meta->dialect->stored_node(meta, &iter, &node) == ZD_OK) {
        zd_fuzz_insist(node.path[0] != '\0' && node.path[0] != '/');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct zd_span text = {.ptr = data, .len = size};
    ZD_AUTO(zd_meta) written = parse(text, ZD_JUDGE_WRITE, INPUT_BYTES_MAX);
    ZD_AUTO(zd_meta) meta = parse(text, ZD_JUDGE_READ, INPUT_BYTES_MAX);
    /* What may be written can be read, but for extensions that are not known here. */
    zd_fuzz_insist(zd_meta_is_refused(written) || meta->faults.n_invalid == 0);
    if (!zd_meta_is_refused(meta)) {
        check_normal(meta);
        walk_listing(meta);
    }
    return 0;
}
