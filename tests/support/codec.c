/* What tests of codecs share: chains from a line of JSON. */
#include "tests/support/codec.h"

#include <string.h>

#define TEXT_BYTES_MAX (1U << 20)
#define DEPTH_MAX      64

struct zd_json *zd_unit_json(const char *text)
{
    char *quoted = zd_strdup(text);
    ck_assert_ptr_nonnull(quoted);
    for (char *at = quoted; *at != '\0'; at++) {
        if (*at == '\'') {
            *at = '"';
        }
    }
    const struct zd_json_limits limits = {
        .bytes_max = TEXT_BYTES_MAX, .nodes_max = TEXT_BYTES_MAX, .depth_max = DEPTH_MAX};
    struct zd_json *json = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_json_parse(zd_span_of(quoted), &limits, &json, &err);
    ck_assert_msg(status == ZD_OK, "%s: %s", text, err.text);
    zd_free(quoted);
    return json;
}

enum zd_status zd_unit_chain_open(
    const struct zd_unit_chain *what, struct zd_chain **ret_chain, struct zd_faults *faults)
{
    static const uint8_t zero[ZD_DTYPE_BYTES_MAX];
    struct zd_json *codecs =
        what->parsed == NULL ? zd_unit_json(what->codecs) : zd_json_ref(what->parsed);
    struct zd_repr decoded = {
        .rank = what->rank,
        .fill = what->fill == NULL ? zero : what->fill,
        .size_is_exact = true,
    };
    memcpy(decoded.shape, what->shape, sizeof decoded.shape);
    ck_assert_int_eq(zd_dtype_find(what->dtype, &decoded.dtype), ZD_OK);
    ck_assert(!zd_codec_repr_overflows(&decoded, &decoded.size));
    const struct zd_pointer root = {.text = ""};
    const struct zd_chain_config config = {
        .codecs = codecs,
        .at = zd_pointer_member(&root, "codecs"),
        .decoded = &decoded,
        .judgement = what->judgement,
        .depth = what->depth,
        .fixed = what->fixed,
    };
    const enum zd_status status = zd_chain_open(&config, ret_chain, faults);
    zd_json_unref(codecs);
    return status;
}

struct zd_chain *zd_unit_chain(const struct zd_unit_chain *what)
{
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(what, &chain, &faults);
    ck_assert_msg(status == ZD_OK, "%s: %s", what->codecs,
        faults.n_items == 0 ? zd_status_name(status) : faults.item[0].detail);
    zd_faults_done(&faults);
    return chain;
}

char *zd_unit_faults(const struct zd_faults *faults)
{
    static const char *const severity[] = {
        [ZD_FAULT_INVALID] = "invalid",
        [ZD_FAULT_UNSUPPORTED] = "unsupported",
        [ZD_FAULT_WARNING] = "warning",
    };
    ZD_SCOPED_TEXT(text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < faults->n_items; i++) {
        const struct zd_fault *fault = &faults->item[i];
        zd_text_addf(&text, "%s%s %s %s", i == 0 ? "" : "; ", severity[fault->severity],
            fault->code, fault->pointer);
        ck_assert_ptr_nonnull(fault->detail);
    }
    ck_assert_int_eq(text.status, ZD_OK);
    return zd_strdup(text.len == 0 ? "" : text.at);
}

struct zd_buf *zd_unit_elements(size_t len)
{
    struct zd_buf *buf = zd_buf_new(len);
    ck_assert_ptr_nonnull(buf);
    for (size_t i = 0; i < len; i++) {
        buf->data[i] = (uint8_t)(zd_unit_random() % 7 * (zd_unit_random() % 3));
    }
    buf->len = len;
    return buf;
}

static void check_part(const struct zd_chain *chain, struct zd_buf *encoded,
    const struct zd_buf *whole, struct zd_byte_range run)
{
    struct zd_buf *part = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode_part(chain, encoded, run, &part, &err);
    ck_assert_msg(status == ZD_OK, "%llu from %llu: %s", (unsigned long long)run.len,
        (unsigned long long)run.first, err.text);
    ck_assert_uint_eq(part->len, run.len);
    ck_assert_msg(memcmp(part->data, whole->data + run.first, run.len) == 0,
        "%llu bytes from %llu differ", (unsigned long long)run.len, (unsigned long long)run.first);
    zd_buf_unref(part);
}

void zd_unit_check_parts(
    const struct zd_chain *chain, struct zd_buf *encoded, const struct zd_buf *whole, int n_runs)
{
    ck_assert(zd_chain_has_parts(chain));
    check_part(chain, encoded, whole, (struct zd_byte_range){.first = 0, .len = whole->len});
    check_part(chain, encoded, whole, (struct zd_byte_range){.first = 0, .len = 1});
    check_part(chain, encoded, whole, (struct zd_byte_range){.first = whole->len - 1, .len = 1});
    for (int i = 0; i < n_runs; i++) {
        const uint64_t first = zd_unit_random() % whole->len;
        const uint64_t rest = whole->len - first;
        const uint64_t most = zd_unit_random() % 2 == 0 ? zd_min_u64(rest, 20) : rest;
        check_part(chain, encoded, whole,
            (struct zd_byte_range){.first = first, .len = 1 + zd_unit_random() % most});
    }
}
