/* One requestAnimationFrame for the whole page: panels mark themselves, and are drawn at most so often. Also tells how
   smoothly it went. */

const tasks = [];
let asked = 0;
let frames = null; // while somebody measures: { count, began }

function tick(now) {
  asked = 0;
  if (frames) frames.count += 1;
  let more = frames !== null;
  for (const task of tasks) {
    if (!task.dirty) continue;
    if (now - task.drawnAt < task.every) {
      more = true;
      continue;
    }
    task.dirty = false;
    task.drawnAt = now;
    task.draw(now);
  }
  if (more) ask();
}

function ask() {
  asked = asked || requestAnimationFrame(tick);
}

/* Returns mark(): "draw me again". */
export function drawn(draw, every = 0) {
  const task = { draw, every: Math.max(0, every - 4), drawnAt: -Infinity, dirty: false };
  tasks.push(task);
  return () => {
    task.dirty = true;
    ask();
  };
}

export function measureFrames() {
  frames = { count: 0, began: performance.now() };
  ask();
}

/* Frames a second since measureFrames, or null if this tab was hidden most of the time. */
export function framesMeasured() {
  const { count, began } = frames ?? { count: 0, began: 0 };
  const seconds = (performance.now() - began) / 1000;
  frames = null;
  return count && seconds > 0.2 ? Math.round(count / seconds) : null;
}
