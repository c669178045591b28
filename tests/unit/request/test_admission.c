/* server/request/admission: shares, fairness, bounded waits, and what a refusal tells. */
#include "server/request/admission.h"

#include "tests/support/unit.h"

#define TICKETS 64

/* A lane for large ones of 100 bytes and 4 places; what takes up to 10 is small. */
static const struct zd_admission_limits limits = {
    .bytes = {[ZD_LANE_SMALL] = 20, [ZD_LANE_LARGE] = 100},
    .places = {[ZD_LANE_SMALL] = 2, [ZD_LANE_LARGE] = 4},
    .small_bytes = 10,
    .waiting_max = 32,
    .wait_ms = 1000,
};

static struct zd_admission admission;
static struct zd_ticket ticket[TICKETS];
static struct zd_wait wait[TICKETS];
static struct zd_ticket *told[TICKETS]; /* in the order of being told */
static bool was_admitted[TICKETS];
static size_t n_told;

static void note(struct zd_wait *ended)
{
    told[n_told] = ended->context;
    was_admitted[n_told++] = ended->status == ZD_OK;
}

static void begin(const struct zd_admission_limits *with)
{
    zd_admission_init(&admission, with);
    memset(ticket, 0, sizeof ticket);
    n_told = 0;
    for (size_t i = 0; i < TICKETS; i++) {
        wait[i] = (struct zd_wait){.done = note, .context = &ticket[i]};
        ticket[i].wait = &wait[i];
    }
}

static void end(void)
{
    for (size_t i = 0; i < TICKETS; i++) {
        zd_admission_release(&admission, &ticket[i], 0);
    }
    for (size_t i = 0; i < ZD_LANES; i++) {
        ck_assert_uint_eq(admission.lane[i].bytes, 0);
        ck_assert_uint_eq(admission.lane[i].n_working, 0);
        ck_assert_uint_eq(admission.lane[i].n_waiting, 0);
        ck_assert_uint_eq(admission.lane[i].bytes_waiting, 0);
        ck_assert_uint_eq(admission.lane[i].clients.n_entries, 0);
        ck_assert_uint_eq(admission.lane[i].here.n_queuing, 0);
        ck_assert_ptr_eq(admission.lane[i].sources.next, &admission.lane[i].here.link);
        ck_assert_ptr_eq(admission.lane[i].sources.prev, &admission.lane[i].here.link);
    }
    zd_admission_done(&admission);
}

static enum zd_verdict ask_of(
    size_t i, uint64_t client, uint64_t source, uint64_t bytes, uint64_t now_ms)
{
    const struct zd_peer peer = {.family = 2, .prefix = client};
    return zd_admission_ask(&admission, &ticket[i], &peer, source, bytes, now_ms);
}

static enum zd_verdict ask(size_t i, uint64_t client, uint64_t bytes, uint64_t now_ms)
{
    return ask_of(i, client, 0, bytes, now_ms);
}

/* Each row: so many of that size are asked for at once; how many begin? */
static const struct {
    uint64_t bytes;
    size_t n_asked;
    size_t n_begin;
} shares[] = {
    {11, 8, 4},  /* 44 bytes: the places are taken */
    {25, 4, 4},  /* exactly full */
    {26, 4, 3},  /* the fourth would be over */
    {100, 2, 1}, /* all of the lane */
    {10, 4, 2},  /* small ones have 20 bytes ... */
    {1, 4, 2},   /* ... and two places */
    {0, 3, 2},   /* what holds nothing still works */
};

START_TEST(a_lane_admits_what_fits)
{
    begin(&limits);
    for (size_t i = 0; i < shares[_i].n_asked; i++) {
        const enum zd_verdict verdict = ask(i, 1, shares[_i].bytes, 0);
        ck_assert_int_eq(verdict, i < shares[_i].n_begin ? ZD_ADMISSION_YES : ZD_ADMISSION_WAITS);
    }
    for (size_t i = 0; i < shares[_i].n_asked; i++) {
        zd_admission_release(&admission, &ticket[i], 0); /* the others follow */
    }
    ck_assert_uint_eq(n_told, shares[_i].n_asked - shares[_i].n_begin);
    end();
}
END_TEST

START_TEST(a_request_larger_than_any_lane_is_refused_at_once)
{
    struct zd_admission_limits narrow = limits;
    narrow.bytes[ZD_LANE_SMALL] = 5;
    begin(&narrow);
    ck_assert_int_eq(ask(0, 1, 101, 0), ZD_ADMISSION_NEVER);
    ck_assert_int_eq(ask(0, 1, UINT64_MAX, 0), ZD_ADMISSION_NEVER);
    ck_assert_uint_eq(ticket[0].state, ZD_TICKET_NONE);
    ck_assert_int_eq(ask(0, 1, 6, 0), ZD_ADMISSION_YES);
    ck_assert_uint_eq(admission.lane[ZD_LANE_LARGE].bytes, 6); /* too large for the small ones */
    end();
}
END_TEST

START_TEST(small_ones_never_wait_for_large_ones)
{
    begin(&limits);
    for (size_t i = 0; i < 20; i++) {
        (void)ask(i, 1, 60, 0);
    }
    ck_assert_int_eq(ask(20, 1, 10, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(21, 2, 10, 0), ZD_ADMISSION_YES);
    end();
}
END_TEST

START_TEST(an_answer_frees_its_place_and_keeps_its_bytes)
{
    begin(&limits);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(ask(i, 1, 20, 0), ZD_ADMISSION_YES);
    }
    ck_assert_int_eq(ask(4, 1, 20, 0), ZD_ADMISSION_WAITS);
    ck_assert_int_eq(ask(5, 1, 20, 0), ZD_ADMISSION_WAITS);
    zd_admission_answered(&admission, &ticket[0], 0);
    ck_assert_uint_eq(n_told, 1);
    zd_admission_answered(&admission, &ticket[1], 0);
    ck_assert_uint_eq(n_told, 1); /* a place is free, the bytes are not */
    zd_admission_release(&admission, &ticket[1], 0);
    ck_assert_uint_eq(n_told, 2);
    ck_assert_ptr_eq(told[0], &ticket[4]);
    ck_assert_ptr_eq(told[1], &ticket[5]);
    end();
}
END_TEST

START_TEST(nobody_passes_one_who_waits_for_all_of_it)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 1, 20, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(1, 1, 20, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(2, 2, 100, 0), ZD_ADMISSION_WAITS);
    ck_assert_int_eq(ask(3, 2, 20, 0), ZD_ADMISSION_WAITS); /* would fit */
    zd_admission_release(&admission, &ticket[0], 0);
    ck_assert_uint_eq(n_told, 0);
    zd_admission_release(&admission, &ticket[1], 0);
    ck_assert_uint_eq(n_told, 1);
    ck_assert_ptr_eq(told[0], &ticket[2]);
    zd_admission_release(&admission, &ticket[2], 0);
    ck_assert_ptr_eq(told[1], &ticket[3]);
    end();
}
END_TEST

/* Two clients ask often, the first for many bytes, the second for few: each gets the same bytes. */
START_TEST(clients_share_bytes_not_requests)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 9, 100, 0), ZD_ADMISSION_YES);
    for (size_t i = 1; i <= 10; i++) {
        ck_assert_int_eq(ask(i, 1, 96, 0), ZD_ADMISSION_WAITS);
    }
    for (size_t i = 11; i <= 26; i++) {
        ck_assert_int_eq(ask(i, 2, 24, 0), ZD_ADMISSION_WAITS);
    }
    uint64_t bytes[3] = {0};
    zd_admission_release(&admission, &ticket[0], 0);
    for (size_t i = 0; i < n_told && bytes[2] < UINT64_C(12) * 24; i++) {
        bytes[told[i] < &ticket[11] ? 1 : 2] += told[i]->bytes;
        zd_admission_release(&admission, told[i], 0);
    }
    ck_assert_uint_le(bytes[1], bytes[2] + 96);
    ck_assert_uint_le(bytes[2], bytes[1] + 96);
    end();
}
END_TEST

START_TEST(a_client_with_many_requests_does_not_delay_another_one)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 1, 100, 0), ZD_ADMISSION_YES);
    for (size_t i = 1; i <= 16; i++) {
        ck_assert_int_eq(ask(i, 1, 100, 0), ZD_ADMISSION_WAITS);
    }
    ck_assert_int_eq(ask(17, 2, 100, 0), ZD_ADMISSION_WAITS);
    zd_admission_release(&admission, &ticket[0], 0);
    for (size_t i = 0; i < n_told && told[i] != &ticket[17]; i++) {
        ck_assert_uint_lt(i, 2);
        zd_admission_release(&admission, told[i], 0);
    }
    ck_assert_ptr_eq(told[n_told - 1], &ticket[17]);
    end();
}
END_TEST

/* Each row: tickets of 20 bytes by client; those that are asked for, five of which begin; those
 * that begin when the first ones go, one by one. */
static const struct {
    const char *asked;
    const char *begin;
} halves[] = {
    {"AAAAAAAA", "AAA"},   /* alone, it may hold all of the lane */
    {"AAAAAAABB", "BBAA"}, /* who would hold 4 of 5 waits for others */
    {"AAAAABBCC", "BCBC"},
    {"ABABABAB", "BAB"}, /* none keeps to its share: what is free is not left free */
};

START_TEST(a_client_with_half_of_a_lane_goes_after_others)
{
    struct zd_admission_limits wide = limits;
    wide.places[ZD_LANE_LARGE] = 100;
    begin(&wide);
    const size_t n_asked = strlen(halves[_i].asked);
    for (size_t i = 0; i < n_asked; i++) {
        const enum zd_verdict verdict = ask(i, (uint64_t)halves[_i].asked[i], 20, 0);
        ck_assert_int_eq(verdict, i < 5 ? ZD_ADMISSION_YES : ZD_ADMISSION_WAITS);
    }
    for (size_t i = 0; i < n_asked - 5; i++) {
        ck_assert_uint_eq(n_told, i);
        zd_admission_release(&admission, &ticket[i], 0);
        ck_assert_uint_eq(n_told, i + 1);
        ck_assert_int_eq(halves[_i].asked[told[i] - ticket], halves[_i].begin[i]);
    }
    end();
}
END_TEST

/* A client that never gives back leaves others their part, and delays nobody while it waits. */
START_TEST(no_client_holds_a_whole_lane_by_many_requests)
{
    struct zd_admission_limits shared = limits;
    shared.places[ZD_LANE_LARGE] = 100;
    shared.client_bytes[ZD_LANE_LARGE] = 75;
    begin(&shared);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(ask(i, 1, 20, 0), i < 3 ? ZD_ADMISSION_YES : ZD_ADMISSION_WAITS);
    }
    ck_assert_int_eq(ask(8, 2, 20, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(9, 3, 20, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(10, 2, 20, 0), ZD_ADMISSION_WAITS); /* the lane is full */
    zd_admission_release(&admission, &ticket[9], 0);
    ck_assert_uint_eq(n_told, 1);
    ck_assert_ptr_eq(told[0], &ticket[10]);
    zd_admission_release(&admission, &ticket[10], 0);
    ck_assert_uint_eq(n_told, 1); /* there is room, and not for the first client */
    zd_admission_release(&admission, &ticket[0], 0);
    ck_assert_uint_eq(n_told, 2);
    ck_assert_ptr_eq(told[1], &ticket[3]);
    end();
    begin(&shared);
    ck_assert_int_eq(ask(0, 1, 90, 0), ZD_ADMISSION_YES); /* a single one may be larger */
    ck_assert_int_eq(ask(1, 1, 11, 0), ZD_ADMISSION_WAITS);
    end();
}
END_TEST

/* Each row: tickets by what they read (a digit; 0 is no remote store), of those bytes, all of one
 * client; which of them begin while none goes. The lane has 4 places for each source. */
static const struct {
    const char *asked;
    uint64_t bytes;
    const char *begin;
} sources[] = {
    {"111111", 11, "1111"},                  /* all places of one source are taken ... */
    {"11111100000", 11, "11110000"},         /* ... and all places are there for others */
    {"00000011111", 11, "00001111"},         /* a remote one does not pay for files either */
    {"111111222222000000", 11, "111122220"}, /* the lane has no more bytes */
    {"1111000", 25, "1110"},                 /* three quarters held: the rest is for others */
    {"0000111", 25, "0000"},                 /* files may have all of it */
    {"110", 60, "1"},                        /* one that does not fit is waited for */
};

START_TEST(each_source_has_places_of_its_own)
{
    struct zd_admission_limits shared = limits;
    shared.client_bytes[ZD_LANE_LARGE] = 75;
    begin(&shared);
    const char *asked = sources[_i].asked;
    char began[TICKETS] = "";
    for (size_t i = 0, n = 0; asked[i] != '\0'; i++) {
        if (ask_of(i, i, (uint64_t)(asked[i] - '0'), sources[_i].bytes, 0) == ZD_ADMISSION_YES) {
            began[n++] = asked[i];
        }
    }
    ck_assert_str_eq(began, sources[_i].begin);
    ck_assert_uint_eq(n_told, 0);
    end();
}
END_TEST

/* The rule holds within one client, too: it asks for other things while it waits for a store. */
START_TEST(waiting_for_one_source_delays_no_other)
{
    begin(&limits);
    for (size_t i = 0; i < 16; i++) {
        ck_assert_int_eq(ask_of(i, 1, 7, 11, 0), i < 4 ? ZD_ADMISSION_YES : ZD_ADMISSION_WAITS);
    }
    for (size_t i = 0; i < 100; i++) { /* none of them is behind those that wait */
        ck_assert_int_eq(ask_of(20, 1, 0, 11, i), ZD_ADMISSION_YES);
        ck_assert_int_eq(ask_of(21, 2, 8, 11, i), ZD_ADMISSION_YES);
        zd_admission_release(&admission, &ticket[20], i);
        zd_admission_release(&admission, &ticket[21], i);
    }
    ck_assert_uint_eq(n_told, 0);
    zd_admission_answered(&admission, &ticket[3], 0);
    ck_assert_uint_eq(n_told, 1);
    ck_assert_ptr_eq(told[0], &ticket[4]);
    end();
}
END_TEST

/* Small ones of the same source do not pass it for as long as they come. */
START_TEST(a_large_one_of_a_source_has_its_turn)
{
    struct zd_admission_limits shared = limits;
    shared.client_bytes[ZD_LANE_LARGE] = 75;
    shared.places[ZD_LANE_LARGE] = 100;
    begin(&shared);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(ask_of(i, i, 7, 20, 0), ZD_ADMISSION_YES);
    }
    ck_assert_int_eq(ask_of(4, 4, 7, 50, 0), ZD_ADMISSION_WAITS);
    for (size_t i = 5; i < 20; i++) {
        ck_assert_int_eq(ask_of(i, i, 7, 20, 0), ZD_ADMISSION_WAITS);
    }
    for (size_t i = 0; i < 4; i++) {
        zd_admission_release(&admission, &ticket[i], 0);
    }
    for (size_t i = 0; i < n_told && told[i] != &ticket[4]; i++) {
        zd_admission_release(&admission, told[i], 0);
        ck_assert_uint_lt(i, 16);
    }
    ck_assert_ptr_eq(told[n_told - 1], &ticket[4]);
    end();
}
END_TEST

/* The queue of one source is full; those of others are not, and expect nothing of its pace. */
START_TEST(each_source_has_a_queue_of_its_own)
{
    begin(&limits);
    for (size_t i = 0; i < 36; i++) {
        const enum zd_verdict verdict = ask_of(i, i, 7, 11, 0);
        ck_assert_int_eq(verdict, i < 4 ? ZD_ADMISSION_YES : ZD_ADMISSION_WAITS);
    }
    ck_assert_int_eq(ask_of(36, 36, 7, 11, 0), ZD_ADMISSION_NO);
    zd_admission_release(&admission, &ticket[0], 10000); /* one in 10 s */
    ck_assert_int_eq(ask_of(36, 36, 7, 11, 10000), ZD_ADMISSION_NO);
    ck_assert_uint_eq(zd_admission_retry_s(&admission, &ticket[36], 10000), 60);
    for (size_t i = 40; i < 45; i++) {
        const enum zd_verdict verdict = ask(i, 1, 11, 10000);
        ck_assert_int_eq(verdict, i < 44 ? ZD_ADMISSION_YES : ZD_ADMISSION_WAITS);
    }
    end();
}
END_TEST

/* Others that need less do not pass it for ever. */
START_TEST(waiting_for_more_than_half_of_a_lane_gets_a_turn)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 1, 100, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(1, 2, 90, 0), ZD_ADMISSION_WAITS);
    for (size_t i = 2; i < 20; i++) {
        ck_assert_int_eq(ask(i, 3 + i, 20, 0), ZD_ADMISSION_WAITS);
    }
    zd_admission_release(&admission, &ticket[0], 0);
    for (size_t i = 0; i < n_told && told[i] != &ticket[1]; i++) {
        zd_admission_release(&admission, told[i], 0);
        ck_assert_uint_lt(i, 18);
    }
    ck_assert_ptr_eq(told[n_told - 1], &ticket[1]);
    end();
}
END_TEST

START_TEST(a_single_client_fills_half_of_the_queue)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 1, 100, 0), ZD_ADMISSION_YES);
    for (size_t i = 1; i <= 16; i++) {
        ck_assert_int_eq(ask(i, 1, 100, 0), ZD_ADMISSION_WAITS);
    }
    ck_assert_int_eq(ask(17, 1, 100, 0), ZD_ADMISSION_NO);
    for (size_t i = 18; i < 34; i++) {
        ck_assert_int_eq(ask(i, i, 100, 0), ZD_ADMISSION_WAITS);
    }
    ck_assert_int_eq(ask(34, 34, 100, 0), ZD_ADMISSION_NO); /* the queue is full */
    ck_assert_uint_eq(admission.lane[ZD_LANE_LARGE].n_shed[ZD_SHED_FULL], 2);
    end();
}
END_TEST

START_TEST(a_queue_of_no_length_refuses_at_once)
{
    struct zd_admission_limits none = limits;
    none.waiting_max = 0;
    begin(&none);
    ck_assert_int_eq(ask(0, 1, 100, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(1, 1, 100, 0), ZD_ADMISSION_NO);
    end();
}
END_TEST

START_TEST(waits_end_in_time)
{
    begin(&limits);
    ck_assert_uint_eq(zd_admission_expires_ms(&admission), UINT64_MAX);
    ck_assert_int_eq(ask(0, 1, 100, 5), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(1, 1, 50, 10), ZD_ADMISSION_WAITS);
    ck_assert_int_eq(ask(2, 2, 50, 20), ZD_ADMISSION_WAITS);
    ck_assert_uint_eq(zd_admission_expires_ms(&admission), 1010);
    zd_admission_expire(&admission, 1009);
    ck_assert_uint_eq(n_told, 0);
    zd_admission_expire(&admission, 1010);
    ck_assert_uint_eq(n_told, 1);
    ck_assert_ptr_eq(told[0], &ticket[1]);
    ck_assert(!was_admitted[0]);
    ck_assert_uint_eq(zd_admission_expires_ms(&admission), 1020);
    ck_assert_uint_eq(admission.lane[ZD_LANE_LARGE].n_shed[ZD_SHED_LATE], 1);
    ck_assert_uint_eq(admission.lane[ZD_LANE_LARGE].waited_ms, 1000);
    end();
}
END_TEST

/* Everything may end at any time; one who leaves lets the next one in. */
START_TEST(leaving_the_queue_makes_way)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 1, 60, 0), ZD_ADMISSION_YES);
    ck_assert_int_eq(ask(1, 2, 90, 0), ZD_ADMISSION_WAITS);
    ck_assert_int_eq(ask(2, 3, 40, 0), ZD_ADMISSION_WAITS);
    zd_admission_release(&admission, &ticket[1], 0);
    ck_assert_uint_eq(n_told, 1);
    ck_assert_ptr_eq(told[0], &ticket[2]);
    zd_admission_release(&admission, &ticket[1], 0); /* nothing to give back any more */
    zd_admission_answered(&admission, &ticket[1], 0);
    end();
}
END_TEST

/* 100 bytes leave the queue in 100 ms: three quarters of a second's worth may wait, and no more. */
static void measure_a_rate(void)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 1, 100, 0), ZD_ADMISSION_YES);
    for (size_t i = 1; i <= 7; i++) {
        ck_assert_int_eq(ask(i, i, 100, 0), ZD_ADMISSION_WAITS); /* no rate is known yet */
    }
    zd_admission_release(&admission, &ticket[0], 100);
    ck_assert_uint_eq(admission.lane[ZD_LANE_LARGE].here.rate, 1000);
}

START_TEST(a_wait_that_would_be_too_long_is_refused_at_once)
{
    measure_a_rate();
    ck_assert_int_eq(ask(20, 20, 100, 249), ZD_ADMISSION_WAITS); /* after 6 others */
    ck_assert_int_eq(
        ask(21, 21, 100, 249), ZD_ADMISSION_WAITS); /* a young queue says nothing yet */
    ck_assert_int_eq(ask(22, 22, 100, 250), ZD_ADMISSION_NO);
    ck_assert_uint_eq(admission.lane[ZD_LANE_LARGE].n_shed[ZD_SHED_EXPECTED], 1);
    end();
}
END_TEST

/* A queue that is long because of another client is no reason to refuse. */
START_TEST(the_queues_of_others_do_not_count)
{
    begin(&limits);
    ck_assert_int_eq(ask(0, 1, 100, 0), ZD_ADMISSION_YES);
    for (size_t i = 1; i <= 16; i++) {
        ck_assert_int_eq(ask(i, 1, 100, 0), ZD_ADMISSION_WAITS);
    }
    zd_admission_release(&admission, &ticket[0], 100);
    ck_assert_int_eq(ask(17, 1, 100, 250), ZD_ADMISSION_NO);
    ck_assert_int_eq(ask(18, 2, 100, 250), ZD_ADMISSION_WAITS);
    end();
}
END_TEST

START_TEST(a_stalled_queue_still_lets_one_wait)
{
    measure_a_rate();
    for (uint64_t now_ms = 200; now_ms < 100000; now_ms += 100) {
        zd_admission_expire(&admission, now_ms);
        (void)ask(30, 30, 100, now_ms);
        zd_admission_release(&admission, &ticket[30], now_ms);
    }
    ck_assert_uint_eq(admission.lane[ZD_LANE_LARGE].n_waiting, 0);
    ck_assert_int_eq(ask(31, 31, 100, 100000), ZD_ADMISSION_WAITS);
    end();
}
END_TEST

START_TEST(retry_after_follows_the_queue_and_spreads)
{
    const struct zd_ticket large = {.lane = ZD_LANE_LARGE};
    begin(&limits);
    ck_assert_uint_eq(zd_admission_retry_s(&admission, &large, 0), 1);
    end();
    struct zd_admission_limits patient = limits;
    patient.wait_ms = 100000;
    begin(&patient);
    ck_assert_int_eq(ask(0, 1, 100, 0), ZD_ADMISSION_YES);
    for (size_t i = 1; i <= 31; i++) {
        ck_assert_int_eq(ask(i, i, 100, 0), ZD_ADMISSION_WAITS);
    }
    zd_admission_release(&admission, &ticket[0], 1000); /* 100 bytes a second; 30 wait */
    bool seen[2 * 30 + 2] = {false};
    for (size_t i = 0; i < 31; i++) {
        const uint32_t retry_s = zd_admission_retry_s(&admission, &large, 1000);
        ck_assert_uint_ge(retry_s, 30);
        ck_assert_uint_le(retry_s, 60);
        seen[retry_s] = true;
        admission.n_refused++;
    }
    for (size_t i = 30; i <= 60; i++) {
        ck_assert(seen[i]);
    }
    end();
}
END_TEST

static uint64_t random_below(uint64_t n)
{
    return zd_unit_random() % n;
}

/* No source has more places than it may, and all of them have what the lane has. */
static void check_sources(const struct zd_lane *lane, uint64_t places)
{
    uint64_t bytes = 0;
    uint64_t n_working = 0;
    uint64_t n_waiting = 0;
    for (struct zd_list *at = lane->sources.next; at != &lane->sources; at = at->next) {
        const struct zd_admission_source *source =
            ZD_CONTAINER(at, struct zd_admission_source, link);
        ck_assert_uint_le(source->n_working, places);
        bytes += source->bytes;
        n_working += source->n_working;
        n_waiting += source->n_waiting;
    }
    ck_assert_uint_eq(bytes, lane->bytes);
    ck_assert_uint_eq(n_working, lane->n_working);
    ck_assert_uint_eq(n_waiting, lane->n_waiting);
}

/* Whatever happens in whatever order, no lane holds more than it has, and all is given back. */
START_TEST(the_books_balance)
{
    begin(&limits);
    for (uint64_t step = 0; step < 20000; step++) {
        const size_t i = random_below(TICKETS);
        n_told = 0;
        if (random_below(50) == 0) {
            zd_admission_expire(&admission, step);
        } else if (ticket[i].state == ZD_TICKET_NONE) {
            const uint64_t bytes = random_below(150);
            const enum zd_verdict verdict =
                ask_of(i, random_below(5), random_below(3), bytes, step);
            ck_assert_int_eq(verdict == ZD_ADMISSION_NEVER, bytes > limits.bytes[ZD_LANE_LARGE]);
        } else if (random_below(2) == 0) {
            zd_admission_answered(&admission, &ticket[i], step);
        } else {
            zd_admission_release(&admission, &ticket[i], step);
        }
        uint64_t bytes[ZD_LANES] = {0};
        for (size_t k = 0; k < TICKETS; k++) {
            const bool holds =
                ticket[k].state == ZD_TICKET_WORKS || ticket[k].state == ZD_TICKET_ANSWERED;
            bytes[ticket[k].lane] += holds ? ticket[k].bytes : 0;
        }
        for (size_t k = 0; k < ZD_LANES; k++) {
            ck_assert_uint_eq(bytes[k], admission.lane[k].bytes);
            ck_assert_uint_le(bytes[k], limits.bytes[k]);
            check_sources(&admission.lane[k], limits.places[k]);
        }
    }
    end();
}
END_TEST

static enum zd_status wait_once(void *context)
{
    (void)context;
    begin(&limits);
    const enum zd_verdict first = ask(0, 1, 100, 0);
    const enum zd_verdict verdict = first == ZD_ADMISSION_NO ? first : ask(1, 2, 100, 0);
    end();
    return verdict == ZD_ADMISSION_WAITS ? ZD_OK : ZD_NO_MEMORY;
}

START_TEST(without_memory_for_a_client_one_is_refused)
{
    zd_unit_with_failing_memory(wait_once, NULL);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, a_lane_admits_what_fits, 0, (int)ZD_COUNT_OF(shares));
    tcase_add_test(tests, a_request_larger_than_any_lane_is_refused_at_once);
    tcase_add_test(tests, small_ones_never_wait_for_large_ones);
    tcase_add_test(tests, an_answer_frees_its_place_and_keeps_its_bytes);
    tcase_add_test(tests, nobody_passes_one_who_waits_for_all_of_it);
    tcase_add_test(tests, clients_share_bytes_not_requests);
    tcase_add_test(tests, a_client_with_many_requests_does_not_delay_another_one);
    tcase_add_loop_test(
        tests, a_client_with_half_of_a_lane_goes_after_others, 0, (int)ZD_COUNT_OF(halves));
    tcase_add_test(tests, no_client_holds_a_whole_lane_by_many_requests);
    tcase_add_loop_test(tests, each_source_has_places_of_its_own, 0, (int)ZD_COUNT_OF(sources));
    tcase_add_test(tests, waiting_for_one_source_delays_no_other);
    tcase_add_test(tests, a_large_one_of_a_source_has_its_turn);
    tcase_add_test(tests, each_source_has_a_queue_of_its_own);
    tcase_add_test(tests, waiting_for_more_than_half_of_a_lane_gets_a_turn);
    tcase_add_test(tests, a_single_client_fills_half_of_the_queue);
    tcase_add_test(tests, a_queue_of_no_length_refuses_at_once);
    tcase_add_test(tests, waits_end_in_time);
    tcase_add_test(tests, leaving_the_queue_makes_way);
    tcase_add_test(tests, a_wait_that_would_be_too_long_is_refused_at_once);
    tcase_add_test(tests, the_queues_of_others_do_not_count);
    tcase_add_test(tests, a_stalled_queue_still_lets_one_wait);
    tcase_add_test(tests, retry_after_follows_the_queue_and_spreads);
    tcase_add_test(tests, the_books_balance);
    tcase_add_test(tests, without_memory_for_a_client_one_is_refused);
}
