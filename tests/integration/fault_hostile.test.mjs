// The short form of tests/soak/hostile.mjs (make soak-hostile).

import { hostile } from '../soak/hostile.mjs';

hostile(10);
