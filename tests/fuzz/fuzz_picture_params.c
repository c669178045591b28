/* Queries that ask for a picture: what is accepted is within its bounds, what is refused says why.
 */
#include <math.h>

#include "core/picture/colormap.h"
#include "server/picture/picture_params.h"
#include "server/slice/slice_params.h"
#include "tests/fuzz/input.h"

#define TILE_SIZE_MAX 4096

static bool is_named(uint32_t map)
{
    for (uint32_t i = 0; zd_colormap_names[i] != NULL; i++) {
        if (i == map) {
            return true;
        }
    }
    return false;
}

static void check(const struct zd_picture_params *ask)
{
    zd_fuzz_insist(is_named(ask->colormap));
    zd_fuzz_insist(isfinite(ask->from) && isfinite(ask->to));
    zd_fuzz_insist(ask->stretch != ZD_STRETCH_LOG || !ask->has_from || ask->from > 0);
    zd_fuzz_insist(ask->stretch != ZD_STRETCH_LOG || !ask->has_to || ask->to > 0);
    zd_fuzz_insist(!ask->has_size || (ask->width > 0 && ask->height > 0 &&
                                         ask->width <= INT32_MAX && ask->height <= INT32_MAX));
    zd_fuzz_insist(ask->max_size > 0 && ask->tile_size > 0 && ask->tile_size <= TILE_SIZE_MAX);
    zd_fuzz_insist(ask->has_size + ask->has_max_size + ask->has_tile <= 1);
    zd_fuzz_insist(ask->missing_color <= 0xffffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_span query = {.ptr = data, .len = len};
    struct zd_params params;
    struct zd_params rest;
    struct zd_picture_params ask;
    struct zd_error err = {0};
    if (zd_params_parse(query, zd_picture_params_names, zd_slice_params_repeated, &params, NULL) !=
        ZD_OK) {
        return 0;
    }
    if (zd_picture_params_query(&params, &ask, &rest, &err) == ZD_OK) {
        check(&ask);
        zd_fuzz_insist(rest.n <= params.n);
    } else {
        zd_fuzz_insist(err.text[0] != '\0' && err.facts.name[0] != '\0');
    }
    zd_params_done(&params);
    return 0;
}
