// The story of a run: of its steps, the way of each frame from the hand of its writer through
// the queue to its reader, by lines. Steps of one tick share a line.

export const TOP = 44; // height of the heads
export const LINE = 22; // height of a line
export const BREAK = 26; // height of «here they part»

const ends = { c2s: "client", s2c: "server" };

// writer names the end that sends in a direction.
export const writer = (dir) => ends[dir];

// storyOf folds a run: {steps, frames, held}.
export function storyOf(run) {
  const frames = new Map();
  const levels = [null]; // by line: queue and inner after its last step
  const notes = []; // of steps that move no frame
  let line = 0;
  let tick;
  for (const step of run.steps) {
    if (step.tick !== tick) {
      line++;
      tick = step.tick;
    }
    levels[line] = { queue: step.queue, inner: step.inner };
    if (!step.n || !["offer", "take", "ack", "give"].includes(step.op)) {
      notes.push({ line, text: [step.name, step.operation || step.op].filter(Boolean).join(": ") });
      continue;
    }
    frameOf(frames, run, step.dir, step.n)[step.op] ??= line;
  }
  const held = heldOf(run, frames);
  return {
    run,
    frames: [...frames.values()],
    levels,
    notes,
    held,
    lines: line,
    skipped: Math.max(0, (run.total || 0) - run.steps.length),
  };
}

function frameOf(frames, run, dir, n) {
  const key = `${dir}.${n}`;
  let frame = frames.get(key);
  if (!frame) {
    const row = run.frames[key] || { seq: 0, label: `frame ${n}`, kind: "request", dir, tone: "" };
    frame = { key, dir, n, row };
    frames.set(key, frame);
  }
  return frame;
}

// heldOf lists the frames that stand where they are at the end: those that Go names, else those
// whose steps are not complete.
function heldOf(run, frames) {
  const named = run.held || [];
  for (const one of named) frameOf(frames, run, one.dir, one.n).held = one;
  if (named.length === 0 && hangsOf(run)) {
    for (const frame of frames.values()) {
      if (frame.take && frame.give) continue;
      frame.held = { dir: frame.dir, n: frame.n, by: frame.take ? "queue" : "writer", text: "" };
    }
  }
  return [...frames.values()].filter((frame) => frame.held);
}

// hangs: the run does not come to its end.
export const hangs = (story) => hangsOf(story.run);
const hangsOf = (run) => run.verdict?.verdict === "hang" || run.hang === true;

// lastStep is the number of the last step of a story: of a hang, the one at which it stands.
export const lastStep = (story) => story.lines + (hangs(story) ? 1 : 0);

// partOf returns the line at which two stories part: that of the first unequal step; 0 if none.
export function partOf(a, b) {
  const most = Math.max(a.run.steps.length, b.run.steps.length);
  const same = (x, y) => x && y && x.op === y.op && x.dir === y.dir && x.n === y.n && x.name === y.name;
  for (let n = 0; n < most; n++) {
    const x = a.run.steps[n];
    const y = b.run.steps[n];
    if (!same(x, y)) return Math.min(lineOf(a, n), lineOf(b, n));
  }
  return 0;
}

// lineOf is the line of a step by its index; that after the last if there is none.
function lineOf(story, index) {
  const { steps } = story.run;
  if (index >= steps.length) return story.lines + 1;
  let line = 0;
  for (let n = 0; n <= index; n++) if (n === 0 || steps[n].tick !== steps[n - 1].tick) line++;
  return line;
}

// yOf is the middle of a line; from the line of the parting on, everything stands lower.
export const yOf = (line, apart) => TOP + line * LINE + (apart && line >= apart ? BREAK : 0);
