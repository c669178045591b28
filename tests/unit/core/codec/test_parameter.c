/* Judging configurations, member by member. */
#include "core/codec/parameter.h"

#include <string.h>

#include "tests/support/codec.h"

static const char *const words[] = {"red", "green", NULL};
static const char *const names[] = {"level", "colour", "flag", "list", NULL};

/* Each configuration is read whole; what is faulty is named, all of it. */
static const struct {
    const char *configuration; /* NULL: absent */
    const char *faults;
} judged[] = {
    {"{'level':-3,'colour':'green','flag':false,'list':[]}", ""},
    {"{'level':7,'colour':'red','flag':true,'list':[1]}", ""},
    {"{'level':8,'colour':'red','flag':true,'list':[]}",
        "invalid out_of_range /c/configuration/level"},
    {"{'level':-4,'colour':'red','flag':true,'list':[]}",
        "invalid out_of_range /c/configuration/level"},
    {"{'level':18446744073709551615,'colour':'red','flag':true,'list':[]}",
        "invalid out_of_range /c/configuration/level"},
    /* past 64 bits, it is no integer any more */
    {"{'level':18446744073709551616,'colour':'red','flag':true,'list':[]}",
        "invalid wrong_type /c/configuration/level"},
    {"{'level':1.0,'colour':'Red','flag':0,'list':{}}",
        "invalid wrong_type /c/configuration/level; invalid out_of_range /c/configuration/colour; "
        "invalid wrong_type /c/configuration/flag; invalid wrong_type /c/configuration/list"},
    {"{'level':'1','colour':1,'flag':null,'list':null,'more~/':1}",
        "invalid unknown_member /c/configuration/more~0~1; "
        "invalid wrong_type /c/configuration/level; invalid wrong_type /c/configuration/colour; "
        "invalid wrong_type /c/configuration/flag; invalid wrong_type /c/configuration/list"},
    {NULL, "invalid missing_member /c/configuration/level; invalid missing_member "
           "/c/configuration/colour; invalid missing_member /c/configuration/flag; "
           "invalid missing_member /c/configuration/list"},
};

START_TEST(parameter_finds_every_fault_of_a_configuration)
{
    const char *text = judged[_i].configuration;
    struct zd_json *json = text == NULL ? NULL : zd_unit_json(text);
    const struct zd_codec_config config = {.configuration = json, .at = {.text = "/c"}};
    struct zd_faults faults = {0};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, "x1", &config, names, &faults);
    int64_t level = 100;
    uint32_t colour = 100;
    bool flag = false;
    const bool has_level = zd_parameter_i64(&parameters, "level", -3, 7, &level);
    const bool has_colour = zd_parameter_choice(&parameters, "colour", words, &colour);
    (void)zd_parameter_bool(&parameters, "flag", &flag);
    (void)zd_parameter_array(&parameters, "list");
    char *found = zd_unit_faults(&faults);
    ck_assert_str_eq(found, judged[_i].faults);
    const bool is_good = judged[_i].faults[0] == '\0';
    ck_assert_int_eq(zd_parameters_status(&parameters), is_good ? ZD_OK : ZD_INVALID);
    ck_assert(has_level == (level != 100)); /* untouched on failure */
    ck_assert(has_colour == (colour != 100));
    zd_free(found);
    zd_faults_done(&faults);
    zd_json_unref(json);
}
END_TEST

START_TEST(parameter_shows_what_it_found_when_that_is_short)
{
    struct zd_json *json = zd_unit_json("{'level':[1,'two'],'colour':'"
                                        "0123456789012345678901234567890123456789"
                                        "0123456789012345678901234567890123456789"
                                        "0123456789012345678901234567890123456789'}");
    const struct zd_codec_config config = {.configuration = json};
    struct zd_faults faults = {0};
    struct zd_parameters parameters;
    zd_parameters_init(&parameters, "x1", &config, names, &faults);
    int64_t level;
    uint32_t colour;
    ck_assert(!zd_parameter_i64(&parameters, "level", 0, 9, &level));
    ck_assert(!zd_parameter_choice(&parameters, "colour", words, &colour));
    ck_assert_str_eq(faults.item[0].found, "[1,\"two\"]");
    ck_assert_str_eq(faults.item[0].expected, "an integer from 0 to 9");
    ck_assert_str_eq(faults.item[0].detail, "level of x1 must be an integer from 0 to 9");
    ck_assert_str_eq(faults.item[1].found, "a string");
    ck_assert_str_eq(faults.item[1].expected, "one of red, green");
    zd_faults_done(&faults);
    zd_json_unref(json);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(
        tests, parameter_finds_every_fault_of_a_configuration, 0, ZD_COUNT_OF(judged));
    tcase_add_test(tests, parameter_shows_what_it_found_when_that_is_short);
}
