// HTTP as a client sees it, on node:http: one request, many at once, a steady load. Asserts nothing.

import http from 'node:http';

import { now, sleep } from './time.mjs';

export class Response {
  constructor(message, text, started) {
    this.status = message.statusCode;
    this.headers = message.headers;
    this.rawHeaders = message.rawHeaders;
    this.text = text;
    this.started = started;
    this.ms = now() - started;
  }

  get json() {
    try {
      return JSON.parse(this.text);
    } catch (error) {
      throw new Error(`not JSON (status ${this.status}): ${this.text.slice(0, 300)}`, { cause: error });
    }
  }

  // How often a field occurs, before anything joined them.
  count(name) {
    return this.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === name.toLowerCase()).length;
  }

  number(name) {
    return Number(this.headers[name.toLowerCase()]);
  }

  get remaining() {
    return this.number('X-RateLimit-Remaining');
  }
}

export class HttpClient {
  #agents = [];

  constructor(port, host = '127.0.0.1') {
    this.port = port;
    this.host = host;
    this.agent = this.newAgent();
  }

  // More connections, kept until close(); `maxSockets: 1` makes one connection.
  newAgent(options = {}) {
    const agent = new http.Agent({ keepAlive: true, ...options });
    this.#agents.push(agent);
    return agent;
  }

  // `options`: method, headers, body (text or Buffer; an object is sent as JSON), agent (false: a connection of its own).
  request(path, options = {}) {
    const { method = 'GET', body, agent = this.agent, host = this.host } = options;
    const headers = { ...options.headers };
    const bytes = body !== undefined && !Buffer.isBuffer(body) && typeof body === 'object' ? JSON.stringify(body) : body;
    if (bytes !== body && !('Content-Type' in headers)) headers['Content-Type'] = 'application/json';
    if (bytes !== undefined) headers['Content-Length'] = Buffer.byteLength(bytes);
    const started = now();
    return new Promise((resolve, reject) => {
      const request = http.request({ host, port: this.port, path, method, headers, agent }, (message) => {
        const chunks = [];
        message.on('data', (chunk) => chunks.push(chunk));
        message.on('error', reject);
        message.on('end', () => resolve(new Response(message, Buffer.concat(chunks).toString('utf8'), started)));
      });
      request.on('error', reject);
      request.end(bytes);
    });
  }

  close() {
    this.#agents.splice(0).forEach((agent) => agent.destroy());
  }
}

// Calls `each(i)` for i in 0..count-1, `parallel` at a time; results in order of i.
export async function burst(count, parallel, each) {
  const results = new Array(count);
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const i = next++;
      results[i] = await each(i);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, count) }, lane));
  return results;
}

// Requests one after another on `parallel` lanes with a pause between, until stop(). Records every outcome; one that
// failed without an answer has `error`.
export class Load {
  records = [];
  #stopped = false;
  #lanes;

  constructor(parallel, pause, each) {
    this.#lanes = Array.from({ length: parallel }, async (_, lane) => {
      for (let i = 0; !this.#stopped; i++) {
        this.records.push(await this.#once(each, lane, i));
        await sleep(pause);
      }
    });
  }

  async #once(each, lane, i) {
    const started = now();
    try {
      const response = await each(lane, i);
      return { started, ended: now(), ms: response.ms, response, error: null };
    } catch (error) {
      return { started, ended: now(), ms: now() - started, response: null, error };
    }
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.#lanes);
    return this.records;
  }
}

// How often each value occurs: {200: 10, 429: 1}.
export function tally(values) {
  const counts = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

export const statuses = (responses) => tally(responses.map((response) => response.status));
export const admitted = (responses) => responses.filter((response) => response.status === 200).length;
