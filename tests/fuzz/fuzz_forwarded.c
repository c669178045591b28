/* Fields in which proxies name their client: five lines, one a field. Whatever stands to the left,
 * the element of a trusted proxy at the right end decides. */
#include <string.h>

#include "core/base/num.h"
#include "core/base/text.h"
#include "server/http/forwarded.h"
#include "tests/fuzz/input.h"

#define LIST_BYTES_MAX (1U << 20)

static const struct zd_networks_ip client = {.byte = {[12] = 192, [14] = 2, [15] = 1}, .bits = 32};

static void check_texts(const struct zd_forwarded *said)
{
    static const char odd[] = " \t\r\n\"\\<>@?#%,;=";
    const struct zd_span texts[] = {said->proto, said->host, said->x_host, said->prefix};
    for (size_t i = 0; i < ZD_COUNT_OF(texts); i++) {
        for (size_t k = 0; k < texts[i].len; k++) {
            const uint8_t byte = texts[i].ptr[k];
            zd_fuzz_insist(byte > ' ' && byte < 0x7f && strchr(odd, byte) == NULL);
        }
    }
    zd_fuzz_insist(said->host.len < ZD_FORWARDED_HOST_BYTES);
    zd_fuzz_insist(said->x_host.len < ZD_FORWARDED_HOST_BYTES);
    zd_fuzz_insist(said->prefix.len < ZD_FORWARDED_PREFIX_BYTES);
    zd_fuzz_insist(said->prefix.len == 0 || said->prefix.ptr[0] == '/');
    zd_fuzz_insist(said->prefix.len != 1);
}

/* Nobody is named by nothing. */
static void check_client(
    const struct zd_forwarded_fields *fields, const struct zd_networks_ip *found)
{
    zd_fuzz_insist(found->bits == 0 || found->bits == 32 || found->bits == 128);
    zd_fuzz_insist(fields->forwarded.len + fields->x_for.len > 0 || found->bits == 0);
}

static void check_end(const char *list, const struct zd_networks *trusted)
{
    ZD_SCOPED_TEXT(text, LIST_BYTES_MAX);
    zd_text_addf(&text, "%s, for=192.0.2.1, for=10.0.0.2", list);
    struct zd_forwarded_fields fields = {.forwarded = zd_text_span(&text)};
    struct zd_forwarded said = zd_forwarded_read(&fields, trusted);
    zd_fuzz_insist(zd_networks_same_ip(&said.client, &client));
    zd_text_clear(&text);
    zd_text_addf(&text, "%s, 192.0.2.1, 10.0.0.2", list);
    fields = (struct zd_forwarded_fields){.x_for = zd_text_span(&text)};
    said = zd_forwarded_read(&fields, trusted);
    zd_fuzz_insist(zd_networks_same_ip(&said.client, &client));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zd_span input = {.ptr = data, .len = len};
    struct zd_networks trusted;
    zd_fuzz_insist(zd_networks_init("10.0.0.0/8 ::1", &trusted, NULL) == ZD_OK);
    ZD_AUTO_TEXT forwarded = zd_fuzz_line(&input);
    ZD_AUTO_TEXT x_for = zd_fuzz_line(&input);
    ZD_AUTO_TEXT x_proto = zd_fuzz_line(&input);
    ZD_AUTO_TEXT x_host = zd_fuzz_line(&input);
    ZD_AUTO_TEXT x_prefix = zd_fuzz_line(&input);
    const struct zd_forwarded_fields fields = {
        .forwarded = zd_span_of(forwarded),
        .x_for = zd_span_of(x_for),
        .x_proto = zd_span_of(x_proto),
        .x_host = zd_span_of(x_host),
        .x_prefix = zd_span_of(x_prefix),
    };
    const struct zd_forwarded said = zd_forwarded_read(&fields, &trusted);
    check_texts(&said);
    check_client(&fields, &said.client);
    check_end(forwarded, &trusted);
    check_end(x_for, &trusted);
    zd_networks_done(&trusted);
    return 0;
}
