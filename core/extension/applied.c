/* The extensions of one node that this build knows: judged, kept, asked in order. */
#include "core/extension/applied.h"

#include <assert.h>
#include <string.h>

#include "core/base/json_schema.h"
#include "core/extension/levels.h"

static void close_state(const struct zd_applied *applied)
{
    if (applied->extension->close != NULL) {
        applied->extension->close(applied->state);
    } else {
        zd_free(applied->state);
    }
}

void zd_applied_done(struct zd_applied_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        close_state(&list->item[i]);
    }
    zd_free(list->item);
    *list = (struct zd_applied_list){0};
}

static bool is_applied(const struct zd_applied_list *list, const struct zd_extension *extension)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->item[i].extension == extension) {
            return true;
        }
    }
    return false;
}

/* It is understood here, so that a wrong flag of a stored document does no harm. */
static void judge_flag(const struct zd_extension *extension, const struct zd_definition *definition,
    const struct zd_pointer *at, const struct zd_subject *subject, struct zd_faults *faults)
{
    if (extension->must_be_understood && !definition->must_understand) {
        const struct zd_pointer flag = zd_pointer_member(at, "must_understand");
        zd_faults_add(faults, subject->is_stored ? ZD_FAULT_WARNING : ZD_FAULT_INVALID,
            "must_understand_false", extension->name, &flag, "true", "false",
            "\"%s\" requires must_understand true", extension->name);
    }
}

static void judge_repetition(const struct zd_applied_list *list,
    const struct zd_extension *extension, const struct zd_pointer *at, struct zd_faults *faults)
{
    if (!extension->may_repeat && is_applied(list, extension)) {
        zd_faults_add(faults, ZD_FAULT_INVALID, "duplicate", extension->name, at,
            "one entry with that name", extension->name, "\"%s\" must appear in the list only once",
            extension->name);
    }
}

static enum zd_status judge_configuration(const struct zd_extension *extension,
    const struct zd_definition *definition, const struct zd_pointer *at,
    const struct zd_subject *subject, void **ret_state, struct zd_faults *faults)
{
    const struct zd_pointer place = zd_pointer_member(at, "configuration");
    ZD_AUTO(zd_json) none = zd_json_new_object();
    if (none == NULL) {
        return ZD_NO_MEMORY;
    }
    const struct zd_json *configuration =
        definition->configuration == NULL ? none : definition->configuration;
    if (extension->schema != NULL) {
        ZD_TRY(zd_json_schema_check(
            extension->schema, configuration, &place, extension->name, faults));
    }
    return extension->validate == NULL || subject->is_faulty
               ? ZD_OK
               : extension->validate(configuration, &place, subject, ret_state, faults);
}

static enum zd_status append(struct zd_applied_list *list, const struct zd_applied *applied)
{
    struct zd_applied *grown = zd_realloc(list->item, (list->n + 1) * sizeof *grown);
    if (grown == NULL) {
        return ZD_NO_MEMORY;
    }
    list->item = grown;
    list->item[list->n++] = *applied;
    return ZD_OK;
}

enum zd_status zd_applied_add(struct zd_applied_list *list, const struct zd_extension *extension,
    size_t position, const struct zd_definition *definition, const struct zd_pointer *at,
    const struct zd_subject *subject, struct zd_faults *faults)
{
    struct zd_applied applied = {.extension = extension, .position = position};
    judge_flag(extension, definition, at, subject, faults);
    judge_repetition(list, extension, at, faults);
    ZD_TRY(judge_configuration(extension, definition, at, subject, &applied.state, faults));
    if (subject->is_faulty) {
        return ZD_OK;
    }
    const enum zd_status status = append(list, &applied);
    if (status != ZD_OK) {
        close_state(&applied);
    }
    return status;
}

void zd_applied_view(
    const struct zd_applied_list *list, const struct zd_subject *subject, struct zd_view *ret_view)
{
    *ret_view = (struct zd_view){0};
    for (uint32_t i = 0; i < list->n; i++) {
        const struct zd_applied *applied = &list->item[i];
        if (applied->extension->view != NULL) {
            applied->extension->view(applied->state, subject, ret_view);
        }
    }
}

bool zd_applied_watch_writes(const struct zd_applied_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->item[i].extension->before_write != NULL) {
            return true;
        }
    }
    return false;
}

/* The same list but for one entry. Takes over `configuration`. */
static enum zd_status replace_configuration(const struct zd_json *extensions, size_t position,
    struct zd_json *configuration, struct zd_json **ret_extensions)
{
    ZD_AUTO(zd_json) held = configuration;
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (size_t i = 0; list != NULL && i < zd_json_count(extensions); i++) {
        const struct zd_json *entry = zd_json_element(extensions, i);
        struct zd_json *copy = i == position ? zd_json_copy(entry) : zd_json_ref(entry);
        if (i == position && copy != NULL) {
            const enum zd_status status = zd_json_set(copy, "configuration", ZD_TAKE(held));
            if (status != ZD_OK) {
                zd_json_unref(copy);
                return status;
            }
        }
        ZD_TRY(zd_json_append(list, copy));
    }
    *ret_extensions = ZD_TAKE(list);
    return *ret_extensions == NULL ? ZD_NO_MEMORY : ZD_OK;
}

static enum zd_status ask_before_write(const struct zd_applied *applied,
    const struct zd_subject *subject, const struct zd_summary *written, struct zd_json **changed,
    struct zd_error *err)
{
    struct zd_json *configuration = NULL;
    struct zd_json *list = NULL;
    if (applied->extension->before_write == NULL) {
        return ZD_OK;
    }
    ZD_TRY(applied->extension->before_write(applied->state, subject, written, &configuration, err));
    if (configuration == NULL) {
        return ZD_OK;
    }
    const enum zd_status status =
        replace_configuration(*changed, applied->position, configuration, &list);
    if (status != ZD_OK) {
        return zd_fail(err, status, "no memory for the list of a node's extensions");
    }
    zd_json_unref(*changed);
    *changed = list;
    return ZD_OK;
}

enum zd_status zd_applied_before_write(const struct zd_applied_list *list,
    const struct zd_subject *subject, const struct zd_json *extensions,
    const struct zd_summary *written, struct zd_json **ret_extensions, struct zd_error *err)
{
    ZD_AUTO(zd_json) changed = extensions == NULL ? NULL : zd_json_ref(extensions);
    for (uint32_t i = 0; i < list->n; i++) {
        ZD_TRY(ask_before_write(&list->item[i], subject, written, &changed, err));
    }
    *ret_extensions = changed == extensions ? NULL : ZD_TAKE(changed);
    return ZD_OK;
}

enum zd_status zd_applied_select(const struct zd_applied_list *list, const struct zd_choice *choice,
    uint32_t *ret_level, struct zd_error *err)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const struct zd_applied *applied = &list->item[i];
        if (applied->extension->select != NULL) {
            return applied->extension->select(applied->state, choice, ret_level, err);
        }
    }
    return zd_levels_choose(choice, ret_level, err);
}

void zd_applied_listing(
    const struct zd_applied_list *list, const char *path, struct zd_listing *listing)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const struct zd_applied *applied = &list->item[i];
        if (applied->extension->listing != NULL) {
            applied->extension->listing(applied->state, path, listing);
        }
    }
}
