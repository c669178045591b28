/* Summaries of elements: count, extremes, mean and spread. */
#ifndef ZD_CORE_GRID_SUMMARY_H
#define ZD_CORE_GRID_SUMMARY_H

#include "core/grid/element.h"

#define ZD_SUMMARY_ELEMENT_BYTES 8 /* of the largest data type that has an order */

/** The elements to summarize. */
struct zd_summary_config {
    struct zd_dtype dtype;
    const void *fill;   /* dtype.bytes; borrowed during init */
    bool drops_fill;    /* the fill value is left out, like NaN */
    bool wants_moments; /* mean and spread too */
};

/**
 * Some elements. By value; zd_summary_init makes one of none. NaN is left out of everything but its
 * own count; so is the fill value when it is dropped, and a NaN that has its bits counts as fill
 * value then.
 */
struct zd_summary {
    struct zd_dtype dtype;
    bool drops_fill;
    bool wants_moments;
    uint8_t fill[ZD_SUMMARY_ELEMENT_BYTES];
    uint64_t n_nan;
    uint64_t n_fill;                       /* what equals the fill value, dropped or not */
    uint64_t count;                        /* what the members below are about */
    uint8_t min[ZD_SUMMARY_ELEMENT_BYTES]; /* elements; meaningless while count is 0 */
    uint8_t max[ZD_SUMMARY_ELEMENT_BYTES];
    uint64_t n_finite; /* of count */
    long double base;  /* the first of the finite ones: large numbers may differ by little */
    long double mean;  /* of them, less base */
    long double m2;    /* sum of their squared distances from the mean */
    bool has_plus_infinity;
    bool has_minus_infinity;
};

/** A summary of nothing; the type is ordered (asserted). */
void zd_summary_init(struct zd_summary *summary, const struct zd_summary_config *config);

/** Add elements as they are in memory, at any address. Thread: any. */
void zd_summary_add(struct zd_summary *summary, const void *elements, uint64_t n_elements);

/** Add the fill value so many times. */
void zd_summary_add_fill(struct zd_summary *summary, uint64_t n_elements);

/** Add all that another one of the same configuration is about. */
void zd_summary_join(struct zd_summary *summary, const struct zd_summary *other);

/** The mean, and the standard deviation of the population, when moments were wanted and count is
 * not 0. */
double zd_summary_mean(const struct zd_summary *summary);
double zd_summary_std(const struct zd_summary *summary);

#endif
