/* The syntax of SPEC in `sel=DIM=SPEC`. Thread: any. */
#ifndef ZD_CORE_GRID_LABEL_SPEC_H
#define ZD_CORE_GRID_LABEL_SPEC_H

#include "core/base/buf.h"
#include "core/base/status.h"

enum zd_label_method {
    ZD_LABEL_EXACT,
    ZD_LABEL_NEAREST,
    ZD_LABEL_FFILL, /* that value, or the one before it in stored order */
    ZD_LABEL_BFILL, /* that value, or the one behind it */
    ZD_LABEL_INTERVAL,
};

/** All texts are borrowed, without spaces at their ends. */
struct zd_label_spec {
    enum zd_label_method method;
    struct zd_span tolerance; /* of ZD_LABEL_NEAREST; ptr NULL: any distance will do */
    struct zd_span first;     /* the value, or one end of an interval; ptr NULL: it is open */
    struct zd_span last;      /* the other end; ptr NULL: it is open */
    uint64_t step;            /* of an interval: every so many elements; >= 1 */
};

/**
 * Parse "V", "nearest::V", "nearest:TOLERANCE:V", "ffill::V", "bfill::V", "A/B" or "A/B/STEP",
 * where A and B may be "..". The values are texts here.
 * @retval ZD_INVALID facts name, expected, found
 */
ZD_RESULT zd_label_spec_parse(
    struct zd_span text, struct zd_label_spec *ret_spec, struct zd_error *err);

/** Tell that a text is none of what was expected. @return ZD_INVALID; facts name, expected, found
 */
ZD_RESULT zd_label_spec_fail(struct zd_error *err, const char *expected, struct zd_span found);

#endif
