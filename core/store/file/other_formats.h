/* What lies where a hierarchy was expected: formats of others, by their first bytes. All calls
 * block for a few reads. Thread: any. */
#ifndef ZD_CORE_STORE_FILE_OTHER_FORMATS_H
#define ZD_CORE_STORE_FILE_OTHER_FORMATS_H

#include <stdbool.h>

/** What a file is ("an HDF5 or NetCDF-4 file"), with what to do about it where that is known; NULL:
 * nothing that is known, a zip archive that can be read, or no file. */
const char *zd_other_formats_file(const char *path);

/** The same of a directory: a store of another kind ("an Icechunk repository"). */
const char *zd_other_formats_store(const char *path);

/** What lies in a directory that is no store ("a directory of HDF5 or NetCDF-4 files"): some of its
 * files are looked at. NULL: nothing that is known. */
const char *zd_other_formats_content(const char *path);

/** Whether a file is a zip archive, named as one, with a hierarchy at its root. */
bool zd_other_formats_is_archive(const char *path);

#endif
