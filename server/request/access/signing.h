/* Requests whose URL is signed (server/http/signed_url.h), and who signs. Thread: loop.
 *
 * A signed URL acts as its signer, restricted to what was signed: it may do what the signer may do
 * now. The URL has the signer's name: "tNAME" of a token, or of a JWT the lines "jNAME", the id of
 * its key, and its scope, since the server does not keep the JWT. */
#ifndef ZD_REQUEST_ACCESS_SIGNING_H
#define ZD_REQUEST_ACCESS_SIGNING_H

#include "core/base/digest.h"
#include "server/request/request.h"

struct zd_signing_keys;

/**
 * Name the client of a request as a signer.
 *
 * @param dataset where the URL leads, or empty: a scope of a JWT tells of no other dataset
 * @param to      gets the name
 * @param ret     digest of the credential
 * @retval ZD_INVALID   the text says why
 * @retval ZD_NO_MEMORY without a text
 */
ZD_RESULT zd_signing_name(const struct zd_request *req, struct zd_span dataset, struct zd_text *to,
    uint8_t ret[ZD_DIGEST_BYTES], struct zd_error *err);

/**
 * Find the signer of a request whose signature is not empty, as long as URL and signer last.
 * @return a reference; NULL: it is not what was signed, or its time or its signer's is over
 */
struct zd_identity *zd_signing_identify(struct zd_request *req);

/**
 * Put newer signing keys in the place of the server's. When an older key is gone, or has another
 * secret, every answer to a signed URL that is under way ends: a client whose URL is still good
 * asks again.
 *
 * @param newer taken over; NULL: there are none
 */
void zd_signing_replace_keys(struct zd_server *server, struct zd_signing_keys *newer);

#endif
