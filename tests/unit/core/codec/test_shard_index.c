/* Facts about core/codec/shard_index. */
#include "core/codec/shard_index.h"

#include <string.h>

#include "core/base/num.h"
#include "tests/support/codec.h"

#define SHARD(codecs)                                                                              \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[2],'codecs':[" codecs             \
    "],'index_codecs':[{'name':'bytes','configuration':{'endian':'little'}}]}}]"
#define BYTES "{'name':'bytes'}"
#define ZSTD  "{'name':'zstd','configuration':{'level':1}}"
#define NESTED                                                                                     \
    "{'name':'sharding_indexed','configuration':{'chunk_shape':[1],'codecs':[" BYTES               \
    "],'index_codecs':[{'name':'bytes','configuration':{'endian':'little'}}]}}"

static struct zd_chain *open_chain(const char *codecs)
{
    const struct zd_unit_chain what = {.codecs = codecs, .dtype = "uint8", .rank = 1, .shape = {4}};
    return zd_unit_chain(&what);
}

static const struct zd_shard *shard_of(const struct zd_chain *chain)
{
    return zd_chain_codec(chain, 0)->shard(zd_chain_state(chain, 0));
}

/* An entry and its shard's length. */
static const struct entry_fact {
    const char *codecs;
    struct zd_shard_entry entry;
    uint64_t shard_bytes;
    const char *says; /* NULL: it can be true */
} entry_facts[] = {
    {SHARD(BYTES), {0, 2}, 2, NULL},
    {SHARD(BYTES), {0, 2}, 1, "beyond the shard"}, /* one past the end */
    {SHARD(BYTES), {0, 0}, 0, NULL},               /* too short is for the codecs to say */
    {SHARD(BYTES), {16, 0}, 16, NULL},
    {SHARD(BYTES), {16, 1}, 16, "beyond the shard"},
    {SHARD(BYTES), {17, 0}, 16, "beyond the shard"},
    {SHARD(BYTES), {2, UINT64_MAX - 1}, UINT64_MAX, "beyond the shard"}, /* wraps to 0 */
    {SHARD(BYTES), {3, UINT64_MAX - 1}, 16, "beyond the shard"},         /* wraps to 1 */
    {SHARD(BYTES), {0, UINT64_MAX}, 16, "only one of two words marked"},
    {SHARD(BYTES), {UINT64_MAX, 0}, 16, "only one of two words marked"},
    {SHARD(BYTES), {UINT64_MAX, 1}, UINT64_MAX, "only one of two words marked"},
    {SHARD(BYTES), {UINT64_MAX - 1, 1}, UINT64_MAX, NULL},
    {SHARD(BYTES), {UINT64_MAX - 1, 2}, UINT64_MAX, "beyond the shard"},
    /* No chunk of 2 bytes becomes so long: a million entries of 16 MB would take hours. */
    {SHARD(BYTES), {0, 3}, 16, "longer than"},
    {SHARD(BYTES "," ZSTD), {0, 65536}, 1 << 24, NULL},
    {SHARD(BYTES "," ZSTD), {0, 1 << 24}, 1 << 24, "longer than"},
    {SHARD(NESTED), {0, 2 + 32}, 1 << 24, NULL},
    {SHARD(NESTED), {0, 2 + 32 + 1000}, 1 << 24, NULL}, /* with gaps */
    {SHARD(NESTED), {0, 1 << 24}, 1 << 24, "longer than"},
};

START_TEST(entries_are_true_or_corrupt)
{
    const struct entry_fact *fact = &entry_facts[_i];
    ZD_AUTO(zd_chain) chain = open_chain(fact->codecs);
    struct zd_error err = {0};
    const enum zd_status status =
        zd_shard_entry_check(shard_of(chain), fact->entry, 1, fact->shard_bytes, &err);
    if (fact->says == NULL) {
        ck_assert_msg(status == ZD_OK, "%s", err.text);
        return;
    }
    ck_assert_int_eq(status, ZD_CORRUPT);
    ck_assert_msg(strstr(err.text, fact->says) != NULL, "%s", err.text);
    ck_assert_uint_eq(err.facts.set, ZD_FACT_NAME | ZD_FACT_EXPECTED | ZD_FACT_FOUND);
}
END_TEST

static const struct index_fact {
    const char *hex;
    enum zd_status status;
    bool any_missing;
} index_facts[] = {
    {"0000000000000000 0200000000000000 0200000000000000 0200000000000000", ZD_OK, false},
    {"0000000000000000 0200000000000000 ffffffffffffffff ffffffffffffffff", ZD_OK, true},
    {"ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff", ZD_OK, true},
    {"ffffffffffffffff ffffffffffffffff 0300000000000000 0200000000000000", ZD_CORRUPT, false},
};

START_TEST(an_index_is_as_true_as_its_entries)
{
    const struct index_fact *fact = &index_facts[_i];
    ZD_AUTO(zd_chain) chain = open_chain(SHARD(BYTES));
    ZD_AUTO(zd_buf) index = zd_unit_hex(fact->hex);
    bool any_missing = false;
    ck_assert_int_eq(
        zd_shard_index_check(shard_of(chain), index, 4, &any_missing, NULL), fact->status);
    ck_assert_int_eq(any_missing, fact->any_missing);
}
END_TEST

void zd_unit_tests(TCase *tests)
{
    tcase_add_loop_test(tests, entries_are_true_or_corrupt, 0, ZD_COUNT_OF(entry_facts));
    tcase_add_loop_test(tests, an_index_is_as_true_as_its_entries, 0, ZD_COUNT_OF(index_facts));
}
