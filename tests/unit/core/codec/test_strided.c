/* Copies between boxes of different layout, against element by element. */
#include "core/codec/strided.h"

#include <string.h>

#include "tests/support/codec.h"

#define RANK_MAX 5

static const uint32_t element_sizes[] = {1, 2, 3, 4, 8, 16, 40};

/* A random permutation of the axes of a random shape. */
struct sample {
    uint32_t rank;
    uint32_t element_bytes;
    uint64_t shape[RANK_MAX]; /* of the target */
    uint32_t order[RANK_MAX]; /* axis i of the target is axis order[i] of the source */
    uint64_t n_bytes;
    uint64_t first; /* of the source: where the box begins */
    struct zd_strided box;
};

static void sample_init(struct sample *sample)
{
    *sample = (struct sample){
        .rank = (uint32_t)(zd_unit_random() % (RANK_MAX + 1)),
        .element_bytes = element_sizes[zd_unit_random() % ZD_COUNT_OF(element_sizes)],
    };
    uint64_t source_shape[RANK_MAX];
    sample->n_bytes = sample->element_bytes;
    for (uint32_t i = 0; i < sample->rank; i++) {
        /* Edges around a tile's now and then. */
        sample->shape[i] = zd_unit_random() % 8 == 0 && sample->rank <= 3
                               ? 30 + zd_unit_random() % 70
                               : 1 + zd_unit_random() % 6;
        sample->n_bytes *= sample->shape[i];
        sample->order[i] = i;
    }
    for (uint32_t i = sample->rank; i-- > 1;) {
        const uint32_t j = (uint32_t)(zd_unit_random() % (i + 1));
        const uint32_t axis = sample->order[i];
        sample->order[i] = sample->order[j];
        sample->order[j] = axis;
    }
    for (uint32_t i = 0; i < sample->rank; i++) {
        source_shape[sample->order[i]] = sample->shape[i];
    }
    uint64_t source_stride[ZD_RANK_MAX];
    zd_strided_dense(sample->rank, source_shape, sample->element_bytes, source_stride);
    sample->box = (struct zd_strided){.rank = sample->rank, .run_bytes = sample->element_bytes};
    zd_strided_dense(sample->rank, sample->shape, sample->element_bytes, sample->box.to);
    for (uint32_t i = 0; i < sample->rank; i++) {
        sample->box.count[i] = sample->shape[i];
        sample->box.from[i] = (int64_t)source_stride[sample->order[i]];
        if (zd_unit_random() % 4 == 0) { /* backwards */
            sample->first += (sample->shape[i] - 1) * source_stride[sample->order[i]];
            sample->box.from[i] = -sample->box.from[i];
        }
    }
}

static void copy_by_elements(const struct zd_strided *box, uint8_t *to, const uint8_t *from)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < box->rank; i++) {
        n *= box->count[i];
    }
    for (uint64_t element = 0; element < n; element++) {
        uint64_t rest = element;
        uint64_t to_at = 0;
        int64_t from_at = 0;
        for (uint32_t i = box->rank; i-- > 0;) {
            to_at += rest % box->count[i] * box->to[i];
            from_at += (int64_t)(rest % box->count[i]) * box->from[i];
            rest /= box->count[i];
        }
        memcpy(to + to_at, from + from_at, box->run_bytes);
    }
}

START_TEST(strided_copies_like_a_loop_over_elements)
{
    for (int n = 0; n < 600; n++) {
        struct sample sample;
        sample_init(&sample);
        struct zd_buf *from = zd_unit_elements(sample.n_bytes);
        struct zd_buf *expected = zd_unit_elements(sample.n_bytes);
        struct zd_buf *found = zd_unit_elements(sample.n_bytes);
        copy_by_elements(&sample.box, expected->data, from->data + sample.first);
        zd_strided_copy(&sample.box, found->data, from->data + sample.first);
        ck_assert_mem_eq(found->data, expected->data, sample.n_bytes);
        memset(found->data, 0xAA, sample.n_bytes);
        zd_strided_fold(&sample.box);
        zd_strided_copy(&sample.box, found->data, from->data + sample.first);
        ck_assert_mem_eq(found->data, expected->data, sample.n_bytes);
        zd_buf_unref(from);
        zd_buf_unref(expected);
        zd_buf_unref(found);
    }
}
END_TEST

START_TEST(strided_copies_a_box_out_of_a_larger_one)
{
    /* Rows 1 and 2, columns 1 to 3, of a 4 x 5 matrix. */
    const char *matrix = "abcdefghijklmnopqrst";
    struct zd_strided box = {
        .rank = 2, .count = {2, 3}, .to = {3, 1}, .from = {5, 1}, .run_bytes = 1};
    uint8_t found[6];
    zd_strided_fold(&box);
    ck_assert_uint_eq(box.rank, 1);
    ck_assert_uint_eq(box.run_bytes, 3);
    zd_strided_copy(&box, found, (const uint8_t *)matrix + 6);
    ck_assert_mem_eq(found, "ghilmn", 6);
}
END_TEST

START_TEST(strided_folds_a_dense_box_into_one_run)
{
    struct zd_strided box = {
        .rank = 3, .count = {2, 1, 4}, .to = {16, 16, 4}, .from = {16, 16, 4}, .run_bytes = 4};
    zd_strided_fold(&box);
    ck_assert_uint_eq(box.rank, 0);
    ck_assert_uint_eq(box.run_bytes, 32);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, strided_copies_like_a_loop_over_elements);
    tcase_add_test(tests, strided_copies_a_box_out_of_a_larger_one);
    tcase_add_test(tests, strided_folds_a_dense_box_into_one_run);
}
