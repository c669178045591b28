/* The chain of the chunks within a shard, in the axes of the array. */
#include "core/codec/chain_inner.h"

#include <assert.h>

static bool is_identity(const uint32_t *order, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (order[i] != i) {
            return false;
        }
    }
    return true;
}

/* {"name": "transpose", "configuration": {"order": [...]}}; NULL when memory is short. */
static struct zd_json *transpose_json(const uint32_t *order, uint32_t rank)
{
    ZD_AUTO(zd_json) axes = zd_json_new_array();
    for (uint32_t i = 0; axes != NULL && i < rank; i++) {
        if (zd_json_append(axes, zd_json_new_u64(order[i])) != ZD_OK) {
            return NULL;
        }
    }
    ZD_AUTO(zd_json) configuration = zd_json_new_object();
    if (configuration == NULL || zd_json_set(configuration, "order", ZD_TAKE(axes)) != ZD_OK) {
        return NULL;
    }
    ZD_AUTO(zd_json) codec = zd_json_new_object();
    if (codec == NULL || zd_json_set(codec, "name", zd_json_new_text("transpose")) != ZD_OK ||
        zd_json_set(codec, "configuration", ZD_TAKE(configuration)) != ZD_OK) {
        return NULL;
    }
    return ZD_TAKE(codec);
}

/* The list of codecs with one more in front of it; takes `first` over. */
static enum zd_status prepend(
    const struct zd_json *codecs, struct zd_json *first, struct zd_json **ret_list)
{
    ZD_AUTO(zd_json) list = zd_json_new_array();
    if (list == NULL) {
        zd_json_unref(first);
        return ZD_NO_MEMORY;
    }
    ZD_TRY(zd_json_append(list, first));
    for (size_t i = 0; i < zd_json_count(codecs); i++) {
        ZD_TRY(zd_json_append(list, zd_json_ref(zd_json_element(codecs, i))));
    }
    *ret_list = ZD_TAKE(list);
    return ZD_OK;
}

enum zd_status zd_chain_inner_open(
    const struct zd_chain *outer, struct zd_chain **ret_chain, struct zd_error *err)
{
    const uint32_t place = zd_chain_array_bytes(outer);
    const struct zd_codec *codec = zd_chain_codec(outer, place);
    assert(codec->shard != NULL && place + 1 == zd_chain_count(outer));
    const struct zd_shard *shard = codec->shard(zd_chain_state(outer, place));
    uint32_t order[ZD_RANK_MAX] = {0};
    const bool is_permuted = zd_chain_order(outer, order);
    assert(is_permuted);
    (void)is_permuted;
    if (is_identity(order, shard->rank)) {
        *ret_chain = zd_chain_ref(shard->inner);
        return ZD_OK;
    }
    struct zd_repr decoded = *zd_chain_decoded(shard->inner);
    for (uint32_t i = 0; i < shard->rank; i++) {
        decoded.shape[order[i]] = shard->chunk_shape[i];
    }
    ZD_AUTO(zd_json) list = NULL;
    if (prepend(shard->codecs, transpose_json(order, shard->rank), &list) != ZD_OK) {
        return zd_fail(err, ZD_NO_MEMORY, "no memory for the codecs of inner chunks");
    }
    const struct zd_chain_config config = {
        .codecs = list,
        .at = shard->codecs_at,
        .decoded = &decoded,
        .judgement = ZD_JUDGE_READ,
        .depth = zd_chain_depth(shard->inner),
    };
    /* The same codecs were judged when the shard was opened: memory can be short, or the list one
     * too long. */
    struct zd_faults faults = {0};
    enum zd_status status = zd_chain_open(&config, ret_chain, &faults);
    if (status != ZD_OK) {
        status = faults.out_of_memory || status == ZD_NO_MEMORY
                     ? zd_fail(err, ZD_NO_MEMORY, "no memory for the codecs of inner chunks")
                     : zd_faults_status(&faults, err);
    }
    zd_faults_done(&faults);
    return status;
}
