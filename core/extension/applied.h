/* The extensions of one node that this build knows: judged, kept, asked in order. */
#ifndef ZD_CORE_EXTENSION_APPLIED_H
#define ZD_CORE_EXTENSION_APPLIED_H

#include "core/extension/extension.h"

struct zd_applied {
    const struct zd_extension *extension;
    void *state;     /* what validate made; owned */
    size_t position; /* in the document's list, where those that are not known stand too */
};

/** Starts zeroed. */
struct zd_applied_list {
    struct zd_applied *item; /* n of them, in the order of the document; owned */
    uint32_t n;
};

/**
 * Judge an entry of the document's list, and keep it.
 *
 * @param position   in the document's list
 * @param definition well formed; names `extension`
 * @param at         of the entry
 * @param subject    when it is faulty, only what does not depend on it is judged, and nothing kept
 * @retval ZD_INVALID   the faults say what
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_applied_add(struct zd_applied_list *list, const struct zd_extension *extension,
    size_t position, const struct zd_definition *definition, const struct zd_pointer *at,
    const struct zd_subject *subject, struct zd_faults *faults);
void zd_applied_done(struct zd_applied_list *list); /* leaves a zeroed one */

/** The view of the node through all of them. Thread: any. */
void zd_applied_view(
    const struct zd_applied_list *list, const struct zd_subject *subject, struct zd_view *ret_view);

/** Whether what is written must be known before it is stored. Thread: any. */
bool zd_applied_watch_writes(const struct zd_applied_list *list);

/**
 * The list that the document needs before the elements are stored.
 *
 * @param extensions     the list as it stands in the document; borrowed
 * @param ret_extensions owned, entries that do not change shared; NULL: as it is
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_applied_before_write(const struct zd_applied_list *list,
    const struct zd_subject *subject, const struct zd_json *extensions,
    const struct zd_summary *written, struct zd_json **ret_extensions, struct zd_error *err);

/** Which level of a group answers, as the first says that can select, else as any group with levels
 * does (zd_levels_choose). @retval as the hook */
ZD_RESULT zd_applied_select(const struct zd_applied_list *list, const struct zd_choice *choice,
    uint32_t *ret_level, struct zd_error *err);

/** Add what a group says of a node below it. Thread: any. */
void zd_applied_listing(
    const struct zd_applied_list *list, const char *path, struct zd_listing *listing);

#endif
