/* Fuzzes core/dialect/v2/dialect_v2: any bytes make a node, refused or not, the document of a good
 * one is a good one of v3, and is written as v2 again. The first line of the input is `.zattrs`,
 * the rest `.zarray`. */
#include <string.h>

#include "core/array/rendition.h"
#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "core/dialect/roundtrip.h"
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

static enum zd_status read_texts(
    const struct zd_document_texts *texts, enum zd_judgement judgement, struct zd_meta **ret_meta)
{
    const struct zd_reading reading = reading_of(judgement, TEXT_BYTES_MAX);
    struct zd_documents documents = {0};
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        documents.present[i] = texts->present[i];
        documents.text[i] = zd_text_span(&texts->text[i]);
    }
    return zd_dialect_find("v2")->parse(&documents, &reading, ret_meta, NULL);
}

/* If nothing was refused, the rendered document describes the whole node, and needs no leniency. */
static void check_render(const struct zd_meta *meta)
{
    ZD_AUTO(zd_meta) again = NULL;
    struct zd_document_texts texts;
    struct zd_faults faults = {0};
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    zd_dialect_find("v2")->render(meta->document, NULL, &texts, &faults);
    zd_fuzz_insist(zd_document_texts_status(&texts) == ZD_OK);
    if (!zd_faults_refuse(&faults)) {
        zd_fuzz_insist(read_texts(&texts, ZD_JUDGE_WRITE, &again) == ZD_OK);
        zd_fuzz_insist(!zd_meta_is_refused(again));
        zd_roundtrip_judge(meta, again, &faults);
    }
    zd_faults_done(&faults);
    zd_document_texts_done(&texts);
}

/* A patch of documents that are JSON leaves documents that are JSON. */
static void check_patch(const struct zd_documents *documents, const struct zd_meta *meta)
{
    ZD_AUTO(zd_json) patch = zd_json_new_object();
    struct zd_document_texts texts;
    struct zd_faults faults = {0};
    zd_document_texts_init(&texts, TEXT_BYTES_MAX);
    if (meta->attributes != NULL) {
        zd_fuzz_insist(zd_json_set(patch, "attributes", zd_json_ref(meta->attributes)) == ZD_OK);
    }
    zd_fuzz_insist(zd_json_set(patch, "dimension_names", zd_json_new_null()) == ZD_OK);
    zd_dialect_find("v2")->patch(documents, patch, &texts, &faults);
    zd_fuzz_insist(zd_document_texts_status(&texts) == ZD_OK);
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        const struct zd_reading reading = reading_of(ZD_JUDGE_READ, TEXT_BYTES_MAX);
        struct zd_json_limits limits = reading.limits;
        ZD_AUTO(zd_json) json = NULL;
        limits.nonfinite = true;
        zd_fuzz_insist(!texts.present[i] ||
                       zd_json_parse(zd_text_span(&texts.text[i]), &limits, &json, NULL) == ZD_OK);
    }
    zd_faults_done(&faults);
    zd_document_texts_done(&texts);
}

static void check(struct zd_span zarray, struct zd_span zgroup, struct zd_span zattrs)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_READ, INPUT_BYTES_MAX);
    const struct zd_documents documents = {
        .text = {zarray, zgroup, zattrs},
        .present = {zarray.ptr != NULL, zgroup.ptr != NULL, zattrs.len > 0},
    };
    ZD_AUTO(zd_meta) meta = NULL;
    zd_fuzz_insist(zd_dialect_find("v2")->parse(&documents, &reading, &meta, NULL) == ZD_OK);
    if (!zd_meta_is_refused(meta) && zd_rendition_refusal(meta) == NULL) {
        check_document(meta);
    }
    if (!zd_meta_is_refused(meta)) {
        check_render(meta);
        check_patch(&documents, meta);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct zd_span none = {0};
    const uint8_t *line_end = size == 0 ? NULL : memchr(data, '\n', size);
    const size_t first = line_end == NULL ? 0 : (size_t)(line_end - data);
    const size_t rest_at = line_end == NULL ? 0 : first + 1;
    const struct zd_span zattrs = {.ptr = data, .len = first};
    const struct zd_span rest = {.ptr = data + rest_at, .len = size - rest_at};
    check(rest, none, zattrs);
    check(none, rest, zattrs);
    return 0;
}
