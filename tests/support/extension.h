/* Shared by tests of generic extensions: nodes with one entry in `extensions`. */
#ifndef ZD_TESTS_SUPPORT_EXTENSION_H
#define ZD_TESTS_SUPPORT_EXTENSION_H

#include "core/dialect/meta.h"

/** A node of a v3 document with that list of extensions (JSON with ' for "), owned: an array of
 * that data type, of shape 10 x 20 in chunks of 5 x 5 with the fill value 0, or a group. */
struct zd_meta *zd_unit_extended_array(const char *data_type, const char *extensions);
struct zd_meta *zd_unit_extended_group(const char *extensions);

/** An entry, and the expected findings. */
struct zd_unit_extension_fact {
    const char *data_type;  /* NULL: a group */
    const char *extensions; /* the whole list */
    const char *code;       /* of the first finding; NULL: it is good */
    const char *pointer;    /* below /extensions */
};

/** The node is refused with that finding, or good; a finding tells what was expected. */
void zd_unit_check_extension(const struct zd_unit_extension_fact *fact);

#endif
