/* Functions that the static program has in place of those of Debian's archives.
 *
 * AES-GCM by AVX-512 is 0.7 MB of Debian 13's libcrypto.a. OpenSSL asks whether the processor can
 * do it, and here it cannot: the other forms are used, and the functions below are never called. */
#include <stdlib.h>

int ossl_vaes_vpclmulqdq_capable(void);
void ossl_aes_gcm_init_avx512(void);
void ossl_aes_gcm_setiv_avx512(void);
void ossl_aes_gcm_update_aad_avx512(void);
void ossl_aes_gcm_encrypt_avx512(void);
void ossl_aes_gcm_decrypt_avx512(void);
void ossl_aes_gcm_finalize_avx512(void);
void ossl_gcm_gmult_avx512(void);

int ossl_vaes_vpclmulqdq_capable(void)
{
    return 0;
}

void ossl_aes_gcm_init_avx512(void)
{
    abort();
}

void ossl_aes_gcm_setiv_avx512(void)
{
    abort();
}

void ossl_aes_gcm_update_aad_avx512(void)
{
    abort();
}

void ossl_aes_gcm_encrypt_avx512(void)
{
    abort();
}

void ossl_aes_gcm_decrypt_avx512(void)
{
    abort();
}

void ossl_aes_gcm_finalize_avx512(void)
{
    abort();
}

void ossl_gcm_gmult_avx512(void)
{
    abort();
}
