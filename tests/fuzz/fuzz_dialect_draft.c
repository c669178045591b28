/* Fuzzes core/dialect/dialect_draft_*: any bytes make a node below an entry point, refused or not,
 * and the document of a good one is a good one of v3. Where the first line of the input is an entry
 * point, it is that of the rest. */
#include <string.h>

#include "core/array/rendition.h"
#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "tests/fuzz/input.h"

#define INPUT_BYTES_MAX (1U << 16)
#define TEXT_BYTES_MAX  (1U << 22) /* a document may grow when it is translated: 1e300 */

static const char *const entries[] = {
    "{\"zarr_format\":\"x/3.0\",\"metadata_encoding\":\"application/json\"}",
    "{\"zarr_format\":\"x/3.0\",\"metadata_key_suffix\":\".json\"}",
    ("{\"zarr_format\":\"x/3.0\",\"metadata_encoding\":{\"type\":\"json\","
     "\"metadata_key_suffix\":\".json\"}}"),
};

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

/* @param own 0: the document of an array, 1: of a group */
static void check(
    const struct zd_dialect *dialect, struct zd_span entry, struct zd_span text, uint32_t own)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_READ, INPUT_BYTES_MAX);
    struct zd_documents documents = {0};
    ZD_AUTO(zd_meta) meta = NULL;
    documents.text[own] = text;
    documents.present[own] = true;
    documents.text[dialect->n_documents - 1] = entry;
    documents.present[dialect->n_documents - 1] = true;
    if (dialect->bid(&documents) == 0) {
        return;
    }
    zd_fuzz_insist(dialect->parse(&documents, &reading, &meta, NULL) == ZD_OK);
    if (!zd_meta_is_refused(meta) && zd_rendition_refusal(meta) == NULL) {
        check_document(meta);
    }
}

static void check_all(struct zd_span entry, struct zd_span text)
{
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        for (uint32_t own = 0; zd_dialects[i]->has_entry && own < 2; own++) {
            check(zd_dialects[i], entry, text, own);
        }
    }
}

static void check_children(struct zd_span entry)
{
    for (size_t i = 0; zd_dialects[i] != NULL; i++) {
        ZD_SCOPED_TEXT(name, INPUT_BYTES_MAX);
        const enum zd_status status = zd_dialects[i]->child_name(entry, false, &name);
        zd_fuzz_insist(status != ZD_OK || (name.len > 0 && name.len <= entry.len &&
                                              memcmp(name.at, entry.ptr, name.len) == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct zd_span all = {.ptr = data, .len = size};
    const uint8_t *line_end = size == 0 ? NULL : memchr(data, '\n', size);
    const size_t first = line_end == NULL ? 0 : (size_t)(line_end - data);
    const struct zd_span entry = {.ptr = data, .len = first};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        check_all(zd_span_of(entries[i]), all);
    }
    check_all(entry, (struct zd_span){.ptr = data + first, .len = size - first});
    check_children(entry.len == 0 ? all : entry);
    return 0;
}
