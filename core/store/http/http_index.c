/* The index that an HTTP server gives of a directory. It is no HTML that is parsed here, but what
 * these servers write: a title that says so, and links. */
#include "core/store/http/http_index.h"

#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/num.h"
#include "core/store/contract/key.h"

#define SEGMENT_BYTES_MAX 255
#define TITLE_BYTES       (8U << 10) /* it is within so many bytes */
#define JSON_DEPTH_MAX    4

struct reading {
    zd_http_index_entry *entry;
    void *context;
    struct zd_error *err;
    size_t n;
};

/* A name as it is found: decoded, or with bytes that no key has. */
struct name {
    char byte[SEGMENT_BYTES_MAX + 2]; /* with a slash at its end */
    size_t len;
    bool is_too_long;
};

static void add(struct name *name, uint8_t byte)
{
    if (name->len > SEGMENT_BYTES_MAX) {
        name->is_too_long = true;
    } else {
        name->byte[name->len++] = (char)byte;
    }
}

static enum zd_status give(struct reading *reading, struct zd_span name, bool is_prefix)
{
    char text[SEGMENT_BYTES_MAX + 1];
    if (name.len > SEGMENT_BYTES_MAX || !zd_key_segment_is_valid(name)) {
        return ZD_OK;
    }
    if (++reading->n > ZD_HTTP_INDEX_ENTRIES_MAX) {
        return zd_fail_limit(reading->err, ZD_HTTP_INDEX_ENTRIES_MAX, reading->n,
            "an index of the store has more than %d entries", ZD_HTTP_INDEX_ENTRIES_MAX);
    }
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    return reading->entry(reading->context, text, is_prefix);
}

/* ---- HTML ---- */

static struct zd_span rest_of(struct zd_span text, size_t n)
{
    return (struct zd_span){.ptr = text.ptr + n, .len = text.len - n};
}

static bool begins(struct zd_span text, const char *word)
{
    const size_t len = strlen(word);
    return text.len >= len && strncasecmp((const char *)text.ptr, word, len) == 0;
}

static int digit_of(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    const uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* A character reference that servers write into links. */
static size_t take_reference(struct zd_span text, uint8_t *ret_byte)
{
    static const struct {
        const char *text;
        uint8_t byte;
    } reference[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'},
        {"&apos;", '\''}, {"&#39;", '\''}, {"&#x27;", '\''}, {"&#34;", '"'}, {"&#38;", '&'}};
    const size_t n = text.ptr[0] == '&' ? ZD_COUNT_OF(reference) : 0; /* few bytes are one */
    for (size_t i = 0; i < n; i++) {
        if (begins(text, reference[i].text)) {
            *ret_byte = reference[i].byte;
            return strlen(reference[i].text);
        }
    }
    *ret_byte = text.ptr[0];
    return 1;
}

/* The references are undone, then the percent-encoding. */
static bool decode(struct zd_span link, struct name *name)
{
    int high = -1; /* of an escape */
    int n_digits = 0;
    while (link.len > 0) {
        uint8_t byte = 0;
        link = rest_of(link, take_reference(link, &byte));
        if (n_digits > 0) {
            const int digit = digit_of(byte);
            if (digit < 0) {
                return false;
            }
            if (--n_digits > 0) {
                high = digit;
            } else if (high == 0 && digit == 0) {
                return false;
            } else {
                add(name, (uint8_t)(high << 4 | digit));
            }
        } else if (byte == '%') {
            n_digits = 2;
        } else if (byte == '?' || byte == '#') {
            return false; /* it sorts the index, or leads into the page */
        } else {
            add(name, byte);
        }
    }
    return n_digits == 0 && !name->is_too_long;
}

/* "name", "name/" and "./name" are entries; any other link leads elsewhere. */
static enum zd_status take_link(struct reading *reading, struct zd_span link)
{
    struct name name = {.len = 0};
    if (begins(link, "./")) {
        link = rest_of(link, 2);
    }
    const size_t len = link.len < SEGMENT_BYTES_MAX ? link.len : SEGMENT_BYTES_MAX;
    const uint8_t *colon = len == 0 ? NULL : memchr(link.ptr, ':', len);
    const uint8_t *slash = len == 0 ? NULL : memchr(link.ptr, '/', len);
    const bool has_scheme = colon != NULL && slash == colon + 1;
    if (has_scheme || !decode(link, &name) || name.len == 0) {
        return ZD_OK;
    }
    const bool is_prefix = name.byte[name.len - 1] == '/';
    const struct zd_span text = {
        .ptr = (const uint8_t *)name.byte, .len = name.len - (is_prefix ? 1 : 0)};
    return give(reading, text, is_prefix); /* a slash in it makes no key */
}

/* The value of href within a tag <a ...>: all of it, without its quotes. */
static bool find_link(struct zd_span tag, struct zd_span *ret_link)
{
    for (; tag.len > 5; tag = rest_of(tag, 1)) {
        if (!begins(tag, " href=")) {
            continue;
        }
        tag = rest_of(tag, 6);
        const bool is_quoted = tag.len > 0 && (tag.ptr[0] == '"' || tag.ptr[0] == '\'');
        const uint8_t *end = is_quoted ? memchr(tag.ptr + 1, tag.ptr[0], tag.len - 1) : NULL;
        if (is_quoted && end != NULL) {
            *ret_link = (struct zd_span){.ptr = tag.ptr + 1, .len = (size_t)(end - tag.ptr) - 1};
        }
        return is_quoted && end != NULL;
    }
    return false;
}

static bool is_index(struct zd_span text)
{
    static const char *const words[] = {"Index of ", "Directory listing for ", "<title>Index"};
    const struct zd_span head = {.ptr = text.ptr, .len = zd_min_u64(text.len, TITLE_BYTES)};
    for (size_t i = 0; i < ZD_COUNT_OF(words); i++) {
        if (head.len > 0 && memmem(head.ptr, head.len, words[i], strlen(words[i])) != NULL) {
            return true;
        }
    }
    return false;
}

static enum zd_status read_html(struct reading *reading, struct zd_span text)
{
    if (!is_index(text)) {
        return ZD_NOT_FOUND;
    }
    while (text.len > 0) {
        const uint8_t *open = memchr(text.ptr, '<', text.len);
        if (open == NULL) {
            return ZD_OK;
        }
        text = rest_of(text, (size_t)(open - text.ptr) + 1);
        const uint8_t *close = text.len == 0 ? NULL : memchr(text.ptr, '>', text.len);
        if (close == NULL) {
            return ZD_OK;
        }
        struct zd_span link;
        const struct zd_span tag = {.ptr = text.ptr, .len = (size_t)(close - text.ptr)};
        if (begins(tag, "a ") && find_link(rest_of(tag, 1), &link)) {
            ZD_TRY(take_link(reading, link));
        }
        text = rest_of(text, tag.len + 1);
    }
    return ZD_OK;
}

/* ---- JSON ---- */

static enum zd_status take_row(struct reading *reading, const struct zd_json *row)
{
    const struct zd_json *name =
        zd_json_is(row, ZD_JSON_OBJECT) ? zd_json_member(row, "name") : NULL;
    const struct zd_json *type = name == NULL ? NULL : zd_json_member(row, "type");
    if (name == NULL || !zd_json_is(name, ZD_JSON_STRING) || type == NULL ||
        !zd_json_is(type, ZD_JSON_STRING)) {
        return ZD_NOT_FOUND;
    }
    const bool is_prefix = zd_span_is(zd_json_string_span(type), "directory");
    return give(reading, zd_json_string_span(name), is_prefix);
}

static enum zd_status read_json(struct reading *reading, struct zd_span text)
{
    const struct zd_json_limits limits = {.bytes_max = text.len,
        .nodes_max = 8 * (size_t)ZD_HTTP_INDEX_ENTRIES_MAX,
        .depth_max = JSON_DEPTH_MAX};
    struct zd_json *rows = NULL;
    const enum zd_status parsed = zd_json_parse(text, &limits, &rows, NULL);
    if (parsed != ZD_OK) {
        return parsed == ZD_NO_MEMORY ? parsed : ZD_NOT_FOUND;
    }
    enum zd_status status = zd_json_is(rows, ZD_JSON_ARRAY) ? ZD_OK : ZD_NOT_FOUND;
    const size_t n = status == ZD_OK ? zd_json_count(rows) : 0;
    for (size_t i = 0; i < n && status == ZD_OK; i++) {
        status = take_row(reading, zd_json_element(rows, i));
    }
    zd_json_unref(rows);
    return status;
}

enum zd_status zd_http_index_read(struct zd_span text, const char *content_type,
    zd_http_index_entry *entry, void *context, struct zd_error *err)
{
    struct reading reading = {.entry = entry, .context = context, .err = err};
    if (strncasecmp(content_type, "text/html", 9) == 0) {
        return read_html(&reading, text);
    }
    if (strncasecmp(content_type, "application/json", 16) == 0) {
        return read_json(&reading, text);
    }
    return ZD_NOT_FOUND;
}
