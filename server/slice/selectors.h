/* The selectors of `isel=` and `sel=`: one dimension each. Thread: loop. */
#ifndef ZD_SLICE_SELECTORS_H
#define ZD_SLICE_SELECTORS_H

#include "core/dialect/meta.h"
#include "core/grid/selection.h"

/** The selector of a dimension. Its texts are in zd_selectors.text. */
struct zd_selector {
    bool by_value;  /* sel: the second text is SPEC; else an item of `slice` */
    bool is_number; /* of a body: it was a number there */
    bool is_split;  /* of a body: the dimension is known without the array; else "DIM=..." is in the
                       second text */
    size_t dim_at;
    size_t dim_len;
    size_t at;
    size_t len;
};

/** All of them. */
struct zd_selectors {
    struct zd_text text;
    struct zd_selector *pick; /* n of them; owned */
    uint32_t n;
};

/** A pick of an array's dimension. */
struct zd_selector_match {
    uint32_t dim;
    struct zd_span text; /* an item, or SPEC; borrowed from the picks */
};

#define ZD_SELECTORS_MAX 64

void zd_selectors_init(struct zd_selectors *picks, size_t text_bytes_max);
void zd_selectors_done(struct zd_selectors *picks);

/**
 * Add one.
 *
 * @param pick its texts are set by the call
 * @param dim  of a body: a name or number; without is_split not looked at
 * @param text an item or SPEC; without is_split "DIM=..."
 * @retval ZD_INVALID   they are too many, or too long
 * @retval ZD_NO_MEMORY
 */
ZD_RESULT zd_selectors_add(struct zd_selectors *picks, struct zd_selector pick, struct zd_span dim,
    struct zd_span text, struct zd_error *err);

/** Whether any is by value. */
bool zd_selectors_have_values(const struct zd_selectors *picks);

/** The dimension of that name, or else of that number. */
bool zd_selectors_find_dim(const struct zd_meta *meta, struct zd_span text, uint32_t *ret_dim);

/** The dimension that pick i names. @retval ZD_INVALID there is none; facts name, expected, found
 */
ZD_RESULT zd_selectors_find(const struct zd_selectors *picks, uint32_t i,
    const struct zd_meta *meta, struct zd_selector_match *ret_picked, struct zd_error *err);

/**
 * Select by the items of `isel`. Dimensions of `sel` stay whole.
 *
 * @param shape     that the selection is of
 * @param selection what `slice` asks for; changed
 * @retval ZD_INVALID       a bad item; a dimension that is narrowed twice, or does not exist; facts
 *                          name, dim
 * @retval ZD_OUT_OF_BOUNDS facts dim, index, size
 */
ZD_RESULT zd_selectors_apply(const struct zd_selectors *picks, const struct zd_meta *meta,
    const uint64_t *shape, struct zd_selection *selection, struct zd_error *err);

#endif
