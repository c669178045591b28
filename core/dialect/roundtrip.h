/* Whether documents of one dialect say what a final v3 document says. */
#ifndef ZD_CORE_DIALECT_ROUNDTRIP_H
#define ZD_CORE_DIALECT_ROUNDTRIP_H

#include "core/dialect/meta.h"

/**
 * Compare a document with what was made of it, read again. More may be said: an attribute, a
 * parameter of a codec. Keys of chunks that are made in another way are no more than a warning.
 *
 * @param asked  not refused
 * @param made   of the documents of another dialect; gets the warnings
 * @param faults what is missing or another: invalid (not_in_dialect), with its place in `asked`
 * Thread: any.
 */
void zd_roundtrip_judge(
    const struct zd_meta *asked, struct zd_meta *made, struct zd_faults *faults);

#endif
