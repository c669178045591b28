/* AES-128 of one block. */
#include "core/base/seal.h"

#include <openssl/evp.h>
#include <string.h>

struct zd_seal {
    EVP_CIPHER_CTX *shut; /* owned, as is the next; each has the key */
    EVP_CIPHER_CTX *open;
};

static EVP_CIPHER_CTX *make_context(const uint8_t *key, int encrypts)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context != NULL &&
        EVP_CipherInit_ex(context, EVP_aes_128_ecb(), NULL, key, NULL, encrypts) != 1) {
        EVP_CIPHER_CTX_free(context);
        return NULL;
    }
    if (context != NULL) {
        EVP_CIPHER_CTX_set_padding(context, 0); /* a block comes out for each that goes in */
    }
    return context;
}

enum zd_status zd_seal_new(const uint8_t key[ZD_SEAL_BYTES], struct zd_seal **ret_seal)
{
    ZD_AUTO(zd_seal) seal = zd_alloc_zero(1, sizeof *seal);
    if (seal == NULL || (seal->shut = make_context(key, 1)) == NULL ||
        (seal->open = make_context(key, 0)) == NULL) {
        return ZD_NO_MEMORY;
    }
    *ret_seal = ZD_TAKE(seal);
    return ZD_OK;
}

void zd_seal_free(struct zd_seal *seal)
{
    if (seal != NULL) {
        EVP_CIPHER_CTX_free(seal->shut);
        EVP_CIPHER_CTX_free(seal->open);
        zd_free(seal);
    }
}

static enum zd_status pass(EVP_CIPHER_CTX *context, const uint8_t *from, uint8_t *to)
{
    int len = 0;
    const bool is_made = EVP_CipherUpdate(context, to, &len, from, ZD_SEAL_BYTES) == 1;
    return is_made && len == ZD_SEAL_BYTES ? ZD_OK : ZD_NO_MEMORY;
}

static const char digits[] = "0123456789abcdef";

enum zd_status zd_seal_shut(
    struct zd_seal *seal, const uint8_t block[ZD_SEAL_BYTES], char ret_hex[ZD_SEAL_CHARS + 1])
{
    uint8_t sealed[ZD_SEAL_BYTES];
    ZD_TRY(pass(seal->shut, block, sealed));
    for (size_t i = 0; i < sizeof sealed; i++) {
        ret_hex[2 * i] = digits[sealed[i] >> 4];
        ret_hex[2 * i + 1] = digits[sealed[i] & 15];
    }
    ret_hex[ZD_SEAL_CHARS] = '\0';
    return ZD_OK;
}

enum zd_status zd_seal_open(
    struct zd_seal *seal, struct zd_span hex, uint8_t ret_block[ZD_SEAL_BYTES])
{
    uint8_t sealed[ZD_SEAL_BYTES] = {0};
    if (hex.len != ZD_SEAL_CHARS) {
        return ZD_INVALID;
    }
    for (size_t i = 0; i < hex.len; i++) {
        const char *digit = hex.ptr[i] == '\0' ? NULL : strchr(digits, hex.ptr[i]);
        if (digit == NULL) {
            return ZD_INVALID;
        }
        sealed[i / 2] = (uint8_t)(sealed[i / 2] << 4 | (digit - digits));
    }
    return pass(seal->open, sealed, ret_block);
}
