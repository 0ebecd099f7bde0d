/* SPDX-License-Identifier: BSD-3-Clause */
/* The first frame of a connection on which the client proves that it holds a key
 * (base/tls/proof.c). It is none of the owner's: a client sends it before all others, and a server
 * reports the connection as open after it. A wrong one ends the connection, which is logged. */
#include "dvm/host/net/net_private.h"

#include <arpa/inet.h>
#include <event2/bufferevent_ssl.h>
#include <string.h>

#define FRAME_BYTES (NET_HEADER + TLS_PROOF_BYTES)

int net_proof_send(struct net_conn *c, struct err *err)
{
    SSL *ssl = bufferevent_openssl_get_ssl(c->bev);
    uint32_t header = htonl(TLS_PROOF_BYTES);
    uint8_t frame[FRAME_BYTES];

    if (c->incoming || !c->net->held || !tls_has_proof(ssl))
        return 0; /* a server proves nothing */
    memcpy(frame, &header, sizeof(header));
    if (tls_prove(c->net->held, ssl, frame + NET_HEADER, err) < 0)
        return -1;
    return bufferevent_write(c->bev, frame, sizeof(frame)) < 0 ? err_set(err, "out of memory") : 0;
}

bool net_proof_awaited(const struct net_conn *c)
{
    return c->incoming && tls_has_proof(bufferevent_openssl_get_ssl(c->bev));
}

int net_proof_take(struct net_conn *c, uint8_t key[TLS_KEY_ID_BYTES], struct err *err)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    uint8_t frame[FRAME_BYTES];
    uint32_t header;
    size_t len;

    if (evbuffer_copyout(in, &header, sizeof(header)) < NET_HEADER)
        return 0;
    len = ntohl(header);
    if (len != TLS_PROOF_BYTES)
        return err_set(err, "a frame of %zu bytes instead of the proof of a key", len);
    if (evbuffer_get_length(in) < sizeof(frame))
        return 0;
    evbuffer_remove(in, frame, sizeof(frame));
    if (tls_check_proof(bufferevent_openssl_get_ssl(c->bev), frame + NET_HEADER, TLS_PROOF_BYTES,
                        key, err) < 0)
        return -1;
    return 1;
}
