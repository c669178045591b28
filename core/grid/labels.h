/* The elements of a coordinate as labels: numbers, times or texts, and what a client calls one.
 * Thread: any. */
#ifndef ZD_CORE_GRID_LABELS_H
#define ZD_CORE_GRID_LABELS_H

#include "core/grid/cf_time.h"

enum zd_labels_kind {
    ZD_LABELS_INTEGERS, /* bool, too */
    ZD_LABELS_FLOATS,
    ZD_LABELS_TIMES,     /* datetime64, and numbers with units of CF */
    ZD_LABELS_DURATIONS, /* timedelta64 */
    ZD_LABELS_TEXTS,     /* UTF-8 in elements of variable length (core/grid/variable.h) */
};

/** The labels. What core/grid/label_order finds of their order is at the end. */
struct zd_labels {
    enum zd_labels_kind kind;
    struct zd_dtype dtype;  /* of the elements; of texts nothing looks at it */
    struct zd_cf_time time; /* of times; of durations its unit alone */
    uint32_t n_months; /* of times that count months or years: in a tick; 0: `time` says it all */
    const uint8_t *element; /* n of them; borrowed */
    uint64_t n;             /* at most UINT32_MAX */

    bool rises;      /* none is below the one before */
    bool falls;      /* none is above the one before */
    bool is_strict;  /* and no neighbours are equal */
    uint32_t *order; /* owned; they neither rise nor fall: the numbers of those that can be
                        compared, the least first, and equal ones as they are stored */
    uint64_t n_ordered;
};

/** A label that a client names. */
struct zd_label {
    zd_i128 whole;       /* an integer, rounded down; the first moment of a time; a duration */
    zd_i128 end;         /* of a time: the first moment after what it means */
    bool has_fraction;   /* of integers: it is above `whole` */
    double real;         /* of numbers: rounded to the type of floats */
    struct zd_span text; /* borrowed */
};

/** How far a label may be from the nearest element. */
struct zd_label_tolerance {
    double number;    /* of numbers */
    zd_i128 duration; /* of times and durations; attoseconds */
};

/**
 * Prepare labels of that type, without elements.
 *
 * @param units, calendar attributes of the coordinate; empty: there is none
 * @retval ZD_UNSUPPORTED elements of that type are no labels
 * @retval ZD_INVALID     there is no such calendar; facts name, expected, found
 */
ZD_RESULT zd_labels_init(struct zd_labels *labels, const struct zd_dtype *dtype,
    struct zd_span units, struct zd_span calendar, struct zd_error *err);
void zd_labels_done(struct zd_labels *labels); /* accepts a zeroed one */

/** Whether texts have to be made elements of variable length before they are labels. */
bool zd_labels_need_packing(const struct zd_dtype *dtype);

/** Make them, of fixed-length UTF-32 or bytes. @param ret_packed owned @retval ZD_NO_MEMORY */
ZD_RESULT zd_labels_pack(const struct zd_dtype *dtype, const uint8_t *elements, uint64_t n,
    struct zd_buf **ret_packed, struct zd_error *err);

/** Whether element i can be compared: it is neither NaN, nor NaT, nor a time beyond all calendars.
 */
bool zd_labels_is_value(const struct zd_labels *labels, uint64_t i);

/** Compare elements, both values: below 0, 0 or above 0. */
int zd_labels_compare(const struct zd_labels *labels, uint64_t a, uint64_t b);

/** Add element i as text, as a client would name it. */
void zd_labels_add(const struct zd_labels *labels, uint64_t i, struct zd_text *text);

/**
 * Read a label: a number (JSON), a date or time (ISO 8601) in the calendar of the labels, a
 * duration, or any text.
 * @retval ZD_INVALID facts name, expected, found
 */
ZD_RESULT zd_label_read(const struct zd_labels *labels, struct zd_span text,
    struct zd_label *ret_label, struct zd_error *err);

/** Read a tolerance: a number, or of times a duration. Not of texts. @retval ZD_INVALID */
ZD_RESULT zd_label_read_tolerance(const struct zd_labels *labels, struct zd_span text,
    struct zd_label_tolerance *ret_tolerance, struct zd_error *err);

/** Compare element i, a value, with a label; of a time with its first moment. */
int zd_label_compare(const struct zd_labels *labels, uint64_t i, const struct zd_label *label);

/** Compare two labels; of times their first moments. */
int zd_label_compare_two(
    const struct zd_labels *labels, const struct zd_label *a, const struct zd_label *b);

/** Which of two elements, both values and no texts, is nearer to a label: below 0: the first one.
 */
int zd_label_compare_distances(
    const struct zd_labels *labels, uint64_t a, uint64_t b, const struct zd_label *label);

/** Whether element i, a value and no text, is as near as that. */
bool zd_label_is_within(const struct zd_labels *labels, uint64_t i, const struct zd_label *label,
    const struct zd_label_tolerance *tolerance);

#endif
