/* The file of tokens: what it may say, and how tokens are found. */
#include "server/request/access/tokens.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "server/config/settings.h"
#include "server/request/identity.h"
#include "server/request/access/token_entry.h"
#include "tests/support/unit.h"

#define MANY       100000
#define PROBES_MAX 32 /* what 100,000 take is about 10 */
#define TEXT_MAX   (64U << 20)

/* SHA-256 of "abc" (FIPS 180-4). */
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ENTRY "{\"tokens\": [{\"name\": \"ada\", \"sha256\": \"" ABC "\", \"scopes\": [\"read\"]"

static const struct {
    const char *text;
    const char *found; /* part of the error; NULL: it is good */
} files[] = {
    {"{\"tokens\": []}", NULL},
    {"{\"//\": \"of our lab\", \"tokens\": []}", NULL},
    {ENTRY "}]}", NULL},
    {ENTRY ", \"datasets\": [\"era\", \"lake*\"], \"paths\": [\"solar/**\"]}]}", NULL},
    {ENTRY ", \"expires\": \"2027-01-01T00:00:00Z\", \"requests_per_s\": 5, \"//\": 1}]}", NULL},
    {"", "line 1"},
    {"[]", "/tokens"},
    {"{}", "/tokens"},
    {"{\"tokens\": {}}", "/tokens"},
    {"{\"tokens\": [], \"token\": 1}", "only the member \"tokens\""},
    {"{\"tokens\": [], \"tokens\": []}", "only the member \"tokens\", once"},
    {"{\"tokens\": [] []}", "line 1, column 15"},
    {"{\"tokens\": [],}", "line 1, column 15"},
    {ENTRY "},]}", "line 1"},
    {ENTRY "}\n{}]}", "line 2, column 1"},
    {ENTRY ", \"name\": \"bob\"}]}", "entry /tokens/0: JSON, line 1"},
    {ENTRY ", \"//\": [[[[[[[1]]]]]]]}]}", "nesting"},
    {"{\"tokens\": [1]}", "/tokens/0: expected an object"},
    {"{\"tokens\": [{\"sha256\": \"" ABC "\", \"scopes\": [\"read\"]}]}", "/tokens/0/name"},
    {"{\"tokens\": [{\"name\": \"a b\", \"sha256\": \"" ABC "\", \"scopes\": [\"read\"]}]}",
        "/tokens/0/name"},
    {"{\"tokens\": [{\"name\": \"ada\", \"sha256\": \"abc\", \"scopes\": [\"read\"]}]}",
        "/tokens/0/sha256"},
    {"{\"tokens\": [{\"name\": \"ada\", \"sha256\": \"" ABC "\"}]}", "/tokens/0/scopes"},
    {"{\"tokens\": [{\"name\": \"ada\", \"sha256\": \"" ABC "\", \"scopes\": []}]}",
        "/tokens/0/scopes"},
    {"{\"tokens\": [{\"name\": \"ada\", \"sha256\": \"" ABC "\", \"scopes\": [\"all\"]}]}",
        "/tokens/0/scopes/0"},
    {ENTRY ", \"dataset\": [\"era\"]}]}",
        "bytes_per_s only"}, /* misspelt, it would be of all datasets */
    {ENTRY ", \"datasets\": []}]}", "/tokens/0/datasets"},
    {ENTRY ", \"datasets\": \"era\"}]}", "/tokens/0/datasets"},
    {ENTRY ", \"datasets\": [7]}]}", "/tokens/0/datasets/0"},
    {ENTRY ", \"paths\": [\"/solar\"]}]}", "/tokens/0/paths/0"},
    {ENTRY ", \"paths\": [\"\"]}]}", "/tokens/0/paths/0"},
    {ENTRY ", \"expires\": \"2027-01-01\"}]}", "/tokens/0/expires"},
    {ENTRY ", \"expires\": \"2027-13-01T00:00:00Z\"}]}", "/tokens/0/expires"},
    {ENTRY ", \"expires\": \"2027-01-01T00:00:00+01\"}]}", "/tokens/0/expires"},
    {ENTRY ", \"expires\": 1798761600}]}", "/tokens/0/expires"},
    {ENTRY ", \"bytes_per_s\": -1}]}", "/tokens/0/bytes_per_s"},
    {ENTRY "}, {\"name\": \"bob\", \"sha256\": \"" ABC "\", \"scopes\": [\"read\"]}]}",
        "/tokens/1/sha256: expected a token that no earlier"},
};

START_TEST(a_file_is_read_or_refused_with_its_place)
{
    struct zd_error err = {0};
    struct zd_tokens *tokens = NULL;
    const enum zd_status status =
        zd_tokens_parse("file", zd_span_of(files[_i].text), &tokens, &err);
    if (files[_i].found == NULL) {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
    } else {
        ck_assert_int_eq(status, ZD_INVALID);
        ck_assert_msg(strstr(err.text, files[_i].found) != NULL, "%s", err.text);
        ck_assert_ptr_null(strstr(err.text, ABC));
    }
    zd_tokens_free(tokens);
}
END_TEST

static struct zd_tokens *parse(const char *text)
{
    struct zd_error err = {0};
    struct zd_tokens *tokens = NULL;
    ck_assert_msg(
        zd_tokens_parse("file", zd_span_of(text), &tokens, &err) == ZD_OK, "%s", err.text);
    return tokens;
}

START_TEST(a_token_is_found_by_its_hash)
{
    struct zd_tokens *tokens = parse(ENTRY ", \"expires\": \"2027-01-01T00:00:00Z\"}]}");
    const struct zd_identity *ada = zd_tokens_find(tokens, zd_span_of("abc"));
    ck_assert_ptr_nonnull(ada);
    ck_assert_str_eq(ada->name, "ada");
    ck_assert_uint_eq(ada->expires_ms, UINT64_C(1798761600000));
    ck_assert_uint_eq(ada->requests_per_s, ZD_IDENTITY_SETTINGS);
    ck_assert_ptr_null(zd_tokens_find(tokens, zd_span_of("abd")));
    ck_assert_ptr_null(zd_tokens_find(tokens, zd_span_of("")));
    ck_assert_ptr_null(zd_tokens_find(tokens, zd_span_of(ABC)));
    ck_assert_ptr_null(zd_tokens_find(NULL, zd_span_of("abc")));
    zd_tokens_free(tokens);
}
END_TEST

#define OTHER "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589" /* of "abcd" */

static const struct {
    const char *name; /* of the second entry */
    const char *asked;
    int number; /* of the entry; -1: there is none, or several */
} names[] = {
    {"bob", "ada", 0}, {"bob", "bob", 1}, {"aaa", "ada", 0}, {"ada-2", "ada", 0},
    {"ada-2", "ada-2", 1}, {"ad", "ada", 0}, {"bob", "ad", -1}, {"bob", "adaa", -1},
    {"bob", "", -1}, {"bob", "Bob", -1}, {"bob", "eve", -1},
    {"ada", "ada", -1}, /* it would be either */
};

START_TEST(an_entry_is_found_by_a_name_that_it_alone_has)
{
    ZD_SCOPED_TEXT(text, 4096);
    zd_text_addf(&text,
        ENTRY "}, {\"name\": \"%s\", \"sha256\": \"" OTHER "\", \"scopes\": [\"read\"]}]}",
        names[_i].name);
    struct zd_tokens *tokens = parse(text.at);
    const struct zd_token_entry *entry = zd_tokens_find_name(tokens, zd_span_of(names[_i].asked));
    ck_assert_int_eq(entry != NULL, names[_i].number >= 0);
    if (entry != NULL) {
        const char *token = names[_i].number == 0 ? "abc" : "abcd";
        ck_assert_ptr_eq(entry->identity, zd_tokens_find(tokens, zd_span_of(token)));
    }
    ck_assert_ptr_null(zd_tokens_find_name(NULL, zd_span_of(names[_i].asked)));
    zd_tokens_free(tokens);
}
END_TEST

START_TEST(entries_share_equal_grants)
{
    static const char *const second[] = {"\"datasets\": [\"era\"], \"paths\": [\"a/**\"]",
        "\"datasets\": [\"era\"], \"paths\": [\"b/**\"]"};
    const struct zd_dataset_config era = {.name = (char *)"era"};
    ZD_SCOPED_TEXT(text, 4096);
    zd_text_addf(&text,
        ENTRY ", %s}, {\"name\": \"bob\", \"sha256\": \"" OTHER "\", \"scopes\": [\"read\"], %s}]}",
        second[0], second[_i]);
    struct zd_tokens *tokens = parse(text.at);
    struct zd_identity *ada = zd_tokens_find(tokens, zd_span_of("abc"));
    struct zd_identity *bob = zd_identity_ref(zd_tokens_find(tokens, zd_span_of("abcd")));
    ck_assert_int_eq(ada->grant == bob->grant, _i == 0);
    zd_tokens_free(tokens);
    ck_assert_str_eq(bob->name, "bob");
    ck_assert_int_eq(zd_identity_may(bob, ZD_IDENTITY_READ, &era, "a/x"), _i == 0);
    zd_identity_unref(bob);
}
END_TEST

START_TEST(nothing_is_found_among_none)
{
    struct zd_tokens *tokens = parse("{\"tokens\": []}");
    ck_assert_ptr_null(zd_tokens_find(tokens, zd_span_of("abc")));
    ck_assert_uint_eq(zd_tokens_probes(tokens), 1);
    zd_tokens_free(tokens);
}
END_TEST

/* Tokens "0" to "n - 1". */
static struct zd_tokens *many(size_t n)
{
    ZD_SCOPED_TEXT(text, TEXT_MAX);
    zd_text_add(&text, "{\"tokens\": [");
    for (size_t i = 0; i < n; i++) {
        ZD_SCOPED_TEXT(token, 24);
        uint8_t digest[ZD_DIGEST_BYTES];
        char hex[ZD_DIGEST_CHARS + 1];
        zd_text_add_u64(&token, i);
        ck_assert_int_eq(zd_digest_of(zd_text_span(&token), digest), ZD_OK);
        zd_digest_format(digest, hex);
        zd_text_addf(&text, "%s{\"name\": \"t%s\", \"sha256\": \"%s\", \"scopes\": [\"read\"]}",
            i == 0 ? "" : ",", token.at, hex);
    }
    zd_text_add(&text, "]}");
    ck_assert_int_eq(text.status, ZD_OK);
    return parse(text.at);
}

START_TEST(a_look_up_costs_the_same_among_many)
{
    struct zd_tokens *tokens = many(MANY);
    ck_assert_uint_eq(zd_tokens_count(tokens), MANY);
    ck_assert_uint_le(zd_tokens_probes(tokens), PROBES_MAX);
    for (size_t i = 0; i < MANY; i += MANY / 100) {
        ZD_SCOPED_TEXT(token, 24);
        zd_text_add_u64(&token, i);
        const struct zd_identity *identity = zd_tokens_find(tokens, zd_text_span(&token));
        ck_assert_ptr_nonnull(identity);
        ck_assert_str_eq(identity->name + 1, token.at);
        const struct zd_token_entry *entry =
            zd_tokens_find_name(tokens, zd_span_of(identity->name));
        ck_assert_ptr_nonnull(entry);
        ck_assert_ptr_eq(entry->identity, identity);
    }
    ck_assert_ptr_null(zd_tokens_find(tokens, zd_span_of("t0")));
    zd_tokens_free(tokens);
}
END_TEST

START_TEST(an_unchanged_token_keeps_its_identity)
{
    struct zd_tokens *tokens = parse(ENTRY "}]}");
    struct zd_identity *ada = zd_identity_ref(zd_tokens_find(tokens, zd_span_of("abc")));
    zd_tokens_replace(&tokens, parse(ENTRY ", \"//\": \"the same\"}]}"));
    ck_assert_ptr_eq(zd_tokens_find(tokens, zd_span_of("abc")), ada);
    ck_assert(!zd_identity_is_over(ada));
    zd_tokens_replace(&tokens, parse(ENTRY ", \"datasets\": [\"era\"]}]}"));
    ck_assert(zd_identity_is_over(ada));
    zd_identity_unref(ada);
    ada = zd_identity_ref(zd_tokens_find(tokens, zd_span_of("abc")));
    ck_assert(!zd_identity_is_over(ada));
    zd_tokens_replace(&tokens, parse("{\"tokens\": []}"));
    ck_assert(zd_identity_is_over(ada));
    zd_identity_unref(ada);
    zd_tokens_free(tokens);
}
END_TEST

static enum zd_status read_and_find(void *context)
{
    struct zd_tokens *tokens = NULL;
    (void)context;
    ZD_TRY(
        zd_tokens_parse("file", zd_span_of(ENTRY ", \"paths\": [\"a\", \"b\"]}]}"), &tokens, NULL));
    zd_tokens_free(tokens);
    return ZD_OK;
}

START_TEST(every_allocation_may_fail)
{
    zd_unit_with_failing_memory(read_and_find, NULL);
}
END_TEST

START_TEST(a_file_that_others_read_is_refused)
{
    char path[] = "/tmp/zarrd-test-XXXXXX";
    struct zd_error err = {0};
    struct zd_tokens *tokens = NULL;
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "{\"tokens\": []}", 14), 14);
    close(fd);
    ck_assert_int_eq(zd_tokens_read(path, &tokens, &err), ZD_OK);
    zd_tokens_free(tokens);
    ck_assert_int_eq(chmod(path, 0604), 0);
    ck_assert_int_eq(zd_tokens_read(path, &tokens, &err), ZD_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "chmod o-rw"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(zd_tokens_read(path, &tokens, &err), ZD_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    ck_assert_int_eq(zd_tokens_read("/dev", &tokens, &err), ZD_INVALID);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_file_is_read_or_refused_with_its_place, 0, ZD_COUNT_OF(files));
    tcase_add_test(tests, a_token_is_found_by_its_hash);
    tcase_add_loop_test(
        tests, an_entry_is_found_by_a_name_that_it_alone_has, 0, ZD_COUNT_OF(names));
    tcase_add_loop_test(tests, entries_share_equal_grants, 0, 2);
    tcase_add_test(tests, nothing_is_found_among_none);
    tcase_add_test(tests, a_look_up_costs_the_same_among_many);
    tcase_add_test(tests, an_unchanged_token_keeps_its_identity);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, a_file_that_others_read_is_refused);
}
