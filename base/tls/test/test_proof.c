/* SPDX-License-Identifier: BSD-3-Clause */
/* The proof that a client holds a key: one of another connection, an altered one and a cut one are
 * refused. */
#include "base/tls/test/pki.h"
#include "base/tls/test/shake.h"

struct fixture {
    struct pki red;
    struct tls_ctx *head, *member;
    struct tls_held *held, *other;
};

static int setup(void **state)
{
    static const uint8_t seeds[2][TLS_SEED_BYTES] = {"the seed of one key", "of another one"};
    struct fixture *f = xcalloc(1, sizeof(*f));

    pki_init(&f->red, "red");
    pki_issue(&f->red, "head", "x-head-0", NULL, 5);
    pki_issue(&f->red, "member", "x-1", NULL, 5);
    f->head = pki_ctx(&f->red, "x-head-0", &f->red);
    f->member = pki_ctx(&f->red, "x-1", &f->red);
    f->held = tls_held_create(seeds[0], NULL);
    f->other = tls_held_create(seeds[1], NULL);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    tls_held_destroy(f->held);
    tls_held_destroy(f->other);
    tls_ctx_destroy(f->head);
    tls_ctx_destroy(f->member);
    pki_fini(&f->red);
    free(f);
    return 0;
}

static struct pair shake_hands(struct fixture *f, bool offers)
{
    SSL *client = tls_new_client(f->member, NULL, NULL);

    if (offers)
        assert_int_equal(tls_offer_proof(client, NULL), 0);
    return pair_shake(tls_new_server(f->head, NULL), client);
}

static void assert_refused(SSL *server, const uint8_t *proof, size_t len, const char *why)
{
    uint8_t id[TLS_KEY_ID_BYTES];
    struct err err = {0};

    assert_int_equal(tls_check_proof(server, proof, len, id, &err), -1);
    assert_string_equal(err.msg, why);
}

static void a_proof_of_another_connection_is_refused(void **state)
{
    PAIR_AUTO struct pair a = shake_hands(*state, true);
    PAIR_AUTO struct pair b = shake_hands(*state, true);
    struct fixture *f = *state;
    uint8_t proof[TLS_PROOF_BYTES];

    assert_int_equal(tls_prove(f->held, a.client, proof, NULL), 0);
    assert_refused(b.server, proof, sizeof(proof),
                   "the proof of a key is not one of this connection");
}

static void each_altered_byte_of_a_proof_is_refused(void **state)
{
    PAIR_AUTO struct pair p = shake_hands(*state, true);
    struct fixture *f = *state;
    uint8_t proof[TLS_PROOF_BYTES];

    assert_int_equal(tls_prove(f->held, p.client, proof, NULL), 0);
    for (size_t i = 0; i < sizeof(proof); i++) {
        proof[i] ^= 1;
        assert_refused(p.server, proof, sizeof(proof),
                       "the proof of a key is not one of this connection");
        proof[i] ^= 1;
    }
    assert_refused(p.server, proof, sizeof(proof) - 1, "a proof of a key has 96 bytes, not 95");
    assert_refused(p.server, proof, 0, "a proof of a key has 96 bytes, not 0");
}

/* Whoever knows a key's public part alone, as others do that were called by it. */
static void the_name_of_another_key_in_a_proof_is_refused(void **state)
{
    PAIR_AUTO struct pair p = shake_hands(*state, true);
    struct fixture *f = *state;
    uint8_t proof[TLS_PROOF_BYTES], other[TLS_PROOF_BYTES];

    assert_int_equal(tls_prove(f->held, p.client, proof, NULL), 0);
    assert_int_equal(tls_prove(f->other, p.client, other, NULL), 0);
    memcpy(other, proof, 32);
    assert_refused(p.server, other, sizeof(other),
                   "the proof of a key is not one of this connection");
}

static void a_key_has_one_name_on_all_connections(void **state)
{
    PAIR_AUTO struct pair a = shake_hands(*state, true);
    PAIR_AUTO struct pair b = shake_hands(*state, true);
    struct fixture *f = *state;
    uint8_t id[3][TLS_KEY_ID_BYTES], proof[TLS_PROOF_BYTES];

    assert_int_equal(tls_prove(f->held, a.client, proof, NULL), 0);
    assert_int_equal(tls_check_proof(a.server, proof, sizeof(proof), id[0], NULL), 0);
    assert_int_equal(tls_prove(f->held, b.client, proof, NULL), 0);
    assert_int_equal(tls_check_proof(b.server, proof, sizeof(proof), id[1], NULL), 0);
    assert_int_equal(tls_prove(f->other, b.client, proof, NULL), 0);
    assert_int_equal(tls_check_proof(b.server, proof, sizeof(proof), id[2], NULL), 0);
    assert_memory_equal(id[0], id[1], sizeof(id[0]));
    assert_memory_not_equal(id[0], id[2], sizeof(id[0]));
}

static void only_a_client_that_offers_a_proof_is_asked_for_it(void **state)
{
    static const uint8_t others[] = "\2h2\10http/1.1\7dvm-pro";
    PAIR_AUTO struct pair a = shake_hands(*state, true);
    PAIR_AUTO struct pair b = shake_hands(*state, false);
    struct fixture *f = *state;
    SSL *client = tls_new_client(f->member, NULL, NULL);
    PAIR_AUTO struct pair c = {0};

    assert_int_equal(SSL_set_alpn_protos(client, others, sizeof(others) - 1), 0);
    c = pair_shake(tls_new_server(f->head, NULL), client);
    assert_true(a.server_rc == 1 && b.server_rc == 1 && c.server_rc == 1);
    assert_true(tls_has_proof(a.server) && tls_has_proof(a.client));
    assert_false(tls_has_proof(b.server) || tls_has_proof(b.client));
    assert_false(tls_has_proof(c.server) || tls_has_proof(c.client));
}

static void two_new_seeds_are_different(void **state)
{
    uint8_t a[TLS_SEED_BYTES], b[TLS_SEED_BYTES];

    assert_int_equal(tls_held_new_seed(a, NULL), 0);
    assert_int_equal(tls_held_new_seed(b, NULL), 0);
    assert_memory_not_equal(a, b, sizeof(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proof_of_another_connection_is_refused),
        cmocka_unit_test(each_altered_byte_of_a_proof_is_refused),
        cmocka_unit_test(the_name_of_another_key_in_a_proof_is_refused),
        cmocka_unit_test(a_key_has_one_name_on_all_connections),
        cmocka_unit_test(only_a_client_that_offers_a_proof_is_asked_for_it),
        cmocka_unit_test(two_new_seeds_are_different),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
