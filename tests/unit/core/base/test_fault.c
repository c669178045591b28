/* Facts about core/base/fault. */
#include "core/base/fault.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

static const struct zd_pointer codecs = {"/codecs/0"};

START_TEST(warnings_alone_refuse_nothing)
{
    struct zd_faults faults = {0};
    struct zd_error err = {0};
    ck_assert(!zd_faults_refuse(&faults));
    zd_faults_add(
        &faults, ZD_FAULT_WARNING, "implied_bytes", NULL, &codecs, NULL, NULL, "no codec given");
    ck_assert(!zd_faults_refuse(&faults));
    ck_assert(zd_faults_have(&faults, ZD_FAULT_WARNING));
    ck_assert(!zd_faults_have(&faults, ZD_FAULT_INVALID));
    ck_assert_int_eq(zd_faults_status(&faults, &err), ZD_OK);
    zd_faults_done(&faults);
    ck_assert_uint_eq(faults.n_items, 0);
}
END_TEST

START_TEST(an_invalid_finding_outranks_an_unsupported_one)
{
    struct zd_faults faults = {0};
    struct zd_error err = {0};
    char name[] = "zfp";
    zd_faults_add(&faults, ZD_FAULT_UNSUPPORTED, "unsupported_codec", name, &codecs, NULL, NULL,
        "codec %s is unknown", name);
    name[0] = 'X'; /* the list has its own copy */
    ck_assert_int_eq(zd_faults_status(&faults, &err), ZD_UNSUPPORTED);
    ck_assert_str_eq(err.text, "codec zfp is unknown");
    ck_assert_str_eq(err.facts.name, "zfp");
    ck_assert_uint_eq(err.facts.set, ZD_FACT_POINTER | ZD_FACT_NAME);

    const struct zd_pointer shape = {"/shape"};
    zd_faults_add(
        &faults, ZD_FAULT_INVALID, "wrong_type", NULL, &shape, "a list", "null", "no shape");
    ck_assert_int_eq(zd_faults_status(&faults, &err), ZD_INVALID);
    ck_assert_str_eq(err.facts.pointer, "/shape");
    ck_assert_str_eq(err.facts.expected, "a list");
    ck_assert_str_eq(err.facts.found, "null");
    ck_assert(zd_faults_refuse(&faults));
    ck_assert_uint_eq(faults.n_items, 2);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(findings_past_the_ceiling_are_counted)
{
    struct zd_faults faults = {0};
    for (int i = 0; i < ZD_FAULTS_MAX; i++) {
        zd_faults_add(&faults, ZD_FAULT_WARNING, "x", NULL, &codecs, NULL, NULL, "%d", i);
    }
    ck_assert(!zd_faults_refuse(&faults));
    /* Warnings give way, so that the reason of a refusal is told. */
    struct zd_error err = {0};
    for (int i = 0; i < ZD_FAULTS_MAX; i++) {
        zd_faults_add(&faults, ZD_FAULT_UNSUPPORTED, "x", NULL, &codecs, NULL, NULL, "u%d", i);
        ck_assert_uint_eq(faults.n_items, ZD_FAULTS_MAX);
    }
    ck_assert(!zd_faults_have(&faults, ZD_FAULT_WARNING));
    ck_assert_int_eq(zd_faults_status(&faults, &err), ZD_UNSUPPORTED);
    ck_assert_str_eq(err.text, "u0");
    zd_faults_add(&faults, ZD_FAULT_INVALID, "x", NULL, &codecs, NULL, NULL, "one too many");
    ck_assert_uint_eq(faults.n_items, ZD_FAULTS_MAX);
    ck_assert_uint_eq(faults.n_invalid, 1);
    ck_assert(zd_faults_refuse(&faults));
    ck_assert(zd_faults_have(&faults, ZD_FAULT_INVALID));
    ck_assert_int_eq(zd_faults_status(&faults, &err), ZD_INVALID);
    ck_assert_ptr_nonnull(strstr(err.text, "201 faults"));
    zd_faults_done(&faults);
}
END_TEST

START_TEST(findings_are_moved_with_all_that_is_below)
{
    struct zd_faults faults = {0};
    static const char *const before[] = {"/codecs/1", "/codecs/1/level", "/codecs/10", "/codecs"};
    static const char *const after[] = {"/filters/0", "/filters/0/level", "/codecs/10", "/codecs"};
    const struct zd_pointer from = {.text = "/codecs/1"};
    const struct zd_pointer to = {.text = "/filters/0"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct zd_pointer at = {.text = ""};
        (void)snprintf(at.text, sizeof at.text, "%s", before[i]);
        zd_faults_add(&faults, ZD_FAULT_WARNING, "x", NULL, &at, NULL, NULL, "x");
    }
    zd_faults_move(&faults, &from, &to);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        ck_assert_str_eq(faults.item[i].pointer, after[i]);
    }
    zd_faults_done(&faults);
}
END_TEST

static enum zd_status add_some(void *context)
{
    (void)context;
    struct zd_faults faults = {0};
    for (int i = 0; i < 20; i++) {
        zd_faults_add(&faults, ZD_FAULT_WARNING, "x", "name", &codecs, "a", "b", "%d", i);
    }
    zd_faults_move(&faults, &codecs, &codecs);
    const enum zd_status status = zd_faults_status(&faults, NULL);
    ck_assert_int_eq(zd_faults_refuse(&faults), status != ZD_OK);
    zd_faults_done(&faults);
    return status;
}

START_TEST(a_lost_finding_refuses_the_document)
{
    zd_unit_with_failing_memory(add_some, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, warnings_alone_refuse_nothing);
    tcase_add_test(tests, an_invalid_finding_outranks_an_unsupported_one);
    tcase_add_test(tests, findings_past_the_ceiling_are_counted);
    tcase_add_test(tests, findings_are_moved_with_all_that_is_below);
    tcase_add_test(tests, a_lost_finding_refuses_the_document);
}
