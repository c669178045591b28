/* The codec scale_offset. */
#include <string.h>

#include "tests/support/codec.h"

#define LITTLE "{'name':'bytes','configuration':{'endian':'little'}}"
#define CODECS "[{'name':'scale_offset','configuration':%s}," LITTLE "]"

/* Elements, what is stored, and what is read again where that is not the same: NumPy in that type.
 */
static const struct {
    const char *configuration;
    const char *dtype;
    uint64_t n;
    const char *decoded;
    const char *encoded;
    const char *again;
} facts[] = {
    {"{'offset':5.0,'scale':0.1}", "float64", 5,
        "00000000000014400000000000001d40000000205fa002c2000000000000f87f000000000000f07f",
        "0000000000000000cdcccccccccccc3f0000400065cdcdc1000000000000f87f000000000000f07f", NULL},
    {"{'offset':-200.0,'scale':100.0}", "float32", 4, "52b87a41666620c2caf24971d00f4940",
        "007ea846ffd77946aec59d7451b49e46", "50b87a41686620c2caf24971c00f4940"},
    {"{'offset':0.1,'scale':3}", "float16", 3, "003e80c04056", "34440cc7ae5c", "013e80c03f56"},
    {"{}", "float64", 1, "000000000000f83f", "000000000000f83f", NULL},
    {"{'offset':1.5}", "float32", 2, "0000c03fcdcc2c40", "000000009a99993f", NULL},
    {"{'scale':0.3}", "float32", 2, "0000c03fcdcc2c40", "6766e63e2a5c4f3f", NULL},
    {"{'offset':-7,'scale':3}", "int32", 4, "00000000f9ffffff6400000018fcffff",
        "1500000000000000410100005df4ffff", NULL},
    {"{'offset':10,'scale':5}", "uint8", 3, "0a3d0c", "00ff0a", NULL},
    {"{'offset':4611686018427387904,'scale':-1}", "int64", 3,
        "0500000000000040ffffffffffffffff0000000000000040",
        "fbffffffffffffff01000000000000400000000000000000", NULL},
    {"{'offset':-128,'scale':1}", "int8", 2, "80ff", "007f", NULL},
    {"{'offset':1,'scale':2}", "uint64", 2, "00000000000000800100000000000000",
        "feffffffffffffff0000000000000000", NULL},
    {"{'scale':-2}", "int16", 3, "030080c10000", "faff007d0000", NULL},
};

START_TEST(scale_offset_computes_in_the_type_of_the_elements)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, facts[_i].configuration);
    struct zd_buf *fill = zd_unit_hex(facts[_i].decoded); /* the first element */
    zd_unit_check_coding(&(struct zd_unit_coding){.codecs = codecs.at,
        .dtype = facts[_i].dtype,
        .rank = 1,
        .shape = {facts[_i].n},
        .fill = fill->data,
        .decoded = facts[_i].decoded,
        .encoded = facts[_i].encoded,
        .again = facts[_i].again});
    zd_buf_unref(fill);
}
END_TEST

/* Configurations for an array of int16 whose fill value is 0. */
static const struct {
    const char *configuration;
    const char *findings; /* or "": none */
} judged[] = {
    {"{}", ""},
    {"{'offset':5,'scale':-2}", ""},
    {"{'scale':0}", "invalid out_of_range /codecs/0/configuration/scale"},
    {"{'scale':1.5}", "invalid out_of_range /codecs/0/configuration/scale"},
    {"{'offset':32768}", "invalid out_of_range /codecs/0/configuration/offset"},
    {"{'offset':'NaN'}", "invalid out_of_range /codecs/0/configuration/offset"},
    {"{'offset':-20000,'scale':2}", "invalid bad_fill_value /codecs/0"},
    {"{'dtype':'int16'}", "invalid unknown_member /codecs/0/configuration/dtype"},
};

START_TEST(scale_offset_can_be_undone_or_is_refused)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, judged[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = "int16", .rank = 2, .shape = {3, 4}};
    zd_unit_check_judged(&what, judged[_i].findings);
}
END_TEST

static const struct {
    const char *dtype;
    const char *configuration;
    const char *findings;
} typed[] = {
    {"float32", "{'offset':'NaN'}", "invalid out_of_range /codecs/0/configuration/offset"},
    {"float32", "{'scale':'Infinity'}", "invalid out_of_range /codecs/0/configuration/scale"},
    {"float32", "{'scale':-0.0}", "invalid out_of_range /codecs/0/configuration/scale"},
    {"float16", "{'scale':1e-9}",
        "invalid out_of_range /codecs/0/configuration/scale"}, /* is 0 as float16 */
    {"float32", "{'offset':'0x3fc00000'}", ""},
    {"bool", "{}", "invalid wrong_type /codecs/0"},
    {"complex64", "{}", "invalid wrong_type /codecs/0"},
    {"r16", "{}", "invalid wrong_type /codecs/0"},
};

START_TEST(scale_offset_wants_numbers_of_the_type)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, typed[_i].configuration);
    const struct zd_unit_chain what = {
        .codecs = codecs.at, .dtype = typed[_i].dtype, .rank = 1, .shape = {3}};
    zd_unit_check_judged(&what, typed[_i].findings);
}
END_TEST

/* Values that cannot be stored, and stored bytes that no writer of ours makes. */
static const struct {
    const char *configuration;
    const char *dtype;
    const char *decoded; /* an element that is refused; or NULL */
    const char *encoded; /* a stored one that is corrupt; or NULL */
    const char *text;
    uint64_t fill;
} refused[] = {
    {"{'offset':-7,'scale':3}", "int32", NULL, "01000000", "element 0", 0},
    {"{'scale':3}", "int32", "00000040", NULL, "element 0 has a result that int32 cannot represent",
        0},
    {"{'offset':5}", "uint8", "04", NULL, "uint8", 5},
    {"{'offset':5}", "uint8", NULL, "fb", "uint8", 5},
    {"{'scale':-1}", "int64", "0000000000000080", NULL, "int64", 0},
    {"{'scale':-1}", "int64", NULL, "0000000000000080", "int64", 0},
    {"{'scale':-1}", "int8", NULL, "80", "int8", 0},
    {"{'scale':1e10}", "float32", "caf24971", NULL, "float32", 0},
    {"{'scale':1e-10}", "float32", NULL, "caf24971", "float32", 0},
    {"{'scale':0.0001}", "float16", NULL, "4056", "float16", 0},
    {"{'offset':-1e308}", "float64", "f0ace1486db3ea7f", NULL, "float64", 0},
    {"{'scale':5}", "uint64", "0000000000000040", NULL, "uint64", 0},
    {"{'offset':9223372036854775807}", "int64", "feffffffffffffff", NULL, "int64", 0},
};

static enum zd_status code_one(int i, const struct zd_chain *chain, struct zd_error *err)
{
    struct zd_buf *made = NULL;
    const bool encodes = refused[i].decoded != NULL;
    struct zd_buf *given = zd_unit_hex(encodes ? refused[i].decoded : refused[i].encoded);
    const enum zd_status status = encodes ? zd_chain_encode(chain, given, &made, err)
                                          : zd_chain_decode(chain, given, &made, err);
    zd_buf_unref(given);
    zd_buf_unref(made);
    return status;
}

START_TEST(scale_offset_refuses_what_has_no_place)
{
    ZD_SCOPED_TEXT(codecs, 300);
    zd_text_addf(&codecs, CODECS, refused[_i].configuration);
    const struct zd_unit_chain what = {.codecs = codecs.at,
        .dtype = refused[_i].dtype,
        .rank = 1,
        .shape = {1},
        .fill = &refused[_i].fill};
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_error err = {0};
    const enum zd_status expected = refused[_i].decoded != NULL ? ZD_INVALID : ZD_CORRUPT;
    ck_assert_int_eq(code_one(_i, chain, &err), expected);
    ck_assert_msg(strstr(err.text, refused[_i].text) != NULL, "%s", err.text);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, scale_offset_computes_in_the_type_of_the_elements, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, scale_offset_can_be_undone_or_is_refused, 0, ZD_COUNT_OF(judged));
    tcase_add_loop_test(tests, scale_offset_wants_numbers_of_the_type, 0, ZD_COUNT_OF(typed));
    tcase_add_loop_test(tests, scale_offset_refuses_what_has_no_place, 0, ZD_COUNT_OF(refused));
}
