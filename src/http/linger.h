/* Closing sockets whose peer is still sending, without losing the answer already written: the kernel resets a
 * connection that is closed with unread bytes, and the reset overtakes the answer. So: no more writing, read
 * and drop for two seconds and 256 KiB at most, then close. One worker's; the loop's thread. */
#ifndef RL_HTTP_LINGER_H
#define RL_HTTP_LINGER_H

struct ev_loop;
struct lingering;

struct lingering *linger_new(struct ev_loop *loop);

/* Takes over `fd`, a connected socket. With a thousand lingering already it is closed at once. */
void linger_close(struct lingering *linger, int fd);

/* Closes what still lingers, then frees. NULL is fine. */
void linger_free(struct lingering *linger);

#endif
