/* Shared by tests of codecs: chains from a line of JSON. */
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
    if (what->type != NULL) {
        decoded.dtype = *what->type;
    } else {
        ck_assert_int_eq(zd_dtype_find(what->dtype, &decoded.dtype), ZD_OK);
    }
    ck_assert(!zd_codec_repr_overflows(&decoded, &decoded.size));
    const struct zd_pointer root = {.text = ""};
    const struct zd_chain_config config = {
        .codecs = codecs,
        .at = zd_pointer_member(&root, "codecs"),
        .decoded = &decoded,
        .judgement = what->judgement,
        .depth = what->depth,
        .fixed = what->fixed,
        .is_n5 = what->is_n5,
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

static void check_equal(const char *codecs, const struct zd_buf *found, const char *expected)
{
    struct zd_buf *bytes = zd_unit_hex(expected);
    ck_assert_msg(
        found->len == bytes->len, "%s: %zu bytes, %zu expected", codecs, found->len, bytes->len);
    for (size_t i = 0; i < found->len; i++) {
        ck_assert_msg(found->data[i] == bytes->data[i], "%s: byte %zu is %02x, %02x expected",
            codecs, i, found->data[i], bytes->data[i]);
    }
    zd_buf_unref(bytes);
}

void zd_unit_check_coding(const struct zd_unit_coding *coding)
{
    struct zd_unit_chain what = {.codecs = coding->codecs,
        .dtype = coding->dtype,
        .rank = coding->rank,
        .fill = coding->fill};
    memcpy(what.shape, coding->shape, sizeof coding->shape);
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_hex(coding->decoded);
    struct zd_buf *encoded = NULL;
    struct zd_buf *again = NULL;
    struct zd_error err = {0};
    ck_assert_msg(zd_chain_encode(chain, decoded, &encoded, &err) == ZD_OK, "%s: %s",
        coding->codecs, err.text);
    check_equal(coding->codecs, encoded, coding->encoded);
    ck_assert_msg(
        zd_chain_decode(chain, encoded, &again, &err) == ZD_OK, "%s: %s", coding->codecs, err.text);
    check_equal(coding->codecs, again, coding->again == NULL ? coding->decoded : coding->again);
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_buf_unref(again);
    zd_chain_unref(chain);
}

void zd_unit_check_judged(const struct zd_unit_chain *what, const char *findings)
{
    struct zd_faults faults = {0};
    struct zd_chain *chain = NULL;
    const enum zd_status status = zd_unit_chain_open(what, &chain, &faults);
    char *found = zd_unit_faults(&faults);
    ck_assert_msg(strcmp(found, findings) == 0, "%s: %s", what->codecs, found);
    ck_assert_msg((status == ZD_OK) == !zd_faults_refuse(&faults), "%s: %s", what->codecs, found);
    zd_free(found);
    zd_faults_done(&faults);
    zd_chain_unref(chain);
}

void zd_unit_check_corrupt(const struct zd_unit_chain *what, const char *encoded, const char *text)
{
    struct zd_chain *chain = zd_unit_chain(what);
    struct zd_buf *stored = zd_unit_hex(encoded);
    struct zd_buf *decoded = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, stored, &decoded, &err);
    ck_assert_msg(
        status == ZD_CORRUPT, "%s, %s: %s", what->codecs, encoded, zd_status_name(status));
    ck_assert_msg(strstr(err.text, text) != NULL, "%s, %s: %s", what->codecs, encoded, err.text);
    zd_buf_unref(stored);
    zd_chain_unref(chain);
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

struct zd_chain *zd_unit_byte_chain(const char *codecs, uint64_t n)
{
    const struct zd_unit_chain what = {.codecs = codecs, .dtype = "uint8", .rank = 1, .shape = {n}};
    return zd_unit_chain(&what);
}

static bool is_refusal(enum zd_status status)
{
    return status == ZD_CORRUPT || status == ZD_UNSUPPORTED;
}

void zd_unit_check_stored(const struct zd_unit_stored *row)
{
    ZD_AUTO(zd_chain) chain = zd_unit_byte_chain(row->codecs, row->n);
    ZD_AUTO(zd_buf) stored = zd_unit_hex(row->stored);
    ZD_AUTO(zd_buf) found = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, stored, &found, &err);
    if (row->decoded != NULL) {
        ZD_AUTO(zd_buf) decoded = zd_unit_hex(row->decoded);
        ck_assert_msg(status == ZD_OK, "%s: %s", row->stored, err.text);
        ck_assert_msg(zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)), "%s", row->stored);
        return;
    }
    ck_assert_msg(is_refusal(status), "%s: %s", row->stored, zd_status_name(status));
    ck_assert_msg(strstr(err.text, row->refusal) != NULL, "%s: %s", row->stored, err.text);
    ck_assert_msg((err.facts.set & ZD_FACT_NAME) != 0, "%s: no name", err.text);
}

static struct zd_buf *encode(const struct zd_chain *chain, struct zd_buf *decoded)
{
    struct zd_buf *encoded = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_encode(chain, decoded, &encoded, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
    ck_assert_uint_le(encoded->len, zd_chain_encoded_max(chain));
    return encoded;
}

void zd_unit_check_round_trip(const char *codecs, uint64_t n)
{
    ZD_AUTO(zd_chain) chain = zd_unit_byte_chain(codecs, n);
    ZD_AUTO(zd_buf) decoded = zd_unit_elements(n);
    ZD_AUTO(zd_buf) encoded = encode(chain, decoded);
    ZD_AUTO(zd_buf) again = NULL;
    struct zd_error err = {0};
    const enum zd_status status = zd_chain_decode(chain, encoded, &again, &err);
    ck_assert_msg(status == ZD_OK, "%s", err.text);
    ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(again)));
}

static void check_prefix(const struct zd_chain *chain, const struct zd_buf *encoded, size_t len)
{
    ZD_AUTO(zd_buf) cut = zd_buf_copy((struct zd_span){.ptr = encoded->data, .len = len});
    ZD_AUTO(zd_buf) found = NULL;
    const enum zd_status status = zd_chain_decode(chain, cut, &found, NULL);
    ck_assert_msg(is_refusal(status), "%zu of %zu bytes", len, encoded->len);
}

static void check_longer(const struct zd_chain *chain, const struct zd_buf *encoded)
{
    ZD_AUTO(zd_buf) longer = zd_buf_new(encoded->len + 1);
    ZD_AUTO(zd_buf) found = NULL;
    memcpy(longer->data, encoded->data, encoded->len);
    longer->data[encoded->len] = 0x55;
    longer->len = encoded->len + 1;
    ck_assert_int_eq(zd_chain_decode(chain, longer, &found, NULL), ZD_CORRUPT);
}

void zd_unit_check_damage(const char *codecs, uint64_t n, bool is_checked)
{
    ZD_AUTO(zd_chain) chain = zd_unit_byte_chain(codecs, n);
    ZD_AUTO(zd_buf) decoded = zd_unit_elements(n);
    ZD_AUTO(zd_buf) encoded = encode(chain, decoded);
    check_longer(chain, encoded);
    for (size_t i = 0; i < encoded->len; i++) {
        check_prefix(chain, encoded, i);
        ZD_AUTO(zd_buf) flipped = zd_buf_copy(zd_buf_span(encoded));
        ZD_AUTO(zd_buf) found = NULL;
        flipped->data[i] ^= (uint8_t)(1U << zd_unit_random() % 8);
        const enum zd_status status = zd_chain_decode(chain, flipped, &found, NULL);
        ck_assert_msg(is_refusal(status) || status == ZD_OK, "byte %zu", i);
        ck_assert_msg(status != ZD_OK || !is_checked ||
                          zd_span_equal(zd_buf_span(found), zd_buf_span(decoded)),
            "byte %zu", i);
    }
}

void zd_unit_check_bomb(const char *codecs)
{
    ZD_AUTO(zd_chain) large = zd_unit_byte_chain(codecs, 64U << 20);
    ZD_AUTO(zd_chain) small = zd_unit_byte_chain(codecs, 1000);
    ZD_AUTO(zd_buf) zeros = zd_buf_new(64U << 20);
    ZD_AUTO(zd_buf) found = NULL;
    memset(zeros->data, 0, zeros->cap);
    zeros->len = zeros->cap;
    ZD_AUTO(zd_buf) bomb = encode(large, zeros);
    ck_assert_int_eq(zd_chain_decode(small, bomb, &found, NULL), ZD_CORRUPT);
}
