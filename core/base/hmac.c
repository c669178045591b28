/* HMAC-SHA256. */
#include "core/base/hmac.h"

#include <assert.h>
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

struct zd_hmac {
    EVP_MAC_CTX *context; /* owned; has the secret */
};

static EVP_MAC_CTX *make_context(struct zd_span secret)
{
    static char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    if (context != NULL && EVP_MAC_init(context, secret.ptr, secret.len, params) != 1) {
        EVP_MAC_CTX_free(context);
        return NULL;
    }
    return context;
}

enum zd_status zd_hmac_new(struct zd_span secret, struct zd_hmac **ret_hmac)
{
    assert(secret.len > 0 && secret.len <= INT_MAX);
    ZD_AUTO(zd_hmac) hmac = zd_alloc_zero(1, sizeof *hmac);
    if (hmac == NULL || (hmac->context = make_context(secret)) == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_hmac = ZD_TAKE(hmac);
    return ZD_OK;
}

void zd_hmac_free(struct zd_hmac *hmac)
{
    if (hmac != NULL) {
        EVP_MAC_CTX_free(hmac->context);
        zd_free(hmac);
    }
}

enum zd_status zd_hmac_of(
    struct zd_hmac *hmac, struct zd_span bytes, uint8_t ret_digest[ZD_DIGEST_BYTES])
{
    size_t len = 0;
    /* Without a secret it begins anew with the one that it has. */
    const bool is_made = EVP_MAC_init(hmac->context, NULL, 0, NULL) == 1 &&
                         EVP_MAC_update(hmac->context, bytes.ptr, bytes.len) == 1 &&
                         EVP_MAC_final(hmac->context, ret_digest, &len, ZD_DIGEST_BYTES) == 1;
    return is_made ? ZD_OK : ZD_NO_MEMORY;
}

void zd_hmac_wipe(void *at, size_t len)
{
    if (len > 0) {
        OPENSSL_cleanse(at, len);
    }
}
