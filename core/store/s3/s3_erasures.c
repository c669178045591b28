/* The documents of DeleteObjects: what is asked for, and what has come of it. */
#include "core/store/s3/s3_erasures.h"

#include <string.h>

#include "core/base/text.h"
#include "core/store/s3/s3_answer.h"
#include "core/store/s3/s3_xml.h"

#define BODY_BYTES    ((size_t)4 << 20)
#define ENTRIES_A_KEY 2 /* of an answer: more are none of ours */

struct reading {
    const struct zd_list *erasures;
    const struct zd_list *next; /* answers mostly have the order of the request */
    const char *prefix;
    uint32_t n_erasures;
    uint32_t n_entries;
    bool is_result;
    struct zd_text key; /* of the entry at hand */
    char code[ZD_S3_CODE_BYTES_MAX + 1];
};

static struct zd_s3_erasure *erasure_of(const struct zd_list *link)
{
    return ZD_CONTAINER(link, struct zd_s3_erasure, link);
}

/* ---- the request ---- */

/* Not quiet: an engine that leaves a key out has not said that it is erased. */
enum zd_status zd_s3_erasures_write(
    const struct zd_list *erasures, const char *prefix, struct zd_buf **ret_body)
{
    ZD_SCOPED_TEXT(text, BODY_BYTES);
    zd_text_add(&text, "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (const struct zd_list *at = erasures->next; at != erasures; at = at->next) {
        const struct zd_s3_erasure *erasure = erasure_of(at);
        zd_text_add(&text, "<Object><Key>");
        zd_s3_xml_add_escaped(&text, prefix);
        zd_s3_xml_add_escaped(&text, erasure->key);
        zd_text_add(&text, "</Key>");
        if (erasure->tag[0] != '\0') {
            zd_text_add(&text, "<ETag>");
            zd_s3_xml_add_escaped(&text, erasure->tag);
            zd_text_add(&text, "</ETag>");
        }
        zd_text_add(&text, "</Object>");
    }
    zd_text_add(&text, "</Delete>");
    return zd_text_take_buf(&text, ret_body);
}

/* ---- the answer ---- */

/* @return NULL: it is none of them */
static struct zd_s3_erasure *find(struct reading *reading)
{
    const size_t prefix_len = strlen(reading->prefix);
    const struct zd_span key = zd_text_span(&reading->key);
    if (key.len < prefix_len || memcmp(key.ptr, reading->prefix, prefix_len) != 0) {
        return NULL;
    }
    const struct zd_span rest = {.ptr = key.ptr + prefix_len, .len = key.len - prefix_len};
    for (uint32_t i = 0; i <= reading->n_erasures; i++) {
        const struct zd_list *at = reading->next;
        reading->next = at->next;
        if (at != reading->erasures && zd_span_is(rest, erasure_of(at)->key)) {
            return erasure_of(at);
        }
    }
    return NULL;
}

/* The failure is the engine's, not the object's. */
static bool may_pass(const struct zd_s3_erasure *erasure)
{
    return erasure->status == ZD_STORE && erasure->fault.kind != ZD_REMOTE_FAULT_NONE &&
           erasure->fault.kind != ZD_REMOTE_FAULT_REFUSED;
}

static void take_entry(struct reading *reading, bool is_error)
{
    struct zd_s3_erasure *erasure = find(reading);
    if (erasure == NULL) {
        return;
    }
    const bool is_again = erasure->is_told;
    erasure->is_told = true;
    if (is_error) {
        const enum zd_status status =
            zd_s3_answer_judge_code(reading->code, erasure->key, &erasure->err, &erasure->fault);
        memcpy(erasure->code, reading->code, sizeof erasure->code);
        erasure->status = status;
        erasure->is_unsure = is_again || may_pass(erasure);
    } else if (!is_again) {
        erasure->status = ZD_OK;
        erasure->is_unsure = false;
    } else {
        erasure->is_unsure = erasure->status != ZD_OK;
    }
}

static void take_code(struct reading *reading, struct zd_span text)
{
    const size_t len = text.len <= ZD_S3_CODE_BYTES_MAX ? text.len : 0;
    memcpy(reading->code, text.ptr, len);
    reading->code[len] = '\0';
    if (strspn(reading->code, ZD_S3_CODE_CHARS) != len) {
        reading->code[0] = '\0';
    }
}

static enum zd_status take(
    void *context, const char *path, struct zd_span text, struct zd_error *err)
{
    struct reading *reading = context;
    const bool is_error = strcmp(path, "DeleteResult/Error") == 0;
    if (is_error || strcmp(path, "DeleteResult/Deleted") == 0) {
        take_entry(reading, is_error);
        zd_text_clear(&reading->key);
        reading->code[0] = '\0';
        if (++reading->n_entries > ENTRIES_A_KEY * reading->n_erasures) {
            return zd_fail(
                err, ZD_STORE, "the DeleteObjects response has more entries than the request");
        }
    } else if (strcmp(path, "DeleteResult/Error/Key") == 0 ||
               strcmp(path, "DeleteResult/Deleted/Key") == 0) {
        zd_text_clear(&reading->key);
        zd_text_add_bytes(&reading->key, text.ptr, text.len);
    } else if (strcmp(path, "DeleteResult/Error/Code") == 0) {
        take_code(reading, text);
    } else if (strcmp(path, "DeleteResult") == 0) {
        reading->is_result = true;
    }
    return reading->key.status;
}

static void begin(struct zd_s3_erasure *erasure)
{
    struct zd_error *err = &erasure->err;
    erasure->is_told = false;
    erasure->is_unsure = true;
    erasure->status = zd_s3_answer_fail(err, &erasure->fault, erasure->key,
        "the DeleteObjects response does not mention this object");
}

enum zd_status zd_s3_erasures_read(
    struct zd_span answer, const struct zd_list *erasures, const char *prefix, struct zd_error *err)
{
    struct reading reading = {.erasures = erasures, .next = erasures->next, .prefix = prefix};
    for (const struct zd_list *at = erasures->next; at != erasures; at = at->next) {
        begin(erasure_of(at));
        reading.n_erasures++;
    }
    zd_text_init(&reading.key, ZD_S3_XML_TEXT_BYTES_MAX);
    enum zd_status status = zd_s3_xml_read(answer, take, &reading, err);
    if (status == ZD_OK && !reading.is_result) {
        status = zd_fail(err, ZD_STORE, "malformed DeleteObjects response");
    }
    zd_text_done(&reading.key);
    return status;
}
