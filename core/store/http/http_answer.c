/* The facts of an object in the head of an answer. */
#include "core/store/http/http_answer.h"

#include <string.h>
#include <strings.h>

#include "core/base/hash.h"
#include "core/base/num.h"

#define TAG_SEED  1
#define DATE_SEED 2

static bool has_strong_tag(const struct zd_transfer_head *head)
{
    return head->etag[0] != '\0' && strncmp(head->etag, "W/", 2) != 0;
}

struct zd_stat zd_http_answer_stat(const struct zd_transfer_head *head, uint64_t size)
{
    const struct zd_span tag = zd_span_of(head->etag);
    struct zd_hash hash = {0};
    struct zd_generation generation;
    if (has_strong_tag(head)) {
        hash.value = TAG_SEED;
        zd_hash_add(&hash, tag);
        generation = (struct zd_generation){{hash.value, zd_hash_of(tag, TAG_SEED) | 1}};
    } else {
        hash.value = DATE_SEED;
        zd_hash_add(&hash, tag);
        zd_hash_add_u64(&hash, (uint64_t)head->last_modified_ms);
        generation = (struct zd_generation){{hash.value, (size << 1) | 1}};
    }
    return (struct zd_stat){
        .generation = generation,
        .size = size,
        .mtime_ms = head->last_modified_ms,
    };
}

static bool is_page(const char *content_type)
{
    return strncasecmp(content_type, "text/html", 9) == 0 ||
           strncasecmp(content_type, "application/xhtml", 17) == 0;
}

static bool has_ending(const char *key, const char *ending)
{
    const size_t len = strlen(key);
    const size_t n = strlen(ending);
    return len > n && strcasecmp(key + len - n, ending) == 0;
}

enum zd_status zd_http_answer_judge_kind(
    const struct zd_transfer_head *head, const char *key, struct zd_error *err)
{
    if (head->is_encoded) {
        return zd_fail(err, ZD_STORE, "the store sent a Content-Encoding that was not requested");
    }
    if (is_page(head->content_type) && !has_ending(key, ".html") && !has_ending(key, ".htm")) {
        return zd_fail(err, ZD_STORE,
            "the store sent an HTML page (status %u) instead of the object", head->code);
    }
    if (head->code == 200 && head->has_range &&
        (head->range_first != 0 || head->range_len != head->range_size)) {
        return zd_fail(err, ZD_STORE,
            "the store sent part of the object (Content-Range) with status 200; expected 206");
    }
    return ZD_OK;
}

/* The bytes of an object of that size that a request for the range means. */
static struct zd_byte_range means(const struct zd_range *asked, uint64_t size)
{
    struct zd_byte_range part = {.first = asked->first, .len = asked->len};
    if (asked->kind == ZD_RANGE_SUFFIX) {
        uint64_t len = 0;
        len = ckd_add(&len, asked->first, asked->len) ? size : zd_min_u64(len, size);
        return (struct zd_byte_range){.first = size - len, .len = len};
    }
    part.first = zd_min_u64(part.first, size);
    part.len = zd_min_u64(part.len, size - part.first);
    return part;
}

enum zd_status zd_http_answer_judge_part(
    const struct zd_transfer_head *head, const struct zd_range *asked, struct zd_error *err)
{
    if (!head->has_range || head->range_size == ZD_TRANSFER_UNKNOWN) {
        return zd_fail(err, ZD_STORE,
            "the store sent part of the object (206) with a missing or malformed Content-Range");
    }
    const struct zd_byte_range part = means(asked, head->range_size);
    if (head->range_first != part.first || head->range_len != part.len) {
        return zd_fail(err, ZD_STORE,
            "the store sent %llu bytes from byte %llu (Content-Range); expected %llu bytes from "
            "byte %llu",
            (unsigned long long)head->range_len, (unsigned long long)head->range_first,
            (unsigned long long)part.len, (unsigned long long)part.first);
    }
    if (head->content_length != ZD_TRANSFER_UNKNOWN && head->content_length != head->range_len) {
        return zd_fail(err, ZD_STORE,
            "the store sent a part of %llu bytes by Content-Range, but of %llu by Content-Length",
            (unsigned long long)head->range_len, (unsigned long long)head->content_length);
    }
    return ZD_OK;
}

/* ---- words ---- */

static struct zd_span behind(struct zd_span text, const char *mark)
{
    const size_t len = strlen(mark);
    const uint8_t *found = text.len == 0 ? NULL : memmem(text.ptr, text.len, mark, len);
    if (found == NULL) {
        return (struct zd_span){0};
    }
    const size_t at = (size_t)(found - text.ptr) + len;
    return (struct zd_span){.ptr = text.ptr + at, .len = text.len - at};
}

/* A dot would let a host pass. */
static bool is_plain(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

/* A word that ends with that byte. */
static bool take_word(struct zd_span text, char end, char ret_code[ZD_HTTP_ANSWER_CODE_BYTES + 1])
{
    size_t len = 0;
    while (len < text.len && len < ZD_HTTP_ANSWER_CODE_BYTES && is_plain(text.ptr[len])) {
        len++;
    }
    if (len == 0 || len == text.len || text.ptr[len] != (uint8_t)end) {
        return false;
    }
    memcpy(ret_code, text.ptr, len);
    ret_code[len] = '\0';
    return true;
}

void zd_http_answer_find_code(struct zd_span words, char ret_code[ZD_HTTP_ANSWER_CODE_BYTES + 1])
{
    ret_code[0] = '\0';
    if (take_word(behind(words, "<Code>"), '<', ret_code)) {
        return;
    }
    struct zd_span text = behind(words, "\"code\"");
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == ':')) {
        text.ptr++;
        text.len--;
    }
    if (text.len > 0 && text.ptr[0] == '"') {
        (void)take_word((struct zd_span){.ptr = text.ptr + 1, .len = text.len - 1}, '"', ret_code);
    }
}
