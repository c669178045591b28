/* Fuzzes core/store/file/zip_directory: ends, directories and members' own headers that lie. What
 * they say never leads outside the file. */
#include <string.h>

#include "core/store/contract/key.h"
#include "core/store/file/zip_directory.h"
#include "tests/fuzz/input.h"

static void check_member(const struct zd_zip_directory *directory, size_t i, struct zd_span file)
{
    const struct zd_zip_member *member = &directory->member[i];
    uint64_t packed = 0;
    zd_fuzz_insist(zd_key_is_valid(member->key));
    zd_fuzz_insist(i == 0 || strcmp(directory->member[i - 1].key, member->key) < 0);
    zd_fuzz_insist(zd_zip_directory_find(directory, member->key) == member);
    zd_fuzz_insist(member->end <= file.len && member->local + ZD_ZIP_LOCAL_BYTES <= member->end);
    const size_t head = ZD_ZIP_LOCAL_BYTES + strlen(member->key);
    const size_t left = file.len - (size_t)member->local;
    const struct zd_span local = {
        .ptr = file.ptr + member->local, .len = left < head ? left : head};
    if (zd_zip_member_begin(member, local, &packed, NULL) == ZD_OK) {
        zd_fuzz_insist(packed <= member->end && member->packed_bytes <= member->end - packed);
    }
}

/* Names alone, one entry after the other. */
static uint64_t count_names(struct zd_span central)
{
    const uint8_t *const end = central.ptr + central.len;
    struct zd_span name;
    uint64_t n = 0;
    for (; zd_zip_directory_next(&central, &name); n++) {
        zd_fuzz_insist(central.ptr + central.len == end && name.ptr + name.len <= central.ptr);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct zd_span file = {.ptr = data, .len = len};
    const size_t tail = len < ZD_ZIP_END_BYTES_MAX ? len : ZD_ZIP_END_BYTES_MAX;
    struct zd_zip_end end;
    struct zd_zip_directory directory = {0};
    struct zd_error err = {0};
    if (zd_zip_end_find((struct zd_span){.ptr = data + len - tail, .len = tail}, len, &end, &err) !=
        ZD_OK) {
        zd_fuzz_insist(err.text[0] != '\0');
        return 0;
    }
    zd_fuzz_insist(end.first <= len && end.bytes <= len - end.first);
    const struct zd_span central = {.ptr = data + end.first, .len = (size_t)end.bytes};
    const uint64_t n_names = count_names(central);
    if (zd_zip_directory_read(&end, central, &directory, &err) != ZD_OK) {
        zd_fuzz_insist(err.text[0] != '\0');
        return 0;
    }
    zd_fuzz_insist(n_names == end.n_members && directory.n <= n_names);
    for (size_t i = 0; i < directory.n; i++) {
        check_member(&directory, i, file);
    }
    zd_zip_directory_done(&directory);
    return 0;
}
