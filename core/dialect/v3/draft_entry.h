/* The entry point of a hierarchy of the drafts of 2019 to January 2023: the document `zarr.json` at
 * the root of the store, which no node of theirs can do without. */
#ifndef ZD_CORE_DIALECT_V3_DRAFT_ENTRY_H
#define ZD_CORE_DIALECT_V3_DRAFT_ENTRY_H

#include "core/base/fault.h"

#define ZD_DRAFT_ENTRY_KEY "zarr.json"

/** The draft of an entry point. */
enum zd_draft {
    ZD_DRAFT_NONE, /* it is no entry point, or of none that is known */
    ZD_DRAFT_2019,
    ZD_DRAFT_2020,
    ZD_DRAFT_2023_01,
};

/** Whether a document can be an entry point: its version is a string. In final v3 it is a number.
 * Looks at the text only as long as it is short. Thread: any. */
bool zd_draft_entry_may_be(struct zd_span text);

/** Which draft it is of (reference 7.1). Without memory ZD_DRAFT_NONE. Thread: any. */
enum zd_draft zd_draft_entry_tell(struct zd_span text);

/**
 * Judge it. Members that no draft defines are ignored, as the drafts say.
 * @param draft what zd_draft_entry_tell said of it
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_draft_entry_judge(struct zd_span text, enum zd_draft draft, struct zd_faults *faults);

/**
 * Judge a list of extensions, of an entry point or of a node: none is known, so that only those
 * that say so may be ignored.
 * @param list any JSON value, or NULL: there is none
 * @param name of the document, for findings, or NULL
 */
void zd_draft_entry_judge_extensions(
    const struct zd_json *list, const char *name, struct zd_faults *faults);

#endif
