/* The schemas that /v1/extensions serves say what the codecs accept. */
#include <string.h>

#include "core/base/json_schema.h"
#include "tests/support/codec.h"
#include "tests/support/unit.h"

#define BYTES                   "{'name':'bytes','configuration':{'endian':'little'}}"
#define OF(name, configuration) "[" BYTES ",{'name':'" name "','configuration':" configuration "}]"
#define SHARD(configuration)    "[{'name':'sharding_indexed','configuration':" configuration "}]"
#define SHARDED                 ",'codecs':[" BYTES "],'index_codecs':[" BYTES "]"

static const struct fact {
    const char *codecs;
    bool is_beyond; /* depends on the array: no schema can say it */
} facts[] = {
    {"[" BYTES "]", false},
    {"[{'name':'bytes','configuration':{'endian':'big'}}]", false},
    {"[{'name':'bytes','configuration':{'endian':'middle'}}]", false},
    {"[{'name':'bytes','configuration':{'endian':1}}]", false},
    {"[{'name':'bytes','configuration':{}}]", true}, /* needed by wide elements only */
    {"[{'name':'bytes','configuration':{'endian':'big','x':1}}]", false},
    {OF("crc32c", "{}"), false},
    {OF("crc32c", "{'x':1}"), false},
    {OF("gzip", "{'level':0}"), false},
    {OF("gzip", "{'level':9}"), false},
    {OF("gzip", "{'level':10}"), false},
    {OF("gzip", "{'level':-1}"), false},
    {OF("gzip", "{'level':5.0}"), false},
    {OF("gzip", "{'level':'5'}"), false},
    {OF("gzip", "{}"), false},
    {OF("gzip", "{'level':5,'x':1}"), false},
    {OF("zstd", "{'level':3,'checksum':true}"), false},
    {OF("zstd", "{'level':-131072,'checksum':false}"), false},
    {OF("zstd", "{'level':-131073,'checksum':false}"), false},
    {OF("zstd", "{'level':23,'checksum':false}"), false},
    {OF("zstd", "{'level':3,'checksum':1}"), false},
    {OF("zstd", "{'checksum':true}"), false},
    {OF("blosc", "{'cname':'lz4','clevel':5,'shuffle':'shuffle','typesize':2,'blocksize':0}"),
        false},
    {OF("blosc", "{'cname':'zstd','clevel':9,'shuffle':'noshuffle','blocksize':0}"), false},
    {OF("blosc", "{'cname':'lz4','clevel':5,'shuffle':'shuffle','blocksize':0}"), false},
    {OF("blosc", "{'cname':'lz4','clevel':5,'shuffle':1,'typesize':2,'blocksize':0}"), false},
    {OF("blosc", "{'cname':'lzma','clevel':5,'shuffle':'noshuffle','blocksize':0}"), false},
    {OF("blosc", "{'cname':'lz4','clevel':10,'shuffle':'noshuffle','blocksize':0}"), false},
    {OF("blosc", "{'cname':'lz4','clevel':5,'shuffle':'noshuffle','typesize':0,'blocksize':0}"),
        false},
    {OF("blosc", "{'cname':'lz4','clevel':5,'shuffle':'noshuffle','blocksize':-1}"), false},
    {OF("blosc", "{'clevel':5,'shuffle':'noshuffle','blocksize':0}"), false},
    {"[{'name':'transpose','configuration':{'order':[1,0]}}," BYTES "]", false},
    {"[{'name':'transpose','configuration':{'order':[1,1]}}," BYTES "]", false},
    {"[{'name':'transpose','configuration':{'order':[-1,0]}}," BYTES "]", false},
    {"[{'name':'transpose','configuration':{'order':'F'}}," BYTES "]", false},
    {"[{'name':'transpose','configuration':{}}," BYTES "]", false},
    {"[{'name':'transpose','configuration':{'order':[0]}}," BYTES "]", true},
    {"[{'name':'transpose','configuration':{'order':[0,2]}}," BYTES "]", true},
    {SHARD("{'chunk_shape':[2,2]" SHARDED "}"), false},
    {SHARD("{'chunk_shape':[2,2]" SHARDED ",'index_location':'start'}"), false},
    {SHARD("{'chunk_shape':[2,2]" SHARDED ",'index_location':'middle'}"), false},
    {SHARD("{'chunk_shape':[2,0]" SHARDED "}"), false},
    {SHARD("{'chunk_shape':[2,'2']" SHARDED "}"), false},
    {SHARD("{'chunk_shape':[2,3]" SHARDED "}"), true}, /* does not divide */
    {SHARD("{'chunk_shape':[2,2],'codecs':[" BYTES "]}"), false},
    {SHARD("{'chunk_shape':[2,2],'codecs':5,'index_codecs':[" BYTES "]}"), false},
    {SHARD("{'chunk_shape':[2,2]" SHARDED ",'x':1}"), false},
};

static bool pass_schemas(const struct zd_json *codecs)
{
    struct zd_faults faults = {0};
    const struct zd_pointer at = {.text = ""};
    bool passes = true;
    for (size_t i = 0; i < zd_json_count(codecs); i++) {
        const struct zd_json *entry = zd_json_element(codecs, i);
        const char *name = zd_json_string(zd_json_member(entry, "name"));
        const struct zd_codec *codec = zd_codec_find(name);
        ck_assert_ptr_nonnull(codec->schema);
        passes = zd_json_schema_check(codec->schema, zd_json_member(entry, "configuration"), &at,
                     name, &faults) == ZD_OK &&
                 passes;
    }
    zd_faults_done(&faults);
    return passes;
}

START_TEST(schema_and_codec_are_of_one_mind)
{
    const struct fact *fact = &facts[_i];
    struct zd_chain *chain = NULL;
    struct zd_faults faults = {0};
    ZD_AUTO(zd_json) codecs = zd_unit_json(fact->codecs);
    const struct zd_unit_chain what = {
        .codecs = fact->codecs,
        .dtype = "int16",
        .rank = 2,
        .shape = {4, 4},
        .judgement = ZD_JUDGE_WRITE,
    };
    const bool opens = zd_unit_chain_open(&what, &chain, &faults) == ZD_OK;
    ck_assert_msg(
        pass_schemas(codecs) == (opens || fact->is_beyond), "%s: opens %d", fact->codecs, opens);
    ck_assert_msg(!fact->is_beyond || !opens, "%s", fact->codecs);
    zd_chain_unref(chain);
    zd_faults_done(&faults);
}
END_TEST

START_TEST(every_codec_has_a_schema_that_is_json)
{
    for (size_t i = 0; zd_codecs[i] != NULL; i++) {
        struct zd_faults faults = {0};
        const struct zd_pointer at = {.text = ""};
        ZD_AUTO(zd_json) list = zd_unit_json("[]");
        ck_assert_int_eq(
            zd_json_schema_check(zd_codecs[i]->schema, list, &at, zd_codecs[i]->name, &faults),
            ZD_INVALID);
        zd_faults_done(&faults);
    }
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, schema_and_codec_are_of_one_mind, 0, ZD_COUNT_OF(facts));
    tcase_add_test(tests, every_codec_has_a_schema_that_is_json);
}
