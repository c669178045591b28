/* The documents of one node as texts that are being made. */
#include "core/dialect/document_texts.h"

void zd_document_texts_init(struct zd_document_texts *texts, size_t len_max)
{
    *texts = (struct zd_document_texts){0};
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        zd_text_init(&texts->text[i], len_max);
    }
}

void zd_document_texts_done(struct zd_document_texts *texts)
{
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        zd_text_done(&texts->text[i]);
    }
}

enum zd_status zd_document_texts_status(const struct zd_document_texts *texts)
{
    for (size_t i = 0; i < ZD_DOCUMENTS_MAX; i++) {
        ZD_TRY(texts->text[i].status);
    }
    return ZD_OK;
}
