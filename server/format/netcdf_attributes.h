/* Attributes of Zarr as attributes of netCDF: numbers, strings, lists of numbers; true and false
 * are 1 and 0. What else there is, what is longer than 64 KiB, and what comes after 1,000
 * attributes or 256 KiB of them, is left out. Thread: any. */
#ifndef ZD_FORMAT_NETCDF_ATTRIBUTES_H
#define ZD_FORMAT_NETCDF_ATTRIBUTES_H

#include "server/format/format.h"
#include "server/format/netcdf_text.h"

/**
 * Add those of an array in an answer. What speaks of its elements (_FillValue, missing_value,
 * valid_...) has their type; what decoding has done is left out; the fill value of v2 is
 * _FillValue, as for xarray; times say their units.
 */
void zd_netcdf_attributes_add(struct zd_netcdf_text *to, const struct zd_answer *answer);

/** Add those of a group. @param attributes or NULL */
void zd_netcdf_attributes_add_global(struct zd_netcdf_text *to, const struct zd_json *attributes);

#endif
