/* Facts about core/codec/spare. */
#include "core/codec/spare.h"

#include <pthread.h>

#include "tests/support/unit.h"

#define N_THREADS 4
#define N_ROUNDS  20000

START_TEST(a_given_place_is_taken_once)
{
    struct zd_spares spares = {0};
    int context = 0;
    ck_assert_ptr_null(zd_spares_take(&spares));
    ck_assert_ptr_null(zd_spares_give(&spares, &context));
    ck_assert_ptr_eq(zd_spares_take(&spares), &context);
    ck_assert_ptr_null(zd_spares_take(&spares));
}
END_TEST

START_TEST(a_surplus_one_is_given_back)
{
    struct zd_spares spares = {0};
    int context[ZD_SPARES_MAX + 1];
    for (size_t i = 0; i < ZD_SPARES_MAX; i++) {
        ck_assert_ptr_null(zd_spares_give(&spares, &context[i]));
    }
    ck_assert_ptr_eq(zd_spares_give(&spares, &context[ZD_SPARES_MAX]), &context[ZD_SPARES_MAX]);
    for (size_t i = 0; i < ZD_SPARES_MAX; i++) {
        ck_assert_ptr_nonnull(zd_spares_take(&spares));
    }
    ck_assert_ptr_null(zd_spares_take(&spares));
}
END_TEST

static struct zd_spares shared;

/* A context is no atomic: TSan sees two who have it at once. */
static void *use_contexts(void *argument)
{
    (void)argument;
    for (int i = 0; i < N_ROUNDS; i++) {
        int *context = zd_spares_take(&shared);
        if (context == NULL) {
            context = zd_alloc_zero(1, sizeof *context);
        }
        if (context != NULL) {
            ++*context;
        }
        zd_free(context == NULL ? NULL : zd_spares_give(&shared, context));
    }
    return NULL;
}

START_TEST(threads_never_share_a_context)
{
    pthread_t thread[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, use_contexts, NULL), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    }
    int n_uses = 0;
    for (int *context; (context = zd_spares_take(&shared)) != NULL;) {
        n_uses += *context;
        zd_free(context);
    }
    ck_assert_int_eq(n_uses, N_THREADS * N_ROUNDS); /* more threads than slots would lose some */
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, a_given_place_is_taken_once);
    tcase_add_test(tests, a_surplus_one_is_given_back);
    tcase_add_test(tests, threads_never_share_a_context);
}
