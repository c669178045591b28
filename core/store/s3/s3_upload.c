/* Bodies that go to a bucket in parts.
 *
 *   CREATE -> parts, some at once, each tried again -> ready -> COMPLETE -> done
 *               |                                                  |
 *               +--------------------> ABORT <---------------------+   -> done
 *
 * Creation is not cancelled: without its answer nobody could abort what it has begun. An answer
 * 200 to the completion may be an error, as S3 sends its head before it knows. */
#include "core/store/s3/s3_upload.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/num.h"
#include "core/store/s3/s3_answer.h"
#include "core/store/s3/s3_xml.h"

#define PART_TRIES      3
#define ABORT_TRIES     2
#define ANSWER_BYTES    (64U << 10)
#define PART_LIST_BYTES ((size_t)4 << 20) /* of all parts, as XML */
#define SPACES          " \t\r\n"

static void abort_upload(struct zd_s3_upload *upload);
static void send_parts(struct zd_s3_upload *upload);

static void end(struct zd_s3_upload *upload)
{
    zd_s3_call_done(&upload->call);
    zd_buf_unref(ZD_TAKE(upload->list));
    zd_free(upload->part_tag);
    upload->part_tag = NULL;
    upload->done(upload);
}

/* The first failure is the one that is told. */
static void fail(struct zd_s3_upload *upload, const struct zd_s3_call *call, enum zd_status status,
    const struct zd_error *err, const struct zd_remote_fault *fault)
{
    if (upload->status == ZD_OK) {
        upload->status = status;
        upload->err = *err;
        upload->fault = *fault;
        upload->http = call->transfer.head.code;
        (void)snprintf(upload->code, sizeof upload->code, "%s", call->code);
    }
}

static void fail_memory(struct zd_s3_upload *upload)
{
    if (upload->status == ZD_OK) {
        upload->status =
            zd_fail(&upload->err, ZD_NO_MEMORY, "%.200s: no memory for an upload", upload->key);
    }
}

/* A missing upload says nothing about the object. */
static enum zd_status judge(const struct zd_s3_upload *upload, const struct zd_s3_call *call,
    struct zd_error *err, struct zd_remote_fault *fault)
{
    const enum zd_status status = zd_s3_answer_judge(call, upload->key, err, fault);
    if (status == ZD_NOT_FOUND || status == ZD_TOO_LARGE) {
        return zd_s3_answer_fail(err, fault, upload->key, "malformed answer to an upload in parts");
    }
    return status;
}

/* Without quotes. @return false: it is too long, or none */
static bool copy_tag(struct zd_span tag, char *ret_tag)
{
    if (tag.len >= 2 && tag.ptr[0] == '"' && tag.ptr[tag.len - 1] == '"') {
        tag.ptr++;
        tag.len -= 2;
    }
    bool ok = tag.len > 0 && tag.len <= ZD_S3_TAG_BYTES_MAX;
    for (size_t i = 0; ok && i < tag.len; i++) {
        ok = tag.ptr[i] > ' ' && tag.ptr[i] < 0x7f;
    }
    (void)snprintf(ret_tag, ZD_S3_TAG_BYTES_MAX + 1, "%.*s", ok ? (int)tag.len : 0,
        ok ? (const char *)tag.ptr : "");
    return ok;
}

/* ---- what answers say ---- */

/* S3 sends blanks while it works. */
static struct zd_span document_of(const struct zd_s3_call *call)
{
    struct zd_span bytes = zd_buf_span(call->transfer.bytes);
    while (bytes.len > 0 && memchr(SPACES, bytes.ptr[0], sizeof SPACES - 1) != NULL) {
        bytes.ptr++;
        bytes.len--;
    }
    return bytes;
}

static enum zd_status take_id(
    void *context, const char *path, struct zd_span text, struct zd_error *err)
{
    struct zd_s3_upload *upload = context;
    (void)err;
    if (strcmp(path, "InitiateMultipartUploadResult/UploadId") == 0 &&
        text.len < sizeof upload->id && memchr(text.ptr, '\0', text.len) == NULL) {
        memcpy(upload->id, text.ptr, text.len);
        upload->id[text.len] = '\0';
    }
    return ZD_OK;
}

struct completed {
    bool is_result; /* the document is that of a success */
    char *etag;
};

static enum zd_status take_completed(
    void *context, const char *path, struct zd_span text, struct zd_error *err)
{
    struct completed *completed = context;
    (void)err;
    if (strcmp(path, "CompleteMultipartUploadResult/ETag") == 0) {
        (void)copy_tag(text, completed->etag);
    } else if (strcmp(path, "CompleteMultipartUploadResult") == 0) {
        completed->is_result = true;
    }
    return ZD_OK;
}

/* ---- abortion ---- */

static void aborted(struct zd_s3_call *call)
{
    struct zd_s3_upload *upload = call->context;
    const uint32_t code = call->transfer.head.code;
    const bool has_failed = call->transfer.status != ZD_OK || code == 429 || code >= 500;
    if (has_failed && call->transfer.status != ZD_CANCELLED && ++upload->n_tries < ABORT_TRIES) {
        abort_upload(upload);
        return;
    }
    end(upload);
}

static void abort_upload(struct zd_s3_upload *upload)
{
    struct zd_s3_call *call = &upload->call;
    assert(upload->status != ZD_OK);
    zd_s3_call_done(call);
    *call = (struct zd_s3_call){
        .method = ZD_TRANSFER_DELETE,
        .key = upload->key,
        .query = {{"uploadId", upload->id}},
        .n_query = 1,
        .bytes_max = ANSWER_BYTES,
        .done = aborted,
        .context = upload,
    };
    zd_s3_call_start(&upload->s3->access, call);
}

/* ---- completion ---- */

/* An error in a body of a success has no status of its own. */
static enum zd_status judge_error(
    struct zd_s3_upload *upload, struct zd_error *err, struct zd_remote_fault *fault)
{
    const char *code = upload->call.code;
    if (strcmp(code, "PreconditionFailed") == 0 ||
        strcmp(code, "ConditionalRequestConflict") == 0) {
        return zd_fail(err, ZD_PRECONDITION, "%.200s: the object was replaced", upload->key);
    }
    upload->is_unsure = true;
    fault->kind = ZD_REMOTE_FAULT_RETRYABLE;
    return zd_fail(err, ZD_STORE, "%.200s: the store answered 200 %s%s", upload->key,
        code[0] == '\0' ? "without a result" : "with the error ", code);
}

static enum zd_status judge_completion(
    struct zd_s3_upload *upload, struct zd_error *err, struct zd_remote_fault *fault)
{
    struct zd_s3_call *call = &upload->call;
    const uint32_t http = call->transfer.head.code;
    struct completed completed = {.etag = upload->etag};
    const enum zd_status status = zd_s3_answer_judge(call, upload->key, err, fault);
    if (status == ZD_OK) {
        const struct zd_span document = document_of(call);
        struct zd_error why = {0};
        if (zd_s3_xml_read(document, take_completed, &completed, &why) == ZD_NO_MEMORY) {
            upload->is_unsure = true;
            return zd_fail(err, ZD_NO_MEMORY, "%s", why.text);
        }
        zd_s3_xml_error(document, call->code);
        return completed.is_result && upload->etag[0] != '\0' ? ZD_OK
                                                              : judge_error(upload, err, fault);
    }
    upload->is_unsure = call->transfer.status != ZD_OK || (http >= 500 && http != 501) ||
                        strcmp(call->code, "NoSuchUpload") == 0; /* it may have been asked twice */
    return status;
}

static void completed(struct zd_s3_call *call)
{
    struct zd_s3_upload *upload = call->context;
    struct zd_error err = {0};
    struct zd_remote_fault fault = {0};
    const enum zd_status status = judge_completion(upload, &err, &fault);
    upload->date_ms = call->transfer.head.date_ms;
    if (status == ZD_OK) {
        end(upload);
        return;
    }
    fail(upload, call, status, &err, &fault);
    abort_upload(upload);
}

static enum zd_status list_parts(struct zd_s3_upload *upload)
{
    ZD_SCOPED_TEXT(text, PART_LIST_BYTES);
    zd_text_add(
        &text, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (uint32_t i = 0; i < upload->n_parts; i++) {
        zd_text_addf(&text, "<Part><PartNumber>%u</PartNumber><ETag>&#34;", i + 1);
        zd_s3_xml_add_escaped(&text, upload->part_tag[i]);
        zd_text_add(&text, "&#34;</ETag></Part>");
    }
    zd_text_add(&text, "</CompleteMultipartUpload>");
    return zd_text_take_buf(&text, &upload->list);
}

static int value_of(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

/* S3's rule: the MD5 of the MD5s of all parts, and their number. */
static void foretell_tag(struct zd_s3_upload *upload)
{
    char tag[ZD_S3_MD5_CHARS + 1];
    ZD_SCOPED_TEXT(digests, (size_t)ZD_S3_UPLOAD_PARTS_MAX * ZD_S3_MD5_CHARS / 2);
    for (uint32_t i = 0; i < upload->n_parts; i++) {
        const char *of = upload->part_tag[i];
        if (strlen(of) != ZD_S3_MD5_CHARS) {
            return;
        }
        for (size_t k = 0; k < ZD_S3_MD5_CHARS; k += 2) {
            const int high = value_of(of[k]);
            const int low = value_of(of[k + 1]);
            if (high < 0 || low < 0) {
                return;
            }
            zd_text_add_char(&digests, (char)(high * 16 + low));
        }
    }
    if (digests.status == ZD_OK && zd_s3_sign_tag(zd_text_span(&digests), tag) == ZD_OK) {
        (void)snprintf(upload->tag, sizeof upload->tag, "%s-%u", tag, upload->n_parts);
    }
}

void zd_s3_upload_complete(struct zd_s3_upload *upload)
{
    struct zd_s3_call *call = &upload->call;
    if (list_parts(upload) != ZD_OK) {
        fail_memory(upload);
        abort_upload(upload);
        return;
    }
    foretell_tag(upload);
    zd_s3_call_done(call);
    *call = (struct zd_s3_call){
        .method = ZD_TRANSFER_POST,
        .key = upload->key,
        .query = {{"uploadId", upload->id}},
        .n_query = 1,
        .header = {{"content-type", "application/xml"}},
        .n_headers = 1,
        .body = zd_buf_span(upload->list),
        .bytes_max = ANSWER_BYTES,
        .done = completed,
        .context = upload,
    };
    if (upload->condition.name != NULL) {
        call->header[call->n_headers++] = upload->condition;
    }
    upload->is_completing = true;
    zd_s3_call_start(&upload->s3->access, call);
}

/* ---- parts ---- */

static void cancel_parts(struct zd_s3_upload *upload)
{
    for (size_t i = 0; i < ZD_S3_UPLOAD_AT_ONCE; i++) {
        if (upload->part[i].is_running) {
            zd_s3_call_cancel(&upload->part[i].call);
        }
    }
}

/* No part is on its way. */
static void after_parts(struct zd_s3_upload *upload)
{
    if (upload->status == ZD_OK && upload->is_cancelled) {
        upload->status = zd_fail(&upload->err, ZD_CANCELLED, "cancelled");
    }
    if (upload->status != ZD_OK) {
        abort_upload(upload);
    } else if (upload->ready != NULL) {
        upload->ready(upload);
    } else {
        zd_s3_upload_complete(upload);
    }
}

static void send_part(struct zd_s3_upload_part *part);

static void part_sent(struct zd_s3_call *call)
{
    struct zd_s3_upload_part *part = call->context;
    struct zd_s3_upload *upload = part->upload;
    struct zd_error err = {0};
    struct zd_remote_fault fault = {0};
    enum zd_status status = judge(upload, call, &err, &fault);
    if (status == ZD_OK &&
        !copy_tag(zd_span_of(call->transfer.head.etag), upload->part_tag[part->number - 1])) {
        status = zd_s3_answer_fail(
            &err, &fault, upload->key, "the store's answer to a part of an upload has no ETag");
    }
    const bool may_pass =
        fault.kind == ZD_REMOTE_FAULT_RETRYABLE || fault.kind == ZD_REMOTE_FAULT_TIMEOUT;
    if (status != ZD_OK && may_pass && upload->status == ZD_OK && !upload->is_cancelled &&
        ++part->n_tries < PART_TRIES) {
        send_part(part);
        return;
    }
    part->is_running = false;
    upload->n_running--;
    if (status != ZD_OK) {
        fail(upload, call, status, &err, &fault);
        cancel_parts(upload);
    }
    zd_s3_call_done(call);
    send_parts(upload);
}

static void send_part(struct zd_s3_upload_part *part)
{
    struct zd_s3_upload *upload = part->upload;
    const uint64_t first = (part->number - 1) * upload->part_bytes;
    zd_s3_call_done(&part->call);
    part->call = (struct zd_s3_call){
        .method = ZD_TRANSFER_PUT,
        .key = upload->key,
        .query = {{"partNumber", part->text}, {"uploadId", upload->id}},
        .n_query = 2,
        .body = {.ptr = upload->bytes.ptr + first,
            .len = (size_t)zd_min_u64(upload->part_bytes, upload->bytes.len - first)},
        .bytes_max = ZD_TRANSFER_WORD_BYTES_MAX,
        .done = part_sent,
        .context = part,
    };
    zd_s3_call_start(&upload->s3->access, &part->call);
}

static void send_parts(struct zd_s3_upload *upload)
{
    const bool goes_on = upload->status == ZD_OK && !upload->is_cancelled;
    for (size_t i = 0; goes_on && i < ZD_S3_UPLOAD_AT_ONCE; i++) {
        struct zd_s3_upload_part *part = &upload->part[i];
        if (!part->is_running && upload->n_begun < upload->n_parts) {
            *part = (struct zd_s3_upload_part){
                .upload = upload, .number = ++upload->n_begun, .is_running = true};
            (void)snprintf(part->text, sizeof part->text, "%u", part->number);
            upload->n_running++;
            send_part(part);
        }
    }
    if (upload->n_running == 0) {
        after_parts(upload);
    }
}

/* ---- the beginning ---- */

static void created(struct zd_s3_call *call)
{
    struct zd_s3_upload *upload = call->context;
    struct zd_error err = {0};
    struct zd_remote_fault fault = {0};
    enum zd_status status = judge(upload, call, &err, &fault);
    if (status == ZD_OK) {
        struct zd_error why = {0};
        status = zd_s3_xml_read(document_of(call), take_id, upload, &why);
        if (status == ZD_NO_MEMORY) {
            status = zd_fail(&err, status, "%s", why.text);
        } else if (status != ZD_OK || upload->id[0] == '\0') {
            status = zd_s3_answer_fail(
                &err, &fault, upload->key, "malformed answer to an upload in parts");
        }
    }
    if (status != ZD_OK) {
        upload->is_unsupported = call->transfer.status == ZD_OK && call->transfer.head.code == 501;
        fail(upload, call, status, &err, &fault);
        end(upload);
        return;
    }
    send_parts(upload);
}

enum zd_status zd_s3_upload_start(struct zd_s3_upload *upload)
{
    struct zd_s3_call *call = &upload->call;
    const uint64_t least = (upload->bytes.len - 1) / ZD_S3_UPLOAD_PARTS_MAX + 1;
    assert(upload->bytes.len > 0);
    upload->part_bytes = zd_max_u64(upload->s3->sizes.part_bytes, least);
    upload->n_parts = (uint32_t)((upload->bytes.len - 1) / upload->part_bytes + 1);
    upload->part_tag = zd_alloc_zero(upload->n_parts, sizeof *upload->part_tag);
    if (upload->part_tag == NULL) {
        return zd_fail(&upload->err, ZD_NO_MEMORY, "%.200s: no memory for an upload", upload->key);
    }
    *call = (struct zd_s3_call){
        .method = ZD_TRANSFER_POST,
        .key = upload->key,
        .query = {{"uploads", ""}},
        .n_query = 1,
        .header = {{"content-type", "application/octet-stream"}},
        .n_headers = 1,
        .bytes_max = ANSWER_BYTES,
        .done = created,
        .context = upload,
    };
    zd_s3_call_start(&upload->s3->access, call);
    return ZD_OK;
}

void zd_s3_upload_cancel(struct zd_s3_upload *upload)
{
    if (!upload->is_completing) {
        upload->is_cancelled = true;
        cancel_parts(upload);
    }
}
