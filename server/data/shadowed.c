/* Documents of other dialects beside a node. */
#include "server/data/shadowed.h"

#include "core/base/num.h"
#include "core/dialect/dialect.h"

/* Drafts are told by the entry point of the whole hierarchy: the catalog sees that. */
static bool is_asked(const struct zd_dialect *dialect, const struct zd_dialect *own)
{
    return !dialect->is_first && !dialect->has_entry && dialect != own;
}

static uint32_t count_documents(const struct zd_dialect *own)
{
    uint32_t n = 0;
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        n += is_asked(*dialect, own) ? (*dialect)->n_documents : 0;
    }
    return n;
}

/* A key that is too long for the store is none. A listing makes no node. */
static void ask_document(struct zd_object_want *want, const struct zd_node *node,
    const struct zd_dialect *dialect, uint32_t number, struct zd_gather *gather)
{
    ZD_SCOPED_TEXT(key, ZD_KEY_BYTES_MAX);
    want->wait.status = ZD_NOT_FOUND;
    want->checked_ms = UINT64_MAX;
    const bool is_listing = dialect->may_list != NULL && number == dialect->listing_document;
    if (!is_listing && dialect->document_key(node->path, number, &key) == ZD_OK &&
        zd_key_is_valid(key.at)) {
        *want = (struct zd_object_want){.wait = zd_gather_wait(gather)};
        zd_gather_add(gather, zd_objects_want(node->dataset, key.at, ZD_OBJECT_STATUS, want));
    }
}

enum zd_status zd_shadowed_ask(
    struct zd_shadowed *shadowed, const struct zd_node *node, struct zd_gather *gather)
{
    const struct zd_dialect *own = node->meta->dialect;
    const uint32_t n = own->has_entry ? 0 : count_documents(own);
    if (n == 0) {
        return ZD_OK;
    }
    shadowed->own = own;
    shadowed->want = zd_alloc_zero(n, sizeof *shadowed->want);
    if (shadowed->want == NULL) {
        return ZD_NO_MEMORY;
    }
    for (const struct zd_dialect *const *dialect = zd_dialects; *dialect != NULL; dialect++) {
        for (uint32_t i = 0; is_asked(*dialect, own) && i < (*dialect)->n_documents; i++) {
            ask_document(&shadowed->want[shadowed->n++], node, *dialect, i, gather);
        }
    }
    return ZD_OK;
}

/* The documents of a dialect that exist. */
static struct zd_documents documents_of(
    const struct zd_object_want *want, const struct zd_dialect *dialect)
{
    struct zd_documents documents = {0};
    for (uint32_t i = 0; i < dialect->n_documents; i++) {
        documents.present[i] = want[i].wait.status == ZD_OK;
    }
    return documents;
}

void zd_shadowed_warn(const struct zd_dialect *dialect, struct zd_faults *faults)
{
    static const struct zd_pointer whole_document = {.text = ""};
    zd_faults_add(faults, ZD_FAULT_WARNING, "two_dialects", dialect->name, &whole_document,
        "documents of one dialect", dialect->name,
        "documents of the dialect %s are stored beside this node; they are ignored", dialect->name);
}

bool zd_shadowed_judge(
    const struct zd_shadowed *shadowed, struct zd_faults *faults, uint64_t *ret_checked_ms)
{
    bool is_known = true;
    const struct zd_object_want *want = shadowed->want;
    for (uint32_t i = 0; i < shadowed->n; i++) {
        const enum zd_status status = want[i].wait.status;
        is_known = is_known && (status == ZD_OK || status == ZD_NOT_FOUND);
        *ret_checked_ms = zd_min_u64(*ret_checked_ms, want[i].checked_ms);
    }
    for (const struct zd_dialect *const *dialect = zd_dialects; shadowed->n > 0 && *dialect != NULL;
        dialect++) {
        if (!is_asked(*dialect, shadowed->own)) {
            continue;
        }
        const struct zd_documents documents = documents_of(want, *dialect);
        if ((*dialect)->bid(&documents) > 0) {
            zd_shadowed_warn(*dialect, faults);
        }
        want += (*dialect)->n_documents;
    }
    return is_known;
}

void zd_shadowed_release(struct zd_shadowed *shadowed)
{
    for (uint32_t i = 0; i < shadowed->n; i++) {
        zd_objects_release(&shadowed->want[i]);
    }
    zd_free(ZD_TAKE(shadowed->want));
    shadowed->n = 0;
}
