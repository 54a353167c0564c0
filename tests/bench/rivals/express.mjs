// express with express-rate-limit on its Redis store: a fixed window that Redis counts.

import http from 'node:http';

import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';

import { LIMITS } from '../limits.mjs';
import { connect, listen } from './service.mjs';

const redis = await connect();
const app = express();
app.disable('x-powered-by').disable('etag').set('query parser', 'simple');

for (const [name, { capacity }] of Object.entries(LIMITS)) {
  const limiter = rateLimit({
    windowMs: 86400_000, limit: capacity, standardHeaders: 'draft-8', legacyHeaders: false, validate: false,
    keyGenerator: (request) => request.query.key,
    store: new RedisStore({ prefix: `express-${name}:`, sendCommand: (...args) => redis.sendCommand(args) }),
  });
  app.get(`/${name}`, limiter, (request, response) => response.json({ allowed: true }));
}

listen(http.createServer(app));
