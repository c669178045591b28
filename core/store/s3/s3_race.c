/* Run the phases of a probe. */
#include "core/store/s3/s3_race.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"

static void run(struct zd_s3_race *race)
{
    race->n_won = 0;
    race->failure = ZD_OK;
    race->run(race);
}

void zd_s3_race_begin(struct zd_s3_race *race)
{
    race->name = zd_hash_random_seed();
    run(race);
}

void zd_s3_race_next(struct zd_s3_race *race)
{
    if (race->n_won == 0 && race->phase < race->clean && race->status == ZD_OK) {
        race->status = race->failure;
    }
    const bool has_failed = race->status != ZD_OK && race->phase < race->clean;
    race->phase = has_failed ? race->clean : race->after(race);
    run(race);
}

void zd_s3_race_leave(struct zd_s3_race *race)
{
    if (--race->n_running == 0) {
        zd_s3_race_next(race);
    }
}

uint32_t zd_s3_race_after_round(struct zd_s3_race *race, bool *able, uint32_t next)
{
    *able = race->n_won == 1;
    if (*able && ++race->round < ZD_S3_RACE_ROUNDS) {
        return race->phase;
    }
    race->round = 0;
    return next;
}

void zd_s3_race_fail(struct zd_s3_race *race)
{
    if (race->status == ZD_OK) {
        race->status = zd_fail(&race->err, ZD_NO_MEMORY, "no memory for a request");
    }
}

void zd_s3_race_name_key(const struct zd_s3_race *race, uint32_t n, char *ret_key)
{
    (void)snprintf(
        ret_key, ZD_S3_RACE_KEY_CHARS, ZD_TEMP_PREFIX "%016" PRIx64 "-%" PRIu32, race->name, n);
}

void zd_s3_race_write_body(struct zd_s3_race *race, char *ret_body)
{
    (void)snprintf(ret_body, ZD_S3_RACE_BODY_CHARS, "zarrd %016" PRIx64 " %" PRIu32, race->name,
        race->n_bodies++);
}

bool zd_s3_race_is_unknown(uint32_t http, const char *code)
{
    return http == 501 || (http == 400 && (strcmp(code, "InvalidArgument") == 0 ||
                                              strcmp(code, "InvalidRequest") == 0 ||
                                              strcmp(code, "NotImplemented") == 0));
}

void zd_s3_race_tell(const struct zd_s3_race *race, struct zd_list *waiting)
{
    struct zd_list ready;
    zd_list_take_all(waiting, &ready);
    for (struct zd_list *link; (link = zd_list_pop_front(&ready)) != NULL;) {
        struct zd_s3_race_wait *wait = ZD_CONTAINER(link, struct zd_s3_race_wait, link);
        wait->status = race->status;
        wait->err = race->err;
        wait->fault = race->fault;
        wait->done(wait);
    }
}
