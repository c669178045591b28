/* What all values of the configuration have in common: replacing texts, and their errors. */
#include "server/config/config_value.h"

#include <assert.h>

#include "core/base/emit.h"

#define SHOWN_BYTES 64 /* of a value in an error */

enum zd_status zd_config_value_no_memory(struct zd_error *err)
{
    const enum zd_status status = zd_fail(err, ZD_NO_MEMORY, "no memory for the configuration");
    assert(status == ZD_NO_MEMORY);
    (void)status;
    return ZD_NO_MEMORY; /* the constant is what a static analyser can follow */
}

enum zd_status zd_config_value_replace(char **place, const char *value, struct zd_error *err)
{
    char *copy = zd_strdup(value);
    if (copy == NULL) {
        return zd_config_value_no_memory(err);
    }
    zd_free(*place);
    *place = copy;
    return ZD_OK;
}

/* A value that fits a line as it is written; else its type. */
static void show_value(const struct zd_json *value, struct zd_text *text)
{
    struct zd_emit emit;
    zd_emit_init(&emit, text, false);
    if (!zd_json_is(value, ZD_JSON_ARRAY) && !zd_json_is(value, ZD_JSON_OBJECT)) {
        zd_emit_json(&emit, value);
    }
    if (text->status != ZD_OK || text->len == 0) {
        zd_text_clear(text);
        zd_text_add(text, zd_json_type_name(value));
    }
}

enum zd_status zd_config_value_wrong_type(const struct zd_pointer *at, const char *expected,
    const struct zd_json *found, struct zd_error *err)
{
    ZD_SCOPED_TEXT(shown, SHOWN_BYTES);
    show_value(found, &shown);
    const char *where = at->text[0] == '\0' ? "the document" : at->text;
    const enum zd_status status =
        zd_fail(err, ZD_INVALID, "%s is %s; expected %s", where, shown.at, expected);
    zd_fact_pointer(err, at->text);
    zd_fact_expected(err, "%s", expected);
    zd_fact_found(err, "%s", shown.at);
    return status;
}

enum zd_status zd_config_value_unknown(const struct zd_pointer *at, struct zd_error *err)
{
    const enum zd_status status =
        zd_fail(err, ZD_INVALID, "there is no setting %s; --help lists all settings", at->text);
    zd_fact_pointer(err, at->text);
    return status;
}

enum zd_status zd_config_value_unsupported(const struct zd_pointer *at, struct zd_error *err)
{
    const enum zd_status status = zd_fail(
        err, ZD_INVALID, "setting %s is not supported by this version; remove it", at->text);
    zd_fact_pointer(err, at->text);
    return status;
}
