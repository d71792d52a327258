// The ring: who waits for whom. Those of the cycle stand round it, the client's parts at the left
// and the server's at the right; the others stand below, dashed.
import { h, Fragment } from "preact";
import { LETTER } from "./arrow.jsx";
import { clip, isolate } from "./text.js";

const LINE = 15; // height of a line in a box
const SMALL = 6.7; // width of a letter of the 11 px monospaced font
const GAP = 28; // between boxes that stand in a column
const NARROW = 800; // below this the ring is a column
const WIDEST = 420; // box of a column
const TIP = 6; // between an arrow's tip and its box

// wrap breaks a text into at most a number of lines.
function wrap(text, letters, most) {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? lines.at(-1) + " " + word : word;
    if (lines.length && (longer.length <= letters || lines.length === most)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.map((line) => clip(line, letters));
}

// boxesOf returns a box for each part that waits, or is waited for in the cycle.
function boxesOf({ verdict, parts }, width, upright) {
  const room = Math.min(upright ? width - (width < 300 ? 40 : 64) : width * 0.31, upright ? WIDEST : 310);
  const names = new Set([...verdict.cycle, ...verdict.waits.map((wait) => wait.who)]);
  return [...names].map((name) => {
    const place = verdict.waits.findIndex((wait) => wait.who === name);
    const { holds, why = "" } = verdict.waits[place] || {};
    const heads = wrap(name, (room - 14) / LETTER, 3);
    const notes = wrap(holds ? "holds " + holds : why, (room - 14) / SMALL, upright ? 4 : 3);
    return {
      name,
      heads,
      notes,
      seq: parts[place]?.seq || 0,
      title: [name, holds && "holds " + holds, why].filter(Boolean).join("; "),
      side: { client: -1, server: 1 }[parts[place]?.end] || 0,
      width: room,
      height: (heads.length + notes.length) * LINE + 18,
      aside: !verdict.cycle.includes(name),
    };
  });
}

// around places the boxes of a cycle on an ellipse, turned so that most stand on their own side.
function around(cycle, width, top) {
  const n = cycle.length;
  const height = Math.max(...cycle.map((box) => box.height));
  const across = n === 1 ? 0 : Math.min(width / 2 - cycle[0].width / 2 - 12, 350);
  const radius = n <= 2 ? 0 : (height + 44) * (n > 4 ? 1.5 : 1);
  const middle = { x: width / 2, y: top + radius + height / 2 };
  const angle = (k, turn) => ((k + turn) / n) * 2 * Math.PI - (n === 2 ? 0 : Math.PI / 2);
  const score = (turn) => cycle.reduce((sum, box, k) => sum + box.side * Math.cos(angle(k, turn)), 0);
  let best = 0;
  for (let turn = 1; turn < n; turn++) if (score(turn) > score(best) + 1e-9) best = turn;
  cycle.forEach((box, k) => {
    box.x = middle.x + across * Math.cos(angle(k, best));
    box.y = middle.y + radius * Math.sin(angle(k, best));
    box.height = height;
  });
  return middle;
}

// below places boxes in a column under a height, and returns where it ends.
function below(boxes, x, top) {
  for (const box of boxes) {
    box.x = x;
    box.y = top + box.height / 2;
    top += box.height + GAP;
  }
  return top;
}

// layout places every part that waits.
export function layout(run, width, top) {
  const upright = width < NARROW;
  const boxes = boxesOf(run, width, upright);
  const cycle = run.verdict.cycle.map((name) => boxes.find((box) => box.name === name));
  let middle = null;
  let foot = top + 20;
  if (upright) foot = below(cycle, width / 2, foot);
  else if (cycle.length > 0) {
    middle = around(cycle, width, foot);
    foot = Math.max(...cycle.map((box) => box.y + box.height / 2)) + GAP;
  }
  cycle.forEach((box, k) => (box.next = cycle[(k + 1) % cycle.length]));
  let bottom = foot;
  const columns = new Map(); // x → where the column below ends
  for (const box of boxes.filter((box) => box.aside)) {
    const awaited = run.verdict.waits.find((wait) => wait.who === box.name).waits_for;
    const target = boxes.find((other) => other.name === awaited);
    const x = target?.x && !upright ? target.x : width / 2;
    box.far = columns.has(x) || upright; // other boxes may stand between
    columns.set(x, below([box], x, columns.get(x) || foot));
    bottom = Math.max(bottom, columns.get(x));
  }
  return { boxes, upright, middle, bottom };
}

// path leads from a box to another: past the side of those between, or straight, or in a bow
// along the outside of the ring.
function path(from, to, { upright, middle }, both) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  if (from.far || (upright && !(to === from.next && dy > 0))) {
    const side = from.aside ? 1 : -1;
    const edge = from.x + (side * from.width) / 2;
    return `M${edge} ${from.y}H${edge + side * 16}V${to.y}H${edge + side * TIP}`;
  }
  const right = Math.sign(dx);
  const down = Math.sign(dy);
  const side = from.x + (right * from.width) / 2;
  const foot = from.y + (down * from.height) / 2;
  const before = { x: to.x - right * (to.width / 2 + TIP), y: to.y - down * (to.height / 2 + TIP) };
  if (Math.abs(dx) < from.width / 2) return `M${(from.x + to.x) / 2} ${foot}V${before.y}`;
  if (Math.abs(dy) < from.height / 2) return `M${side} ${(from.y + to.y) / 2 - (both ? right * 12 : 0)}H${before.x}`;
  if (Math.abs(from.y - middle.y) > Math.abs(to.y - middle.y))
    return `M${side} ${from.y}Q${to.x} ${from.y} ${to.x} ${before.y}`;
  return `M${from.x} ${foot}Q${from.x} ${to.y} ${before.x} ${to.y}`;
}

export function Ring({ run, width, top, dim, links }) {
  const { verdict } = run;
  const placed = layout(run, width, top);
  const boxOf = (name) => placed.boxes.find((box) => box.name === name);
  const told = verdict.cycle.length
    ? verdict.cycle.join(" waits for ") + " waits for " + verdict.cycle[0]
    : verdict.explanation;
  return (
    <g id="ring" class={dim ? "later" : "now"} role="group" aria-label={"Who waits for whom: " + told}>
      <defs>
        {["tip", "tip-aside"].map((name) => (
          <marker
            key={name}
            id={name}
            viewBox="0 0 10 10"
            refX="9"
            refY="5"
            markerWidth="6"
            markerHeight="6"
            orient="auto"
          >
            <path class={name} d="M0 0L10 5L0 10Z" />
          </marker>
        ))}
      </defs>
      <line class="hangs" x1="0" x2={width} y1={top} y2={top} />
      {placed.middle && verdict.cycle.length > 2 && (
        <text class="end" text-anchor="middle" x={placed.middle.x} y={placed.middle.y + 4}>
          each waits for the next
        </text>
      )}
      {verdict.waits.map((wait, n) => {
        const from = boxOf(wait.who);
        const to = boxOf(wait.waits_for);
        return (
          to && (
            <path
              key={n}
              class={"wait" + (from.aside ? " aside" : "")}
              data-jump={(links && run.parts[n]?.seq) || undefined}
              marker-end={from.aside ? "url(#tip-aside)" : "url(#tip)"}
              d={path(from, to, placed, verdict.cycle.length === 2)}
            >
              <title>{`${wait.who} waits for ${wait.waits_for}: ${wait.why}`}</title>
            </path>
          )
        );
      })}
      {placed.boxes.map((box) => (
        <Box key={box.name} box={box} links={links} />
      ))}
    </g>
  );
}

// Box is a part that waits. It leads to its message where links are asked for.
function Box({ box, links }) {
  const first = box.y - ((box.heads.length + box.notes.length) * LINE) / 2 + 11;
  const link = links && box.seq ? { "data-jump": box.seq, role: "link", tabindex: 0 } : {};
  return (
    <g class={"node" + (box.aside ? " aside" : "")} data-name={box.name} {...link}>
      <rect x={box.x - box.width / 2} y={box.y - box.height / 2} width={box.width} height={box.height} rx="7">
        <title>{box.title + (box.seq ? `: event #${box.seq}` : "")}</title>
      </rect>
      {[...box.heads, ...box.notes].map((line, n) => (
        <text
          key={n}
          class={n < box.heads.length ? "" : "small dim"}
          text-anchor="middle"
          x={box.x}
          y={first + n * LINE}
        >
          {isolate(line)}
        </text>
      ))}
    </g>
  );
}
