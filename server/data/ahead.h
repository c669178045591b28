/* How far a walk looks ahead: as far as nodes are small. Pure. Thread: any. */
#ifndef ZD_DATA_AHEAD_H
#define ZD_DATA_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

/** Nodes that were asked for, and those that are known and not visited yet. */
struct zd_ahead {
    uint32_t n_asked;
    uint32_t n_known;
    uint32_t n_max;   /* that may be asked or known now */
    uint64_t n_bytes; /* of those that are known */
};

void zd_ahead_init(struct zd_ahead *ahead);

/** Whether one more may be asked for. */
bool zd_ahead_may_ask(const struct zd_ahead *ahead);

/** Learn from the size of a node, in bytes, for the next ones. */
void zd_ahead_learn(struct zd_ahead *ahead, uint64_t bytes);

/** Whether a node of so many bytes may be kept beside those that are known. */
bool zd_ahead_has_room(const struct zd_ahead *ahead, uint64_t bytes);

/** An awaited node is known now. */
void zd_ahead_know(struct zd_ahead *ahead, uint64_t bytes);

/** A known node is no longer held. */
void zd_ahead_forget(struct zd_ahead *ahead, uint64_t bytes);

#endif
