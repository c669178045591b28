/* Fuzzes core/store/disk/disk_entry: heads of files that lie. What passes is within the file, and
 * is written the same way again. */
#include <string.h>

#include "core/store/disk/disk_entry.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t head[ZD_DISK_ENTRY_HEAD_BYTES];
    struct zd_disk_entry entry = {0};
    struct zd_error err = {0};
    const struct zd_span bytes = {
        .ptr = data,
        .len = len < sizeof head ? len : sizeof head,
    };
    if (zd_disk_entry_read(bytes, len, &entry, &err) != ZD_OK) {
        zd_fuzz_insist(err.status == ZD_CORRUPT && err.text[0] != '\0');
        return 0;
    }
    zd_fuzz_insist(entry.n_head_bytes <= len && entry.body_bytes == len - entry.n_head_bytes);
    zd_fuzz_insist(entry.name.key.len >= 1 && entry.name.key.len <= ZD_KEY_BYTES_MAX);
    zd_fuzz_insist(zd_disk_entry_is_of(&entry, &entry.name));
    zd_fuzz_insist(zd_disk_entry_write(&entry, head) == entry.n_head_bytes);
    return 0;
}
