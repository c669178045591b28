/* Other formats where a hierarchy was expected, recognised by their first bytes. All calls
 * block for a few reads. Thread: any. */
#ifndef ZD_CORE_STORE_FILE_OTHER_FORMATS_H
#define ZD_CORE_STORE_FILE_OTHER_FORMATS_H

#include <stdbool.h>

/** The format of a file ("an HDF5 or NetCDF-4 file"), with a remedy if there is one. NULL: unknown,
 * a zip archive that can be read, or no file. */
const char *zd_other_formats_file(const char *path);

/** The same of a directory: a store of another kind ("an Icechunk repository"). */
const char *zd_other_formats_store(const char *path);

/** The content of a directory that is no store ("a directory of HDF5 or NetCDF-4 files"), from some
 * of its files. NULL: unknown. */
const char *zd_other_formats_content(const char *path);

/** Whether a file is a zip archive, named as one, with a hierarchy at its root. */
bool zd_other_formats_is_archive(const char *path);

#endif
