/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef PEER_EXEC_H
#define PEER_EXEC_H

#include "peer.h"

struct message {
	struct message *next;
	uint32_t len;
	int invalidated;
	uint32_t inv_rkey;
	uint8_t data[];
};

/**
 * struct link - a connection of the script
 * @name: what "use" calls it
 * @conn: the connection, or NULL
 * @first: messages that came and were not looked at
 * @last: where the next one goes
 * @up: an accepted one is established
 * @down: why it is down, or NULL
 * @done_cookie: the last completed operation
 * @done_status: how it ended
 */
struct link {
	char *name;
	struct vb_conn *conn;
	struct message *first, **last;
	int up;
	const char *down;
	uint32_t done_cookie;
	enum ibv_wc_status done_status;
	struct link *next;
};

struct link *the_link(const struct stmt *s);
int pump(struct link *l, int ms);
int patience(void);
int option(const struct stmt *s, const char *word, uint64_t *value);
void bind_window(const struct stmt *s, struct region *w, int access);

void cmd_connect(const struct stmt *s);
void cmd_connect_refused(const struct stmt *s);
void cmd_connect_start(const struct stmt *s);
void cmd_connect_finish(const struct stmt *s);
void cmd_listen(const struct stmt *s);
void cmd_accept(const struct stmt *s);
void cmd_reject(const struct stmt *s);
void cmd_use(const struct stmt *s);
void cmd_kill(const struct stmt *s);
void cmd_disconnect(const struct stmt *s);
void cmd_close(const struct stmt *s);
void cmd_private(const struct stmt *s);
void cmd_receives(const struct stmt *s);
void cmd_receive_size(const struct stmt *s);
void cmd_send_size(const struct stmt *s);
void cmd_sends(const struct stmt *s);
void cmd_read_depth(const struct stmt *s);
void cmd_rnr_retry(const struct stmt *s);
void cmd_unestablished(const struct stmt *s);
void cmd_ack_timeout(const struct stmt *s);
void cmd_post_receives(const struct stmt *s);
void cmd_expect_private(const struct stmt *s);
void cmd_expect_initiator_depth(const struct stmt *s);
void cmd_send(const struct stmt *s);
void cmd_wait_sent(const struct stmt *s);
void cmd_expect(const struct stmt *s);
void cmd_take(const struct stmt *s);
void cmd_expect_nothing(const struct stmt *s);
const char *interrupted(const struct stmt *s);
void show_first(const struct stmt *s);
void cmd_expect_disconnect(const struct stmt *s);
void cmd_rdma_read(const struct stmt *s);
void cmd_rdma_write(const struct stmt *s);
void cmd_rdma_write_imm(const struct stmt *s);

#endif /* PEER_EXEC_H */
