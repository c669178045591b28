/* The format of a slice: by name, or negotiated. */
#include "server/slice/slice_format.h"

#include <string.h>

#include "server/http/accept.h"
#include "server/request/respond.h"

#define FORMATS_MAX  32
#define DEFAULT_NAME "raw"

static const struct zd_format *negotiate(const struct zd_slice_format_ask *ask, const char *accept)
{
    const struct zd_format *best = NULL;
    uint32_t best_quality = 0;
    for (size_t i = 0; zd_formats[i] != NULL; i++) {
        const struct zd_format *format = zd_formats[i];
        const bool can_say = format->accepts(ask->dtype, ask->rank);
        const uint32_t quality = can_say ? zd_accept_quality(accept, format->media_type) : 0;
        const bool is_default = strcmp(format->name, DEFAULT_NAME) == 0;
        if (quality > best_quality || (quality == best_quality && quality > 0 && is_default)) {
            best = format;
            best_quality = quality;
        }
    }
    return best;
}

const struct zd_format *zd_slice_format_choose(
    const struct zd_slice_format_ask *ask, const char *accept)
{
    if (!ask->params->has_format) {
        return negotiate(ask, accept);
    }
    const struct zd_format *format = zd_format_find(zd_text_span(&ask->params->format));
    return format != NULL && format->accepts(ask->dtype, ask->rank) ? format : NULL;
}

/* The allowed formats are listed by name to clients that used a name, else by media type. */
enum zd_next zd_slice_format_refuse(const struct zd_slice_format_ask *ask, struct zd_request *req)
{
    const bool by_name = ask->params->has_format;
    const char *allowed[FORMATS_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; zd_formats[i] != NULL && n < FORMATS_MAX; i++) {
        if (zd_formats[i]->accepts(ask->dtype, ask->rank)) {
            allowed[n++] = by_name ? zd_formats[i]->name : zd_formats[i]->media_type;
        }
    }
    allowed[n] = NULL;
    struct zd_error err = {0};
    err.status =
        by_name ? zd_fail(&err, ZD_UNSUPPORTED, "format \"%s\" is not available for %s of rank %u",
                      ask->params->format.at, ask->dtype->name, (unsigned)ask->rank)
                : zd_fail(&err, ZD_UNSUPPORTED, "Accept allows no format for %s of rank %u",
                      ask->dtype->name, (unsigned)ask->rank);
    const struct zd_problem problem = {.code = "not_acceptable", .err = &err, .allowed = allowed};
    return zd_respond_problem(req, &problem);
}
