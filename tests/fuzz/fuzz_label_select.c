/* Selections by value: a line with the type of the labels, a line with their units, one with SPEC,
 * then their elements. Whatever is found lies inside, and is what was asked for. */
#include "core/grid/label_select.h"

#include <string.h>

#include "core/grid/label_order.h"
#include "core/grid/label_spec.h"
#include "core/grid/variable.h"
#include "tests/fuzz/input.h"

#define N_MAX   64
#define N_STEPS 7 /* of one piece of ordering */

static void find_order(struct zd_labels *labels)
{
    struct zd_label_order order;
    bool has_more = true;
    zd_label_order_init(&order, labels);
    while (has_more) {
        zd_fuzz_insist(zd_label_order_find(&order, N_STEPS, &has_more, NULL) == ZD_OK);
    }
    zd_label_order_done(&order);
    zd_fuzz_insist(labels->order == NULL || labels->n_ordered <= labels->n);
}

static void check_one(const struct zd_labels *labels, struct zd_span text, uint64_t i)
{
    struct zd_label_spec spec;
    struct zd_label label;
    const bool is_text = labels->kind == ZD_LABELS_TEXTS;
    zd_fuzz_insist(i < labels->n && zd_labels_is_value(labels, i));
    if (is_text || zd_label_spec_parse(text, &spec, NULL) != ZD_OK ||
        spec.method != ZD_LABEL_EXACT) {
        return;
    }
    zd_fuzz_insist(zd_label_read(labels, spec.first, &label, NULL) == ZD_OK);
    zd_fuzz_insist(zd_label_compare(labels, i, &label) == 0);
}

static void check(const struct zd_labels *labels, struct zd_span text)
{
    struct zd_axis axis;
    struct zd_error err = {0};
    switch (zd_label_select(labels, text, &axis, &err)) {
    case ZD_OK:
        break;
    case ZD_INVALID:
    case ZD_NOT_FOUND:
    case ZD_UNSUPPORTED:
        zd_fuzz_insist(err.text[0] != '\0');
        return;
    default:
        zd_fuzz_insist(false);
    }
    if (axis.dropped) {
        check_one(labels, text, axis.start);
        return;
    }
    zd_fuzz_insist(axis.step >= 1 && axis.list == NULL);
    zd_fuzz_insist(axis.count == 0 ||
                   (axis.start < labels->n && zd_axis_at(&axis, axis.count - 1) < labels->n &&
                       axis.slack < labels->n));
}

/* Texts are packed, others copied: elements have no alignment to rely on. */
static struct zd_buf *elements_of(const struct zd_dtype *dtype, struct zd_span input, uint64_t n)
{
    struct zd_buf *elements = NULL;
    if (zd_labels_need_packing(dtype)) {
        zd_fuzz_insist(zd_labels_pack(dtype, input.ptr, n, &elements, NULL) == ZD_OK);
        return elements;
    }
    return zd_buf_copy((struct zd_span){.ptr = input.ptr, .len = n * dtype->bytes});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    ZD_AUTO_TEXT type = zd_fuzz_line(&input);
    ZD_AUTO_TEXT units = zd_fuzz_line(&input);
    ZD_AUTO_TEXT spec = zd_fuzz_line(&input);
    struct zd_labels labels;
    struct zd_dtype dtype;
    if (zd_fuzz_dtype(type, &dtype) != ZD_OK || zd_dtype_is_variable(&dtype) ||
        zd_labels_init(&labels, &dtype, zd_span_of(units), zd_span_of("noleap"), NULL) != ZD_OK) {
        return 0;
    }
    labels.n = zd_min_u64(input.len / dtype.bytes, N_MAX);
    ZD_AUTO(zd_buf) elements = elements_of(&dtype, input, labels.n);
    zd_fuzz_insist(elements != NULL);
    labels.element = elements->data;
    find_order(&labels);
    check(&labels, zd_span_of(spec));
    zd_labels_done(&labels);
    return 0;
}
