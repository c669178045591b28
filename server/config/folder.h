/* Directories of stores: each store directly below one, a directory or a ZIP archive, is a dataset.
 * Thread: any; all calls block. */
#ifndef ZD_CONFIG_FOLDER_H
#define ZD_CONFIG_FOLDER_H

#include "server/config/settings.h"

#define ZD_FOLDER_STORES_MAX 10000

/** The kind of hierarchy, by what is at its root, where it is one that no dialect of this program
 * reads: "an Icechunk repository"; or N5 that nothing at the root says, with what to do; else NULL.
 * @param location of any store */
const char *zd_folder_other_kind(const char *location);

/** The content of a location without a hierarchy or another store ("a TIFF file", "a directory of
 * TIFF files"), so that people see their mistake; NULL: unknown. */
const char *zd_folder_content(const char *location);

/** Whether the name of a location says that it is N5, whose root needs no document. */
bool zd_folder_is_n5(const char *location);

/** Whether a location is a directory that holds no hierarchy itself, but stores directly below it.
 */
bool zd_folder_is(const char *location);

/**
 * Add each store directly below a directory as a dataset, by the bytes of their names, at most
 * ZD_FOLDER_STORES_MAX. Stores that differ in their ending alone keep it in their names; names that
 * others have all the same get a number.
 *
 * @param folder location and members of all of them; what is only read is not writable
 */
ZD_RESULT zd_folder_expand(
    struct zd_config *config, const struct zd_dataset_config *folder, struct zd_error *err);

/** A name for the dataset at a location: its last segment without the ending of its kind, that of
 * the real directory for "." and ".."; odd characters become '-'. */
void zd_folder_name(const char *location, struct zd_text *name);

#endif
