/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machines of a transfer, one for each side, as const tables (seed 001). */
#ifndef DVM_TRANSFER_TRANSFER_FSM_H
#define DVM_TRANSFER_TRANSFER_FSM_H

#include "base/fsm/fsm.h"

enum sending_state {
    SENDING_MATCHED = 1, /* the whole message has been sent in one frame */
    SENDING_OFFERED,     /* RNDV or RGET is sent, an answer is awaited */
    SENDING_GRANTED,     /* fragments may be sent */
    SENDING_FINISHING,   /* all bytes have arrived; FIN is on its way or, of a GET, awaited */
    SENDING_BROKEN,      /* an error; outstanding completions are awaited */
    SENDING_NOTIFIED,    /* RNDVRESTARTNOTIFY is sent, its answer is awaited */
    SENDING_DONE,
};

enum sending_event {
    SENDING_EV_COMPLETED = 1, /* MATCH or the last FIN has arrived */
    SENDING_EV_LOST,          /* MATCH met an error */
    SENDING_EV_OFFER_LOST,    /* RNDV or RGET met an error */
    SENDING_EV_GRANT,         /* ACK, PUT, GET */
    SENDING_EV_ALL_ARRIVED,   /* completions say that all bytes have arrived */
    SENDING_EV_REGION_ARRIVED,
    SENDING_EV_FRAG_LOST,
    SENDING_EV_FIN_LOST,
    SENDING_EV_FIN,     /* the receiver has read all (GET) */
    SENDING_EV_RECVERR, /* RECVERRNOTIFY */
    SENDING_EV_QUIET,   /* nothing of the transfer is outstanding */
    SENDING_EV_NOTIFY_LOST,
    SENDING_EV_RESTARTACK,
    SENDING_EV_RESTARTNACK,
};

enum sending_action {
    SENDING_NOTHING,
    SENDING_AGAIN, /* the frame that met the error is sent again */
    SENDING_TAKE_GRANT,
    SENDING_SEND_FIN,
    SENDING_SEND_LAST_FIN, /* not of a GET: the receiver sends it */
    SENDING_SEND_NOTIFY,
    SENDING_RESUME,
    SENDING_END,
    SENDING_GIVE_UP, /* the receiver does not want the message */
};

extern const struct fsm sending_fsm;

enum taking_state {
    TAKING_QUEUED = 1, /* the offer is not answered: enough transfers are being taken */
    TAKING_OPEN,       /* it is answered, fragments arrive */
    TAKING_FINISHING,  /* all has been read (GET); FIN is on its way */
    TAKING_BROKEN,     /* an answer met an error; RECVERRNOTIFY is sent, a notice awaited */
    TAKING_CALLED,     /* RNDVRESTARTNOTIFY has come; outstanding completions are awaited */
    TAKING_DONE,
};

enum taking_event {
    TAKING_EV_ADMIT = 1,
    TAKING_EV_REFUSE,
    TAKING_EV_OFFER, /* RNDV or RGET again */
    TAKING_EV_FRAG,
    TAKING_EV_FIN,     /* of a region, by the sender */
    TAKING_EV_ALL_FIN, /* of the message, by the sender */
    TAKING_EV_ALL_READ,
    TAKING_EV_NEXT,        /* another region can be granted */
    TAKING_EV_ANSWER_LOST, /* ACK, PUT or GET met an error */
    TAKING_EV_RECVERR_LOST,
    TAKING_EV_NOTIFY,
    TAKING_EV_QUIET,
    TAKING_EV_RESTART_LOST, /* RNDVRESTARTACK met an error */
    TAKING_EV_FIN_LOST,
    TAKING_EV_COMPLETED, /* our FIN has arrived */
};

enum taking_action {
    TAKING_NOTHING,
    TAKING_ANSWER,    /* ACK, PUT or GET */
    TAKING_TURN_AWAY, /* RNDVRESTARTNACK */
    TAKING_WRITE,
    TAKING_COUNT_REGION,
    TAKING_GRANT,
    TAKING_SEND_FIN,
    TAKING_SEND_RECVERR,
    TAKING_AGAIN, /* the frame that met the error is sent again */
    TAKING_CALL,  /* the new dance begins: frames of the former one change nothing any more */
    TAKING_RESTART,
    TAKING_END,
};

extern const struct fsm taking_fsm;

#endif
