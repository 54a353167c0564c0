// What the rivals on Node share: Redis, the script, and a server that says where it listens.
// Started as: node RIVAL.mjs REDIS_PORT [SHA]

import { createClient } from 'redis';

export const [redisPort, sha] = process.argv.slice(2);

export async function connect() {
  const client = createClient({ socket: { host: '127.0.0.1', port: Number(redisPort) } });
  client.on('error', (error) => { throw error; });
  await client.connect();
  return client;
}

export function listen(server) {
  server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
}

// "/admitted?key=k1" -> ["admitted", "k1"]; cheaper than a URL object, as people who count microseconds write it.
export function parse(url) {
  const at = url.indexOf('?key=');
  return [url.slice(1, at), url.slice(at + 5)];
}

export function answer(response, allowed, remaining) {
  const body = allowed ? '{"allowed":true}' : '{"allowed":false}';
  response.writeHead(allowed ? 200 : 429, {
    'Content-Type': 'application/json', 'Content-Length': body.length, 'X-RateLimit-Remaining': remaining,
  });
  response.end(body);
}

export function failed(response, error) {
  response.writeHead(500).end(String(error));
}
