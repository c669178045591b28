/* The chunk key encoding of a v3 document: judged, taken into the model, written back. */
#ifndef ZD_CORE_DIALECT_V3_V3_KEYS_H
#define ZD_CORE_DIALECT_V3_V3_KEYS_H

#include "core/dialect/v3/v3_judge.h"

/**
 * Judge chunk_key_encoding: `default`, `v2`, or, on reading, `suffix`, which is a proposal: a key
 * of one of those two with something behind it. Thread: any.
 */
void zd_v3_keys_judge(struct zd_v3_judge *judge);

/** Put chunk_key_encoding into a document, in its canonical form. @retval ZD_NO_MEMORY
 * Thread: any. */
ZD_RESULT zd_v3_keys_render(const struct zd_meta *meta, struct zd_json *document);

#endif
