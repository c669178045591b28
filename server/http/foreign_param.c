/* Parameter names of other servers, and our names for them. */
#include "server/http/foreign_param.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/base/num.h"

#define SLICE  "slice=0:10,::2"
#define BOX    "sel=lat=40/50&sel=lon=0/20"
#define TIME   "sel=time=2001-01-01/2001-01-31"
#define RANGE  "vmin=0&vmax=100"
#define FORMAT "format=npy"

/* By value where the route selects by value, else by index: of equal names the first that the
 * route takes. tiled has slice and block; OGC's coverages, WMS and EDR bbox, subset, datetime and
 * CRS axes; THREDDS and ERDDAP names of axes; titiler rescale and colormap_name. */
static const struct zd_foreign_param params[] = {
    {"select", "slice", SLICE},
    {"selection", "slice", SLICE},
    {"slice_", "slice", SLICE},
    {"slices", "slice", SLICE},
    {"hyperslab", "slice", SLICE},
    {"subset", "sel", BOX},
    {"subset", "slice", SLICE},
    {"region", "slice", SLICE},
    {"window", "slice", SLICE},
    {"ranges", "slice", SLICE},
    {"idx", "isel", "isel=time=0:10"},
    {"idx", "slice", SLICE},
    {"index", "slice", SLICE},
    {"indices", "index", "index=0,3"},
    {"indices", "slice", SLICE},
    {"start", "slice", SLICE},
    {"stop", "slice", SLICE},
    {"block", "index", "index=0,3"},
    {"block", "slice", SLICE},
    {"chunk", "index", "index=0,3"},
    {"chunk", "slice", SLICE},
    {"chunks", "index", "index=0,3"},
    {"coords", "sel", BOX},
    {"bbox", "sel", BOX},
    {"bbox", "slice", SLICE},
    {"bounds", "sel", BOX},
    {"bounds", "slice", SLICE},
    {"lat", "sel", "sel=lat=nearest::48.2"},
    {"lat", "slice", SLICE},
    {"latitude", "sel", "sel=latitude=nearest::48.2"},
    {"latitude", "slice", SLICE},
    {"lon", "sel", "sel=lon=nearest::16.4"},
    {"lon", "slice", SLICE},
    {"longitude", "sel", "sel=longitude=nearest::16.4"},
    {"longitude", "slice", SLICE},
    {"time", "sel", TIME},
    {"time", "slice", SLICE},
    {"datetime", "sel", TIME},
    {"datetime", "slice", SLICE},
    {"date", "sel", TIME},
    {"date", "slice", SLICE},
    {"elevation", "sel", "sel=level=850"},
    {"elevation", "slice", SLICE},
    {"method", "sel", "sel=lat=nearest::48.2"},
    {"var", "arrays", "arrays=u,v"},
    {"vars", "arrays", "arrays=u,v"},
    {"variable", "arrays", "arrays=u,v"},
    {"variables", "arrays", "arrays=u,v"},
    {"layers", "arrays", "arrays=u,v"},
    {"f", "format", FORMAT},
    {"fmt", "format", FORMAT},
    {"output", "format", FORMAT},
    {"output_format", "format", FORMAT},
    {"accept", "format", FORMAT},
    {"scale", "level", "level=1"},
    {"resolution", "level", "level=1"},
    {"zoom", "level", "level=1"},
    {"z", "level", "level=1"},
    {"maxsize", "max_size", "max_size=4096"},
    {"colormap", "cmap", "cmap=viridis"},
    {"colormap_name", "cmap", "cmap=viridis"},
    {"palette", "cmap", "cmap=viridis"},
    {"style", "cmap", "cmap=viridis"},
    {"styles", "cmap", "cmap=viridis"},
    {"rescale", "vmin", RANGE},
    {"colorscalerange", "vmin", RANGE},
    {"clim", "vmin", RANGE},
    {"width", "size", "size=640x480"},
    {"height", "size", "size=640x480"},
    {"aggregate", "reduce", "reduce=mean&over=time"},
    {"dim", "over", "reduce=mean&over=time"},
    {"axis", "over", "reduce=mean&over=time"},
    {"max_depth", "depth", "depth=1"},
    {"recursive", "depth", "depth=1"},
    {"filter", "match", "match=**/air"},
    {"q", "match", "match=**/air"},
    {"offset", "cursor",
        "limit=100&cursor=CURSOR, with the member `next` of the last answer as CURSOR"},
    {"page", "cursor",
        "limit=100&cursor=CURSOR, with the member `next` of the last answer as CURSOR"},
    {"page_size", "limit", "limit=100"},
    {"query", "fields", "fields=metadata.attributes"},
    {"select_metadata", "fields", "fields=metadata.attributes"},
};

static bool is_allowed(const char *name, const char *const *allowed)
{
    while (*allowed != NULL && strcmp(*allowed, name) != 0) {
        allowed++;
    }
    return *allowed != NULL;
}

const struct zd_foreign_param *zd_foreign_param_find(const char *name, const char *const *allowed)
{
    for (size_t i = 0; i < ZD_COUNT_OF(params) && !is_allowed(name, allowed); i++) {
        if (strcasecmp(params[i].name, name) == 0 && is_allowed(params[i].ours, allowed)) {
            return &params[i];
        }
    }
    return NULL;
}
