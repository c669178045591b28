/* The attributes.json of an N5 dataset as a final v3 document. */
#ifndef ZD_CORE_DIALECT_N5_N5_ARRAY_H
#define ZD_CORE_DIALECT_N5_N5_ARRAY_H

#include "core/dialect/meta.h"
#include "core/dialect/n5/n5_compression.h"

/** A dataset's document, translated. */
struct zd_n5_array {
    struct zd_json *document; /* final v3, not judged yet; owned; NULL: the faults refuse it */
    struct zd_n5_compression compression;
    uint32_t rank;
    bool is_reversed;
};

/**
 * Translate what N5 says in another way than v3. What both say alike is left to the judge of v3
 * documents.
 *
 * @param attributes  the document, an object; borrowed
 * @param is_reversed the axes come in the reverse order of `dimensions`
 * @param ret_array   owned: zd_n5_array_done
 * @param faults      of meta
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_n5_array_translate(const struct zd_json *attributes, bool is_reversed,
    struct zd_n5_array *ret_array, struct zd_faults *faults);

/** Let the findings about the translated document point to attributes.json. */
void zd_n5_array_move_faults(const struct zd_n5_array *array, struct zd_faults *faults);

/**
 * The document of reversed axes, as v3 can say it: the keys and the blocks of N5 keep the order of
 * `dimensions`, which no v3 document can. So it is the one of decoded chunks.
 *
 * @param meta judged with the translated document, not refused; its document is replaced
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_n5_array_show_reversed(struct zd_meta *meta);

/** Put the members that are no business of N5 into a document, as its attributes.
 * @param attributes an object, or NULL: there are none
 * @param is_group   only `n5` is none of them */
ZD_RESULT zd_n5_array_set_attributes(
    const struct zd_json *attributes, bool is_group, struct zd_json *document);

void zd_n5_array_done(struct zd_n5_array *array); /* accepts a zeroed one */

#endif
