// Bytes to a port and bytes back: for requests that no well-behaved client would send. Reads answers strictly.

import net from 'node:net';

import { sleep, within } from './time.mjs';

// One answer at the beginning of `bytes`, or null while it is incomplete. `head`: the request was HEAD, so no body.
export function parseAnswer(bytes, { head = false, closed = false } = {}) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [line, ...fields] = bytes.toString('latin1', 0, end).split('\r\n');
  const match = line.match(/^HTTP\/1\.[01] (\d{3}) ?(.*)$/);
  if (!match) throw new Error(`not a status line: ${JSON.stringify(line.slice(0, 80))}`);
  const headers = {};
  for (const field of fields) {
    const colon = field.indexOf(':');
    const name = field.slice(0, colon).toLowerCase();
    if (name in headers) throw new Error(`${name} twice: ${JSON.stringify(bytes.toString('latin1', 0, end))}`);
    headers[name] = field.slice(colon + 1).trim();
  }
  const status = Number(match[1]);
  const body = parseBody(bytes.subarray(end + 4), status, headers, head, closed);
  return body && { status, headers, text: body.text, length: end + 4 + body.length };
}

function parseBody(bytes, status, headers, head, closed) {
  if (head || status === 204 || status === 304 || status < 200) return { text: '', length: 0 };
  if (headers['transfer-encoding']) return parseChunks(bytes);
  if (headers['content-length'] === undefined) return closed ? { text: bytes.toString(), length: bytes.length } : null;
  const length = Number(headers['content-length']);
  return bytes.length < length ? null : { text: bytes.toString('utf8', 0, length), length };
}

function parseChunks(bytes) {
  let text = '';
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return null;
    const size = parseInt(bytes.toString('latin1', at, end), 16);
    if (bytes.length < end + 2 + size + 2) return null;
    if (size === 0) return { text, length: end + 4 };
    text += bytes.toString('utf8', end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}

// Ends with RST, so that the other side's next write fails. Node 20 drops the handle of a socket that is reset
// while it is being ended: it would stay open, and keep the process, for ever.
export function resetSocket(socket) {
  if (socket.destroyed || !socket.writableEnded || socket.writableFinished) socket.resetAndDestroy();
  else socket.once('finish', () => socket.resetAndDestroy());
}

export class RawConnection {
  #socket;
  #wake = () => {};
  received = Buffer.alloc(0);
  closed = false;
  error = null;

  static async open(port, host = '127.0.0.1') {
    const raw = new RawConnection();
    raw.#socket = net.connect({ port, host, noDelay: true, allowHalfOpen: true });
    await new Promise((resolve, reject) => raw.#socket.once('connect', resolve).once('error', reject));
    raw.#socket.on('data', (bytes) => {
      raw.received = Buffer.concat([raw.received, bytes]);
      raw.#wake();
    });
    raw.#socket.on('end', () => raw.#ended());
    raw.#socket.on('error', (error) => {
      raw.error = error;
      raw.#ended();
    });
    raw.#socket.on('close', () => raw.#ended());
    return raw;
  }

  #ended() {
    this.closed = true;
    this.#wake();
  }

  // Resolves when the kernel has taken the bytes, or the connection is gone.
  send(bytes) {
    if (this.#socket.destroyed || !this.#socket.writable) return Promise.resolve();
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  // Each piece a segment of its own, with a pause after it.
  async sendPieces(pieces, pause) {
    for (const piece of pieces) {
      await this.send(piece);
      await sleep(pause);
    }
  }

  // The next answer; throws when the connection ends without one.
  async answer({ head = false, ms = 5000 } = {}) {
    return within(ms, 'an answer on a raw connection', (async () => {
      for (;;) {
        const found = parseAnswer(this.received, { head, closed: this.closed });
        if (found) {
          this.received = this.received.subarray(found.length);
          if (found.status >= 200) return found;
        } else if (this.closed) {
          throw new Error(`the connection ended without an answer (${this.error?.code ?? 'end'}): ${this.received.toString('latin1').slice(0, 200)}`);
        } else {
          await new Promise((resolve) => (this.#wake = resolve));
        }
      }
    })());
  }

  async ended(ms = 5000) {
    await within(ms, 'the server to close a raw connection', (async () => {
      while (!this.closed) await new Promise((resolve) => (this.#wake = resolve));
    })());
  }

  halfClose() {
    this.#socket.end();
  }

  reset() {
    resetSocket(this.#socket);
  }

  close() {
    this.#socket.destroy();
  }
}

// Opens, sends, reads one answer, closes.
export async function rawExchange(port, bytes, options) {
  const raw = await RawConnection.open(port);
  try {
    await raw.send(bytes);
    return await raw.answer(options);
  } finally {
    raw.close();
  }
}
