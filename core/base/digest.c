/* SHA-256, comparison in constant time and random bytes. */
#include "core/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <sys/random.h>

/* To look it up by its name takes longer than a digest of a token. NULL without memory. */
static const EVP_MD *sha256(void)
{
    static _Atomic(EVP_MD *) kept;
    EVP_MD *found = atomic_load(&kept);
    if (found == NULL) {
        EVP_MD *fetched = EVP_MD_fetch(NULL, "SHA256", NULL);
        if (atomic_compare_exchange_strong(&kept, &found, fetched)) {
            return fetched;
        }
        EVP_MD_free(fetched); /* another thread was faster */
    }
    return found;
}

enum zd_status zd_digest_of(struct zd_span bytes, uint8_t ret_digest[ZD_DIGEST_BYTES])
{
    const EVP_MD *type = sha256();
    return type != NULL && EVP_Digest(bytes.ptr, bytes.len, ret_digest, NULL, type, NULL) == 1
               ? ZD_OK
               : ZD_NO_MEMORY;
}

bool zd_digest_is_same(const uint8_t a[ZD_DIGEST_BYTES], const uint8_t b[ZD_DIGEST_BYTES])
{
    return CRYPTO_memcmp(a, b, ZD_DIGEST_BYTES) == 0;
}

bool zd_digest_is_same_secret(struct zd_span a, struct zd_span b)
{
    return a.len == b.len && CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0;
}

void zd_digest_erase(uint8_t *secret, size_t len)
{
    OPENSSL_cleanse(secret, len);
}

static int value_of(uint8_t c)
{
    const uint8_t lower = c | 0x20;
    return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool zd_digest_parse(struct zd_span hex, uint8_t ret_digest[ZD_DIGEST_BYTES])
{
    bool is_hex = hex.len == ZD_DIGEST_CHARS;
    for (size_t i = 0; is_hex && i < ZD_DIGEST_CHARS; i++) {
        is_hex = value_of(hex.ptr[i]) >= 0;
    }
    for (size_t i = 0; is_hex && i < ZD_DIGEST_BYTES; i++) {
        ret_digest[i] = (uint8_t)(value_of(hex.ptr[2 * i]) * 16 + value_of(hex.ptr[2 * i + 1]));
    }
    return is_hex;
}

void zd_digest_format(const uint8_t digest[ZD_DIGEST_BYTES], char ret_hex[ZD_DIGEST_CHARS + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ZD_DIGEST_BYTES; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_hex[ZD_DIGEST_CHARS] = '\0';
}

enum zd_status zd_digest_random(uint8_t *to, size_t len)
{
    /* Up to 256 bytes are given whole (getrandom(2)). */
    for (size_t at = 0; at < len;) {
        const ssize_t n = getrandom(to + at, len - at, 0);
        if (n <= 0) {
            return ZD_STORE;
        }
        at += (size_t)n;
    }
    return ZD_OK;
}
