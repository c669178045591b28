/* Bare NaN and infinities in trees of JSON. */
#include "core/base/json_nonfinite.h"

#include "core/base/own.h"

static struct zd_json *quote_array(const struct zd_json *array)
{
    ZD_AUTO(zd_json) copy = zd_json_new_array();
    const size_t n = zd_json_count(array);
    for (size_t i = 0; i < n; i++) {
        if (zd_json_append(copy, zd_json_nonfinite_quote(zd_json_element(array, i))) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(copy);
}

static struct zd_json *quote_object(const struct zd_json *object)
{
    ZD_AUTO(zd_json) copy = zd_json_new_object();
    for (void *i = zd_json_next(object, NULL); i != NULL; i = zd_json_next(object, i)) {
        struct zd_json *value = zd_json_nonfinite_quote(zd_json_iter_value(i));
        if (zd_json_set(copy, zd_json_iter_name(i), value) != ZD_OK) {
            return NULL;
        }
    }
    return ZD_TAKE(copy);
}

/* Subtrees without such a token are shared, not copied. */
struct zd_json *zd_json_nonfinite_quote(const struct zd_json *json)
{
    if (!zd_json_nonfinite_is_in(json)) {
        return json == NULL ? NULL : zd_json_ref(json);
    }
    if (zd_json_is(json, ZD_JSON_ARRAY)) {
        return quote_array(json);
    }
    if (zd_json_is(json, ZD_JSON_OBJECT)) {
        return quote_object(json);
    }
    return zd_json_new_text(zd_json_nonfinite(json));
}

bool zd_json_nonfinite_is_in(const struct zd_json *json)
{
    if (zd_json_is(json, ZD_JSON_OBJECT)) {
        for (void *i = zd_json_next(json, NULL); i != NULL; i = zd_json_next(json, i)) {
            if (zd_json_nonfinite_is_in(zd_json_iter_value(i))) {
                return true;
            }
        }
        return false;
    }
    if (zd_json_is(json, ZD_JSON_ARRAY)) {
        const size_t n = zd_json_count(json);
        for (size_t i = 0; i < n; i++) {
            if (zd_json_nonfinite_is_in(zd_json_element(json, i))) {
                return true;
            }
        }
        return false;
    }
    return zd_json_is(json, ZD_JSON_NONFINITE);
}
