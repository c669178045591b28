/* Which chunk a request names: index=, level=, decoded=; and its entity tag.
 * Thread: loop. */
#ifndef ZD_DESCRIBE_CHUNK_PARAMS_H
#define ZD_DESCRIBE_CHUNK_PARAMS_H

#include "server/request/request.h"

struct zd_chunk_params {
    uint32_t level;              /* of the layout */
    uint64_t index[ZD_RANK_MAX]; /* in that level's grid */
    bool is_decoded;             /* the elements, not the stored bytes */
};

/**
 * Read the parameters.
 * @retval ZD_INVALID       fact name: the parameter at fault
 * @retval ZD_OUT_OF_BOUNDS facts dim, index, size
 * @retval ZD_UNSUPPORTED   as zd_chunk_params_check_decoded
 */
ZD_RESULT zd_chunk_params_parse(const struct zd_params *params, const struct zd_layout *layout,
    struct zd_chunk_params *ret_ask, struct zd_error *err);

/** Whether a decoded chunk can be the body of an answer, or of a request: elements of variable
 * length have no place in it. @retval ZD_UNSUPPORTED */
ZD_RESULT zd_chunk_params_check_decoded(const struct zd_meta *meta, struct zd_error *err);

/**
 * The tag of the chunk in one form.
 * @param generation of the stored object; zero: it is absent
 */
void zd_chunk_params_tag(const struct zd_node *node, const struct zd_chunk_params *ask,
    struct zd_generation generation, char to[ZD_TAG_BYTES]);

#endif
