/* Identities: what their grants allow, and where. */
#include "server/request/identity.h"

#include "server/config/settings.h"
#include "tests/support/unit.h"

#define READ  ZD_IDENTITY_READ
#define WRITE ZD_IDENTITY_WRITE

static const struct {
    struct zd_grant grant;
    uint32_t scopes;
    const char *dataset; /* one that begins with a '.' is private */
    const char *path;
    bool may;
    bool may_below;
} facts[] = {
    {{READ, NULL, NULL, NULL}, READ, ".era", "a", false, false},
    {{READ, "*", NULL, NULL}, READ, ".era", "a", false, false},
    {{READ, "**", "a/**", NULL}, READ, ".era", "a", false, false},
    {{READ, "?", NULL, NULL}, READ, ".", "a", false, false},
    {{READ, "*?", NULL, NULL}, READ, ".era", "a", false, false},
    {{READ, "????", NULL, NULL}, READ, ".era", "a", false, false},
    {{READ, "**?*", NULL, NULL}, READ, ".era", "a", false, false},
    {{READ, ".e?a", NULL, NULL}, READ, ".era", "a", true, true},
    {{READ, "*a", NULL, NULL}, READ, ".era", "a", true, true},
    {{READ, "?e*", NULL, NULL}, READ, ".era", "a", true, true},
    {{READ, "*", NULL, NULL}, READ, "era", "a", true, true},
    {{READ, "???", NULL, NULL}, READ, "era", "a", true, true},
    {{READ, NULL, NULL, NULL}, READ, "era", "a/b", true, true},
    {{READ, NULL, NULL, NULL}, WRITE, "era", "a/b", false, false},
    {{WRITE, NULL, NULL, NULL}, READ, "era", "", false, false},
    {{READ | WRITE, "era", NULL, NULL}, WRITE, "era", "", true, true},
    {{READ, "era", NULL, NULL}, READ, "era5", "", false, false},
    {{READ, "lake*", NULL, NULL}, READ, "lake-1", "x", true, true},
    {{READ, NULL, "solar/**", NULL}, READ, "era", "solar", true, true},
    {{READ, NULL, "solar/**", NULL}, READ, "era", "solar/x/y", true, true},
    {{READ, NULL, "solar/**", NULL}, READ, "era", "solarium", false, false},
    {{READ, NULL, "solar/**", NULL}, READ, "era", "", false, false},
    {{READ, NULL, "solar", NULL}, READ, "era", "solar", true, false},
    {{READ, NULL, "solar", NULL}, READ, "era", "solar/x", false, false},
    {{READ, NULL, "*/t", NULL}, READ, "era", "solar/t", true, false},
    {{READ, NULL, "**", NULL}, READ, "era", "", true, true},
};

static struct zd_dataset_config dataset_of(const char *name)
{
    return (struct zd_dataset_config){.name = (char *)name, .is_private = name[0] == '.'};
}

START_TEST(a_grant_allows_its_scopes_at_its_places)
{
    const struct zd_identity like = {.name = "ada",
        .from = "token",
        .expires_ms = ZD_IDENTITY_NEVER,
        .n_grants = 1,
        .grant = &facts[_i].grant};
    ZD_AUTO(zd_identity) identity = zd_identity_new(&like);
    const struct zd_dataset_config dataset = dataset_of(facts[_i].dataset);
    ck_assert_ptr_nonnull(identity);
    ck_assert_str_eq(identity->name, "ada");
    ck_assert_int_eq(
        zd_identity_may(identity, facts[_i].scopes, &dataset, facts[_i].path), facts[_i].may);
    ck_assert_int_eq(zd_identity_may_below(identity, facts[_i].scopes, &dataset, facts[_i].path),
        facts[_i].may_below);
    ck_assert(!facts[_i].may || zd_identity_names(identity, &dataset));
}
END_TEST

/* A grant names the private dataset, and another grant allows more, elsewhere. */
START_TEST(grants_do_not_lend_each_other_a_private_dataset)
{
    const struct zd_grant grants[] = {
        {.scopes = READ, .dataset = ".era", .path = "solar/**"},
        {.scopes = READ | WRITE},
        {.scopes = READ | WRITE, .dataset = "*", .path = "**"},
    };
    const struct zd_identity like = {.name = "ada", .from = "jwt", .n_grants = 3, .grant = grants};
    ZD_AUTO(zd_identity) identity = zd_identity_new(&like);
    const struct zd_dataset_config hidden = dataset_of(".era");
    const struct zd_dataset_config open = dataset_of("era");
    const struct zd_dataset_config other = dataset_of(".lake");
    ck_assert(zd_identity_names(identity, &hidden) && !zd_identity_names(identity, &other));
    ck_assert(zd_identity_may_below(identity, READ, &hidden, "solar"));
    ck_assert(!zd_identity_may(identity, WRITE, &hidden, "solar"));
    ck_assert(!zd_identity_may(identity, READ, &hidden, "a"));
    ck_assert(!zd_identity_may(identity, READ, &hidden, ""));
    ck_assert(zd_identity_may_below(identity, READ | WRITE, &open, ""));
    ck_assert(!zd_identity_may(identity, READ | WRITE, &other, NULL));
}
END_TEST

START_TEST(an_identity_is_over_when_it_expires)
{
    struct zd_identity identity = {.expires_ms = ZD_IDENTITY_NEVER};
    ck_assert(!zd_identity_is_over(NULL));
    ck_assert(!zd_identity_is_over(&identity));
    identity.expires_ms = 1;
    ck_assert(zd_identity_is_over(&identity));
    identity.expires_ms = UINT64_MAX - 1;
    ck_assert(!zd_identity_is_over(&identity));
    identity.is_revoked = true;
    ck_assert(zd_identity_is_over(&identity));
}
END_TEST

START_TEST(no_two_have_the_same_number)
{
    const struct zd_identity like = {.name = "ada", .from = "token"};
    ZD_AUTO(zd_identity) a = zd_identity_new(&like);
    ZD_AUTO(zd_identity) b = zd_identity_new(&like);
    ck_assert_uint_ne(a->number, b->number);
    ck_assert(zd_identity_is_same(a, b));
}
END_TEST

static const struct {
    const char *pattern; /* NULL: none */
    const char *path;
    bool may;
} places[] = {
    {NULL, "a/b", true},
    {"a", "", true},
    {"a", "a", true},
    {"a", "a/b", false},
    {"a", "ab", false},
    {"ab", "a", false},
    {"a/b", "a", true},
    {"a/b", "a/c", false},
    {"a/**", "a", true},
    {"a/**", "a/b/c", true},
    {"a/**", "ab", false},
    {"a/**", "b", false},
    {"a*", "ab/c", true},
    {"a?", "ab", true},
    {"a?", "b", false},
    {"*/t", "x", true},
    {"**", "x/y", true},
};

START_TEST(a_grant_may_allow_something_within_a_path)
{
    const struct zd_grant grant = {READ, "era", places[_i].pattern, NULL};
    const struct zd_identity like = {
        .name = "ada", .from = "token", .n_grants = 1, .grant = &grant};
    ZD_AUTO(zd_identity) identity = zd_identity_new(&like);
    const struct zd_dataset_config era = dataset_of("era");
    const struct zd_dataset_config lake = dataset_of("lake");
    ck_assert_int_eq(zd_identity_may_within(identity, READ, &era, places[_i].path), places[_i].may);
    ck_assert(!zd_identity_may_within(identity, WRITE, &era, places[_i].path));
    ck_assert(!zd_identity_may_within(identity, READ, &lake, places[_i].path));
}
END_TEST

START_TEST(a_url_is_over_with_its_signer)
{
    const struct zd_grant grant = {READ, NULL, "a/**", NULL};
    const struct zd_identity like = {.name = "ada",
        .from = "jwt",
        .kid = "k1",
        .expires_ms = ZD_IDENTITY_NEVER,
        .n_grants = 1,
        .grant = &grant};
    struct zd_identity *first = zd_identity_new(&like);
    struct zd_identity next = like;
    next.keeper = first;
    struct zd_identity *signer = zd_identity_new(&next);
    zd_identity_unref(first);
    next = *signer;
    next.from = "url";
    next.keeper = signer;
    next.signer = signer;
    ZD_AUTO(zd_identity) url = zd_identity_new(&next);
    zd_identity_unref(signer); /* the URL holds it */
    ck_assert_str_eq(url->name, "ada");
    ck_assert_str_eq(url->kid, "k1");
    ck_assert_uint_eq(url->number, signer->number);
    ck_assert(url->signer == signer && url->grant == signer->grant);
    const struct zd_dataset_config era = dataset_of("era");
    ck_assert(zd_identity_may(url, READ, &era, "a/b"));
    ck_assert(!zd_identity_is_over(url));
    signer->is_revoked = true;
    ck_assert(zd_identity_is_over(url));
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_grant_allows_its_scopes_at_its_places, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, grants_do_not_lend_each_other_a_private_dataset);
    tcase_add_test(tests, an_identity_is_over_when_it_expires);
    tcase_add_test(tests, no_two_have_the_same_number);
    tcase_add_loop_test(tests, a_grant_may_allow_something_within_a_path, 0, ZD_COUNT_OF(places));
    tcase_add_test(tests, a_url_is_over_with_its_signer);
}
