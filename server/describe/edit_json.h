/* What became of chunks, as the answers of writes say it. Thread: any. */
#ifndef ZD_DESCRIBE_EDIT_JSON_H
#define ZD_DESCRIBE_EDIT_JSON_H

#include "core/array/rewrite.h"
#include "core/base/emit.h"

/** The member `"chunks": {"written", "erased", "unchanged"}` of an object. */
void zd_edit_counts_emit(const struct zd_edit_counts *counts, struct zd_emit *emit);

/** Add `{"chunks": {"written", "erased", "unchanged"}}`. Failures stick in the text. */
void zd_edit_counts_add(const struct zd_edit_counts *counts, bool pretty, struct zd_text *text);

#endif
