// The command line: what it refuses and in which words, where settings come from, and the Redis it can bring along.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';

import { childrenOf, processRuns, run } from '../harness/child.mjs';
import { admitted } from '../harness/http.mjs';
import { scenario } from '../harness/scenario.mjs';
import { runProgram } from '../harness/server.mjs';
import { until } from '../harness/time.mjs';

const oneLine = (text) => /^[^\n]+\n$/.test(text);

function assertRefusal({ code, stdout, stderr }, status, words, what) {
  assert.equal(code, status, `${what}: exit ${code}, stderr ${stderr}`);
  assert.ok(oneLine(stderr), `${what}: one line on stderr, got ${JSON.stringify(stderr)}`);
  assert.equal(stdout, '', what);
  assert.match(stderr, words, what);
}

// The arguments, and the words that the line must hold besides the option's name.
const BAD_OPTIONS = [
  [['--bogus']],
  [['--port'], 'value'],
  [['--port', 'x'], '"x"', '65535'],
  [['--port=70000'], '70000', '65535'],
  [['--port', '-1'], '-1'],
  [['--port', '80x'], '80x'],
  [['--port='], '""'],
  [['--threads', '0'], '"0"'],
  [['--capacity', '0'], '"0"', '1 to 1000000000'],
  [['--capacity', '1.5'], '1.5', 'whole'],
  [['--capacity', 'nan'], 'nan'],
  [['--refill-rate', '0'], '"0"'],
  [['--refill-rate=0.0000001'], '0.0000001', 'six decimals'],
  [['--refill-interval', '-1'], '-1', '31536000'],
  [['--refill-rate', '1', '--refill-interval', '31536000', '--capacity', '1000000000'], 'ten years'],
  [['--on-redis-error', 'maybe'], 'maybe', 'local', 'open', 'closed'],
  [['--redis-timeout', '0'], '"0"'],
  [['--redis-host', 'redis:6379'], 'redis:6379'],
  [['--key-prefix', 'a{b'], 'a{b'],
  [['--log-level', 'loud'], 'loud', 'info'],
  [['--log-format', 'xml'], 'xml', 'json'],
  [['--ratelimit-fields', 'draft-99'], 'draft-99', 'off'],
  [['--static-dir', '/nonexistent/dir'], '/nonexistent/dir'],
  [['--admin-token-file', '/nonexistent/token'], '/nonexistent/token'],
  [['--redis-password-file', '/nonexistent/password'], '/nonexistent/password'],
  [['--with-redis=maybe'], 'maybe'],
  [['stray'], 'stray'],
];

scenario('a bad option: exit 2 and one line that names it, what was wrong and what is allowed', async () => {
  for (const [args, ...words] of BAD_OPTIONS) {
    const result = await runProgram(args);
    assertRefusal(result, 2, new RegExp(`${args[0].replace(/=.*/, '')}\\b`), args.join(' '));
    for (const word of words) assert.ok(result.stderr.includes(word), `${args.join(' ')}: "${word}" in ${result.stderr}`);
  }
});

scenario('a bad environment variable is refused by its name', async () => {
  assertRefusal(await runProgram([], { RATELIMITD_PORT: 'x' }), 2, /RATELIMITD_PORT.*65535/, 'RATELIMITD_PORT');
  assertRefusal(await runProgram([], { RATELIMITD_CAPACITY: '0' }), 2, /RATELIMITD_CAPACITY/, 'RATELIMITD_CAPACITY');
});

scenario('a secret is never an argument and never repeated', async () => {
  const result = await runProgram(['--redis-password', 'hunter2']);
  assertRefusal(result, 2, /--redis-password/, '--redis-password');
  assert.doesNotMatch(result.stderr, /hunter2/);
});

scenario('--version and --help: exit 0, on stdout', async () => {
  const version = await runProgram(['--version']);
  assert.deepEqual([version.code, version.stdout, version.stderr], [0, 'ratelimitd 1.0.0\n', '']);
  const help = await runProgram(['--help']);
  assert.deepEqual([help.code, help.stderr], [0, '']);
  for (const name of [
    'host', 'port', 'threads', 'max-connections', 'redis-host', 'redis-port', 'redis-socket', 'redis-db', 'redis-user',
    'redis-password-file', 'redis-timeout', 'with-redis', 'key-prefix', 'capacity', 'refill-rate',
    'refill-interval', 'on-redis-error', 'admin-token-file', 'denial-cache', 'ratelimit-fields', 'static-dir', 'log-format', 'log-level',
    'version', 'help',
  ]) {
    assert.match(help.stdout, new RegExp(`--${name}\\b`), `--${name}`);
  }
  assert.ok(help.stdout.split('\n').every((line) => line.length <= 120), 'lines fit a terminal');
});

scenario('the command line wins over the environment, the environment over the default', async (world) => {
  const redis = await world.redis();
  const env = { RATELIMITD_CAPACITY: '7', RATELIMITD_REFILL_INTERVAL: '2.5' };
  const byEnvironment = await world.server({ redis, env });
  const { capacity, refill_rate, refill_interval } = await byEnvironment.settings();
  assert.deepEqual({ capacity, refill_rate, refill_interval }, { capacity: 7, refill_rate: 1, refill_interval: 2.5 });
  const byLine = await world.server({ redis, env, args: ['--capacity=9'] });
  assert.equal((await byLine.settings()).capacity, 9);
});

scenario('Redis by Unix socket, by URL and by number of the database', async (world) => {
  const redis = await world.redis();
  const bySocket = await world.server({ args: ['--redis-socket', redis.socket, '--redis-db', '3'] });
  const byUrl = await world.server({ env: { REDIS_URL: `redis://127.0.0.1:${redis.port}/3` } });
  assert.equal((await bySocket.hit('k')).remaining, 9);
  assert.equal((await byUrl.hit('k')).remaining, 8);
  assert.deepEqual(await redis.keys(), [], 'nothing in database 0');
  await redis.command('SELECT', '3');
  assert.deepEqual(await redis.keys(), [redis.key('k')]);
});

scenario('a port in use, or an address that is not ours: exit 1 and one line', async (world) => {
  const taken = net.createServer();
  await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
  world.owns(() => new Promise((resolve) => taken.close(resolve)));
  const { port } = taken.address();
  assertRefusal(await runProgram(['--port', String(port)]), 1, new RegExp(`${port}.*in use`, 'i'), 'port in use');
  assertRefusal(await runProgram(['--port', '0', '--host', '203.0.113.7']), 1, /203\.0\.113\.7/, 'foreign address');
});

scenario('the start-up line names what a person needs', async (world) => {
  const { redis, server } = await world.pair({ threads: 3 });
  assert.equal(server.startLine, `ratelimitd 1.0.0 listening on http://127.0.0.1:${server.port} (Redis 127.0.0.1:${redis.port}, 3 threads)`);
  const ipv6 = await world.server({ redis, args: ['--host', '::1'] });
  assert.equal(ipv6.host, '[::1]');
  assert.equal((await ipv6.request('/api', { host: '::1' })).json.key, 'ip:::1');
});

scenario('the start-up line says so where it listens on all addresses', async (world) => {
  const redis = await world.redis();
  for (const [host, shown] of [['0.0.0.0', '0.0.0.0'], ['::', '[::]']]) {
    const server = await world.server({ redis, args: ['--host', host] });
    assert.ok(server.startLine.startsWith(`ratelimitd 1.0.0 listening on http://${shown}:${server.port}, all addresses (Redis `), server.startLine);
  }
});

scenario('a variable that no option has is named once at the start, whatever it says, and those that are known are not', async (world) => {
  const redis = await world.redis();
  const known = { RATELIMITD_BIN: '/bin/x', RATELIMITD_VERSION: '1', RATELIMITD_LOG_LEVEL: 'info', RATELIMITD_CHECK_TOKEN: 'sesame-sesame-1' };
  const server = await world.server({ redis, env: { ...known, RATELIMITD_CAPACTIY: 'hunter2', RATELIMITD_: '1', RATELIMITDX: '1' } });
  const lines = server.log.split('\n').filter((line) => line.includes('RATELIMITD'));
  assert.equal(lines.length, 1, server.log);
  assert.match(lines[0], / WARN .*: (RATELIMITD_CAPACTIY, RATELIMITD_|RATELIMITD_, RATELIMITD_CAPACTIY)$/);
  const quiet = await world.server({ redis, env: known });
  assert.doesNotMatch(quiet.log, /RATELIMITD|WARN/);
});

const descendantsOf = (pid) => childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);

async function startWithRedis(world) {
  const server = await world.server({ args: ['--with-redis'] });
  const family = descendantsOf(server.pid);
  const redis = family.find((pid) => /redis-server/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')));
  assert.ok(redis, 'redis-server descends from the server');
  return { server, family, directory: readlinkSync(`/proc/${redis}/cwd`) };
}

scenario('--with-redis limits at once, and leaves nothing behind after SIGTERM', async (world) => {
  const { server, family, directory } = await startWithRedis(world);
  const responses = await server.burst('k', 12, 12);
  assert.equal(admitted(responses), 10);
  assert.ok(responses.every((response) => response.json.source === 'redis'));
  await server.stop();
  assert.deepEqual(family.filter(processRuns), []);
  assert.equal(existsSync(directory), false, directory);
});

scenario('--with-redis: the child is gone after SIGKILL of the server, and its directory too', async (world) => {
  const { server, family, directory } = await startWithRedis(world);
  await server.kill();
  await until('the end of the private redis-server', () => !family.some(processRuns), 3000);
  await until('the end of its directory', () => !existsSync(directory), 1000);
});

scenario('--with-redis: two servers do not meet', async (world) => {
  const [one, two] = [await startWithRedis(world), await startWithRedis(world)];
  assert.equal((await one.server.hit('k')).remaining, 9);
  assert.equal((await two.server.hit('k')).remaining, 9);
});

scenario('--with-redis without redis-server installed: exit 1 and the remedy', async (world) => {
  const result = await runProgram(['--port', '0', '--with-redis'], { PATH: world.directory() });
  assertRefusal(result, 1, /redis-server.*(install|PATH)/i, '--with-redis');
});

scenario('a token is read from its file without the line end', async (world) => {
  const file = join(world.directory(), 'token');
  writeFileSync(file, 'sesame\n');
  const { server } = await world.pair({ args: ['--admin-token-file', file] });
  const status = async (token) => (await server.request('/admin/config', { headers: { Authorization: `Bearer ${token}` } })).status;
  assert.deepEqual([await status('sesame'), await status('open')], [200, 401]);
});

scenario('--static-dir serves the page from disk', async (world) => {
  const directory = world.directory();
  writeFileSync(join(directory, 'index.html'), '<!doctype html><title>mine</title>');
  const { server } = await world.pair({ args: ['--static-dir', directory] });
  assert.match((await server.request('/')).text, /<title>mine/);
  rmSync(join(directory, 'index.html'));
  assert.equal((await run('mkfifo', [join(directory, 'index.html')])).code, 0);
  assert.equal((await server.request('/')).status, 404, 'a pipe is waited for by nobody');
  await until('words', () => /static-dir .*must be a regular file/.test(server.log), 1000);
});

scenario('--log-format json: one JSON object a line', async (world) => {
  const { server } = await world.pair({ args: ['--log-format', 'json', '--log-level', 'debug'] });
  await server.hit('evil\r\n{"level":"error"}');
  await server.patch({ capacity: 11 });
  const lines = server.log.split('\n').filter((line) => line && !line.startsWith('ratelimitd 1.0.0 listening'));
  assert.ok(lines.length > 0);
  for (const line of lines) assert.equal(typeof JSON.parse(line), 'object', line);
});
