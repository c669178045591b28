/* Credentials in request targets: `/t/T/zarr/...` and `?access_token=T`, for clients that send no
 * headers. Thread: any. */
#ifndef ZD_HTTP_CREDENTIAL_H
#define ZD_HTTP_CREDENTIAL_H

#include <stdint.h>

#include "core/base/text.h"

/**
 * Take the credentials out of a target: what is left is the resource, and may be logged, kept and
 * shown. Names are decoded first, as those are that look for resources and parameters.
 *
 * @param target changed in place; it never grows
 * @param token  cleared first; the first credential, decoded; empty where there is none, or none
 *               that can be decoded; NULL: they only go
 * @return how many there were
 */
uint32_t zd_credential_take(char *target, struct zd_text *token);

#endif
