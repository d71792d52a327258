// A run as it is drawn: a line for each tick, what is held at the end, and the ring.
import { h, Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { Arrow, Cross, LETTER, Plate, short, toneOf } from "./arrow.jsx";
import { layout, Ring } from "./ring.jsx";
import { BREAK, hangs, LINE, lastStep, writer, yOf } from "./story.js";
import { clip, columnsIn, count } from "./text.js";

// sizeOf returns where the parts of a drawing of a width stand.
export function sizeOf(story, width, apart) {
  const slim = width < 260;
  const margin = slim ? 54 : Math.min(190, Math.max(width < 420 ? 56 : 110, width * 0.18));
  const standing = story.held.filter((frame) => !frame.take);
  const below = yOf(story.lines + 1, apart) + 4;
  const end = below + standing.length * 2 * LINE + 8;
  const verdict = story.run.verdict;
  const ring = hangs(story) && verdict?.waits?.length > 0;
  return {
    width,
    narrow: margin < 80,
    digits: slim ? 20 : 34, // where the numbers of the lines end
    client: margin,
    server: width - (slim ? 28 : margin),
    standing,
    below,
    end,
    ring,
    height: ring ? layout(story.run, width, end + 14).bottom : end + 24,
  };
}

const SHARES = [0.3, 0.5, 0.7, 0.18, 0.84, 0.4, 0.6]; // of the way, where a label may stand
const CUTS = [1, 0.6, 0.35]; // of a label's room
const TALL = 17; // height of a label

// labelsOf places the labels of the moving frames, so that none covers another: those of level arrows in the
// middle of their lines, then those of slanted ones, which pass the lines of others, where there is room.
function labelsOf(story, size, apart) {
  const taken = [];
  const free = (box) =>
    !taken.some((other) => {
      const across = Math.abs(box.x - other.x) < (box.width + other.width) / 2 + 4;
      return across && Math.abs(box.y - other.y) < TALL;
    });
  if (apart > 0) taken.push({ x: size.width / 2, y: partingOf(apart), width: 16 * LETTER });
  const labels = new Map();
  const ways = story.messages.filter((frame) => frame.take).map((frame) => [frame, wayOf(frame, size, apart)]);
  const slanted = ([, way]) => (way.y1 === way.y2 ? 0 : 1);
  for (const [frame, way] of [...ways].sort((a, b) => slanted(a) - slanted(b) || a[1].y1 - b[1].y1)) {
    const room = (Math.abs(way.to - way.from) * (way.y1 === way.y2 ? 1 : 0.55)) / LETTER - 4;
    const shares = way.y1 === way.y2 ? [0.5, ...SHARES] : SHARES;
    const places = CUTS.flatMap((cut) => shares.map((share) => [cut, share]));
    for (const [cut, share] of places) {
      const text = short(way.text, room * cut);
      const box = {
        x: way.from + (way.to - way.from) * share,
        y: way.y1 + (way.y2 - way.y1) * share,
        width: columnsIn(text) * LETTER + 8,
      };
      const inside = box.x - box.width / 2 > size.client && box.x + box.width / 2 < size.server;
      if (!inside || !free(box)) continue;
      taken.push(box);
      labels.set(frame.key, { ...box, text });
      break;
    }
  }
  return labels;
}

// Run draws the part of a story between two heights of the drawing.
export function Run({ story, width, height, from, to, step, apart, links }) {
  const size = sizeOf(story, width, apart);
  const now = Math.min(step, lastStep(story));
  const ended = now > story.lines || !hangs(story);
  const seen = (line) => (line <= now ? "now" : "later");
  const inside = (first, last) => yOf(first, apart) <= to && yOf(last, apart) >= from;
  const moving = story.messages.filter(
    (frame) => frame.take && inside(frame.offer || frame.take, frame.give || story.lines + 1),
  );
  const labels = useMemo(() => labelsOf(story, size, apart), [story, width, apart]);
  const lines = [];
  for (let line = 1; line <= lastStep(story); line++) if (inside(line, line)) lines.push(line);
  return (
    <svg
      width={width}
      height={Math.max(height, size.height)}
      viewBox={`0 0 ${width} ${Math.max(height, size.height)}`}
      role="group"
      aria-label={told(story)}
    >
      <rect
        class="cursor"
        x="0"
        width={width}
        y={yOf(now, apart) - LINE / 2}
        height={now > story.lines ? size.end - yOf(now, apart) + LINE / 2 : LINE}
      />
      <Lifelines size={size} />
      {lines.map((line) => (
        <Step key={line} line={line} story={story} size={size} apart={apart} />
      ))}
      {moving.map((frame) => (
        <Moving key={frame.key} frame={frame} story={story} size={size} apart={apart} seen={seen} />
      ))}
      {moving.map((frame) => (
        <Label key={frame.key} label={labels.get(frame.key)} {...{ frame, story, size, apart, seen }} />
      ))}
      {size.standing.map((frame, n) => (
        <Standing
          key={frame.key}
          frame={frame}
          size={size}
          y={size.below + n * 2 * LINE}
          apart={apart}
          seen={ended ? "now" : "later"}
        />
      ))}
      {story.notes
        .filter((note) => inside(note.line, note.line))
        .map((note, n) => (
          <g key={n} class={"label " + seen(note.line)}>
            <Plate
              x={width / 2}
              y={yOf(note.line, apart)}
              text={clip(note.text, (size.server - size.client) / LETTER - 4)}
              tone="dim"
            />
          </g>
        ))}
      {["client", "server"].map((end) => (
        <Inner key={end} end={end} story={story} size={size} apart={apart} lines={lines} seen={seen} />
      ))}
      {apart > 0 && <Parting size={size} apart={apart} />}
      {size.ring && size.end < to + 60 && (
        <Ring run={story.run} width={width} top={size.end + 14} dim={!ended} links={links} />
      )}
    </svg>
  );
}

function told(story) {
  const { words, verdict } = story.run;
  return `A replay of ${count(story.lines)} steps. ${words || ""} ${verdict?.explanation || ""}`;
}

const Lifelines = ({ size }) =>
  ["client", "server"].map((end) => <line key={end} class="life" x1={size[end]} x2={size[end]} y1="0" y2={size.end} />);

// Heads stand above the lifelines.
export function Heads({ story, width, setup, apart }) {
  const size = sizeOf(story, width, apart);
  const room = Math.min((width - size.server) * 2, 300) / 6.8;
  return (
    <svg width={width} height="38" viewBox={`0 0 ${width} 38`} aria-hidden="true">
      {["client", "server"].map((end) => (
        <g key={end} text-anchor="middle">
          <text class="end" x={size[end]} y="16">
            {end}
          </text>
          <text class="small dim" x={size[end]} y="30">
            {clip(setup[end] || "", room)}
          </text>
          {!size.narrow && story.levels.some((level) => level?.inner?.[end]) && (
            <text
              class="small dim"
              text-anchor={end === "client" ? "end" : "start"}
              x={size[end] + (end === "client" ? -26 : 26)}
              y="16"
            >
              {size.client < 160 ? "queue" : "notification queue"}
            </text>
          )}
        </g>
      ))}
      <text class="small dim" x={Math.max(2, size.digits - 27)} y={size.narrow ? 16 : 30}>
        step
      </text>
      {story.skipped > 0 && (
        <text class="small dim" text-anchor="middle" x={width / 2} y="30">
          {count(story.skipped)} steps before these
        </text>
      )}
    </svg>
  );
}

const partingOf = (apart) => yOf(apart, apart) - LINE / 2 - BREAK / 2;

function Parting({ size, apart }) {
  const y = partingOf(apart);
  return (
    <g class="apart">
      <line x1="0" x2={size.width} y1={y} y2={y} />
      <Plate x={size.width / 2} y={y} text="here they part" tone="apart" />
    </g>
  );
}

// Step is the number of a line, and how many messages the queues hold after it.
function Step({ line, story, size, apart }) {
  const y = yOf(line, apart);
  const queue = story.levels[line]?.queue;
  const ended = line > story.lines;
  return (
    <g class="step" data-step={line}>
      <rect x="0" y={y - LINE / 2} width={size.width} height={LINE} fill="transparent" />
      <text class={"small " + (ended ? "fault" : "dim")} text-anchor="end" x={size.digits} y={y + 4}>
        {!ended ? line : size.narrow ? "✕" : "hang"}
      </text>
      {queue && (queue.c2s > 0 || queue.s2c > 0) && size.client > 80 && (
        <text class="small dim" text-anchor="end" x={size.width - 8} y={y + 4}>
          {[queue.c2s && `→${queue.c2s}`, queue.s2c && `←${queue.s2c}`].filter(Boolean).join(" ")}
          <title>
            In the transport after this step: {queue.c2s} on the way to the server, {queue.s2c} to the client
          </title>
        </text>
      )}
    </g>
  );
}

// Blocked is the bar of a writer that is blocked.
function Blocked({ frame, size, y1, y2, seen }) {
  const x = frame.dir === "c2s" ? size.client - 9 : size.server + 4;
  return (
    <rect class={"blocked " + seen} x={x} y={y1 - 8} width="5" height={Math.max(8, y2 - y1 + 16)} rx="2">
      <title>{`the ${writer(frame.dir)} is blocked writing #${frame.row.seq}`}</title>
    </rect>
  );
}

const named = (frame) =>
  (frame.row.seq ? `#${frame.row.seq} ` : "") + frame.row.label + (frame.open ? ": no answer" : "");

// wayOf returns the arrow of a frame that left its writer's hand: as far as it came.
function wayOf(frame, size, apart) {
  const from = size[writer(frame.dir)];
  const to = size.client + size.server - from;
  const y1 = yOf(frame.take, apart);
  const queued = !frame.give;
  return {
    from,
    to: queued ? from + (to - from) * 0.66 : to,
    y1,
    y2: queued ? y1 : yOf(frame.give, apart),
    tone: frame.open ? "fault" : toneOf(frame.row),
    kind: frame.row.kind,
    text: named(frame),
    headless: queued,
  };
}

// Moving is a frame that left its writer's hand, and mostly came to its reader.
function Moving({ frame, size, apart, seen }) {
  const way = wayOf(frame, size, apart);
  return (
    <>
      {frame.offer && frame.offer < frame.take && (
        <Blocked frame={frame} size={size} y1={yOf(frame.offer, apart)} y2={way.y1} seen={seen(frame.take)} />
      )}
      <g class={seen(frame.take)} data-seq={frame.row.seq}>
        <Arrow {...way} part="line" />
        {frame.held?.by === "reader" && (
          <circle class="held" cx={way.to} cy={way.y2} r="5">
            <title>{frame.held.text || "held by the reader"}</title>
          </circle>
        )}
      </g>
    </>
  );
}

// Label is the text of a moving frame, and where it stands if that is not at its end.
function Label({ frame, label, story, size, apart, seen }) {
  const way = wayOf(frame, size, apart);
  const right = way.to > way.from;
  const held = frame.held?.by === "reader" && !size.narrow && seen(story.lines + 1) === "now";
  return (
    <g class={"label " + seen(frame.take)}>
      {label && <Plate x={label.x} y={label.y} text={label.text} tone={way.tone} />}
      {way.headless && (
        <Plate x={way.to + (right ? 8 : -8)} y={way.y1} text="queued" tone="fault" anchor={right ? "start" : "end"} />
      )}
      {held && (
        <text class="small fault" text-anchor={right ? "end" : "start"} x={way.to + (right ? -12 : 12)} y={way.y2 - 6}>
          held
        </text>
      )}
    </g>
  );
}

// Standing is a frame that never left its writer's hand.
function Standing({ frame, size, y, apart, seen }) {
  const way = frame.dir === "c2s" ? 1 : -1;
  const from = size[writer(frame.dir)];
  const end = from + way * (size.server - size.client) * 0.14;
  const anchor = way > 0 ? "start" : "end";
  const room = ((size.server - size.client) * 0.8) / LETTER;
  return (
    <>
      <Blocked
        frame={frame}
        size={size}
        y1={frame.offer ? Math.min(y, yOf(frame.offer, apart)) : y}
        y2={y + LINE}
        seen={seen}
      />
      <g class={seen} data-seq={frame.row.seq}>
        <line class="stands" x1={from} x2={end} y1={y} y2={y} />
        <Cross x={end} y={y} />
        <Plate x={end + way * 12} y={y} text={short(named(frame), room)} tone="fault" anchor={anchor} />
        <text class="small dim" text-anchor={anchor} x={end + way * 12} y={y + 18}>
          {clip(frame.held.text || `the ${writer(frame.dir)} is blocked writing it`, room)}
          <title>{frame.held.text}</title>
        </text>
      </g>
    </>
  );
}

// Inner is the queue of notifications of a side, a box for each of its rooms.
const BOXES = 6;
function Inner({ end, story, size, apart, lines, seen }) {
  const levels = story.levels;
  if (!levels.some((level) => level?.inner?.[end])) return null;
  const way = end === "client" ? -1 : 1;
  const x = size[end] + way * (size.narrow ? 10 : 20);
  const anchor = way < 0 ? "end" : "start";
  const shown = lines.filter((line) => levels[line]?.inner?.[end]);
  return (
    <g class="inner">
      {shown.map((line) => {
        const { size: filled = 0, room = 0, stuck } = levels[line].inner[end];
        const boxes = size.narrow ? 0 : Math.min(BOXES, room);
        const y = yOf(line, apart);
        return (
          <g key={line} class={seen(line)}>
            {Array.from({ length: boxes }, (_, n) => (
              <rect
                key={n}
                class={n < filled ? "full" : ""}
                x={x + way * 12 * n - (way < 0 ? 10 : 0)}
                y={y - 5}
                width="10"
                height="10"
                rx="2"
              />
            ))}
            {room > boxes && (
              <text
                class={"small " + (stuck ? "fault" : "dim")}
                text-anchor={anchor}
                x={x + way * (12 * boxes + 2)}
                y={y + 4}
              >
                {filled}/{room}
              </text>
            )}
            {stuck && (room === boxes || room === 0) && (
              <text class="small fault" text-anchor={anchor} x={x + way * (12 * boxes + 4)} y={y + 4}>
                {room ? "full" : size.narrow ? "✕" : "no room"}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}
