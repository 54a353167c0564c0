// The short form of tests/soak/soak.mjs (make soak).

import { soak } from '../soak/soak.mjs';

soak(30);
