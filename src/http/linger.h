/* Closing a socket whose peer is still sending, without losing the answer already written: the kernel resets
 * a connection that is closed with unread bytes, and the reset overtakes the answer. So: no more writing,
 * read and drop for two seconds and 256 KiB at most, then close. */
#ifndef RL_HTTP_LINGER_H
#define RL_HTTP_LINGER_H

struct ev_loop;

/* Takes over `fd` (a connected socket, owned from here on). The loop's thread. */
void linger_close(struct ev_loop *loop, int fd);

#endif
