// A private nginx in the foreground: one process, own directory, free port, stopped by its pid.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Child } from './child.mjs';
import { HttpClient } from './http.mjs';
import { freePort } from './redis.mjs';
import { until } from './time.mjs';

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export class Nginx {
  // `http`: what stands in the http block, by the port to listen on; `main`: what stands before all blocks.
  static async start(http, { main = '', connections = 256 } = {}) {
    const nginx = new Nginx();
    nginx.directory = mkdtempSync(join(tmpdir(), 'ratelimitd-test-'));
    nginx.port = await freePort();
    const file = join(nginx.directory, 'nginx.conf');
    const paths = TEMPORARY.map((name) => `${name}_temp_path ${nginx.directory}/${name};`).join('\n');
    writeFileSync(file, `${main}\ndaemon off; master_process off; pid ${nginx.directory}/pid; error_log stderr;
events { worker_connections ${connections}; }
http { access_log off; ${paths}\n${http(nginx.port)}\n}\n`);
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }; // where Debian puts it, for users too
    nginx.child = new Child('nginx', ['-p', nginx.directory, '-e', 'stderr', '-c', file], { env });
    nginx.http = new HttpClient(nginx.port);
    await until('an answer of nginx', () => nginx.#answers(), 10000, 5);
    return nginx;
  }

  async #answers() {
    if (!this.child.running) throw new Error(`nginx ended: ${this.child.stdout}${this.child.stderr}`);
    return this.http.request('/', { method: 'OPTIONS' }).then(() => true, () => false);
  }

  request(path, options) {
    return this.http.request(path, options);
  }

  async close() {
    this.http.close();
    if (this.child.running) await this.child.end('SIGTERM');
    rmSync(this.directory, { recursive: true, force: true });
  }
}
