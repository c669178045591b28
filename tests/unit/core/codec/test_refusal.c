/* Codecs that are not supported on purpose: every spelling is refused with its reason. */
#include "core/codec/refusal.h"

#include <string.h>

#include "tests/support/codec.h"

#define CODE   "decoding would run a program"
#define LACKS  "this build does not include it"
#define PRIVAT "it is experimental"

static const struct {
    const char *codec;
    const char *why; /* part of it; or NULL */
} names[] = {
    {"pickle", CODE},
    {"numcodecs.pickle", CODE},
    {"pcodec", LACKS},
    {"numcodecs.pcodec", LACKS},
    {"https://codec.zarrs.dev/array_to_bytes/pcodec", LACKS},
    {"zarrs.vlen", PRIVAT},
    {"zarrs.vlen_v2", PRIVAT},
    {"zarrs.gdeflate", PRIVAT},
    {"zarrs.squeeze", PRIVAT},
    {"zarrs.optional", PRIVAT},
    {"zarrs.", PRIVAT},
    {"zarrs", NULL},
    {"pickles", NULL},
    {"numcodecs.", NULL},
    {"", NULL},
    {"bytes", NULL},
};

START_TEST(refusal_knows_every_spelling)
{
    const char *why = zd_refusal_find(names[_i].codec);
    ck_assert_int_eq(why != NULL, names[_i].why != NULL);
    ck_assert(why == NULL || strstr(why, names[_i].why) != NULL);
    ck_assert(why == NULL || zd_codec_find(names[_i].codec) == NULL);
}
END_TEST

/* Even one that says it need not be understood: it is known that it must be. */
static const char *const chains[] = {
    "['bytes','numcodecs.pickle']",
    "['bytes',{'name':'pickle','must_understand':false}]",
    "['numcodecs.pcodec']",
    "[{'name':'numcodecs.pcodec','configuration':{'level':8},'must_understand':false},'bytes']",
    "['bytes','zarrs.gdeflate']",
    "[{'name':'zarrs.squeeze','must_understand':false},'bytes']",
};

START_TEST(refusal_shows_in_the_faults_of_a_chain)
{
    const struct zd_unit_chain what = {
        .codecs = chains[_i], .dtype = "uint8", .rank = 1, .shape = {8}};
    struct zd_chain *chain = NULL;
    struct zd_faults faults = {0};
    ck_assert_int_eq(zd_unit_chain_open(&what, &chain, &faults), ZD_UNSUPPORTED);
    ck_assert_uint_eq(faults.n_items, 1);
    ck_assert_str_eq(faults.item[0].code, "unsupported_codec");
    const char *why = zd_refusal_find(faults.item[0].name);
    ck_assert_msg(strstr(faults.item[0].detail, why) != NULL, "%s", faults.item[0].detail);
    zd_faults_done(&faults);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, refusal_knows_every_spelling, 0, ZD_COUNT_OF(names));
    tcase_add_loop_test(tests, refusal_shows_in_the_faults_of_a_chain, 0, ZD_COUNT_OF(chains));
}
