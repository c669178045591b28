/* The documents that can make a node: those of every dialect, while they are read. */
#include "server/data/node_documents.h"

#include <stdio.h>
#include <string.h>

#include "core/base/num.h"

#define NO_ITEM UINT32_MAX /* no store has its key */

/* The item of that key, made when there is none. */
static uint32_t item_of(struct zd_node_documents *documents, const char *key)
{
    if (!zd_key_is_valid(key)) {
        return NO_ITEM;
    }
    for (uint32_t i = 0; i < documents->n; i++) {
        if (strcmp(documents->item[i].read.key, key) == 0) {
            return i;
        }
    }
    struct zd_node_document *item = &documents->item[documents->n];
    (void)snprintf(item->read.key, sizeof item->read.key, "%s", key);
    (void)snprintf(item->check.key, sizeof item->check.key, "%s", key);
    return documents->n++;
}

static ZD_RESULT make_room(struct zd_node_documents *documents)
{
    size_t n_max = 0;
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        n_max += (*dialect)->n_documents;
    }
    documents->item = zd_alloc_zero(n_max, sizeof *documents->item);
    documents->number = zd_alloc_zero(n_max, sizeof *documents->number);
    return documents->item == NULL || documents->number == NULL ? ZD_NO_MEMORY : ZD_OK;
}

static enum zd_node_stage stage_of(const struct zd_dialect *dialect, uint32_t i)
{
    if (dialect->is_first) {
        return ZD_STAGE_FIRST;
    }
    if (dialect->may_list != NULL && i == dialect->listing_document) {
        return ZD_STAGE_LISTING;
    }
    if (!dialect->has_entry) {
        return ZD_STAGE_OTHERS;
    }
    return i + 1 == dialect->n_documents ? ZD_STAGE_ENTRY : ZD_STAGE_BEHIND;
}

static ZD_RESULT add(struct zd_node_documents *documents, const char *path,
    const struct zd_dialect *dialect, uint32_t at, enum zd_node_stage stage)
{
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    for (uint32_t i = 0; i < dialect->n_documents; i++) {
        if (stage_of(dialect, i) != stage) {
            continue;
        }
        zd_text_clear(&key);
        const enum zd_status status = dialect->document_key(path, i, &key);
        if (status != ZD_OK && status != ZD_TOO_LARGE && status != ZD_NOT_FOUND) {
            return status;
        }
        const uint32_t number = status == ZD_OK ? item_of(documents, key.at) : NO_ITEM;
        documents->number[at + i] = number;
        if (number != NO_ITEM && i > 0 && i == dialect->listing_document) {
            documents->item[number].is_listing = true;
        }
    }
    return ZD_OK;
}

enum zd_status zd_node_documents_find(struct zd_node_documents *documents, const char *path)
{
    ZD_TRY(make_room(documents));
    for (enum zd_node_stage stage = ZD_STAGE_FIRST; stage < ZD_STAGES; stage++) {
        uint32_t at = 0;
        for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
            ZD_TRY(add(documents, path, *dialect, at, stage));
            at += (*dialect)->n_documents;
        }
        documents->n_until[stage] = documents->n;
    }
    return ZD_OK;
}

void zd_node_documents_free_bytes(struct zd_node_documents *documents)
{
    for (uint32_t i = 0; i < documents->n; i++) {
        zd_buf_unref(ZD_TAKE(documents->item[i].read.bytes));
    }
}

void zd_node_documents_done(struct zd_node_documents *documents)
{
    zd_node_documents_free_bytes(documents);
    zd_free(documents->item);
    zd_free(documents->number);
    *documents = (struct zd_node_documents){0};
}

void zd_node_documents_restart(struct zd_node_documents *documents)
{
    documents->n_asked = 0;
    documents->wants_listing = false;
}

bool zd_node_documents_asks(const struct zd_node_documents *documents, uint32_t i)
{
    return documents->wants_listing || i < documents->n_until[ZD_STAGE_OTHERS] ||
           i >= documents->n_until[ZD_STAGE_LISTING];
}

uint64_t zd_node_documents_length_of_large(const struct zd_node_documents *documents)
{
    uint64_t len = 0;
    for (uint32_t i = 0; i < documents->n_asked; i++) {
        const struct zd_store_op *op = &documents->item[i].read.op;
        const bool is_large =
            op->status == ZD_TOO_LARGE && (op->err.facts.set & ZD_FACT_LIMIT) != 0;
        len = is_large ? zd_max_u64(len, op->err.facts.requested) : len;
    }
    return len;
}

void zd_node_documents_leave_unread(struct zd_node_document *listing)
{
    const struct zd_stat none = {0};
    listing->read.op.status = listing->check.op.status;
    listing->read.op.err = listing->check.op.err;
    listing->read.stat = listing->check.op.status == ZD_OK ? listing->check.stat : none;
}

struct zd_node_document *zd_node_documents_long_listing(struct zd_node_documents *documents)
{
    for (uint32_t i = 0; i < documents->n_asked; i++) {
        struct zd_node_document *item = &documents->item[i];
        if (item->is_listing && zd_node_documents_asks(documents, i) &&
            item->read.op.status == ZD_TOO_LARGE) {
            return item;
        }
    }
    return NULL;
}

uint32_t zd_node_documents_next(struct zd_node_documents *documents)
{
    const uint32_t first = documents->n_asked;
    enum zd_node_stage stage = ZD_STAGE_FIRST;
    while (stage + 1 < ZD_STAGES && (documents->n_until[stage] <= first ||
                                        (stage == ZD_STAGE_LISTING && !documents->wants_listing))) {
        stage++;
    }
    documents->n_asked = documents->n_until[stage];
    return first;
}

static struct zd_documents documents_at(const struct zd_node_documents *documents,
    const struct zd_dialect *dialect, uint32_t at, struct zd_stat ret_stat[ZD_DOCUMENTS_MAX])
{
    struct zd_documents found = {.is_n5 = documents->is_n5};
    for (uint32_t i = 0; i < dialect->n_documents; i++) {
        const uint32_t number = documents->number[at + i];
        ret_stat[i] = (struct zd_stat){0};
        if (number == NO_ITEM) {
            continue;
        }
        const struct zd_store_read *read = &documents->item[number].read;
        if (read->bytes != NULL) {
            found.text[i] = zd_buf_span(read->bytes);
            found.bytes[i] = read->bytes;
        }
        found.present[i] = zd_generation_is_set(read->stat.generation);
        ret_stat[i] = read->stat;
    }
    return found;
}

static bool were_read(
    const struct zd_node_documents *documents, const struct zd_dialect *dialect, uint32_t at)
{
    for (uint32_t i = 0; i < dialect->n_documents; i++) {
        const uint32_t number = documents->number[at + i];
        if (number != NO_ITEM && number >= documents->n_asked &&
            zd_node_documents_asks(documents, number)) {
            return false;
        }
    }
    return true;
}

/* A listing that was not looked for. */
static bool lacks_listing(
    const struct zd_node_documents *documents, const struct zd_node_choice *choice)
{
    struct zd_stat stat[ZD_DOCUMENTS_MAX];
    if (choice->dialect == NULL || choice->dialect->may_list == NULL || documents->wants_listing) {
        return false;
    }
    const struct zd_documents found = documents_at(documents, choice->dialect, choice->at, stat);
    return choice->dialect->may_list(&found);
}

struct zd_node_choice zd_node_documents_choose(struct zd_node_documents *documents)
{
    struct zd_node_choice choice = {0};
    struct zd_stat stat[ZD_DOCUMENTS_MAX];
    uint32_t at = 0;
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        const struct zd_documents found = documents_at(documents, *dialect, at, stat);
        const int bid = (*dialect)->bid(&found);
        if ((*dialect)->has_entry && bid > 0) {
            choice.entry = *dialect;
        }
        if (bid > choice.bid && were_read(documents, *dialect, at)) {
            choice.bid = bid;
            choice.dialect = *dialect;
            choice.at = at;
        }
        at += (*dialect)->n_documents;
    }
    const bool has_all = documents->n_asked == documents->n;
    const bool has_entries = documents->n_asked >= documents->n_until[ZD_STAGE_ENTRY];
    choice.is_final =
        choice.bid > ZD_BID_IMPLIED || has_all || (has_entries && choice.entry == NULL);
    if (choice.is_final && lacks_listing(documents, &choice)) {
        documents->wants_listing = true;
        choice.is_final = false;
    }
    return choice;
}

struct zd_documents zd_node_documents_of(const struct zd_node_documents *documents,
    const struct zd_node_choice *choice, struct zd_stat ret_stat[ZD_DOCUMENTS_MAX])
{
    return documents_at(documents, choice->dialect, choice->at, ret_stat);
}
