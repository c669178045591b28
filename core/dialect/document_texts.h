/* The documents of one node as texts: those that are stored, and those being made. */
#ifndef ZD_CORE_DIALECT_DOCUMENT_TEXTS_H
#define ZD_CORE_DIALECT_DOCUMENT_TEXTS_H

#include "core/base/text.h"

#define ZD_DOCUMENTS_MAX 5

/** The stored documents of one node, in the order of the dialect's document keys. */
struct zd_documents {
    struct zd_span text[ZD_DOCUMENTS_MAX]; /* borrowed */
    bool present[ZD_DOCUMENTS_MAX];
    struct zd_buf *bytes[ZD_DOCUMENTS_MAX]; /* that hold the text: who keeps a part of it takes a
                                               reference; or NULL: a copy. Borrowed */
    bool is_n5; /* the dataset's location or its settings say that it is N5 */
};

/** Documents being made, in the order of the dialect's document keys. */
struct zd_document_texts {
    struct zd_text text[ZD_DOCUMENTS_MAX]; /* failures stick there */
    bool present[ZD_DOCUMENTS_MAX];        /* the others are not to be stored */
    bool dropped[ZD_DOCUMENTS_MAX];        /* not present, and erased where they are stored */
    bool is_dense; /* in: whole documents without spaces; else one member a line */
};

/** @param len_max of each text. Thread: any. */
void zd_document_texts_init(struct zd_document_texts *texts, size_t len_max);
void zd_document_texts_done(struct zd_document_texts *texts);

/** The first failure of them all. */
ZD_RESULT zd_document_texts_status(const struct zd_document_texts *texts);

#endif
