/* The head of a request: its fields, its id, and the client's address. */
#include "server/front/head.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "core/base/hash.h"
#include "core/base/num.h"
#include "server/request/connection.h"
#include "server/runtime/server.h"

/* Lines of one list are one list (RFC 9110, 5.3). Few clients send several: the first is borrowed
 * as it is. */
static void add_line(const char **place, struct zd_text *list, const char *value)
{
    if (list->len == 0) {
        zd_text_add(list, *place);
    }
    zd_text_addf(list, ", %s", value);
    *place = list->at;
}

/* One pass over the headers: looking each one up would walk the list as many times. */
static enum MHD_Result on_header(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct zd_exchange *exchange = cls;
    struct zd_request *req = &exchange->request;
    struct zd_text *list = exchange->memory.list;
    struct zd_conditions *conditions = &req->conditions;
    const struct {
        const char *name;
        const char **place;
        struct zd_text *list; /* NULL: it comes once, and the first one counts */
    } wanted[] = {
        {"If-None-Match", &conditions->if_none_match, &list[0]},
        {"If-Modified-Since", &conditions->if_modified_since, NULL},
        {"Range", &conditions->range, NULL},
        {"If-Range", &conditions->if_range, NULL},
        {"If-Match", &conditions->if_match, &list[1]},
        {"If-Unmodified-Since", &conditions->if_unmodified_since, NULL},
        {"X-Request-Id", &exchange->now.sent_id, NULL},
        {"Accept", &req->accept, &list[2]},
        {"Accept-Encoding", &req->accept_encoding, &list[3]},
        {"Content-Encoding", &req->content_encoding, &list[4]},
    };
    if (strchr("AaCcIiRrXx", name[0]) == NULL) {
        return MHD_YES;
    }
    for (size_t i = 0; i < ZD_COUNT_OF(wanted); i++) {
        if (strcasecmp(wanted[i].name, name) != 0) {
            continue;
        }
        if (*wanted[i].place == NULL) {
            *wanted[i].place = value;
        } else if (wanted[i].list != NULL) {
            add_line(wanted[i].place, wanted[i].list, value);
        }
    }
    return MHD_YES;
}

void zd_head_make_id(struct zd_front *front, char *to)
{
    const uint64_t n = front->n_ids++;
    const uint64_t id =
        zd_hash_of((struct zd_span){.ptr = (const uint8_t *)&n, .len = sizeof n}, front->id_seed);
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ZD_FRONT_MADE_ID_LEN; i++) {
        to[i] = digits[id >> (4 * i) & 15];
    }
    to[ZD_FRONT_MADE_ID_LEN] = '\0';
}

/* The client's id when it is well formed, else one of ours. */
static void take_id(struct zd_exchange *exchange)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    struct zd_exchange_now *now = &exchange->now;
    const char *sent = now->sent_id;
    exchange->request.id = now->id;
    if (sent != NULL && sent[0] != '\0') {
        const size_t len = strnlen(sent, ZD_FRONT_ID_MAX + 1);
        if (len <= ZD_FRONT_ID_MAX && strspn(sent, allowed) == len) {
            memcpy(now->id, sent, len + 1);
            return;
        }
    }
    zd_head_make_id(exchange->front, now->id);
}

const char *zd_connection_header(const struct zd_request *req, const char *name)
{
    return MHD_lookup_connection_value(
        zd_front_exchange(req)->now.connection, MHD_HEADER_KIND, name);
}

void zd_connection_peer(const struct zd_request *req, struct zd_peer *ret_peer)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        zd_front_exchange(req)->now.connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *ret_peer = (struct zd_peer){0};
    if (info == NULL || info->client_addr == NULL) {
        return;
    }
    ret_peer->family = info->client_addr->sa_family;
    if (ret_peer->family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)info->client_addr;
        ret_peer->prefix = v4->sin_addr.s_addr;
    } else if (ret_peer->family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)info->client_addr;
        const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) != 0;
        ret_peer->family = is_v4 ? AF_INET : AF_INET6;
        ret_peer->prefix =
            is_v4 ? zd_load_u32(&v6->sin6_addr.s6_addr[12]) : zd_load_u64(&v6->sin6_addr);
    }
}

enum zd_status zd_head_read(struct zd_exchange *exchange, const char *method)
{
    struct zd_request *req = &exchange->request;
    req->method = method;
    req->is_head = strcmp(method, "HEAD") == 0;
    (void)MHD_get_connection_values(exchange->now.connection, MHD_HEADER_KIND, on_header, exchange);
    take_id(exchange);
    for (size_t i = 0; i < ZD_FRONT_LISTS; i++) {
        ZD_TRY(exchange->memory.list[i].status);
    }
    return ZD_OK;
}
