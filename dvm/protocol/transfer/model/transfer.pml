/* SPDX-License-Identifier: BSD-3-Clause */
/* The dance of one transfer by RNDV, ACK, FRAG, FIN, for spin (make model).
 *
 * A sender and a receiver, two links in each direction that keep order, FRAGS fragments. Up to ERRORS
 * frames meet an error: such a frame is lost, or has arrived, or arrives later. Its sender learns
 * of the error at any time. The rows are those of transfer_fsm.c; PUT and GET are left out.
 *
 * Shown: no deadlock; the message is handed over once, with all fragments; its sender ends, and not
 * before that; no frame comes in a state that has no row for it.
 *
 * Deliberate mistakes, each of which spin has to find: NO_WAIT (the sender restarts while frames are
 * outstanding), NO_NACK (a complete receiver does not answer a restart), NO_RECVERR (a receiver does
 * not report the error of its answer), FIN_LOST_IS_DONE (a FIN with an error counts as arrived). */

#ifndef FRAGS
#define FRAGS 2
#endif
#ifndef ERRORS
#define ERRORS 2
#endif
#define ALL ((1 << FRAGS) - 1)

mtype = { RNDV, ACK, FRAG, FIN, NOTIFY, RECVERR, RESTARTACK, NACK };
mtype = { OFFERED, GRANTED, FINISHING, BROKEN, NOTIFIED, OPEN, CALLED, DONE };

chan link_s[2] = [4] of { mtype, byte, byte }; /* type, dance, place */
chan link_r[2] = [4] of { mtype, byte, byte };
chan to_r = [0] of { mtype, byte, byte };
chan to_s = [0] of { mtype, byte, byte };
chan done_s = [6] of { mtype, byte, byte, bit }; /* and whether it was processed */
chan done_r = [6] of { mtype, byte, byte, bit };

byte errors = ERRORS;
byte delivered = 0;
mtype s_state = OFFERED;

/* --- links: the head of a link arrives, is lost, or arrives late */

proctype Link(chan from; chan to; chan done)
{
    mtype t;
    byte d, a;

end:
    do
    :: from ? t, d, a ->
        if
        :: to ! t, d, a; done ! t, d, a, 1
        :: atomic { errors > 0 -> errors-- }; done ! t, d, a, 0
        :: atomic { errors > 0 -> errors-- }; to ! t, d, a; done ! t, d, a, 0
        :: atomic { errors > 0 -> errors-- }; done ! t, d, a, 0; to ! t, d, a
        fi;
        t = 0; d = 0; a = 0
    od
}

/* --- sender */

byte s_dance, s_next, s_out;
byte s_arrived; /* bits */

inline s_send(type, place)
{
    s_out++;
    if
    :: link_s[0] ! type, s_dance, place
    :: link_s[1] ! type, s_dance, place
    fi
}

inline s_input(type, dance, place)
{
    if
    :: s_state == DONE -> skip
    :: else ->
    if
    :: type == ACK && dance == s_dance && s_state == OFFERED -> s_state = GRANTED
    :: type == ACK && !(dance == s_dance && s_state == OFFERED) -> assert(s_state != NOTIFIED || dance != s_dance)
    :: type == RECVERR && dance == s_dance && s_state != DONE -> s_state = BROKEN
    :: type == RECVERR && !(dance == s_dance && s_state != DONE) -> skip
    :: type == RESTARTACK && dance == s_dance && s_state == NOTIFIED ->
        s_state = GRANTED; s_next = place; s_arrived = (1 << place) - 1
    :: type == RESTARTACK && !(dance == s_dance && s_state == NOTIFIED) -> skip
    :: type == NACK -> s_state = DONE
    fi
    fi
}

inline s_completed(type, dance, place, ok)
{
    s_out--;
    if
    :: s_state == DONE -> skip
    :: else ->
    if
    :: type == RNDV && !ok && s_state == OFFERED -> s_send(RNDV, 0)
    :: type == RNDV && !(!ok && s_state == OFFERED) -> skip
    :: type == FRAG && ok -> s_arrived = s_arrived | (1 << place)
    :: type == FRAG && !ok ->
        if
        :: s_state == GRANTED -> s_state = BROKEN
        :: s_state == BROKEN -> skip
        :: else -> assert(false)
        fi
#ifdef FIN_LOST_IS_DONE
    :: type == FIN -> s_state = DONE
#else
    :: type == FIN && ok && dance == s_dance -> s_state = DONE
    :: type == FIN && !ok && s_state == FINISHING -> s_send(FIN, FRAGS)
    :: type == FIN && !(ok && dance == s_dance) && !(!ok && s_state == FINISHING) -> skip
#endif
    :: type == NOTIFY && !ok && s_state == NOTIFIED && dance == s_dance -> s_send(NOTIFY, 0)
    :: type == NOTIFY && !(!ok && s_state == NOTIFIED && dance == s_dance) -> skip
    fi
    fi
}

#ifdef NO_WAIT
#define S_QUIET true
#else
#define S_QUIET (s_out == 0)
#endif

active proctype Sender()
{
    mtype t;
    byte d, a;
    bit ok;

    s_send(RNDV, 0);
    do
    :: s_state == DONE -> break
    :: atomic { to_s ? t, d, a -> s_input(t, d, a); t = 0; d = 0; a = 0 }
    :: atomic { done_s ? t, d, a, ok -> s_completed(t, d, a, ok); t = 0; d = 0; a = 0; ok = 0 }
    :: atomic { s_state == GRANTED && s_next < FRAGS -> s_next++; s_send(FRAG, s_next - 1) }
    :: atomic { s_state == GRANTED && s_arrived == ALL -> s_state = FINISHING; s_send(FIN, FRAGS) }
    :: atomic { s_state == BROKEN && S_QUIET -> s_state = NOTIFIED; s_dance++; s_send(NOTIFY, 0) }
    od;
    assert(delivered == 1);
end:
    do
    :: to_s ? t, d, a
    :: done_s ? t, d, a, ok
    od
}

/* --- receiver */

byte r_dance, r_have, r_out, r_early;
mtype r_state = OFFERED; /* not offered yet */

inline r_send(type, dance, place)
{
    r_out++;
    if
    :: link_r[0] ! type, dance, place
    :: link_r[1] ! type, dance, place
    fi
}

inline r_write(place)
{
    r_early = r_early | (1 << place);
    do
    :: r_have < FRAGS && (r_early & (1 << r_have)) -> r_have++
    :: else -> break
    od
}

inline r_input(type, dance, place)
{
    if
    :: type == RNDV && r_state == OFFERED -> r_state = OPEN; r_send(ACK, 0, 0)
    :: type == RNDV && r_state != OFFERED -> skip
    :: type == FRAG && dance == r_dance && (r_state == OPEN || r_state == BROKEN) -> r_write(place)
    :: type == FRAG && !(dance == r_dance && (r_state == OPEN || r_state == BROKEN)) -> skip
    :: type == FIN && dance == r_dance && (r_state == OPEN || r_state == BROKEN) ->
        assert(r_have == FRAGS); /* else a fragment is lost */
        delivered++;
        assert(delivered == 1);
        r_state = DONE
    :: type == FIN && !(dance == r_dance && (r_state == OPEN || r_state == BROKEN)) -> skip
    :: type == NOTIFY && r_state == DONE ->
#ifdef NO_NACK
        skip
#else
        r_send(NACK, dance, 0)
#endif
    :: type == NOTIFY && r_state != DONE && dance > r_dance ->
        assert(r_state == OPEN || r_state == BROKEN);
        r_state = CALLED;
        r_dance = dance
    :: type == NOTIFY && r_state != DONE && dance <= r_dance -> skip
    fi
}

inline r_completed(type, dance, place, ok)
{
    r_out--;
    if
    :: ok -> skip
    :: !ok && type == ACK ->
        if
        :: r_state == OPEN ->
            r_state = BROKEN;
#ifndef NO_RECVERR
            r_send(RECVERR, r_dance, 0)
#else
            skip
#endif
        :: else -> skip
        fi
    :: !ok && type == RECVERR ->
        if
        :: r_state == BROKEN -> r_send(RECVERR, r_dance, 0)
        :: else -> skip
        fi
    :: !ok && type == RESTARTACK ->
        if
        :: r_state == OPEN -> r_send(RESTARTACK, dance, place)
        :: else -> skip
        fi
    :: !ok && type == NACK -> r_send(NACK, dance, 0)
    fi
}

active proctype Receiver()
{
    mtype t;
    byte d, a;
    bit ok;

end: /* without a frame it has nothing to do; the sender must not wait then */
    do
    :: atomic { to_r ? t, d, a -> r_input(t, d, a); t = 0; d = 0; a = 0 }
    :: atomic { done_r ? t, d, a, ok -> r_completed(t, d, a, ok); t = 0; d = 0; a = 0; ok = 0 }
    :: atomic {
        r_state == CALLED && r_out == 0 ->
        r_early = (1 << r_have) - 1;
        r_state = OPEN;
        r_send(RESTARTACK, r_dance, r_have)
       }
    od
}

init {
    run Link(link_s[0], to_r, done_s);
    run Link(link_s[1], to_r, done_s);
    run Link(link_r[0], to_s, done_r);
    run Link(link_r[1], to_s, done_r)
}
