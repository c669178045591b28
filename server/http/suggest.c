/* Suggestions: the names nearest to a typed one. */
#include "server/http/suggest.h"

#include <string.h>

#include "core/base/num.h"

#define COMPARED_MAX 64 /* bytes of a name */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Fill a row of the table: the distance of each beginning of `name` from a beginning of `typed`, i
 * + 1 bytes long. */
static void fill_row(struct zd_span typed, struct zd_span name, size_t i,
    const uint32_t *before_last, const uint32_t *last, uint32_t *row)
{
    row[0] = (uint32_t)i + 1;
    for (size_t k = 0; k < name.len; k++) {
        const uint32_t differs = typed.ptr[i] != name.ptr[k];
        row[k + 1] = least(last[k] + differs, least(last[k + 1], row[k]) + 1);
        const bool is_swapped =
            i > 0 && k > 0 && typed.ptr[i] == name.ptr[k - 1] && typed.ptr[i - 1] == name.ptr[k];
        if (is_swapped) {
            row[k + 1] = least(row[k + 1], before_last[k - 1] + 1);
        }
    }
}

uint32_t zd_suggest_distance(struct zd_span typed, struct zd_span name)
{
    uint32_t row[3][COMPARED_MAX + 1] = {{0}};
    const uint64_t beyond =
        zd_max_u64(zd_max_u64(typed.len, name.len), COMPARED_MAX) - COMPARED_MAX;
    typed.len = zd_min_u64(typed.len, COMPARED_MAX);
    name.len = zd_min_u64(name.len, COMPARED_MAX);
    for (size_t k = 0; k <= name.len; k++) {
        row[0][k] = (uint32_t)k;
    }
    for (size_t i = 0; i < typed.len; i++) {
        fill_row(typed, name, i, row[(i + 2) % 3], row[i % 3], row[(i + 1) % 3]);
    }
    return row[typed.len % 3][name.len] + (uint32_t)zd_min_u64(beyond, UINT16_MAX);
}

/* The segment at a cursor, which moves behind it. */
static struct zd_span next_segment(const char **at)
{
    *at += **at == '/' ? 1 : 0;
    const struct zd_span segment = {.ptr = (const uint8_t *)*at, .len = strcspn(*at, "/")};
    *at += segment.len;
    return segment;
}

uint32_t zd_suggest_path_distance(const char *path, const char *template)
{
    uint32_t distance = 0;
    while (*template != '\0') {
        const struct zd_span wanted = next_segment(&template);
        if (zd_span_is(wanted, "{path}") || zd_span_is(wanted, "{key}")) {
            return distance;
        }
        const struct zd_span typed = next_segment(&path);
        if (!zd_span_is(wanted, "{d}")) {
            distance += zd_suggest_distance(typed, wanted);
        } else if (typed.len == 0) {
            distance++;
        }
    }
    path += *path == '/' ? 1 : 0;
    return distance + (uint32_t)zd_min_u64(strlen(path), UINT16_MAX);
}

void zd_suggest_add(struct zd_suggest *nearest, const char *name, uint32_t distance)
{
    for (uint32_t i = 0; i < nearest->n; i++) {
        if (strcmp(nearest->name[i], name) == 0) {
            return;
        }
    }
    uint32_t place = nearest->n;
    while (place > 0 && nearest->distance[place - 1] > distance) {
        place--;
    }
    if (place == ZD_SUGGEST_MAX) {
        return;
    }
    nearest->n = least(nearest->n + 1, ZD_SUGGEST_MAX);
    for (uint32_t i = nearest->n - 1; i > place; i--) {
        nearest->name[i] = nearest->name[i - 1];
        nearest->distance[i] = nearest->distance[i - 1];
    }
    nearest->name[place] = name;
    nearest->distance[place] = distance;
}

/* Both without the bytes that they begin and end with alike: the distance stays. */
static void cut_common(struct zd_span *a, struct zd_span *b)
{
    while (a->len > 0 && b->len > 0 && a->ptr[0] == b->ptr[0]) {
        *a = (struct zd_span){.ptr = a->ptr + 1, .len = a->len - 1};
        *b = (struct zd_span){.ptr = b->ptr + 1, .len = b->len - 1};
    }
    while (a->len > 0 && b->len > 0 && a->ptr[a->len - 1] == b->ptr[b->len - 1]) {
        a->len--;
        b->len--;
    }
}

void zd_suggest_add_typed(struct zd_suggest *nearest, const char *typed, const char *name)
{
    const size_t len = strlen(name);
    const size_t typed_len = strlen(typed);
    const size_t most = 1 + len / 3;
    if (zd_max_u64(len, typed_len) - zd_min_u64(len, typed_len) > most) {
        return; /* the distance is never less: of thousands of names few are compared */
    }
    struct zd_span rest = zd_span_of(typed);
    struct zd_span rest_of_name = zd_span_of(name);
    cut_common(&rest, &rest_of_name);
    const uint32_t work =
        (uint32_t)(zd_min_u64(rest.len, COMPARED_MAX) * zd_min_u64(rest_of_name.len, COMPARED_MAX));
    if (work > ZD_SUGGEST_WORK_MAX - nearest->work) {
        return;
    }
    nearest->work += work;
    const uint32_t distance = zd_suggest_distance(rest, rest_of_name);
    if (distance <= most && distance < len) {
        zd_suggest_add(nearest, name, distance);
    }
}

struct zd_json *zd_suggest_json(const struct zd_suggest *nearest)
{
    ZD_AUTO(zd_json) extra = zd_json_new_object();
    ZD_AUTO(zd_json) list = zd_json_new_array();
    for (uint32_t i = 0; list != NULL && i < nearest->n; i++) {
        if (zd_json_append(list, zd_json_new_text(nearest->name[i])) != ZD_OK) {
            return NULL;
        }
    }
    if (extra == NULL || list == NULL ||
        (nearest->n > 0 && zd_json_set(extra, "suggestions", ZD_TAKE(list)) != ZD_OK)) {
        return NULL;
    }
    return ZD_TAKE(extra);
}
