/* Requests before they take memory and work: admitted, made to wait, or refused. */
#include "server/request/admit.h"

#include "core/base/num.h"
#include "server/data/dataset.h"
#include "server/request/client.h"
#include "server/request/connection.h"
#include "server/request/respond.h"
#include "server/runtime/server.h"

#define PLACES_PER_WORKER 8 /* enough that no worker waits for the loop */
#define SMALL_PLACES      4 /* times as many of the small ones: they are soon over */
#define OTHERS_PART       4 /* of a lane's bytes one part is never for one that has the others */
#define SMALL_PART        8 /* of the bytes one part is for the small ones */
#define FLIGHT_PART       4 /* of the large ones' bytes one part is for the chunks in flight of one */
#define QUIET_MS          500
#define GIVE_BACK_NS      5000000
#define WORTH_BYTES       (UINT64_C(16) << 20) /* freed: less is not worth the walk through it */

static struct zd_admit *admit_of(const struct zd_request *req)
{
    return req->server->admit;
}

static uint64_t now_ms(const struct zd_request *req)
{
    return uv_now(req->server->loop);
}

static void arm(struct zd_server *server);

static void on_timer(uv_timer_t *timer)
{
    struct zd_server *server = timer->data;
    zd_admission_expire(&server->admit->admission, uv_now(server->loop));
    arm(server);
}

/* Waits end in the order in which they began, so the timer is never too late. */
static void arm(struct zd_server *server)
{
    struct zd_admit *admit = server->admit;
    const uint64_t at_ms = zd_admission_expires_ms(&admit->admission);
    if (at_ms == UINT64_MAX || uv_is_active((uv_handle_t *)&admit->timer)) {
        return;
    }
    const uint64_t now = uv_now(server->loop);
    uv_timer_start(&admit->timer, on_timer, at_ms > now ? at_ms - now : 0, 0);
}

/* ---- after a rush ---- */

static void give_back(struct zd_job *job)
{
    (void)job;
    zd_memory_give_back();
}

static void gave_back(struct zd_wait *wait)
{
    ZD_CONTAINER(wait, struct zd_admit, give_back.wait)->gives_back = false;
}

static bool is_quiet(const struct zd_admit *admit)
{
    return admit->admission.lane[ZD_LANE_LARGE].bytes == 0 && !admit->gives_back;
}

static void on_quiet(uv_timer_t *timer)
{
    struct zd_server *server = timer->data;
    struct zd_admit *admit = server->admit;
    if (is_quiet(admit)) {
        admit->n_freed = 0;
        admit->gives_back = true;
        admit->give_back = (struct zd_job){.work = give_back, .wait.done = gave_back};
        zd_workers_submit(&server->workers, &admit->give_back, GIVE_BACK_NS);
    }
}

/* The allocator keeps what was freed for the next requests; when there are none, it goes back to
 * the system. */
static void note_freed(struct zd_server *server, uint64_t bytes)
{
    struct zd_admit *admit = server->admit;
    admit->n_freed += bytes;
    if (admit->n_freed >= WORTH_BYTES && is_quiet(admit)) {
        uv_timer_start(&admit->quiet, on_quiet, QUIET_MS, 0);
    }
}

/* ---- the whole ---- */

void zd_admit_init(struct zd_server *server, uint32_t n_workers, uint64_t bytes_max)
{
    const struct zd_settings *settings = &server->config->settings;
    const uint64_t n_large = settings->admission_running != 0
                                 ? settings->admission_running
                                 : (uint64_t)n_workers * PLACES_PER_WORKER;
    const uint64_t small_bytes = zd_max_u64(bytes_max / SMALL_PART, 1);
    const uint64_t large_bytes = zd_max_u64(bytes_max - small_bytes, 1);
    const struct zd_admission_limits limits = {
        .bytes = {[ZD_LANE_SMALL] = small_bytes, [ZD_LANE_LARGE] = large_bytes},
        .client_bytes = {[ZD_LANE_SMALL] = small_bytes - small_bytes / OTHERS_PART,
            [ZD_LANE_LARGE] = large_bytes - large_bytes / OTHERS_PART},
        .places = {[ZD_LANE_SMALL] = n_large * SMALL_PLACES, [ZD_LANE_LARGE] = n_large},
        .small_bytes = settings->admission_small_bytes,
        .waiting_max = settings->admission_waiting,
        .wait_ms = settings->admission_wait_ms,
    };
    zd_admission_init(&server->admit->admission, &limits);
    uv_timer_init(server->loop, &server->admit->timer);
    server->admit->timer.data = server;
    uv_timer_init(server->loop, &server->admit->quiet);
    server->admit->quiet.data = server;
}

void zd_admit_close(struct zd_server *server)
{
    uv_close((uv_handle_t *)&server->admit->timer, NULL);
    uv_close((uv_handle_t *)&server->admit->quiet, NULL);
    zd_admission_done(&server->admit->admission);
}

static enum zd_next respond_overloaded(struct zd_request *req)
{
    struct zd_admission *admission = &admit_of(req)->admission;
    const unsigned long long wait_ms = admission->limits.wait_ms;
    struct zd_error err = {0};
    struct zd_problem problem = {
        .code = "overloaded",
        .err = &err,
        .retry_after_s = zd_admission_retry_s(admission, &req->ticket, now_ms(req)),
    };
    switch (req->ticket.shed) {
    case ZD_SHED_EXPECTED:
        problem.unavailable = ZD_UNAVAILABLE_WAIT_EXPECTED;
        err.status = zd_fail(&err, ZD_AGAIN,
            "the expected wait for memory and workers is longer than admission.wait_ms (%llu ms); "
            "retry later",
            wait_ms);
        break;
    case ZD_SHED_LATE:
        problem.unavailable = ZD_UNAVAILABLE_WAIT_OVER;
        err.status = zd_fail(&err, ZD_AGAIN,
            "no memory or worker became free within admission.wait_ms (%llu ms); retry later",
            wait_ms);
        break;
    case ZD_SHED_FULL:
    case ZD_SHEDS:
        problem.unavailable = ZD_UNAVAILABLE_QUEUE_FULL;
        err.status = zd_fail(&err, ZD_AGAIN,
            "%llu requests already wait for memory and workers; retry later",
            (unsigned long long)admission->lane[req->ticket.lane].n_waiting);
        break;
    }
    return zd_respond_problem(req, &problem);
}

uint64_t zd_admit_bytes_max(const struct zd_request *req)
{
    return admit_of(req)->admission.limits.bytes[ZD_LANE_LARGE];
}

static enum zd_next respond_too_large(struct zd_request *req, uint64_t bytes)
{
    const uint64_t most = zd_admit_bytes_max(req);
    struct zd_error err = {0};
    err.status = zd_fail_limit(&err, most, bytes,
        "the request needs %llu bytes of memory; one request may use %llu (7/8 of "
        "admission.bytes): request less, or give the server more memory",
        (unsigned long long)bytes, (unsigned long long)most);
    return zd_respond_error(req, NULL, &err);
}

/* Not at once: this runs in the middle of another request's end. */
static void ticket_done(struct zd_wait *wait)
{
    struct zd_request *req = wait->context;
    if (wait->status != ZD_OK) {
        req->step = respond_overloaded;
    }
    zd_connection_queue_turn(req);
}

/* The server that its dataset is read from, where that is a remote one. */
static uint64_t source_of(const struct zd_request *req)
{
    const struct zd_dataset *dataset = req->dataset;
    return dataset == NULL || dataset->store == NULL ? 0 : dataset->store->endpoint;
}

enum zd_next zd_admit_want(struct zd_request *req, uint64_t bytes, zd_step *next)
{
    struct zd_admission *admission = &admit_of(req)->admission;
    const struct zd_peer peer = zd_client_peer(req);
    req->step = next;
    if (req->ticket.state != ZD_TICKET_NONE) {
        return ZD_NEXT;
    }
    req->wait.done = ticket_done;
    req->wait.context = req;
    req->ticket.wait = &req->wait;
    switch (zd_admission_ask(admission, &req->ticket, &peer, source_of(req), bytes, now_ms(req))) {
    case ZD_ADMISSION_YES:
        return ZD_NEXT;
    case ZD_ADMISSION_WAITS:
        req->times.waits_for = ZD_TIME_QUEUE;
        arm(req->server);
        return ZD_WAIT;
    case ZD_ADMISSION_NEVER:
        return respond_too_large(req, bytes);
    case ZD_ADMISSION_NO:
        break;
    }
    return respond_overloaded(req);
}

uint64_t zd_admit_stream_bytes(const struct zd_request *req, uint64_t bytes)
{
    return zd_max_u64(bytes, req->server->config->settings.admission_small_bytes + 1);
}

uint64_t zd_admit_flight_bytes(const struct zd_request *req, uint64_t most)
{
    return zd_max_u64(zd_min_u64(most, zd_admit_bytes_max(req) / FLIGHT_PART), 1);
}

enum zd_next zd_admit_want_locked(
    struct zd_request *req, uint64_t bytes, zd_step *next, zd_step *again)
{
    if (req->ticket.state == ZD_TICKET_NONE || req->ticket.bytes < bytes) {
        zd_admit_release(req);
    }
    const enum zd_next now = zd_admit_want(req, bytes, next);
    if (now == ZD_WAIT) {
        req->step = again;
    }
    return now;
}

void zd_admit_answered(struct zd_request *req)
{
    zd_admission_answered(&admit_of(req)->admission, &req->ticket, now_ms(req));
}

void zd_admit_release(struct zd_request *req)
{
    const struct zd_ticket *ticket = &req->ticket;
    const bool is_large = ticket->lane == ZD_LANE_LARGE && ticket->state != ZD_TICKET_NONE &&
                          ticket->state != ZD_TICKET_WAITS;
    zd_admission_release(&admit_of(req)->admission, &req->ticket, now_ms(req));
    if (is_large) {
        note_freed(req->server, ticket->bytes);
    }
}
