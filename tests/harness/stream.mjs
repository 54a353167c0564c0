// A streamed answer, read as it comes: whole lines or server-sent events. Asserts nothing.

import http from 'node:http';

import { until } from './time.mjs';

export class StreamedResponse {
  text = '';
  ended = false;
  error = null;

  // `options` as for http.request: method, headers, body (an object is sent as JSON).
  static open(port, path, { method = 'GET', headers = {}, body } = {}) {
    const bytes = body && typeof body === 'object' ? JSON.stringify(body) : body;
    const all = { ...(bytes === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(bytes) }), ...headers };
    const stream = new StreamedResponse();
    return new Promise((resolve, reject) => {
      stream.request = http.request({ host: '127.0.0.1', port, path, method, headers: all, agent: false }, (message) => {
        stream.status = message.statusCode;
        stream.headers = message.headers;
        message.setEncoding('utf8').on('data', (text) => { stream.text += text; });
        message.on('end', () => { stream.ended = true; });
        message.on('error', (error) => { stream.error = error; });
        resolve(stream);
      });
      stream.request.on('error', (error) => (stream.status ? undefined : reject(error)));
      stream.request.end(bytes);
    });
  }

  // NDJSON: the lines that are whole.
  get lines() {
    return this.text.split('\n').slice(0, -1).map((line) => JSON.parse(line));
  }

  // Server-sent events that are whole, without comments: [{event, data}].
  get events() {
    return this.text.split('\n\n').slice(0, -1).flatMap((block) => {
      const event = block.match(/^event: (.*)$/m)?.[1];
      return event ? [{ event, data: JSON.parse(block.match(/^data: (.*)$/m)[1]) }] : [];
    });
  }

  of(event) {
    return this.events.filter((each) => each.event === event).map((each) => each.data);
  }

  end(ms = 10000) {
    return until('the end of the stream', () => this.ended || this.error, ms, 5);
  }

  close() {
    this.request.destroy();
  }
}
