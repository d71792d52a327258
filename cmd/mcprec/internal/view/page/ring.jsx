// The ring: who waits for whom. Those of the cycle stand round it, the client's parts at the left
// and the server's at the right; the others stand below, dashed.
import { h, Fragment } from "preact";
import { clip } from "./text.js";

const BOX = 60; // height of a box
const GAP = 26; // between boxes that stand in a column
const NARROW = 560; // below this the ring is a column
const RADIUS = 104;

const sideOf = (name) => (/client/.test(name) ? -1 : /server/.test(name) ? 1 : 0);

// wrap breaks a text into at most a number of lines.
function wrap(text, letters, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? lines.at(-1) + " " + word : word;
    if (longer.length <= letters || lines.length === most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.map((line) => clip(line, letters));
}

// around places the cycle on an ellipse, turned so that most parts stand on their own side.
function around(cycle, width, top) {
  const n = cycle.length;
  const box = Math.min(310, width * 0.31);
  const across = n === 1 ? 0 : Math.min(width / 2 - box / 2 - 12, 350);
  const radius = n <= 2 ? 24 : n > 4 ? RADIUS * 1.5 : RADIUS;
  const middle = { x: width / 2, y: top + radius + BOX / 2 + 14 };
  const angle = (k, turn) => ((k + turn) / n) * 2 * Math.PI - (n === 2 ? 0 : Math.PI / 2);
  const score = (turn) => cycle.reduce((sum, name, k) => sum + sideOf(name) * Math.cos(angle(k, turn)), 0);
  let best = 0;
  for (let turn = 1; turn < n; turn++) if (score(turn) > score(best) + 1e-9) best = turn;
  const nodes = cycle.map((name, k) => ({
    name,
    box,
    x: middle.x + across * Math.cos(angle(k, best)),
    y: middle.y + (n <= 2 ? 0 : radius) * Math.sin(angle(k, best)),
  }));
  return { nodes, middle, foot: middle.y + (n <= 2 ? 0 : radius) + BOX / 2 };
}

// column places the cycle one below the other, where there is no room for a ring.
function column(cycle, width, top) {
  const box = width - 64;
  const nodes = cycle.map((name, k) => ({
    name,
    box,
    x: width / 2,
    y: top + 20 + BOX / 2 + k * (BOX + GAP),
    row: k,
  }));
  return { nodes, middle: null, foot: nodes.at(-1).y + BOX / 2 };
}

// layout places every part that waits.
export function layout(verdict, width, top) {
  const upright = width < NARROW;
  const placed = (upright ? column : around)(verdict.cycle, width, top + 12);
  const byName = new Map(placed.nodes.map((node) => [node.name, node]));
  const rest = [...new Set(verdict.waits.map((wait) => wait.who))].filter((name) => !byName.has(name));
  const box = placed.nodes[0]?.box || Math.min(310, width - 24);
  const taken = new Map(); // how many stand in each place below
  for (const name of rest) {
    const target = byName.get(verdict.waits.find((wait) => wait.who === name).waits_for);
    const x = target && !upright ? target.x : width / 2;
    const level = taken.get(Math.round(x)) || 0;
    taken.set(Math.round(x), level + 1);
    byName.set(name, { name, box, x, y: placed.foot + GAP + 12 + BOX / 2 + level * (BOX + GAP), aside: true });
  }
  const levels = Math.max(0, ...taken.values());
  return { byName, upright, middle: placed.middle, bottom: placed.foot + levels * (BOX + GAP) + 34 };
}

// border cuts the line between two boxes at the border of the first.
function border(from, to) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const share = Math.min((from.box / 2 + 5) / Math.abs(dx || 1e-9), (BOX / 2 + 5) / Math.abs(dy || 1e-9));
  return { x: from.x + dx * share, y: from.y + dy * share };
}

// path leads from one box to another: a bow round the middle of the ring, a straight line, or,
// in a column, round the side of the boxes between.
function path(from, to, { upright, middle }) {
  if (upright && !(to.row === from.row + 1)) {
    const side = from.aside ? 1 : -1;
    const edge = from.x + (side * from.box) / 2;
    const far = edge + side * 18;
    return `M${edge + side * 2} ${from.y}H${far}V${to.y}H${edge + side * 5}`;
  }
  const a = border(from, to);
  const b = border(to, from);
  if (upright || from.aside || !middle) return `M${a.x} ${a.y}L${b.x} ${b.y}`;
  const half = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  const flat = Math.abs(from.y - to.y) < 1; // of two: one bow above and one below
  const bend = flat
    ? { x: half.x, y: half.y + (from.x < to.x ? -46 : 46) }
    : { x: half.x + (half.x - middle.x) * 0.28, y: half.y + (half.y - middle.y) * 0.28 };
  return `M${a.x} ${a.y}Q${bend.x} ${bend.y} ${b.x} ${b.y}`;
}

export function Ring({ verdict, width, top, dim }) {
  const placed = layout(verdict, width, top);
  const edges = verdict.waits.filter((wait) => placed.byName.has(wait.waits_for));
  const first = new Map();
  for (const wait of verdict.waits) if (!first.has(wait.who)) first.set(wait.who, wait);
  const told = verdict.cycle.length
    ? verdict.cycle.join(" waits for ") + " waits for " + verdict.cycle[0]
    : verdict.explanation;
  return (
    <g id="ring" class={dim ? "later" : "now"} role="img" aria-label={"Who waits for whom: " + told}>
      <defs>
        {["tip", "tip-aside"].map((name) => (
          <marker
            key={name}
            id={name}
            viewBox="0 0 10 10"
            refX="9"
            refY="5"
            markerWidth="7"
            markerHeight="7"
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
      {edges.map((wait, n) => {
        const from = placed.byName.get(wait.who);
        const aside = from.aside;
        return (
          <path
            key={n}
            class={"wait" + (aside ? " aside" : "")}
            marker-end={aside ? "url(#tip-aside)" : "url(#tip)"}
            d={path(from, placed.byName.get(wait.waits_for), placed)}
          >
            <title>{`${wait.who} waits for ${wait.waits_for}: ${wait.why}`}</title>
          </path>
        );
      })}
      {[...placed.byName.values()].map((node) => (
        <Box key={node.name} node={node} wait={first.get(node.name)} />
      ))}
    </g>
  );
}

function Box({ node, wait }) {
  const note = wait ? (wait.holds ? "holds " + wait.holds : wait.why) : "";
  const lines = wrap(note, (node.box - 14) / 6.7, 2);
  return (
    <g class={"node" + (node.aside ? " aside" : "")} data-name={node.name}>
      <rect x={node.x - node.box / 2} y={node.y - BOX / 2} width={node.box} height={BOX} rx="7" />
      <text text-anchor="middle" x={node.x} y={node.y - (lines.length > 1 ? 12 : 5)}>
        {clip(node.name, (node.box - 12) / 7.3)}
      </text>
      {lines.map((line, n) => (
        <text
          key={n}
          class="small dim"
          text-anchor="middle"
          x={node.x}
          y={node.y + (lines.length > 1 ? 5 : 14) + n * 15}
        >
          {line}
        </text>
      ))}
      <title>
        {node.name + (wait ? ": " + [wait.holds && "holds " + wait.holds, wait.why].filter(Boolean).join("; ") : "")}
      </title>
    </g>
  );
}
