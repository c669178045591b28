/* The head of an HTTP answer (RFC 9110, 9112), line by line as it comes. */
#include "core/store/transfer/transfer_head.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"
#include "core/base/scan.h"

#define RETRY_AFTER_S_MAX 3600

struct line {
    struct zd_span name;
    struct zd_span value; /* without spaces around it */
};

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct zd_span trim(struct zd_span text)
{
    while (text.len > 0 && is_space(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.ptr[text.len - 1])) {
        text.len--;
    }
    return text;
}

static bool is_word(struct zd_span text, const char *word)
{
    return text.len == strlen(word) && strncasecmp((const char *)text.ptr, word, text.len) == 0;
}

/* RFC 9110, 5.5. What is kept may be sent back, where a CR could end a line. */
static bool has_control(struct zd_span value)
{
    bool found = false;
    for (size_t i = 0; i < value.len; i++) {
        found = found || (value.ptr[i] < ' ' && value.ptr[i] != '\t') || value.ptr[i] == 0x7f;
    }
    return found;
}

/* A value that is too long, or that no field can have, is none. */
static void keep(struct zd_span value, char kept[ZD_TRANSFER_FIELD_BYTES_MAX + 1])
{
    const bool fits =
        value.len > 0 && value.len <= ZD_TRANSFER_FIELD_BYTES_MAX && !has_control(value);
    if (fits) {
        memcpy(kept, value.ptr, value.len);
    }
    kept[fits ? value.len : 0] = '\0';
}

static int64_t date_of(struct zd_span value)
{
    char text[ZD_TRANSFER_FIELD_BYTES_MAX + 1];
    keep(value, text);
    const time_t seconds = text[0] == '\0' ? -1 : curl_getdate(text, NULL);
    return seconds < 0 ? 0 : (int64_t)seconds * 1000;
}

/* RFC 9110, 10.2.3: seconds, or a date, which is compared with that of the store. */
static uint32_t retry_after_of(struct zd_span value, int64_t date_ms)
{
    uint64_t seconds = 0;
    if (zd_scan_whole_u64(value, UINT32_MAX, &seconds) != ZD_OK) {
        const int64_t at_ms = date_of(value);
        seconds = at_ms > date_ms && date_ms > 0 ? (uint64_t)(at_ms - date_ms) / 1000 : 0;
    }
    return (uint32_t)zd_min_u64(seconds, RETRY_AFTER_S_MAX) * 1000;
}

/* "first-last/", or "*" and "/". */
static bool scan_part(struct zd_scan *scan, struct zd_transfer_head *head)
{
    uint64_t first = 0;
    uint64_t last = 0;
    if (zd_scan_char(scan, '*')) {
        return zd_scan_char(scan, '/');
    }
    if (zd_scan_u64(scan, UINT64_MAX - 1, &first) != ZD_OK || !zd_scan_char(scan, '-') ||
        zd_scan_u64(scan, UINT64_MAX - 1, &last) != ZD_OK || last < first ||
        !zd_scan_char(scan, '/')) {
        return false;
    }
    head->has_range = true;
    head->range_first = first;
    head->range_len = last - first + 1;
    return true;
}

/* RFC 9110, 14.4 */
static bool scan_range(struct zd_span value, struct zd_transfer_head *head)
{
    struct zd_scan scan = zd_scan_of(value);
    if (!zd_scan_word(&scan, "bytes ") || !scan_part(&scan, head)) {
        return false;
    }
    if (zd_scan_char(&scan, '*')) {
        return head->has_range && zd_scan_at_end(&scan);
    }
    return zd_scan_u64(&scan, UINT64_MAX - 1, &head->range_size) == ZD_OK &&
           zd_scan_at_end(&scan) &&
           (!head->has_range || head->range_first + head->range_len <= head->range_size);
}

static void take_range(struct zd_span value, struct zd_transfer_head *head)
{
    if (head->has_range || !scan_range(value, head)) { /* two of them contradict each other */
        head->has_odd_range = true;
        head->has_range = false;
        head->range_size = ZD_TRANSFER_UNKNOWN;
    }
}

static void take_length(struct zd_span value, struct zd_transfer_head *head)
{
    uint64_t len = 0;
    const bool is_number = zd_scan_whole_u64(value, INT64_MAX, &len) == ZD_OK;
    const bool is_other =
        head->content_length != ZD_TRANSFER_UNKNOWN && head->content_length != len;
    head->has_odd_length = head->has_odd_length || !is_number || is_other;
    head->content_length = head->has_odd_length ? ZD_TRANSFER_UNKNOWN : len;
}

static void take_field(struct zd_transfer_head *head, const struct line *line)
{
    const struct zd_span name = line->name;
    if (is_word(name, "Content-Length")) {
        take_length(line->value, head);
    } else if (is_word(name, "Content-Range")) {
        take_range(line->value, head);
    } else if (is_word(name, "ETag")) {
        keep(line->value, head->etag);
    } else if (is_word(name, "Content-Type")) {
        keep(line->value, head->content_type);
    } else if (is_word(name, "Last-Modified")) {
        head->last_modified_ms = date_of(line->value);
    } else if (is_word(name, "Date")) {
        head->date_ms = date_of(line->value);
    } else if (is_word(name, "Retry-After")) {
        head->retry_after_ms = retry_after_of(line->value, head->date_ms);
    } else if (is_word(name, "Content-Encoding")) {
        head->is_encoded = head->is_encoded || !is_word(line->value, "identity");
    }
}

/* "HTTP/1.1 200 OK", "HTTP/2 200" */
static bool take_status(struct zd_transfer_head *head, struct zd_span line)
{
    struct zd_scan scan = zd_scan_of(line);
    struct zd_span version;
    uint64_t code = 0;
    if (!zd_scan_word(&scan, "HTTP/") || zd_scan_run(&scan, "0123456789.", 3, &version) != ZD_OK ||
        !zd_scan_char(&scan, ' ') || zd_scan_u64(&scan, 999, &code) != ZD_OK) {
        return false;
    }
    head->code = (uint32_t)code;
    return true;
}

void zd_transfer_head_init(
    struct zd_transfer_head *head, struct zd_transfer_field *field, size_t n_fields)
{
    *head = (struct zd_transfer_head){
        .content_length = ZD_TRANSFER_UNKNOWN,
        .range_size = ZD_TRANSFER_UNKNOWN,
    };
    for (size_t i = 0; i < n_fields; i++) {
        field[i].value[0] = '\0';
    }
}

void zd_transfer_head_add(struct zd_transfer_head *head, struct zd_transfer_field *field,
    size_t n_fields, struct zd_span line)
{
    struct zd_transfer_head fresh = {0};
    if (take_status(&fresh, line)) {
        zd_transfer_head_init(head, field, n_fields);
        head->code = fresh.code;
        return;
    }
    const uint8_t *colon = line.len == 0 ? NULL : memchr(line.ptr, ':', line.len);
    if (colon == NULL) {
        return;
    }
    const size_t len = (size_t)(colon - line.ptr);
    const struct line parts = {
        .name = {.ptr = line.ptr, .len = len},
        .value = trim((struct zd_span){.ptr = colon + 1, .len = line.len - len - 1}),
    };
    take_field(head, &parts);
    for (size_t i = 0; i < n_fields; i++) {
        if (is_word(parts.name, field[i].name)) {
            keep(parts.value, field[i].value);
        }
    }
}

static enum zd_remote_fault_kind kind_of(uint32_t code)
{
    switch (code) {
    case 401:
    case 403:
    case 407:
        return ZD_REMOTE_FAULT_REFUSED;
    case 429:
        return ZD_REMOTE_FAULT_THROTTLED;
    case 408:
    case 500:
    case 502:
    case 503:
    case 504:
        return ZD_REMOTE_FAULT_RETRYABLE;
    default: /* of all the others, none is better when asked again */
        return code >= 200 && code < 300 ? ZD_REMOTE_FAULT_BROKEN : ZD_REMOTE_FAULT_NONE;
    }
}

struct zd_remote_fault zd_transfer_head_fault(const struct zd_transfer_head *head)
{
    enum zd_remote_fault_kind kind = kind_of(head->code);
    if (head->code == 503 && head->retry_after_ms > 0) {
        kind = ZD_REMOTE_FAULT_THROTTLED;
    }
    return (struct zd_remote_fault){
        .kind = (uint8_t)kind,
        .retry_after_ms = head->retry_after_ms,
    };
}

size_t zd_transfer_endpoint_len(const char *url)
{
    const char *slashes = strstr(url, "://");
    const size_t begin = slashes == NULL ? 0 : (size_t)(slashes + 3 - url);
    return begin + strcspn(url + begin, "/?#");
}
