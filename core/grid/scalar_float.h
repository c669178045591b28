/* Floats, and complex numbers as pairs of them: their spellings. Of zd_scalar only. */
#ifndef ZD_CORE_GRID_SCALAR_FLOAT_H
#define ZD_CORE_GRID_SCALAR_FLOAT_H

#include "core/base/emit.h"
#include "core/grid/dtype.h"
#include "core/grid/scalar_style.h"

/** The element that json spells. @param noted set when the spelling is one that a writer must not
 * use @return false: it spells none; ret_bytes is untouched. Thread: any. */
bool zd_scalar_float_read(
    const struct zd_dtype *dtype, const struct zd_json *json, void *ret_bytes, bool *noted);

/** The spellings that json may have, for messages. */
void zd_scalar_float_expected(const struct zd_dtype *dtype, char ret_expected[ZD_FACT_TEXT_BYTES]);

/** Like zd_scalar_json and zd_scalar_add. */
struct zd_json *zd_scalar_float_json(const struct zd_dtype *dtype, const void *bytes);
void zd_scalar_float_add(const struct zd_dtype *dtype, const void *bytes,
    const struct zd_scalar_style *style, struct zd_text *text);

#endif
