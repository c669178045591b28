/* Functions that the static program has in place of those of Debian's archives.
 *
 * Of Debian 13's libc.a one member defines both sendfile and sendfile64, and the latter is also
 * server/front/wire.c's: sendfile is here, so that the member is not linked.
 *
 * AES-GCM by AVX-512 is 0.7 MB of Debian 13's libcrypto.a. OpenSSL asks whether the processor can
 * do it, and here it cannot: the other forms are used, and the functions below are never called. */
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

int ossl_vaes_vpclmulqdq_capable(void);
void ossl_aes_gcm_init_avx512(void);
void ossl_aes_gcm_setiv_avx512(void);
void ossl_aes_gcm_update_aad_avx512(void);
void ossl_aes_gcm_encrypt_avx512(void);
void ossl_aes_gcm_decrypt_avx512(void);
void ossl_aes_gcm_finalize_avx512(void);
void ossl_gcm_gmult_avx512(void);

ssize_t sendfile(int out_fd, int in_fd, off_t *offset, size_t count)
{
    return syscall(SYS_sendfile, out_fd, in_fd, offset, count);
}

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
