// A listener that speaks just enough RESP to answer every command with bytes of the test's choosing, right or wrong.

import { createHash } from 'node:crypto';
import net from 'node:net';

import { decode } from './resp.mjs';

export const bulk = (text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

// What a healthy Redis says to the commands that come before a decision; undefined for others.
export function preamble([name, verb, text]) {
  const command = name.toUpperCase();
  if (command === 'SCRIPT' && verb.toUpperCase() === 'LOAD') return bulk(createHash('sha1').update(text).digest('hex'));
  if (command === 'UNLINK') return ':0\r\n';
  if (command === 'PING') return '+PONG\r\n';
  if (['AUTH', 'SELECT', 'CLIENT', 'READONLY'].includes(command)) return '+OK\r\n';
  return undefined;
}

export class StubRedis {
  #server;
  #sockets = new Set();
  commands = [];

  // `answer(args)`: the bytes to send; {bytes, close: true} to hang up after them; {bytes, endless} to go on with `endless`
  // again and again; null to stay silent.
  static async start(answer) {
    const stub = new StubRedis();
    stub.answer = answer;
    stub.#server = net.createServer((socket) => stub.#serve(socket));
    await new Promise((resolve) => stub.#server.listen(0, '127.0.0.1', resolve));
    stub.port = stub.#server.address().port;
    return stub;
  }

  #serve(socket) {
    let buffer = Buffer.alloc(0);
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
    socket.on('data', (bytes) => {
      buffer = Buffer.concat([buffer, bytes]);
      for (let found; (found = decode(buffer)); ) {
        buffer = buffer.subarray(found[1]);
        this.commands.push(found[0]);
        this.#reply(socket, this.answer(found[0]));
      }
    });
  }

  #reply(socket, answer) {
    if (answer === null) return;
    const { bytes, close, endless } = typeof answer === 'string' ? { bytes: answer } : answer;
    if (!socket.writable) return;
    if (close) socket.end(bytes, 'latin1');
    else socket.write(bytes, 'latin1');
    if (!endless) return;
    const more = Buffer.from(endless.repeat(Math.ceil(65536 / endless.length)), 'latin1');
    const goOn = () => {
      while (socket.writable && socket.write(more));
    };
    socket.on('drain', goOn);
    goOn();
  }

  async close() {
    this.#sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
