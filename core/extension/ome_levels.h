/* OME-NGFF multiscales: the arrays of a group that are one image at several scales, as its
 * attributes list them. */
#ifndef ZD_CORE_EXTENSION_OME_LEVELS_H
#define ZD_CORE_EXTENSION_OME_LEVELS_H

#include "core/extension/relative.h"

#define ZD_OME_LEVELS_MAX 64 /* of one group: each is looked up when the group is */

/**
 * The datasets of the first image: of `ome.multiscales` (0.5), else of `multiscales` (0.4).
 * Attributes are the user's: what cannot be read as OME-NGFF is no fault, and a list of datasets
 * that cannot be used is a warning.
 *
 * @param attributes an object
 * @param ret_levels owned, freed with zd_relative_free; NULL: there are none
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_ome_levels_find(
    const struct zd_json *attributes, struct zd_relative **ret_levels, struct zd_faults *faults);

#endif
