// Stands between a server and Redis and cuts the reply to one command after so many bytes. Understands no protocol: a
// command is known by a text in it.

import net from 'node:net';

import { resetSocket } from './raw.mjs';

export class TcpProxy {
  #server;
  #sockets = new Set();
  #cut = null;
  replied = 0; // bytes of the last reply that was let through

  static async start(port, host = '127.0.0.1') {
    const proxy = new TcpProxy();
    proxy.#server = net.createServer({ allowHalfOpen: true }, (near) => proxy.#join(near, { port, host }));
    await new Promise((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    proxy.port = proxy.#server.address().port;
    return proxy;
  }

  #join(near, address) {
    const far = net.connect({ ...address, allowHalfOpen: true });
    const link = { near, far, watched: false, passed: 0 };
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.setNoDelay().on('error', () => this.#close(link)).on('close', () => this.#close(link)).on('end', () => this.#close(link));
    }
    near.on('data', (bytes) => {
      if (this.#cut && bytes.includes(this.#cut.command)) [link.watched, link.passed] = [true, 0];
      far.write(bytes);
    });
    far.on('data', (bytes) => this.#reply(link, bytes));
  }

  #reply(link, bytes) {
    if (!link.watched) {
      link.near.write(bytes);
      return;
    }
    this.replied = bytes.length;
    const { after, how, done } = this.#cut;
    this.#cut = null;
    link.watched = false;
    if (after > 0) link.near.write(bytes.subarray(0, after));
    if (how === 'end') link.near.end();
    if (how === 'reset') resetSocket(link.near);
    if (how === 'silence') link.far.removeAllListeners('data').resume();
    done();
  }

  #close({ near, far }) {
    for (const socket of [near, far]) {
      this.#sockets.delete(socket);
      socket.destroy();
    }
  }

  // The reply to the next command that has `command` in it ends after `after` bytes: by 'end' (a half-closed link), 'reset',
  // or 'silence'. Resolves when it has been cut.
  cut(command, after, how) {
    return new Promise((done) => (this.#cut = { command, after, how, done }));
  }

  async close() {
    this.#sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
