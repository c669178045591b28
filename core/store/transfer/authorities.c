/* The certificates that remote stores are checked against. */
#include "core/store/transfer/authorities.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <string.h>
#include <unistd.h>

enum zd_status zd_authorities_judge(const char *path, struct zd_error *err)
{
    if (path[0] == '\0') {
        return ZD_OK;
    }
    if (access(path, R_OK) != 0) {
        return zd_fail(
            err, ZD_INVALID, "remote.ca_file '%.200s' cannot be read: %s", path, strerror(errno));
    }
    X509_STORE *store = X509_STORE_new();
    if (store == NULL) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the certificates of remote.ca_file");
    }
    const bool has_some = X509_STORE_load_file(store, path) == 1;
    X509_STORE_free(store);
    ERR_clear_error();
    return has_some ? ZD_OK
                    : zd_fail(err, ZD_INVALID,
                          "remote.ca_file '%.200s' has no certificate: expected certificates in "
                          "PEM (-----BEGIN CERTIFICATE-----)",
                          path);
}
