/* Answers of ListObjectsV2: pages of keys. */
#include "core/store/s3/s3_list.h"

#include <string.h>

#include "core/store/s3/s3_xml.h"

struct reading {
    struct zd_s3_list_page *page;
    zd_s3_list_key key;
    void *context;
    bool is_list;    /* the root is that of such an answer */
    bool is_encoded; /* keys are */
    struct zd_text decoded;
};

static enum zd_status take_head(
    void *context, const char *path, struct zd_span text, struct zd_error *err)
{
    struct reading *reading = context;
    struct zd_s3_list_page *page = reading->page;
    if (strcmp(path, "ListBucketResult") == 0) {
        reading->is_list = true;
    } else if (strcmp(path, "ListBucketResult/IsTruncated") == 0) {
        page->is_truncated = zd_span_is(text, "true");
    } else if (strcmp(path, "ListBucketResult/EncodingType") == 0) {
        reading->is_encoded = zd_span_is(text, "url");
    } else if (strcmp(path, "ListBucketResult/NextContinuationToken") == 0) {
        zd_text_clear(&page->next_token);
        zd_text_add_bytes(&page->next_token, text.ptr, text.len);
    }
    return page->next_token.status == ZD_TOO_LARGE
               ? zd_fail(err, ZD_STORE, "the store's continuation token is longer than %d bytes",
                     ZD_S3_TOKEN_BYTES_MAX)
               : page->next_token.status;
}

static int value_of(uint8_t digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    const uint8_t lower = digit | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* MinIO encodes a space as "+", others as "%20"; a plus sign is "%2B" to all of them. */
static enum zd_status decode(struct zd_span key, struct zd_text *decoded, struct zd_error *err)
{
    zd_text_clear(decoded);
    for (size_t i = 0; i < key.len; i++) {
        char c = (char)key.ptr[i];
        if (c == '%') {
            const int high = i + 2 < key.len ? value_of(key.ptr[i + 1]) : -1;
            const int low = i + 2 < key.len ? value_of(key.ptr[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return zd_fail(err, ZD_STORE, "the store listed a key with a malformed encoding");
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        zd_text_add_char(decoded, c);
    }
    return decoded->status;
}

static enum zd_status take_key(
    void *context, const char *path, struct zd_span text, struct zd_error *err)
{
    struct reading *reading = context;
    const bool is_prefix = strcmp(path, "ListBucketResult/CommonPrefixes/Prefix") == 0;
    if (!is_prefix && strcmp(path, "ListBucketResult/Contents/Key") != 0) {
        return ZD_OK;
    }
    reading->page->n_keys++;
    if (!reading->is_encoded) {
        return reading->key(reading->context, text, is_prefix, err);
    }
    ZD_TRY(decode(text, &reading->decoded, err));
    return reading->key(reading->context, zd_text_span(&reading->decoded), is_prefix, err);
}

enum zd_status zd_s3_list_read(struct zd_span bytes, zd_s3_list_key key, void *context,
    struct zd_s3_list_page *ret_page, struct zd_error *err)
{
    struct reading reading = {.page = ret_page, .key = key, .context = context};
    *ret_page = (struct zd_s3_list_page){0};
    zd_text_init(&ret_page->next_token, ZD_S3_TOKEN_BYTES_MAX);
    zd_text_init(&reading.decoded, ZD_S3_XML_TEXT_BYTES_MAX);
    enum zd_status status = zd_s3_xml_read(bytes, take_head, &reading, err);
    if (status == ZD_OK && !reading.is_list) {
        status = zd_fail(err, ZD_STORE, "malformed ListObjectsV2 response");
    }
    if (status == ZD_OK) {
        status = zd_s3_xml_read(bytes, take_key, &reading, err);
    }
    zd_text_done(&reading.decoded);
    return status == ZD_NO_MEMORY ? zd_fail(err, status, "no memory for a listing") : status;
}

void zd_s3_list_done(struct zd_s3_list_page *page)
{
    zd_text_done(&page->next_token);
}
