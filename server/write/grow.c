/* Setting the shape of an array that its caller writes into. */
#include "server/write/grow.h"

#include "core/base/json.h"
#include "core/base/own.h"

static enum zd_status add_shape(struct zd_json *document, const uint64_t *shape, uint32_t rank)
{
    struct zd_json *list = zd_json_new_array();
    enum zd_status status = list == NULL ? ZD_NO_MEMORY : ZD_OK;
    for (uint32_t d = 0; status == ZD_OK && d < rank; d++) {
        status = zd_json_append(list, zd_json_new_u64(shape[d]));
    }
    if (status != ZD_OK) {
        zd_json_unref(list);
        return status;
    }
    return zd_json_set(document, "shape", list);
}

enum zd_next zd_grow_want(const struct zd_grow_ask *ask, struct zd_metadata_want *want)
{
    ZD_AUTO(zd_json) document = zd_json_new_object();
    if (document == NULL || add_shape(document, ask->shape, ask->node->meta->grid.rank) != ZD_OK) {
        want->wait.status =
            zd_fail(&want->wait.err, ZD_NO_MEMORY, "no memory for the array's new shape");
        return ZD_NEXT;
    }
    const struct zd_metadata_ask change = {
        .kind = ZD_METADATA_PATCH,
        .place = ask->node->path,
        .json = document,
        .expected = ask->expected,
        .is_dry = ask->is_dry,
        .has_lock = true,
    };
    return zd_metadata_want(ask->node->dataset, &change, want);
}
