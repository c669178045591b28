/* Nodes of the drafts of 2019 to January 2023 from a few lines of JSON. */
#include "tests/support/draft.h"

#include <string.h>

#include "core/base/emit.h"

#define TEXT_BYTES_MAX 65536

struct texts {
    char space[ZD_DOCUMENTS_MAX][TEXT_BYTES_MAX];
    struct zd_documents documents;
};

static struct zd_reading reading_of(enum zd_judgement judgement)
{
    return (struct zd_reading){
        .zep10 = true,
        .judgement = judgement,
        .limits = {.bytes_max = TEXT_BYTES_MAX, .nodes_max = 2000, .depth_max = 64},
        .consolidated_bytes_max = 1U << 24,
    };
}

static void add(struct texts *texts, uint32_t i, const char *text)
{
    const size_t len = text == NULL ? 0 : strlen(text);
    ck_assert_uint_lt(len, TEXT_BYTES_MAX);
    for (size_t at = 0; at < len; at++) {
        texts->space[i][at] = text[at];
        if (text[at] == '\'') {
            texts->space[i][at] = '"';
        }
    }
    texts->documents.text[i] =
        (struct zd_span){.ptr = (const uint8_t *)texts->space[i], .len = len};
    texts->documents.present[i] = text != NULL;
}

/* In the order of the dialect's documents: the entry point comes last. */
static const struct zd_documents *documents_of(const struct zd_unit_draft *draft)
{
    static struct texts texts;
    const uint32_t n = zd_dialect_find(draft->dialect)->n_documents;
    add(&texts, 0, draft->array);
    add(&texts, 1, draft->group);
    if (n > 3) {
        add(&texts, 2, draft->aside);
    }
    add(&texts, n - 1, draft->entry);
    return &texts.documents;
}

int zd_unit_draft_bid(const struct zd_unit_draft *draft)
{
    return zd_dialect_find(draft->dialect)->bid(documents_of(draft));
}

enum zd_status zd_unit_draft_parse(const struct zd_unit_draft *draft, struct zd_meta **ret_meta)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_READ);
    return zd_dialect_find(draft->dialect)->parse(documents_of(draft), &reading, ret_meta, NULL);
}

static void check_document(const struct zd_meta *meta)
{
    const struct zd_reading reading = reading_of(ZD_JUDGE_WRITE);
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    ZD_AUTO(zd_meta) again = NULL;
    struct zd_emit emit;
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, meta->document);
    ck_assert_int_eq(text.status, ZD_OK);
    ck_assert_int_eq(zd_dialect_judge(zd_text_span(&text), &reading, &again, NULL), ZD_OK);
    ck_assert(!zd_meta_is_refused(again));
    ck_assert(zd_json_equal(again->document, meta->document));
}

struct zd_meta *zd_unit_draft_check(const struct zd_unit_draft *draft, const char *faults)
{
    struct zd_meta *meta = NULL;
    ck_assert_int_gt(zd_unit_draft_bid(draft), 0);
    ck_assert_int_eq(zd_unit_draft_parse(draft, &meta), ZD_OK);
    char *found = zd_unit_faults(&meta->faults);
    ck_assert_msg(strcmp(found, faults) == 0, "%s: %s",
        draft->array == NULL ? draft->group : draft->array, found);
    zd_free(found);
    ck_assert_str_eq(meta->dialect->name, draft->dialect);
    if (!zd_meta_is_refused(meta)) {
        check_document(meta);
    }
    return meta;
}
