/* Credentials in request targets: `/t/T/zarr/...` and `?access_token=T`, for clients that send no
 * headers; and those of the scheme Bearer in headers. Thread: any. */
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

/** Whether a value of Authorization is of the scheme Bearer, well formed or not. A value of another
 * scheme is meant for somebody else: for a proxy, or the program that passes requests on. */
bool zd_credential_is_bearer(const char *authorization);

/** The token of a value of the scheme Bearer; empty where it is malformed. */
struct zd_span zd_credential_of_bearer(const char *authorization);

#endif
