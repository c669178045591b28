/* The chain of the chunks within a shard, in the axes of the array. */
#ifndef ZD_CORE_CODEC_CHAIN_INNER_H
#define ZD_CORE_CODEC_CHAIN_INNER_H

#include "core/codec/chain.h"

/**
 * Open the chain that decodes one inner chunk of `outer`'s shard to elements in the order of the
 * outer array: outer's permutations over the shard's inner codecs. `outer` has a shard and a
 * permutation (zd_chain_order) and no bytes->bytes codec.
 *
 * @param ret_chain owned; decoded shape: the inner chunk's shape in the outer array's axes
 */
ZD_RESULT zd_chain_inner_open(
    const struct zd_chain *outer, struct zd_chain **ret_chain, struct zd_error *err);

#endif
