/* Shared by tests of generic extensions: nodes with one entry in `extensions`. */
#include "tests/support/extension.h"

#include <string.h>

#include "core/base/emit.h"
#include "core/dialect/dialect.h"
#include "tests/support/codec.h"

#define DOCUMENT_BYTES_MAX 65536

static struct zd_meta *parse(const struct zd_text *document)
{
    const struct zd_reading reading = {
        .zep10 = true,
        .judgement = ZD_JUDGE_WRITE,
        .limits = {.bytes_max = DOCUMENT_BYTES_MAX, .nodes_max = 1000, .depth_max = 32},
    };
    ZD_AUTO(zd_json) json = zd_unit_json(document->at);
    struct zd_meta *meta = NULL;
    struct zd_error err = {0};
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, DOCUMENT_BYTES_MAX);
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, json);
    const struct zd_stored_entry entry = {.document = zd_text_span(&text)};
    ck_assert_int_eq(zd_dialect_find("v3")->parse_entry(&entry, &reading, &meta, &err), ZD_OK);
    return meta;
}

struct zd_meta *zd_unit_extended_array(const char *data_type, const char *extensions)
{
    ZD_SCOPED_TEXT(document, DOCUMENT_BYTES_MAX);
    const bool has_false = strcmp(data_type, "bool") == 0;
    zd_text_addf(&document,
        "{'zarr_format':3,'node_type':'array','shape':[10,20],'data_type':'%s',"
        "'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[5,5]}},"
        "'chunk_key_encoding':{'name':'default'},'fill_value':%s,"
        "'codecs':[{'name':'bytes','configuration':{'endian':'little'}}],'extensions':%s}",
        data_type,
        has_false                               ? "false"
        : strncmp(data_type, "complex", 7) == 0 ? "[0,0]"
                                                : "0",
        extensions);
    return parse(&document);
}

struct zd_meta *zd_unit_extended_group(const char *extensions)
{
    ZD_SCOPED_TEXT(document, DOCUMENT_BYTES_MAX);
    zd_text_addf(&document, "{'zarr_format':3,'node_type':'group','extensions':%s}", extensions);
    return parse(&document);
}

void zd_unit_check_extension(const struct zd_unit_extension_fact *fact)
{
    ZD_AUTO(zd_meta)
    meta = fact->data_type == NULL ? zd_unit_extended_group(fact->extensions)
                                   : zd_unit_extended_array(fact->data_type, fact->extensions);
    if (fact->code == NULL) {
        char *found = zd_unit_faults(&meta->faults);
        ck_assert_msg(meta->faults.n_items == 0, "%s: %s", fact->extensions, found);
        zd_free(found);
        return;
    }
    ck_assert_msg(zd_meta_is_refused(meta), "%s", fact->extensions);
    const struct zd_fault *fault = &meta->faults.item[0];
    ck_assert_str_eq(fault->code, fact->code);
    ck_assert_int_eq(strncmp(fault->pointer, "/extensions", strlen("/extensions")), 0);
    ck_assert_str_eq(fault->pointer + strlen("/extensions"), fact->pointer);
    ck_assert_msg(fault->expected != NULL || strcmp(fact->code, "rank_mismatch") == 0, "%s: %s",
        fact->extensions, fault->detail);
}
