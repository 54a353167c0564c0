// Node's http and the redis client, running bucket.lua by EVALSHA.

import http from 'node:http';

import { LIMITS, scriptArguments } from '../limits.mjs';
import { answer, connect, failed, listen, parse, sha } from './service.mjs';

const redis = await connect();
const settings = Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, scriptArguments(limit)]));

async function decide(request, response) {
  const [name, key] = parse(request.url);
  const now = String(Date.now() / 1000);
  const [allowed, tokens] = await redis.evalSha(sha, { keys: [LIMITS[name].prefix + key], arguments: [...settings[name], now] });
  answer(response, allowed === 1, tokens);
}

listen(http.createServer((request, response) => decide(request, response).catch((error) => failed(response, error))));
