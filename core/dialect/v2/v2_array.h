/* A `.zarray` document of Zarr v2 as a final v3 document. */
#ifndef ZD_CORE_DIALECT_V2_V2_ARRAY_H
#define ZD_CORE_DIALECT_V2_V2_ARRAY_H

#include "core/dialect/v2/v2_codecs.h"

#define ZD_V2_DIMENSIONS "_ARRAY_DIMENSIONS" /* an attribute by which xarray names them */

/** An array's document, translated. */
struct zd_v2_array {
    struct zd_json *document; /* final v3, not judged yet; owned; NULL: the faults refuse it */
    struct zd_v2_codecs codecs;
};

/**
 * Translate what v2 says in another way than v3. What both say alike is left to the judge of v3
 * documents.
 *
 * @param zarray     the document, any JSON; borrowed
 * @param attributes the contents of `.zattrs`, or NULL; borrowed
 * @param ret_array  owned: zd_v2_array_done
 * @param faults     of meta
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v2_array_translate(const struct zd_json *zarray, const struct zd_json *attributes,
    struct zd_v2_array *ret_array, struct zd_faults *faults);

/** Let the findings about the translated document point to the v2 document. */
void zd_v2_array_move_faults(const struct zd_v2_array *array, struct zd_faults *faults);

/** Warn of members that v2 does not define: they are ignored. */
void zd_v2_array_judge_members(const struct zd_json *zarray, struct zd_faults *faults);

void zd_v2_array_done(struct zd_v2_array *array); /* accepts a zeroed one */

#endif
