// Clients that nobody wants: each act opens connections of its own, misbehaves, and leaves. Where an answer is due it is
// awaited and its status returned. They come from addresses of their own, as wrong tokens lock out an address.

import { randomBytes } from 'node:crypto';
import net from 'node:net';

import { parseAnswer, resetSocket } from './raw.mjs';
import { sleep, within } from './time.mjs';

const ADDRESS = '127.0.0.66';
const GUESSING = '127.0.0.67';
const DUE_MS = 15000; // an answer, on a machine that is busy
const HOST = 'Host: localhost\r\n';

class Connection {
  received = Buffer.alloc(0);
  closed = false;
  #wake = () => {};

  constructor(port, localAddress) {
    this.socket = net.connect({ port, host: '127.0.0.1', localAddress, noDelay: true, allowHalfOpen: true });
    this.socket.on('data', (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
      this.#wake();
    });
    for (const event of ['end', 'error', 'close']) {
      this.socket.on(event, () => {
        this.closed = true;
        this.#wake();
      });
    }
    this.open = new Promise((resolve, reject) => this.socket.once('connect', resolve).once('error', reject));
  }

  send(bytes) {
    if (this.socket.destroyed || !this.socket.writable) return Promise.resolve();
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  until(what, probe) {
    return within(DUE_MS, what, (async () => {
      while (!probe() && !this.closed) await new Promise((resolve) => (this.#wake = resolve));
    })());
  }

  // The status of the next answer.
  async answer(what) {
    let found = null;
    await this.until(`an answer to ${what}`, () => (found = parseAnswer(this.received, { closed: this.closed })));
    found ??= parseAnswer(this.received, { closed: true });
    if (!found) throw new Error(`${what}: the connection ended without an answer`);
    this.received = this.received.subarray(found.length);
    return found.status;
  }

  leave(how) {
    if (how === 'reset') resetSocket(this.socket);
    else this.socket.destroy();
  }
}

const pick = (list) => list[Math.floor(Math.random() * list.length)];
const below = (n) => Math.floor(Math.random() * n);
const get = (path, fields = '') => `GET ${path} HTTP/1.1\r\n${HOST}${fields}\r\n`;
const json = (method, path, token, body) =>
  `${method} ${path} HTTP/1.1\r\n${HOST}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const MALFORMED = [
  get('/api', 'X-A : b\r\n'), get('/api', 'X-A: b\0c\r\n'), get('/api\0x'), get('/api/%zz'), get('/../..'), 'GET /api HTTP/1.1\n\n',
  'GET /api\r\n\r\n', get('/api', 'Host: b\r\n'), get('/api', 'Transfer-Encoding: foo\r\n'), get('/api', 'Content-Length: 3\r\nContent-Length: 4\r\n'),
  get('/api', 'Content-Length: -1\r\n'), `G@T /api HTTP/1.1\r\n${HOST}\r\n`, `GET /api HTTP/9.9\r\n${HOST}\r\n`, 'hello\r\n\r\n',
  get('/api', 'Transfer-Encoding: chunked\r\n') + 'zz\r\n', get(`/api?${'a&'.repeat(70)}`),
];
const WHOLE = [
  get('/api'), get('/check?policy=default&key=h'), get('/'), get('/openapi.json'), get('/metrics'), get('/nowhere'),
  `POST /api HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`, `POST /api HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
];
const BAD_JSON = ['{', '[]', '{"capacity":}', '{"capacity":1e999}', '{"capacity":-1}', '"x"', '{"a":'.repeat(500), '\u0000', '{"capacity":1,"capacity":2}'];

function mutated(text) {
  const bytes = Buffer.from(text, 'latin1');
  for (let i = 0; i <= below(4); i++) bytes[below(bytes.length)] = below(256);
  return bytes;
}

// Each gets a connection and the admin token. `due`: the statuses that its answer may have; without, none is due. `from`: its
// address.
export const ACTS = {
  'random bytes': { act: (c) => c.send(randomBytes(1 + below(4000))) },
  'malformed heads': {
    due: [400, 501, 505],
    async act(c) {
      await c.send(Buffer.from(pick(MALFORMED), 'latin1'));
      return c.answer('a malformed head');
    },
  },
  'heads with wrong bytes': { act: (c) => c.send(mutated(pick(WHOLE))) },
  'resets behind a request': { act: (c) => c.send(pick(WHOLE)) },
  'half requests': {
    async act(c) {
      const whole = pick(WHOLE);
      await c.send(whole.slice(0, 1 + below(whole.length - 1)));
      c.socket.end();
    },
  },
  'huge heads': {
    due: [414, 431],
    async act(c) {
      const much = 'a'.repeat(8000 + below(60000));
      await c.send(pick([get(`/api?x=${much}`), get('/api', `X-A: ${much}\r\n`), get('/api', 'X-A: b\r\n'.repeat(much.length / 8))]));
      return c.answer('a huge head');
    },
  },
  'a hundred in one write': {
    due: [200, 429],
    async act(c) {
      await c.send(get('/check?policy=default&key=pipelined').repeat(100));
      for (let i = 0; i < 99; i++) {
        const status = await c.answer(`request ${i} of a hundred`);
        if (status !== 200 && status !== 429) return status;
      }
      return c.answer('the last of a hundred');
    },
  },
  'hundreds abandoned': { act: (c) => c.send(get('/api').repeat(300)) },
  'slow bytes': {
    due: [200, 429],
    async act(c) {
      for (const byte of get('/api')) {
        await c.send(byte);
        await sleep(2);
      }
      return c.answer('slow bytes');
    },
  },
  'bad JSON': {
    due: [400, 422],
    async act(c, token) {
      await c.send(json('PATCH', '/admin/policies/default', token, pick(BAD_JSON)));
      return c.answer('bad JSON');
    },
  },
  'wrong tokens': {
    from: GUESSING,
    due: [401, 429],
    async act(c) {
      await c.send(json(pick(['PATCH', 'PUT', 'DELETE']), '/admin/policies/default', `wrong-${below(1e9)}`, '{"capacity":1}'));
      return c.answer('a wrong token');
    },
  },
  'aborted bodies': {
    act: (c) => c.send(pick([
      `POST /api HTTP/1.1\r\n${HOST}Content-Length: 1000000\r\n\r\n${'a'.repeat(below(100000))}`,
      `POST /api HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${'5\r\nhello\r\n'.repeat(below(5000))}`,
    ])),
  },
  'aborted streams': {
    async act(c, token) {
      const run = '{"policy":"token-bucket","user":"hostile","scenario":"burst","count":50}';
      await c.send(pick([get('/lab/events', `Authorization: Bearer ${token}\r\n`), json('POST', '/lab/runs', token, run), get('/')]));
      await c.until('the first bytes of a stream', () => c.received.length > 0);
    },
  },
};

// One act, from its connection to its leaving. Throws where an answer that is due is missing or another.
export async function misbehave(port, name, token) {
  const { due, act, from = ADDRESS } = ACTS[name];
  const connection = new Connection(port, from);
  try {
    await connection.open;
    const status = await act(connection, token);
    if (due && !due.includes(status)) throw new Error(`${name}: ${status} instead of ${due.join(' or ')}`);
  } finally {
    connection.leave(pick(['reset', 'close']));
  }
}
