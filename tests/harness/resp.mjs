// A small client of Redis: sends commands in RESP2 and reads the replies in order. Does not reconnect.

import net from 'node:net';

export class RedisError extends Error {}

export function encode(args) {
  const parts = args.map((arg) => Buffer.from(String(arg)));
  return Buffer.concat([
    Buffer.from(`*${parts.length}\r\n`),
    ...parts.flatMap((part) => [Buffer.from(`$${part.length}\r\n`), part, Buffer.from('\r\n')]),
  ]);
}

// Reads one value at `at`: [value, next], or null while bytes are missing.
export function decode(buffer, at = 0) {
  const end = buffer.indexOf('\r\n', at);
  if (end < 0) return null;
  const head = buffer.toString('latin1', at + 1, end);
  const next = end + 2;
  switch (String.fromCharCode(buffer[at])) {
    case '+': return [head, next];
    case '-': return [new RedisError(head), next];
    case ':': return [Number(head), next];
    case '$': return decodeBulk(buffer, Number(head), next);
    case '*': return decodeArray(buffer, Number(head), next);
    default: throw new Error(`not RESP: ${buffer.toString('latin1', at, end)}`);
  }
}

function decodeBulk(buffer, length, at) {
  if (length < 0) return [null, at];
  if (buffer.length < at + length + 2) return null;
  return [buffer.toString('utf8', at, at + length), at + length + 2];
}

function decodeArray(buffer, count, at) {
  if (count < 0) return [null, at];
  const items = [];
  for (let i = 0; i < count; i++) {
    const item = decode(buffer, at);
    if (!item) return null;
    items.push(item[0]);
    at = item[1];
  }
  return [items, at];
}

export class RedisClient {
  #socket;
  #buffer = Buffer.alloc(0);
  #waiting = [];

  // `address`: {path} or {host, port}.
  static async connect(address) {
    const client = new RedisClient();
    client.#socket = net.connect(address);
    await new Promise((resolve, reject) => client.#socket.once('connect', resolve).once('error', reject));
    client.#socket.on('data', (bytes) => client.#read(bytes));
    client.#socket.on('error', () => {});
    client.#socket.on('close', () => client.#fail(new Error('the connection to Redis closed')));
    return client;
  }

  command(...args) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.write(encode(args));
    });
  }

  close() {
    this.#socket.destroy();
  }

  #read(bytes) {
    this.#buffer = Buffer.concat([this.#buffer, bytes]);
    for (let found; (found = decode(this.#buffer)); ) {
      this.#buffer = this.#buffer.subarray(found[1]);
      const { resolve, reject } = this.#waiting.shift();
      if (found[0] instanceof RedisError) reject(found[0]);
      else resolve(found[0]);
    }
  }

  #fail(error) {
    this.#waiting.splice(0).forEach(({ reject }) => reject(error));
  }
}
