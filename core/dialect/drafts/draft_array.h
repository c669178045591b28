/* An array's document of the drafts of 2019 to January 2023 as a final v3 document. */
#ifndef ZD_CORE_DIALECT_DRAFTS_DRAFT_ARRAY_H
#define ZD_CORE_DIALECT_DRAFTS_DRAFT_ARRAY_H

#include "core/dialect/v3/draft_entry.h"
#include "core/dialect/v2/v2_array.h"

/** An array's document, translated. */
struct zd_draft_array {
    struct zd_json *zarray;     /* as one of v2; owned */
    struct zd_json *attributes; /* without filters; owned, or NULL */
    struct zd_v2_array v2;      /* v2.document: final v3, not judged yet; NULL: the faults refuse */
    bool is_sharded;
    bool has_type_object; /* data_type is an extension with a `type` */
};

/**
 * Translate. These drafts say nearly all that Zarr v2 says, in other words: the document is made
 * one of v2 first, so that data types, fill values, filters and compressors are read alike.
 *
 * @param document  any JSON; borrowed
 * @param ret_array owned: zd_draft_array_done, also after a failure
 * @param faults    of meta, pointing to the document
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_draft_array_translate(const struct zd_json *document, enum zd_draft draft,
    struct zd_draft_array *ret_array, struct zd_faults *faults);

/** Let the findings about the translated document point to the draft's. */
void zd_draft_array_move_faults(
    const struct zd_draft_array *array, const struct zd_json *document, struct zd_faults *faults);

/** Find fault with members that the draft does not define. */
void zd_draft_array_judge_members(
    const struct zd_json *document, enum zd_draft draft, struct zd_faults *faults);

void zd_draft_array_done(struct zd_draft_array *array); /* accepts a zeroed one */

#endif
