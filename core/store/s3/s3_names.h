/* Listings of a bucket: all names at once, in an order of our own. Thread: loop. */
#ifndef ZD_CORE_STORE_S3_S3_NAMES_H
#define ZD_CORE_STORE_S3_S3_NAMES_H

#include "core/store/s3/s3_store.h"

/** Implements zd_store_ops.list. */
void zd_s3_names_list(struct zd_s3_store *s3, struct zd_store_list *list);

#endif
