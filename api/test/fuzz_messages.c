/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the control API's decoders: what is accepted survives encode and decode unchanged.
 */
/* clang -fsanitize=fuzzer,address,undefined; corpus: api/test/corpus/messages */
#include "api/dvm.h"
#include "api/event.h"
#include "api/links.h"
#include "api/size.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes both. */
static void must_equal(json_t *a, json_t *b)
{
    if (!a || !b || !json_equal(a, b))
        abort();
    json_decref(a);
    json_decref(b);
}

/* Decodes `o`; if that succeeds, the encoded message must decode and encode to the same. */
#define ROUND_TRIP(name, free_it)                                                                  \
    static void name##_round_trip(const json_t *o)                                                 \
    {                                                                                              \
        struct api_##name in, out;                                                                 \
        struct err err = {0};                                                                      \
        if (api_##name##_decode(o, &in, &err) < 0) {                                               \
            if (!err.msg[0])                                                                       \
                abort();                                                                           \
            return;                                                                                \
        }                                                                                          \
        json_t *a = api_##name##_encode(&in);                                                      \
        if (api_##name##_decode(a, &out, &err) < 0)                                                \
            abort();                                                                               \
        must_equal(a, api_##name##_encode(&out));                                                  \
        free_it(&in);                                                                              \
        free_it(&out);                                                                             \
    }
#define NOTHING(x)
ROUND_TRIP(campaign_request, api_campaign_request_free)
ROUND_TRIP(campaign, api_campaign_free)
ROUND_TRIP(event, api_event_free)
ROUND_TRIP(dvm, api_dvm_free)
ROUND_TRIP(links, api_links_free)
ROUND_TRIP(size, NOTHING)
ROUND_TRIP(shutdown, NOTHING)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *o = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    if (!o)
        return 0;
    campaign_request_round_trip(o);
    campaign_round_trip(o);
    event_round_trip(o);
    dvm_round_trip(o);
    links_round_trip(o);
    size_round_trip(o);
    shutdown_round_trip(o);
    json_decref(o);
    return 0;
}
