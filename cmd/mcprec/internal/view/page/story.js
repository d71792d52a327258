// The story of a run: of its steps, the way of each frame from the hand of its writer through
// the queue to its reader, by lines. Steps of one tick share a line.

const TOP = 2; // above the first line
export const LINE = 24; // height of a line
export const BREAK = 26; // height of «here they part»

const ends = { c2s: "client", s2c: "server" };

// writer names the end that sends in a direction.
export const writer = (dir) => ends[dir];

// storyOf folds a run: {steps, messages, held}.
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
  const open = new Set((run.verdict?.unanswered || []).filter((one) => !one.cancelled).map((one) => one.seq));
  for (const frame of frames.values()) frame.open = open.has(frame.row.seq);
  return {
    run,
    messages: [...frames.values()],
    levels,
    notes,
    held,
    lines: line,
    skipped: run.first ?? Math.max(0, run.total - run.steps.length), // steps before these
  };
}

function frameOf(frames, run, dir, n) {
  const key = `${dir}.${n}`;
  let frame = frames.get(key);
  if (!frame) {
    const row = run.messages[key] || { seq: 0, label: `message ${n}`, kind: "request", dir, tone: "" };
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
export const hangsOf = (run) => run.verdict?.verdict === "hang" || run.hang === true;

// lastStep is the number of the last step of a story: of a hang, the one at which it stands.
export const lastStep = (story) => story.lines + (hangs(story) ? 1 : 0);

// partOf returns the line at which two stories part, 0 if they do not: that of the first step, of
// all, that only one of them has. Go knows it of an exploration.
export function partOf(a, b, known) {
  const stepOf = (story, n) => story.run.steps[n - story.skipped];
  const same = (x, y) => x && y && x.op === y.op && x.dir === y.dir && x.n === y.n;
  let at = known ?? Math.max(a.skipped, b.skipped);
  if (known === undefined) while (same(stepOf(a, at), stepOf(b, at))) at++;
  if (!stepOf(a, at) && !stepOf(b, at)) return 0;
  return Math.min(lineOf(a, at - a.skipped), lineOf(b, at - b.skipped));
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
