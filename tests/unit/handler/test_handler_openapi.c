/* The routes of the handlers and the paths of openapi.json are the same. */
#include <string.h>

#include "core/base/json.h"
#include "server/http/embedded.h"
#include "server/request/handler.h"
#include "tests/support/unit.h"

extern const struct zd_embedded zd_openapi[];

#define METHOD_BYTES 8

static const char parameters_prefix[] = "#/components/parameters/";

static struct zd_json *document(void)
{
    const struct zd_json_limits limits = {
        .bytes_max = 1 << 20, .nodes_max = 100000, .depth_max = 64};
    struct zd_json *json = NULL;
    ZD_AUTO(zd_buf) text = zd_embedded_read(&zd_openapi[0]);
    ck_assert_int_eq(zd_json_parse(zd_buf_span(text), &limits, &json, NULL), ZD_OK);
    return json;
}

/* "GET" as the document spells it: "get". */
static void lower(const char *method, char to[METHOD_BYTES])
{
    size_t i = 0;
    for (; method[i] != '\0' && i < METHOD_BYTES - 1; i++) {
        to[i] = (char)(method[i] | 0x20);
    }
    to[i] = '\0';
}

static const struct zd_json *operation_of(const struct zd_json *json, const struct zd_route *route)
{
    char method[METHOD_BYTES];
    lower(route->method, method);
    const struct zd_json *item = zd_json_member(zd_json_member(json, "paths"), route->path);
    return zd_json_member(item, method);
}

/* A parameter given by reference, or in place. */
static const struct zd_json *resolved(const struct zd_json *json, const struct zd_json *parameter)
{
    const char *reference = zd_json_string(zd_json_member(parameter, "$ref"));
    if (reference == NULL) {
        return parameter;
    }
    const size_t len = sizeof parameters_prefix - 1;
    ck_assert_msg(strncmp(reference, parameters_prefix, len) == 0, "%s", reference);
    const struct zd_json *components = zd_json_member(json, "components");
    return zd_json_member(zd_json_member(components, "parameters"), reference + len);
}

static bool describes(const struct zd_json *json, const struct zd_json *operation, const char *name)
{
    const struct zd_json *list = zd_json_member(operation, "parameters");
    for (size_t i = 0; i < zd_json_count(list); i++) {
        const struct zd_json *parameter = resolved(json, zd_json_element(list, i));
        const char *found = zd_json_string(zd_json_member(parameter, "name"));
        if (found != NULL && strcmp(found, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool allows(const struct zd_route *route, const char *name)
{
    for (size_t i = 0; route->params[i] != NULL; i++) {
        if (strcmp(route->params[i], name) == 0) {
            return true;
        }
    }
    return strcmp(name, "pretty") == 0;
}

static void check_route(const struct zd_json *json, const struct zd_route *route)
{
    const struct zd_json *operation = operation_of(json, route);
    ck_assert_msg(operation != NULL, "%s %s is not described", route->method, route->path);
    if (route->params == NULL) {
        return; /* it ignores them all */
    }
    for (size_t i = 0; route->params[i] != NULL; i++) {
        ck_assert_msg(describes(json, operation, route->params[i]),
            "%s %s: the parameter %s is not described", route->method, route->path,
            route->params[i]);
    }
    const struct zd_json *list = zd_json_member(operation, "parameters");
    for (size_t i = 0; i < zd_json_count(list); i++) {
        const struct zd_json *parameter = resolved(json, zd_json_element(list, i));
        const char *name = zd_json_string(zd_json_member(parameter, "name"));
        const char *place = zd_json_string(zd_json_member(parameter, "in"));
        const bool is_header = place != NULL && strcmp(place, "header") == 0;
        ck_assert_msg(is_header || (name != NULL && allows(route, name)),
            "%s %s: the described parameter %s is refused", route->method, route->path, name);
    }
}

START_TEST(every_route_is_described_with_its_parameters)
{
    ZD_AUTO(zd_json) json = document();
    for (size_t i = 0; zd_handlers[i] != NULL; i++) {
        for (size_t k = 0; k < zd_handlers[i]->n_routes; k++) {
            check_route(json, &zd_handlers[i]->route[k]);
        }
    }
}
END_TEST

/* HEAD is served by the route of GET. */
static bool is_served(const char *path, const char *method)
{
    for (size_t i = 0; zd_handlers[i] != NULL; i++) {
        for (size_t k = 0; k < zd_handlers[i]->n_routes; k++) {
            const struct zd_route *route = &zd_handlers[i]->route[k];
            char served[METHOD_BYTES];
            lower(route->method, served);
            const bool same = strcmp(served, strcmp(method, "head") == 0 ? "get" : method) == 0;
            if (same && strcmp(route->path, path) == 0) {
                return true;
            }
        }
    }
    return false;
}

START_TEST(every_described_operation_has_its_route)
{
    ZD_AUTO(zd_json) json = document();
    const struct zd_json *paths = zd_json_member(json, "paths");
    for (void *p = zd_json_next(paths, NULL); p != NULL; p = zd_json_next(paths, p)) {
        const struct zd_json *item = zd_json_iter_value(p);
        for (void *m = zd_json_next(item, NULL); m != NULL; m = zd_json_next(item, m)) {
            const char *method = zd_json_iter_name(m);
            if (strcmp(method, "parameters") != 0) {
                ck_assert_msg(is_served(zd_json_iter_name(p), method), "%s %s is not served",
                    method, zd_json_iter_name(p));
            }
        }
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_test(tests, every_route_is_described_with_its_parameters);
    tcase_add_test(tests, every_described_operation_has_its_route);
}
