/* The schemas that /v1/extensions serves say what the codecs accept. */
#include <string.h>

#include "core/base/json_schema.h"
#include "tests/support/codec.h"
#include "tests/support/unit.h"

#define BYTES                   "{'name':'bytes','configuration':{'endian':'little'}}"
#define OF(name, configuration) "[" BYTES ",{'name':'" name "','configuration':" configuration "}]"
#define FIRST(name, configuration)                                                                 \
    "[{'name':'" name "','configuration':" configuration "}," BYTES "]"
#define SHARD(configuration) "[{'name':'sharding_indexed','configuration':" configuration "}]"
#define N5(configuration)    "[{'name':'n5_default','configuration':" configuration "}]"
#define REVERSAL             "{'name':'transpose','configuration':{'order':[1,0]}}"
#define BIG                  "{'name':'bytes','configuration':{'endian':'big'}}"
#define SHARDED              ",'codecs':[" BYTES "],'index_codecs':[" BYTES "]"

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
    {"[{'name':'numcodecs.delta','configuration':{'dtype':'<i2'}}," BYTES "]", false},
    {"[{'name':'numcodecs.delta','configuration':{'dtype':'<i2','astype':'|i1'}}," BYTES "]",
        false},
    {"[{'name':'numcodecs.delta','configuration':{'dtype':'<i4'}}," BYTES "]", true},
    {"[{'name':'numcodecs.delta','configuration':{'dtype':2}}," BYTES "]", false},
    {"[{'name':'numcodecs.delta','configuration':{'astype':'<i2'}}," BYTES "]", false},
    {OF("numcodecs.adler32", "{'location':'end'}"), false},
    {OF("numcodecs.adler32", "{'x':1}"), false},
    {OF("numcodecs.crc32", "{}"), false},
    {OF("numcodecs.crc32", "{'location':'start'}"), false},
    {OF("numcodecs.crc32", "{'location':'middle'}"), false},
    {OF("numcodecs.crc32", "{'location':0}"), false},
    {OF("numcodecs.fletcher32", "{}"), false},
    {OF("numcodecs.fletcher32", "{'location':'end'}"), false},
    {OF("numcodecs.jenkins_lookup3", "{'initval':4294967295,'prefix':null}"), false},
    {OF("numcodecs.jenkins_lookup3", "{'initval':4294967296}"), false},
    {OF("numcodecs.jenkins_lookup3", "{'initval':-1}"), false},
    {OF("numcodecs.jenkins_lookup3", "{'prefix':[1,2]}"), false},
    {OF("numcodecs.jenkins_lookup3", "{'location':'end'}"), false},
    {OF("numcodecs.base64", "{}"), false},
    {OF("numcodecs.base64", "{'x':1}"), false},
    {OF("numcodecs.blosc", "{}"), false},
    {OF("numcodecs.blosc", "{'cname':'zstd','clevel':9,'shuffle':-1,'blocksize':65536}"), false},
    {OF("numcodecs.blosc", "{'shuffle':2,'typesize':4}"), false},
    {OF("numcodecs.blosc", "{'shuffle':3}"), false},
    {OF("numcodecs.blosc", "{'shuffle':'BIT'}"), false}, /* GDAL's, which is read */
    {OF("numcodecs.blosc", "{'shuffle':'shuffle'}"), false},
    {OF("numcodecs.blosc", "{'cname':'lzma'}"), false},
    {OF("numcodecs.blosc", "{'clevel':10}"), false},
    {OF("numcodecs.blosc", "{'typesize':0}"), false},
    {OF("numcodecs.blosc", "{'blocksize':-1}"), false},
    {OF("numcodecs.blosc", "{'nthreads':1}"), false},
    {OF("numcodecs.gzip", "{}"), false},
    {OF("numcodecs.gzip", "{'level':-1}"), false},
    {OF("numcodecs.gzip", "{'level':10}"), false},
    {OF("numcodecs.gzip", "{'level':null}"), false},
    {OF("numcodecs.zstd", "{}"), false},
    {OF("numcodecs.zstd", "{'level':-7,'checksum':true}"), false},
    {OF("numcodecs.zstd", "{'level':23}"), false},
    {OF("numcodecs.zstd", "{'checksum':1}"), false},
    {OF("numcodecs.crc32c", "{}"), false},
    {OF("numcodecs.crc32c", "{'location':'start'}"), false},
    {OF("numcodecs.crc32c", "{'location':'middle'}"), false},
    {OF("numcodecs.bz2", "{'level':9}"), false},
    {OF("numcodecs.bz2", "{'level':0}"), false},
    {OF("numcodecs.bz2", "{'level':10}"), false},
    {OF("numcodecs.bz2", "{'level':null}"), false},
    {OF("numcodecs.bz2", "{}"), false},
    {OF("numcodecs.bz2", "{'x':1}"), false},
    {OF("numcodecs.lzma", "{}"), false},
    {OF("numcodecs.lzma", "{'format':1,'check':-1,'preset':2147483657,'filters':null}"), false},
    {OF("numcodecs.lzma", "{'format':2,'check':0,'preset':null}"), false},
    {OF("numcodecs.lzma", "{'format':3,'filters':[{'id':3,'dist':256},{'id':33,'lc':4}]}"), false},
    {OF("numcodecs.lzma", "{'filters':[{'id':9,'start_offset':4},{'id':33,'mf':20}]}"), false},
    {OF("numcodecs.lzma", "{'format':4}"), false},
    {OF("numcodecs.lzma", "{'check':2}"), false},
    {OF("numcodecs.lzma", "{'preset':10}"), false},
    {OF("numcodecs.lzma", "{'preset':'1'}"), false},
    {OF("numcodecs.lzma", "{'filters':[]}"), false},
    {OF("numcodecs.lzma", "{'filters':[{'id':2}]}"), false},
    {OF("numcodecs.lzma", "{'filters':[{'id':33,'lc':5}]}"), false},
    {OF("numcodecs.lzma", "{'filters':[{'id':33,'mf':5}]}"), false},
    {OF("numcodecs.lzma", "{'filters':[{'id':33,'nice_len':1}]}"), false},
    {OF("numcodecs.lzma", "{'filters':[{'id':33,'x':1}]}"), false},
    {OF("numcodecs.lzma", "{'filters':[{'dist':1}]}"), false},
    {OF("numcodecs.lzma", "{'id':'lzma'}"), false},
    {OF("numcodecs.lzma", "{'format':3}"), true},           /* needs filters */
    {OF("numcodecs.lzma", "{'filters':[{'id':3}]}"), true}, /* not the last one */
    {OF("numcodecs.lzma", "{'filters':[{'id':33,'lc':3,'lp':2}]}"), true},
    {OF("numcodecs.lz4", "{'acceleration':-5}"), false},
    {OF("numcodecs.lz4", "{'acceleration':2147483648}"), false},
    {OF("numcodecs.lz4", "{'acceleration':'1'}"), false},
    {OF("numcodecs.lz4", "{}"), false},
    {OF("numcodecs.lz4", "{'level':1}"), false},
    {OF("numcodecs.shuffle", "{'elementsize':2}"), false},
    {OF("numcodecs.shuffle", "{'elementsize':0}"), false},
    {OF("numcodecs.shuffle", "{'elementsize':'2'}"), false},
    {OF("numcodecs.shuffle", "{'x':2}"), false},
    {OF("numcodecs.zlib", "{'level':-1}"), false},
    {OF("numcodecs.zlib", "{'level':9}"), false},
    {OF("numcodecs.zlib", "{'level':10}"), false},
    {OF("numcodecs.zlib", "{'level':1.5}"), false},
    {OF("numcodecs.zlib", "{}"), false},
    {OF("numcodecs.zlib", "{'id':'zlib'}"), false},
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
    {FIRST("numcodecs.fixedscaleoffset", "{'offset':1,'scale':2.5,'dtype':'<i2','astype':'|u1'}"),
        false},
    {FIRST("numcodecs.fixedscaleoffset", "{'offset':1,'scale':'2','dtype':'<i2'}"), false},
    {FIRST("numcodecs.fixedscaleoffset", "{'offset':1,'scale':0,'dtype':'<i2'}"), true},
    {FIRST("numcodecs.fixedscaleoffset", "{'offset':1,'dtype':'<i2'}"), false},
    {FIRST("numcodecs.quantize", "{'digits':2,'dtype':'<f4'}"), true},
    {FIRST("numcodecs.quantize", "{'digits':301,'dtype':'<i2'}"), false},
    {FIRST("numcodecs.quantize", "{'digits':2}"), false},
    {FIRST("numcodecs.astype", "{'encode_dtype':'|u1','decode_dtype':'<i2'}"), false},
    {FIRST("numcodecs.astype", "{'encode_dtype':'|u1','decode_dtype':'<i4'}"), true},
    {FIRST("numcodecs.astype", "{'encode_dtype':'|u1'}"), false},
    {FIRST("numcodecs.astype", "{'encode_dtype':1,'decode_dtype':'<i2'}"), false},
    {"[{'name':'zfp','configuration':{'mode':'fixed_rate','rate':8}}]", false},
    {"[{'name':'zfp','configuration':{'mode':'fixed_rate'}}]", true},
    {"[{'name':'zfp','configuration':{'mode':'fixed_rate','rate':129}}]", false},
    {"[{'name':'zfp','configuration':{'mode':'best'}}]", false},
    {"[{'name':'zfp','configuration':{}}]", false},
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':5}}]", true}, /* not of int16 */
    {"[{'name':'numcodecs.zfpy','configuration':{'mode':6}}]", false},
    {FIRST("bitround", "{'keepbits':16}"), false},
    {FIRST("bitround", "{'keepbits':0}"), false},
    {FIRST("bitround", "{'keepbits':65}"), false},
    {FIRST("bitround", "{}"), false},
    {FIRST("numcodecs.packbits", "{}"), true}, /* of bool only */
    {FIRST("numcodecs.packbits", "{'x':1}"), false},
    {"[{'name':'packbits','configuration':{'padding_encoding':'none','first_bit':null}}]", false},
    {"[{'name':'packbits','configuration':{'first_bit':3,'last_bit':15}}]", false},
    {"[{'name':'packbits','configuration':{'first_bit':3,'last_bit':2}}]", true},
    {"[{'name':'packbits','configuration':{'last_bit':64}}]", false},
    {"[{'name':'packbits','configuration':{'padding_encoding':'start_byte'}}]", false},
    {"[{'name':'packbits','configuration':{'start_bit':0}}]", false},
    {FIRST("reshape", "{'shape':[[0],-1]}"), false},
    {FIRST("reshape", "{'shape':[15]}"), true},
    {FIRST("reshape", "{'shape':16}"), false},
    {FIRST("reshape", "{}"), false},
    {FIRST("scale_offset", "{}"), false},
    {FIRST("scale_offset", "{'offset':5,'scale':-2}"), false},
    {FIRST("scale_offset", "{'scale':0}"), true},
    {FIRST("scale_offset", "{'scale':null}"), false},
    {FIRST("scale_offset", "{'dtype':'int16'}"), false},
    {FIRST("cast_value", "{'data_type':'uint16','rounding':'towards-zero','out_of_range':'wrap'}"),
        false},
    {FIRST("cast_value", "{'data_type':'int8','scalar_map':{'encode':[[300,0]],'decode':[]}}"),
        false},
    {FIRST("cast_value", "{'data_type':'int8','scalar_map':{'encode':[[3]]}}"), true},
    {FIRST("cast_value", "{'data_type':'int8','scalar_map':{'x':[]}}"), false},
    {FIRST("cast_value", "{'data_type':'float32','out_of_range':'wrap'}"), true},
    {FIRST("cast_value", "{'data_type':'int8','out_of_range':'error'}"), false},
    {FIRST("cast_value", "{'data_type':'int8','rounding':'up'}"), false},
    {FIRST("cast_value", "{'data_type':8}"), false},
    {FIRST("cast_value", "{}"), false},
    {N5("{'codecs':[" REVERSAL "," BIG "]}"), false},
    {N5("{'codecs':[" REVERSAL "," BIG "],'x':1}"), false},
    {N5("{'codecs':" BIG "}"), false},
    {N5("{}"), false},
    {N5("{'codecs':[" BIG "]}"), true}, /* without the transpose */
    {OF("conditional", "{'codecs':['crc32c'],'header_bits':16}"), false},
    {OF("conditional", "{'codecs':['crc32c'],'header_bits':12}"), true},
    {OF("conditional", "{'codecs':[],'header_bits':65544}"), false},
    {OF("conditional", "{'codecs':[" BYTES "]}"), true},
    {OF("conditional", "{'codecs':'crc32c'}"), false},
    {OF("conditional", "{}"), false},
    {"[{'name':'numcodecs.vlen-array','configuration':{'dtype':'<i4'}}]", true}, /* not of int16 */
    {"[{'name':'numcodecs.vlen-array','configuration':{'dtype':4}}]", false},
    {"[{'name':'numcodecs.vlen-array','configuration':{}}]", false},
    {OF("n5.lz4", "{}"), false},
    {OF("n5.lz4", "{'blockSize':65536}"), false},
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
