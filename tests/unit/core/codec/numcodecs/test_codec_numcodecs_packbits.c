/* The codec packbits of numcodecs. */
#include "tests/support/codec.h"

#define CODECS "[{'name':'numcodecs.packbits','configuration':{}},'bytes']"

/* Made by numcodecs 0.16.5: booleans, and their bits behind the number that pads the last byte. */
static const struct {
    uint64_t n;
    const char *decoded;
    const char *encoded;
} facts[] = {
    {10, "01000101000000000101", "06b0c0"},
    {1, "01", "0780"},
    {8, "0100010100000100", "00b2"},
    {9, "000000000000000001", "070080"},
    {24, "000101000101000101000101000101000101000101000101", "006db6db"},
};

START_TEST(numcodecs_packbits_begins_with_the_padding)
{
    zd_unit_check_coding(&(struct zd_unit_coding){.codecs = CODECS,
        .dtype = "bool",
        .rank = 1,
        .shape = {facts[_i].n},
        .decoded = facts[_i].decoded,
        .encoded = facts[_i].encoded});
}
END_TEST

/* Damaged chunks of 10 booleans. */
static const struct {
    const char *encoded;
    const char *text;
} damaged[] = {
    {"07b0c0", "7 bits of padding, expected 6"},
    {"00b0c0", "0 bits of padding"},
    {"ffb0c0", "255 bits of padding"},
    {"06b0", "2 bytes decoded, 3 expected"},
    {"06b0c000", "4 bytes decoded, 3 expected"},
    {"", "0 bytes decoded, 3 expected"},
};

START_TEST(numcodecs_packbits_refuses_damage)
{
    const struct zd_unit_chain what = {
        .codecs = CODECS, .dtype = "bool", .rank = 2, .shape = {2, 5}};
    zd_unit_check_corrupt(&what, damaged[_i].encoded, damaged[_i].text);
}
END_TEST

static const struct {
    const char *dtype;
    const char *codecs;
    const char *findings;
} judged[] = {
    {"bool", "['numcodecs.packbits','bytes']", ""},
    /* The codec makes an array of bytes. */
    {"bool", "['numcodecs.packbits',{'name':'transpose','configuration':{'order':[0]}},'bytes']",
        ""},
    {"bool",
        "['numcodecs.packbits',{'name':'numcodecs.delta','configuration':{'dtype':'|u1'}},'bytes']",
        ""},
    {"bool", "['numcodecs.packbits','numcodecs.packbits','bytes']", "invalid wrong_type /codecs/1"},
    {"uint8", "['numcodecs.packbits','bytes']", "invalid wrong_type /codecs/0"},
    {"bool", "[{'name':'numcodecs.packbits','configuration':{'x':1}},'bytes']",
        "invalid unknown_member /codecs/0/configuration/x"},
};

START_TEST(numcodecs_packbits_takes_booleans)
{
    const struct zd_unit_chain what = {
        .codecs = judged[_i].codecs, .dtype = judged[_i].dtype, .rank = 2, .shape = {3, 4}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, numcodecs_packbits_begins_with_the_padding, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, numcodecs_packbits_refuses_damage, 0, ZD_COUNT_OF(damaged));
    tcase_add_loop_test(tests, numcodecs_packbits_takes_booleans, 0, ZD_COUNT_OF(judged));
}
