// The table of routes as src/http/route.c has it, so that tests which go through all of it miss none.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { repository } from './server.mjs';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const groups = { ANY_METHOD: METHODS, ANY_BUT_OPTIONS: METHODS.filter((name) => name !== 'OPTIONS'), CHANGEABLE: ['GET', 'PUT', 'PATCH', 'DELETE'] };

const methodsOf = (words) => words.split('|').flatMap((word) => groups[word.trim()] ?? word.trim().replace('HTTP_', ''));

// [{path, below, guarded, methods, handler}]: `methods` as the table names them; HEAD goes with GET, OPTIONS with all.
export function routeTable() {
  const source = readFileSync(`${repository}src/http/route.c`, 'utf8');
  const table = source.match(/^const struct route routes\[\] = \{\n(.*?)^\};/ms)[1].replace(/\/\*.*?\*\//gs, '');
  const rows = [...table.matchAll(/\{\s*"([^"]+)",\s*(true|false),\s*(true|false),\s*([A-Z_|\s]+),\s*(MEDIA_\w+),[^,]+,\s*(\w+),\s*\w+\}/g)];
  assert.equal(rows.length, table.split('{').length - 1, 'every row was read');
  return rows.map(([, path, below, guarded, methods, , handler]) => {
    const names = methodsOf(methods);
    assert.ok(names.every((name) => METHODS.includes(name)), `${path}: ${methods}`);
    return { path, below: below === 'true', guarded: guarded === 'true', methods: names, handler };
  });
}
