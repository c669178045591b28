/* The meaning of S3 answers: statuses by their codes, and which failures are temporary. */
#include "core/store/s3/s3_answer.h"

#include <string.h>

#include "core/base/aside.h"

#define SHOWN_BYTES 200 /* of a key */

enum zd_status zd_s3_answer_fail(
    struct zd_error *err, struct zd_remote_fault *fault, const char *name, const char *what)
{
    fault->kind = ZD_REMOTE_FAULT_BROKEN;
    return zd_fail(err, ZD_STORE, "%.*s: %s", SHOWN_BYTES, name, what);
}

static bool is_one_of(const char *code, const char *const *codes)
{
    while (*codes != NULL && strcmp(*codes, code) != 0) {
        codes++;
    }
    return *codes != NULL;
}

static enum zd_remote_fault_kind kind_of(uint32_t http, const char *code)
{
    static const char *const throttled[] = {"SlowDown", "Throttling", "TooManyRequests",
        "RequestLimitExceeded", "ServiceUnavailable", "Busy", "TooManyRequestsException", NULL};
    if (http == 429 || is_one_of(code, throttled)) {
        return ZD_REMOTE_FAULT_THROTTLED;
    }
    if (http >= 500) {
        return http == 501 ? ZD_REMOTE_FAULT_NONE : ZD_REMOTE_FAULT_RETRYABLE;
    }
    if (http == 408 || strcmp(code, "RequestTimeout") == 0) {
        return ZD_REMOTE_FAULT_RETRYABLE;
    }
    if (http == 401 || http == 403) {
        return ZD_REMOTE_FAULT_REFUSED;
    }
    return http < 400 ? ZD_REMOTE_FAULT_BROKEN : ZD_REMOTE_FAULT_NONE;
}

static enum zd_status fail_answer(const struct zd_s3_call *call, const char *name,
    struct zd_error *err, struct zd_remote_fault *fault)
{
    static const char *const full[] = {
        "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", NULL};
    const uint32_t http = call->transfer.head.code;
    const bool is_full = http == 507 || is_one_of(call->code, full);
    const char *region = call->field[ZD_S3_FIELD_REGION].value;
    fault->kind = (uint8_t)kind_of(http, call->code);
    fault->retry_after_ms = call->transfer.head.retry_after_ms;
    const bool is_elsewhere = region[0] != '\0' && strcmp(region, call->access->bucket.region) != 0;
    return zd_fail(err, is_full ? ZD_NO_SPACE : ZD_STORE,
        "%.*s: the store answered %u%s%s" ZD_ASIDE("%s%s"), SHOWN_BYTES, name, http,
        call->code[0] == '\0' ? "" : " ", call->code,
        is_elsewhere ? "; the bucket is in region " : "",
        is_elsewhere && strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(region)
            ? region
            : "");
}

/* The judge of a head has named the object already. */
static enum zd_status fail_transfer(const struct zd_transfer *transfer, const char *name,
    struct zd_error *err, struct zd_remote_fault *fault)
{
    *fault = transfer->fault;
    *err = transfer->err;
    if (strncmp(transfer->err.text, name, strlen(name)) == 0) {
        return transfer->status;
    }
    const enum zd_status status =
        zd_fail(err, transfer->status, "%.*s: %.300s", SHOWN_BYTES, name, transfer->err.text);
    err->facts = transfer->err.facts;
    return status;
}

/* A condition failed that nobody has asked for: such an answer is a fault. */
static bool has_condition(const struct zd_s3_call *call)
{
    bool found = false;
    for (size_t i = 0; i < call->n_headers; i++) {
        found = found || strcmp(call->header[i].name, "if-match") == 0 ||
                strcmp(call->header[i].name, "if-none-match") == 0;
    }
    return found;
}

enum zd_status zd_s3_answer_judge(const struct zd_s3_call *call, const char *name,
    struct zd_error *err, struct zd_remote_fault *fault)
{
    const struct zd_transfer *transfer = &call->transfer;
    const uint32_t http = transfer->head.code;
    const bool is_read = call->method == ZD_TRANSFER_GET || call->method == ZD_TRANSFER_HEAD;
    if (transfer->status != ZD_OK) {
        return fail_transfer(transfer, name, err, fault);
    }
    if (http >= 200 && http < 300) {
        return ZD_OK;
    }
    if (http == 404 && strcmp(call->code, "NoSuchKey") == 0) {
        return ZD_NOT_FOUND;
    }
    if (http == 403 && is_read && call->access->bucket.is_403_absence &&
        (strcmp(call->code, "AccessDenied") == 0 || call->method == ZD_TRANSFER_HEAD)) {
        return ZD_NOT_FOUND;
    }
    if (http == 304 && is_read && has_condition(call)) {
        return ZD_NOT_MODIFIED;
    }
    if (has_condition(call) &&
        (http == 412 || strcmp(call->code, "ConditionalRequestConflict") == 0)) {
        return zd_fail(err, ZD_PRECONDITION, "%.*s: the object was replaced", SHOWN_BYTES, name);
    }
    return fail_answer(call, name, err, fault);
}

/* There is no status to go by. */
static enum zd_remote_fault_kind kind_of_code(const char *code)
{
    static const char *const refused[] = {
        "AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidObjectState", NULL};
    static const char *const passing[] = {"InternalError", "OperationAborted", NULL};
    if (is_one_of(code, passing)) {
        return ZD_REMOTE_FAULT_RETRYABLE;
    }
    if (is_one_of(code, refused)) {
        return ZD_REMOTE_FAULT_REFUSED;
    }
    return code[0] == '\0' ? ZD_REMOTE_FAULT_BROKEN : kind_of(400, code);
}

enum zd_status zd_s3_answer_judge_code(
    const char *code, const char *name, struct zd_error *err, struct zd_remote_fault *fault)
{
    if (strcmp(code, "NoSuchKey") == 0) {
        return ZD_NOT_FOUND;
    }
    if (strcmp(code, "PreconditionFailed") == 0 ||
        strcmp(code, "ConditionalRequestConflict") == 0) {
        return zd_fail(err, ZD_PRECONDITION, "%.*s: the object was replaced", SHOWN_BYTES, name);
    }
    *fault = (struct zd_remote_fault){.kind = (uint8_t)kind_of_code(code)};
    return zd_fail(err, ZD_STORE, "%.*s: the store answered 200 with the error %s", SHOWN_BYTES,
        name, code[0] == '\0' ? "without a code" : code);
}
