/* A final v3 array document as a `.zarray` document of Zarr v2. */
#ifndef ZD_CORE_DIALECT_V2_V2_ZARRAY_H
#define ZD_CORE_DIALECT_V2_V2_ZARRAY_H

#include "core/base/fault.h"

/**
 * Translate a document: the way back of zd_v2_array_translate, but for the keys of chunks, of which
 * v2 has one encoding: any other becomes that, with its separator. Of what v2 cannot say the
 * commonest is named here; the rest shows when what was made is read again.
 *
 * @param document   judged, and not refused; borrowed
 * @param ret_zarray owned; of no use when the faults refuse it
 * @param faults     what v2 cannot say is invalid (not_in_dialect), with its place in the v3
 * document
 * @retval ZD_NO_MEMORY
 * Thread: any.
 */
ZD_RESULT zd_v2_zarray_make(
    const struct zd_json *document, struct zd_json **ret_zarray, struct zd_faults *faults);

#endif
