/* Credentials and verdicts that are kept: for whom, and for how long. */
#include "server/request/access/credential_cache.h"

#include <stdio.h>
#include <string.h>

#include "server/request/identity.h"
#include "server/request/access/permission_cache.h"
#include "server/runtime/server.h"
#include "tests/support/unit.h"

#define MANY 1000 /* more than there are places */
#define FEW  24

static struct zd_identity *make(const char *name)
{
    const struct zd_identity like = {
        .name = name, .from = "token", .expires_ms = ZD_IDENTITY_NEVER};
    struct zd_identity *identity = zd_identity_new(&like);
    ck_assert_ptr_nonnull(identity);
    return identity;
}

static bool knows(
    const struct zd_credential_cache *known, const char *credential, uint64_t n_changes)
{
    ZD_AUTO(zd_identity) found = zd_credential_cache_find(known, zd_span_of(credential), n_changes);
    return found != NULL;
}

START_TEST(a_credential_is_known_until_credentials_change)
{
    struct zd_credential_cache *known = NULL;
    ZD_AUTO(zd_identity) ada = make("ada");
    ck_assert(!knows(known, "secret", 1));
    zd_credential_cache_put(&known, zd_span_of("secret"), 1, ada);
    ck_assert(knows(known, "secret", 1));
    ck_assert(!knows(known, "secret", 2));
    ck_assert(!knows(known, "secrex", 1));
    ck_assert(!knows(known, "secre", 1));
    ck_assert(!knows(known, "", 1));
    ada->is_revoked = true;
    ck_assert(!knows(known, "secret", 1));
    zd_credential_cache_free(known);
}
END_TEST

START_TEST(many_credentials_take_each_others_places)
{
    struct zd_credential_cache *known = NULL;
    size_t n_known = 0;
    for (size_t i = 0; i < MANY; i++) {
        char credential[32];
        ZD_AUTO(zd_identity) identity = make("one");
        (void)snprintf(credential, sizeof credential, "secret-%zu", i);
        zd_credential_cache_put(&known, zd_span_of(credential), 1, identity);
        ck_assert(knows(known, credential, 1));
    }
    for (size_t i = 0; i < MANY; i++) {
        char credential[32];
        (void)snprintf(credential, sizeof credential, "secret-%zu", i);
        n_known += knows(known, credential, 1);
    }
    ck_assert_uint_gt(n_known, 0);
    ck_assert_uint_lt(n_known, MANY);
    zd_credential_cache_free(known);
}
END_TEST

/* A client that shares an address with a guesser is refused unless its credential is known. */
START_TEST(few_credentials_do_not_take_each_others_places)
{
    struct zd_credential_cache *known = NULL;
    ZD_AUTO(zd_identity) identity = make("one");
    char credential[8192] = "";
    memset(credential, 'x', sizeof credential - 1);
    for (size_t i = 0; i < FEW; i++) {
        credential[0] = (char)('a' + i);
        zd_credential_cache_put(&known, zd_span_of(credential), 1, identity);
    }
    for (size_t i = 0; i < FEW; i++) {
        credential[0] = (char)('a' + i);
        ck_assert(knows(known, credential, 1));
    }
    zd_credential_cache_free(known);
}
END_TEST

START_TEST(a_verdict_is_of_one_identity_one_path_and_one_table_of_datasets)
{
    static struct zd_server server;
    server.n_openings = 1;
    struct zd_permission_cache *verdicts = NULL;
    ZD_AUTO(zd_identity) ada = make("ada");
    ZD_AUTO(zd_identity) bob = make("bob");
    struct zd_request req = {
        .server = &server, .identity = ada, .target = "/v1/datasets/a?pretty=1"};
    ck_assert(!zd_permission_cache_find(verdicts, &req));
    req.is_limited = true;
    zd_permission_cache_put(&verdicts, &req);
    req.is_limited = false;
    req.target = "/v1/datasets/a";
    ck_assert(zd_permission_cache_find(verdicts, &req) && req.is_limited);
    req.target = "/v1/datasets/b";
    ck_assert(!zd_permission_cache_find(verdicts, &req));
    req.target = "/v1/datasets/a";
    req.identity = bob;
    ck_assert(!zd_permission_cache_find(verdicts, &req));
    req.identity = NULL;
    ck_assert(!zd_permission_cache_find(verdicts, &req));
    req.identity = ada;
    server.n_openings = 2;
    ck_assert(!zd_permission_cache_find(verdicts, &req));
    zd_permission_cache_free(verdicts);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_credential_is_known_until_credentials_change);
    tcase_add_test(tests, many_credentials_take_each_others_places);
    tcase_add_test(tests, few_credentials_do_not_take_each_others_places);
    tcase_add_test(tests, a_verdict_is_of_one_identity_one_path_and_one_table_of_datasets);
}
