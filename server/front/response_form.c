/* Responses that requests share. */
#include "server/front/response_form.h"

#include <microhttpd.h>
#include <string.h>

#include "server/front/response.h"
#include "server/front/response_headers.h"
#include "server/runtime/server.h"

/* ---- headers of another response ---- */

/* Headers copied from one response to another. */
struct copying {
    struct MHD_Response *to;
    const char *etag; /* NULL: as it is */
};

static enum MHD_Result copy_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    const struct copying *copying = cls;
    if (strcmp(name, "X-Request-Id") == 0) {
        return MHD_YES;
    }
    const bool is_tag = copying->etag != NULL && strcmp(name, "ETag") == 0;
    zd_response_add(copying->to, name, is_tag ? copying->etag : value);
    return MHD_YES;
}

/* @param etag NULL: as it is */
static void copy_headers(
    struct MHD_Response *from, const char *id, const char *etag, struct MHD_Response *to)
{
    struct copying copying = {.to = to, .etag = etag};
    zd_response_add(to, "X-Request-Id", id);
    (void)MHD_get_response_headers(from, copy_header, &copying);
}

/* ---- forms ---- */

enum zd_status zd_response_begin_form(
    struct zd_form *form, struct zd_buf *body, struct MHD_Response *response)
{
    const char *id = response == NULL ? NULL : MHD_get_response_header(response, "X-Request-Id");
    if (id == NULL) {
        if (response != NULL) {
            MHD_destroy_response(response);
        }
        return ZD_NO_MEMORY;
    }
    form->id = (char *)(uintptr_t)id;
    form->response = response;
    form->body = body == NULL ? NULL : zd_buf_ref(body);
    return ZD_OK;
}

enum zd_status zd_response_code_form(
    const struct zd_form *plain, enum zd_coding coding, struct zd_buf *body, struct zd_form *form)
{
    struct MHD_Response *response = zd_response_of_window(body, 0, body->len);
    zd_tag_code(form->etag, plain->etag, coding);
    if (response != NULL) {
        copy_headers(plain->response, ZD_RESPONSE_ANY_ID, form->etag, response);
        zd_response_add(response, "Content-Encoding", zd_compress_name(coding));
    }
    return zd_response_begin_form(form, body, response);
}

/* ---- answers ---- */

/* A response of the request's own. */
static struct MHD_Response *copy_form(
    const struct zd_request *req, const struct zd_form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = zd_response_of_window(form->body, first, len);
    if (response != NULL) {
        copy_headers(form->response, req->id, NULL, response);
    }
    return response;
}

enum zd_next zd_response_give_part(
    struct zd_request *req, const struct zd_form *form, uint64_t first, uint64_t len)
{
    struct MHD_Response *response = copy_form(req, form, first, len);
    if (response != NULL) {
        zd_response_add_range(response, first, len, form->body->len);
    }
    return zd_response_give(req, MHD_HTTP_PARTIAL_CONTENT, response, len);
}

enum zd_next zd_response_give_form(
    struct zd_request *req, const struct zd_form *form, unsigned http_status)
{
    const uint64_t len = form->body == NULL ? 0 : form->body->len;
    if (form->body != NULL && strlen(req->id) != ZD_FRONT_MADE_ID_LEN) {
        return zd_response_give(req, http_status, copy_form(req, form, 0, len), len);
    }
    (void)zd_response_give(req, http_status, form->response, len);
    zd_front_exchange(req)->now.response_is_shared = true;
    zd_front_exchange(req)->now.response_id = form->id;
    return ZD_DONE;
}
