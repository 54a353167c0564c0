// A load of exactly so many requests over so many keep-alive connections, one at a time on each. Knows no server.

import net from 'node:net';

// The end of the first answer in `text`, or -1.
function answerEnd(text) {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return -1;
  const length = text.slice(0, head).match(/^content-length: *(\d+)/im);
  const end = head + 4 + Number(length?.[1] ?? 0);
  return text.length < end ? -1 : end;
}

// One connection: asks for what `next()` gives until that is undefined; counts answers by status.
function converse(port, next, statuses) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    let text = '';
    const ask = () => {
      const path = next();
      if (path === undefined) {
        socket.destroy();
        resolve();
      } else {
        socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
      }
    };
    socket.on('connect', ask).on('error', reject).on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      const end = answerEnd(text);
      if (end < 0) return;
      const status = text.slice(9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      text = text.slice(end);
      ask();
    });
  });
}

// Sends `count` requests, for `path(0)` to `path(count - 1)`. Returns how many answers of each status came.
export async function exactLoad(port, count, connections, path) {
  const statuses = {};
  let asked = 0;
  const next = () => (asked < count ? path(asked++) : undefined);
  await Promise.all(Array.from({ length: connections }, () => converse(port, next, statuses)));
  return statuses;
}
