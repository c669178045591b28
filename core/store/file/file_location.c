/* Locations of stores of files: paths and file: URLs. */
#include "core/store/file/file_location.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/store/contract/store_impl.h"

#define LOCATION_BYTES_MAX 4096

/* RFC 3986, 3.1: whether a scheme stands in front, as in "s3://bucket". */
static bool has_scheme(const char *location)
{
    const char *at = location;
    if (!isalpha((unsigned char)*at)) {
        return false;
    }
    while (isalnum((unsigned char)*at) || (*at != '\0' && strchr("+-.", *at) != NULL)) {
        at++;
    }
    return *at == ':';
}

bool zd_file_location_is_ours(const char *location)
{
    return !has_scheme(location) || zd_store_location_in("file", location) != NULL;
}

bool zd_file_location_is_archive(const char *location)
{
    static const char ending[] = ".zip";
    const size_t ending_len = sizeof ending - 1;
    const size_t len = strlen(location);
    struct stat file;
    ZD_SCOPED_TEXT(path, LOCATION_BYTES_MAX);
    return zd_file_location_is_ours(location) && len > ending_len &&
           strcasecmp(location + len - ending_len, ending) == 0 &&
           zd_file_location_path(location, &path, NULL) == ZD_OK &&
           (stat(path.at, &file) != 0 || !S_ISDIR(file.st_mode));
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const int lower = tolower((unsigned char)c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* RFC 3986, 2.1. */
static enum zd_status percent_decode(const char *from, struct zd_text *to)
{
    for (const char *at = from; *at != '\0'; at++) {
        char c = *at;
        if (c == '%') {
            const int high = hex_digit(at[1]);
            const int low = high < 0 ? -1 : hex_digit(at[2]);
            if (low < 0 || high * 16 + low == 0) {
                return ZD_INVALID;
            }
            c = (char)(high * 16 + low);
            at += 2;
        }
        ZD_TRY(zd_text_add_char(to, c));
    }
    return ZD_OK;
}

enum zd_status zd_file_location_path(
    const char *location, struct zd_text *path, struct zd_error *err)
{
    const char *rest = zd_store_location_in("file", location);
    if (rest == NULL) {
        return zd_text_add(path, location);
    }
    const char *const host = "//localhost/";
    if (strncmp(rest, host, strlen(host)) == 0) {
        rest += strlen(host) - 1;
    } else if (strncmp(rest, "///", 3) == 0) {
        rest += 2;
    }
    if (rest[0] != '/' || rest[1] == '/') {
        return zd_fail(err, ZD_INVALID,
            "%s: a file URL must name an absolute path on this machine: file:///path", location);
    }
    const enum zd_status status = percent_decode(rest, path);
    return status == ZD_INVALID
               ? zd_fail(err, status, "%s: malformed percent-encoding in the URL", location)
               : status;
}
