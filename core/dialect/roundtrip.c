/* Whether documents of one dialect say what a final v3 document says. */
#include "core/dialect/roundtrip.h"

#include <string.h>

#include "core/base/emit.h"
#include "core/dialect/dialect.h"

#define SHOWN_BYTES_MAX 256 /* of a value in a fault */

static const struct zd_pointer whole_document = {.text = ""};

/* Every member of an object; any other value as a whole. */
static bool has_members_of(const struct zd_json *made, const struct zd_json *asked)
{
    if (!zd_json_is(asked, ZD_JSON_OBJECT)) {
        return asked == NULL || (made != NULL && zd_json_equal(made, asked));
    }
    for (void *iter = zd_json_next(asked, NULL); iter != NULL; iter = zd_json_next(asked, iter)) {
        const struct zd_json *member = zd_json_member(made, zd_json_iter_name(iter));
        if (member == NULL || !zd_json_equal(member, zd_json_iter_value(iter))) {
            return false;
        }
    }
    return true;
}

static bool is_same_codec(const struct zd_json *made, const struct zd_json *asked)
{
    const struct zd_json *name = zd_json_member(asked, "name");
    return name != NULL && has_members_of(zd_json_member(made, "name"), name) &&
           has_members_of(
               zd_json_member(made, "configuration"), zd_json_member(asked, "configuration"));
}

static bool has_codecs_of(const struct zd_json *made, const struct zd_json *asked)
{
    const size_t n = zd_json_count(asked);
    for (size_t i = 0; i < n; i++) {
        if (!is_same_codec(zd_json_element(made, i), zd_json_element(asked, i))) {
            return false;
        }
    }
    return zd_json_count(made) == n;
}

static bool has_fill_of(const struct zd_meta *made, const struct zd_meta *asked)
{
    return zd_dtype_equal(&made->dtype, &asked->dtype) &&
           zd_dtype_same_elements(&made->dtype, made->fill, asked->fill, 1);
}

static bool says(const struct zd_meta *made, const struct zd_meta *asked, const char *name)
{
    const struct zd_json *value = zd_json_member(asked->document, name);
    const struct zd_json *member = zd_json_member(made->document, name);
    if (strcmp(name, "chunk_key_encoding") == 0) {
        return true;
    }
    if (strcmp(name, "fill_value") == 0) {
        return has_fill_of(made, asked);
    }
    if (strcmp(name, "codecs") == 0) {
        return has_codecs_of(member, value);
    }
    if (strcmp(name, "attributes") == 0) {
        return has_members_of(member, value);
    }
    return member != NULL && zd_json_equal(member, value);
}

static void refuse(const struct zd_meta *made, const char *name, struct zd_faults *faults)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, name);
    struct zd_emit emit;
    ZD_SCOPED_TEXT(text, SHOWN_BYTES_MAX);
    zd_emit_init(&emit, &text, false);
    zd_emit_json(&emit, zd_json_member(made->document, name));
    if (text.status == ZD_NO_MEMORY) {
        faults->out_of_memory = true;
        return;
    }
    zd_faults_add(faults, ZD_FAULT_INVALID, "not_in_dialect", name, &at, text.at, NULL,
        "the dialect %s cannot express this %.64s; in its documents it would become %s%s",
        made->dialect->name, name, text.at, text.status == ZD_OK ? "" : "...");
}

static void warn_of_keys(const struct zd_meta *asked, struct zd_meta *made)
{
    const struct zd_pointer at = zd_pointer_member(&whole_document, "chunk_key_encoding");
    if (asked->key_encoding != made->key_encoding || asked->key_separator != made->key_separator) {
        zd_faults_add(&made->faults, ZD_FAULT_WARNING, "changed_keys", "chunk_key_encoding", &at,
            "v2", "default", "the dialect %s requires chunk keys of the form \"0%c0\"",
            made->dialect->name, made->key_separator);
    }
}

void zd_roundtrip_judge(const struct zd_meta *asked, struct zd_meta *made, struct zd_faults *faults)
{
    if (zd_meta_is_refused(made)) {
        struct zd_error err = {0};
        if (zd_faults_status(&made->faults, &err) != ZD_OK) {
            zd_faults_add(faults, ZD_FAULT_INVALID, "not_in_dialect", NULL, &whole_document, NULL,
                NULL, "the dialect %s cannot express this document: %.300s", made->dialect->name,
                err.text);
        }
        return;
    }
    for (void *iter = zd_json_next(asked->document, NULL); iter != NULL;
        iter = zd_json_next(asked->document, iter)) {
        if (!says(made, asked, zd_json_iter_name(iter))) {
            refuse(made, zd_json_iter_name(iter), faults);
        }
    }
    if (asked->type == ZD_NODE_ARRAY) {
        warn_of_keys(asked, made);
    }
}
