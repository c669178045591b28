/* The codec reshape. */
#include <string.h>

#include "tests/support/codec.h"

static const struct {
    uint32_t rank;
    uint64_t shape[4];
    const char *configuration;
    const char *findings; /* or "": none */
    const char *encoded_shape;
} facts[] = {
    {4, {100, 50, 64, 3}, "{'shape':[[0,1],[2],3]}", "", "5000,64,3"}, /* the registry's example */
    {3, {4, 6, 5}, "{'shape':[6,-1]}", "", "6,20"},
    {3, {4, 6, 5}, "{'shape':[120]}", "", "120"},
    {3, {4, 6, 5}, "{'shape':[-1]}", "", "120"},
    {3, {4, 6, 5}, "{'shape':[2,2,[1],[],[2]]}", "", "2,2,6,1,5"},
    {3, {4, 6, 5}, "{'shape':[[0],-1]}", "", "4,30"},
    {3, {4, 1, 5}, "{'shape':[[0,2]]}", "", "20"},
    {0, {0}, "{'shape':[]}", "", ""},
    {0, {0}, "{'shape':[1,-1,[]]}", "", "1,1,1"},
    {1, {7}, "{'shape':[]}", "invalid out_of_range /codecs/0/configuration/shape", NULL},
    {3, {4, 6, 5}, "{'shape':[[1],[0],[2]]}",
        "invalid out_of_range /codecs/0/configuration/shape/1/0", NULL},
    {3, {4, 6, 5}, "{'shape':[[0,0],-1]}", "invalid out_of_range /codecs/0/configuration/shape/0/1",
        NULL},
    {3, {4, 6, 5}, "{'shape':[-1,-1]}", "invalid duplicate /codecs/0/configuration/shape/1", NULL},
    {3, {4, 6, 5}, "{'shape':[119]}", "invalid out_of_range /codecs/0/configuration/shape", NULL},
    {3, {4, 6, 5}, "{'shape':[7,-1]}", "invalid out_of_range /codecs/0/configuration/shape", NULL},
    {3, {4, 6, 5}, "{'shape':[4294967296,4294967296,120]}",
        "invalid out_of_range /codecs/0/configuration/shape", NULL},
    {3, {4, 6, 5}, "{'shape':[18446744073709551615,2,-1]}",
        "invalid out_of_range /codecs/0/configuration/shape", NULL},
    /* No genuine group: the elements of dimension 1 do not lie there. */
    {3, {4, 6, 4}, "{'shape':[2,[1],8]}", "invalid out_of_range /codecs/0/configuration/shape/1",
        NULL},
    {3, {4, 6, 5}, "{'shape':[[0,2],6]}", "invalid out_of_range /codecs/0/configuration/shape/0",
        NULL},
    {3, {4, 6, 5}, "{'shape':[[3]]}", "invalid out_of_range /codecs/0/configuration/shape/0/0",
        NULL},
    {3, {4, 6, 5}, "{'shape':[[-1]]}", "invalid out_of_range /codecs/0/configuration/shape/0/0",
        NULL},
    {3, {4, 6, 5}, "{'shape':[['0']]}", "invalid wrong_type /codecs/0/configuration/shape/0/0",
        NULL},
    {3, {4, 6, 5}, "{'shape':[0,-1]}", "invalid out_of_range /codecs/0/configuration/shape/0",
        NULL},
    {3, {4, 6, 5}, "{'shape':[-2]}", "invalid out_of_range /codecs/0/configuration/shape/0", NULL},
    {3, {4, 6, 5}, "{'shape':[1.5]}", "invalid wrong_type /codecs/0/configuration/shape/0", NULL},
    {3, {4, 6, 5}, "{'shape':120}", "invalid wrong_type /codecs/0/configuration/shape", NULL},
    {3, {4, 6, 5}, "{}", "invalid missing_member /codecs/0/configuration/shape", NULL},
    {1, {1}, "{'shape':[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
        "invalid out_of_range /codecs/0/configuration/shape", NULL},
};

START_TEST(reshape_keeps_the_elements_in_their_order)
{
    ZD_SCOPED_TEXT(codecs, 400);
    zd_text_addf(
        &codecs, "[{'name':'reshape','configuration':%s},'bytes']", facts[_i].configuration);
    struct zd_unit_chain what = {.codecs = codecs.at, .dtype = "uint8", .rank = facts[_i].rank};
    memcpy(what.shape, facts[_i].shape, sizeof facts[_i].shape);
    zd_unit_check_judged(&what, facts[_i].findings);
    if (facts[_i].encoded_shape == NULL) {
        return;
    }
    struct zd_chain *chain = zd_unit_chain(&what);
    struct zd_buf *decoded = zd_unit_elements(zd_chain_decoded(chain)->size);
    struct zd_buf *encoded = NULL;
    ck_assert_int_eq(zd_chain_encode(chain, decoded, &encoded, NULL), ZD_OK);
    ck_assert(zd_span_equal(zd_buf_span(decoded), zd_buf_span(encoded)));
    zd_buf_unref(decoded);
    zd_buf_unref(encoded);
    zd_chain_unref(chain);
}
END_TEST

/* A shard of one inner chunk: of another shape it would not open, or have more of them. */
START_TEST(reshape_gives_the_next_codec_its_shape)
{
    ZD_SCOPED_TEXT(codecs, 400);
    if (facts[_i].encoded_shape == NULL) {
        return;
    }
    zd_text_addf(&codecs,
        "[{'name':'reshape','configuration':%s},{'name':'sharding_indexed','configuration':{"
        "'chunk_shape':[%s],'codecs':['bytes'],'index_codecs':[{'name':'bytes','configuration':{"
        "'endian':'little'}}]}}]",
        facts[_i].configuration, facts[_i].encoded_shape);
    struct zd_unit_chain what = {.codecs = codecs.at, .dtype = "uint8", .rank = facts[_i].rank};
    memcpy(what.shape, facts[_i].shape, sizeof facts[_i].shape);
    struct zd_chain *chain = zd_unit_chain(&what);
    ck_assert_uint_eq(zd_chain_codec(chain, 1)->shard(zd_chain_state(chain, 1))->n_chunks, 1);
    zd_chain_unref(chain);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, reshape_keeps_the_elements_in_their_order, 0, ZD_COUNT_OF(facts));
    tcase_add_loop_test(tests, reshape_gives_the_next_codec_its_shape, 0, ZD_COUNT_OF(facts));
}
