// Who is compared: how each is started, and what a request and an answer look like. Each starts as one process with one
// thread that serves, connections kept alive, no log of requests, Redis over TCP on loopback. Measures nothing.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Child } from '../harness/child.mjs';
import { Nginx } from '../harness/nginx.mjs';
import { freePort } from '../harness/redis.mjs';
import { until } from '../harness/time.mjs';
import { LIMITS, scriptArguments } from './limits.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
export const script = readFileSync(`${here}bucket.lua`, 'utf8');

const limitNames = Object.keys(LIMITS);
const verdictOfStatus = ({ status }) => ({ 200: 'admitted', 429: 'denied' })[status] ?? `status ${status}`;

// --- ratelimitd ---

function policies(on_redis_error) {
  const policy = ({ capacity, rate, interval }) => ({
    key: 'ip:{ip}', algorithm: 'token_bucket', capacity, refill_rate: rate, refill_interval: interval, on_redis_error,
  });
  const entries = Object.entries(LIMITS).map(([name, limit]) => [name, policy(limit)]);
  return { policies: { default: {}, ...Object.fromEntries(entries) } };
}

// `args`: more options. `alone`: with nobody at the address of Redis.
export const ratelimitd = (args = [], { alone = false, on_redis_error = 'local' } = {}) => async (world, redis) => {
  const file = join(world.directory(), 'policies.json');
  writeFileSync(file, JSON.stringify(policies(on_redis_error)));
  const address = alone ? { port: await freePort() } : redis;
  const server = await world.server({ redis: address, threads: 1, args: ['--config', file, '--log-level', 'error', ...args] });
  return { pid: server.pid, port: server.port, path: (limit) => [`/check?policy=${limit}&key=k`, ''], verdict: verdictOfStatus };
};

// --- rivals ---

const webdis = async (world, redis) => {
  const port = await freePort();
  const file = join(world.directory(), 'webdis.json');
  const settings = { redis_host: '127.0.0.1', redis_port: redis.port, http_host: '127.0.0.1', http_port: port, threads: 1 };
  writeFileSync(file, JSON.stringify({ ...settings, daemonize: false, database: 0, verbosity: 0, logfile: '/dev/null' }));
  const child = new Child('webdis', [file]);
  world.owns(() => child.end('SIGTERM'));
  const sha = await redis.command('SCRIPT', 'LOAD', script);
  const path = (limit) => [`/EVALSHA/${sha}/1/${LIMITS[limit].prefix}k`, `/${scriptArguments(LIMITS[limit]).join('/')}/${Date.now() / 1000}`];
  const verdict = ({ status, json }) => ['denied', 'admitted'][json?.EVALSHA?.[0]] ?? `status ${status}`;
  return { pid: child.pid, port, path, verdict, deniedStatus: 200 };
};

const plainPath = (limit) => [`/${limit}?key=k`, ''];

const node = (file) => async (world, redis) => {
  const sha = await redis.command('SCRIPT', 'LOAD', script);
  const env = { ...process.env, NODE_ENV: 'production' };
  const child = new Child(process.execPath, [`${here}rivals/${file}`, String(redis.port), sha], { env });
  world.owns(() => child.end('SIGTERM'));
  const [, port] = await child.output(/listening on (\d+)/);
  return { pid: child.pid, port: Number(port), path: plainPath, verdict: verdictOfStatus };
};

const nginx = (http, { modules = [], strays = 0 } = {}) => async (world, redis) => {
  const main = modules.map((name) => `load_module /usr/lib/nginx/modules/${name};`).join('\n');
  const text = await http(redis);
  const server = await Nginx.start((port) => `keepalive_requests 1000000000;\n${text(port)}`, { main, connections: 1024 });
  world.owns(() => server.close());
  return { pid: server.child.pid, port: server.port, path: plainPath, verdict: verdictOfStatus, strays };
};

const nginxLua = nginx(async (redis) => {
  const sha = await redis.command('SCRIPT', 'LOAD', script);
  const location = (name) => `location /${name} { content_by_lua_block {
    bucket.decide(${redis.port}, "${sha}", "${LIMITS[name].prefix}", ${scriptArguments(LIMITS[name]).join(', ')}) } }`;
  return (port) => `lua_package_path "${here}rivals/?.lua;/usr/share/lua/5.1/?.lua;;";
    init_by_lua_block { bucket = require "nginx_bucket" }
    server { listen 127.0.0.1:${port}; ${limitNames.map(location).join('\n')} }`;
}, { modules: ['ndk_http_module.so', 'ngx_http_lua_module.so'] });

// empty_gif is the cheapest answer that nginx gives behind limit_req. One a minute is the slowest limit it knows, so a run
// of denials may meet one that is admitted.
const nginxLimitReq = nginx(async () => (port) => `limit_req_status 429; limit_req_log_level info;
    limit_req_zone $arg_key zone=admitted:10m rate=1000000r/s;
    limit_req_zone $arg_key zone=denied:1m rate=1r/m;
    server { listen 127.0.0.1:${port};
      location /admitted { limit_req zone=admitted burst=1000000 nodelay; empty_gif; }
      location /denied { limit_req zone=denied; empty_gif; } }`, { strays: 1 });

// `runs`: in which workloads it takes part.
export const CONTENDERS = [
  { name: 'ratelimitd', start: ratelimitd(), runs: ['admitted', 'denied', 'single'] },
  { name: 'ratelimitd, denial cache off', start: ratelimitd(['--denial-cache', 'off']), runs: ['denied'] },
  { name: 'webdis', start: webdis, runs: ['admitted', 'denied', 'single'] },
  { name: 'nginx + Lua + Redis', start: nginxLua, runs: ['admitted', 'denied'] },
  { name: 'Node http + redis', start: node('node_redis.mjs'), runs: ['admitted', 'denied'] },
  { name: 'rate-limiter-flexible', start: node('flexible.mjs'), runs: ['admitted', 'denied'] },
  { name: 'express-rate-limit', start: node('express.mjs'), runs: ['admitted', 'denied'] },
  { name: 'ratelimitd without Redis', start: ratelimitd([], { alone: true }), runs: ['admitted', 'denied'] },
  { name: 'ratelimitd without Redis, open', start: ratelimitd([], { alone: true, on_redis_error: 'open' }), runs: ['admitted'] },
  { name: 'nginx limit_req without Redis', start: nginxLimitReq, runs: ['admitted', 'denied'] },
];

// Started, and asked once under each limit that it is to run, so that nobody is measured who answers wrongly.
export async function start(world, redis, { name, start: begin, runs }) {
  const contender = { name, runs, deniedStatus: 429, strays: 0, ...(await begin(world, redis)) };
  await until(`an answer of ${name}`, () => ask(contender, 'admitted').then(() => true, () => false));
  return contender;
}

async function ask(contender, limit) {
  const [before, after] = contender.path(limit);
  const response = await fetch(`http://127.0.0.1:${contender.port}${before}1${after}`, { signal: AbortSignal.timeout(2000) });
  const text = await response.text();
  const json = text.startsWith('{') ? JSON.parse(text) : null;
  return contender.verdict({ status: response.status, json });
}

// Asks for client k1 until the limit `denied` denies, twice at most, or once under `admitted`; anything else is an error.
export async function assertRight(contender, limit) {
  const seen = [await ask(contender, limit)];
  if (limit === 'denied' && seen[0] === 'admitted') seen.push(await ask(contender, limit));
  if (seen.at(-1) !== limit) throw new Error(`${contender.name} must say "${limit}", and said "${seen.join('", "')}"`);
}
