// A run as it is drawn: a line for each tick, what is held at the end, and the ring.
import { h, Fragment } from "preact";
import { Arrow, Cross, LETTER, Plate, toneOf } from "./arrow.jsx";
import { layout, Ring } from "./ring.jsx";
import { BREAK, hangs, LINE, lastStep, TOP, writer, yOf } from "./story.js";
import { clip, count } from "./text.js";

// sizeOf returns where the parts of a drawing of a width stand.
export function sizeOf(story, width, apart) {
  const margin = Math.min(190, Math.max(width < 420 ? 56 : 92, width * 0.18));
  const standing = story.held.filter((frame) => !frame.take);
  const below = yOf(story.lines + 1, apart) + 4;
  const end = below + standing.length * 2 * LINE + 8;
  const verdict = story.run.verdict;
  const ring = hangs(story) && verdict?.waits?.length > 0;
  return {
    width,
    narrow: margin < 80,
    client: margin,
    server: width - margin,
    standing,
    below,
    end,
    ring,
    height: ring ? layout(verdict, width, end + 14).bottom : end + 24,
  };
}

// Run draws the part of a story between two heights of the drawing.
export function Run({ story, width, height, from, to, step, apart, setups, head }) {
  const size = sizeOf(story, width, apart);
  const now = Math.min(step, lastStep(story));
  const ended = now > story.lines || !hangs(story);
  const seen = (line) => (line <= now ? "now" : "later");
  const inside = (first, last) => yOf(first, apart) <= to && yOf(last, apart) >= from;
  const moving = story.frames.filter(
    (frame) => frame.take && inside(frame.offer || frame.take, frame.give || story.lines + 1),
  );
  const lines = [];
  for (let line = 1; line <= lastStep(story); line++) if (inside(line, line)) lines.push(line);
  return (
    <svg width={width} height={Math.max(height, size.height)} role="img" aria-label={told(story)}>
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
        <Label key={frame.key} frame={frame} story={story} size={size} apart={apart} seen={seen} />
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
          <g key={n} class={seen(note.line)}>
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
        <Ring verdict={story.run.verdict} width={width} top={size.end + 14} dim={!ended} />
      )}
      <Heads size={size} setups={setups} story={story} y={head} />
    </svg>
  );
}

function told(story) {
  const { words, verdict } = story.run;
  return `A replay of ${count(story.lines)} steps. ${words || ""} ${verdict?.explanation || ""}`;
}

const Lifelines = ({ size }) =>
  ["client", "server"].map((end) => (
    <line key={end} class="life" x1={size[end]} x2={size[end]} y1={TOP - 4} y2={size.end} />
  ));

// Heads stay in sight: y is how far the drawing is scrolled.
function Heads({ size, setups, story, y }) {
  return (
    <g transform={`translate(0 ${y})`}>
      <rect class="heads" x="0" y="0" width={size.width} height={TOP - 6} />
      {["client", "server"].map((end) => (
        <g key={end}>
          <text class="end" text-anchor="middle" x={size[end]} y="18">
            {end}
          </text>
          <text class="small dim" text-anchor="middle" x={size[end]} y="32">
            {clip(setups[end], Math.min(size.client * 2, 300) / 6.8)}
          </text>
        </g>
      ))}
      {story.skipped > 0 && (
        <text class="small dim" text-anchor="middle" x={size.width / 2} y="32">
          {count(story.skipped)} steps before these
        </text>
      )}
    </g>
  );
}

function Parting({ size, apart }) {
  const y = yOf(apart, apart) - LINE / 2 - BREAK / 2;
  return (
    <g class="apart">
      <rect x="0" y={y} width="5" height={Math.max(0, size.end - y)} />
      <line x1="0" x2={size.width} y1={y} y2={y} />
      <Plate x={size.width / 2} y={y} text="here they part" tone="apart" />
    </g>
  );
}

// Step is the number of a line, and how many frames the queues hold after it.
function Step({ line, story, size, apart }) {
  const y = yOf(line, apart);
  const queue = story.levels[line]?.queue;
  return (
    <g class="step" data-step={line}>
      <rect x="0" y={y - LINE / 2} width={size.width} height={LINE} fill="transparent" />
      <text class="small dim" text-anchor="end" x="34" y={y + 4}>
        {line > story.lines ? "end" : line}
      </text>
      {queue && (queue.c2s > 0 || queue.s2c > 0) && size.client > 80 && (
        <text class="small dim" text-anchor="end" x={size.width - 8} y={y + 4}>
          {[queue.c2s && `→${queue.c2s}`, queue.s2c && `←${queue.s2c}`].filter(Boolean).join(" ")}
          <title>frames in the transport after this step</title>
        </text>
      )}
    </g>
  );
}

// Blocked is the bar of a writer that stands.
function Blocked({ frame, size, y1, y2, seen }) {
  const x = frame.dir === "c2s" ? size.client - 9 : size.server + 4;
  return (
    <rect class={"blocked " + seen} x={x} y={y1 - 8} width="5" height={Math.max(8, y2 - y1 + 16)} rx="2">
      <title>{`the ${writer(frame.dir)}'s writer stands with #${frame.row.seq} in its hand`}</title>
    </rect>
  );
}

const named = (frame) => (frame.row.seq ? `#${frame.row.seq} ` : "") + frame.row.label;

// wayOf returns the arrow of a frame that left its writer's hand: as far as it came.
function wayOf(frame, size, apart) {
  const from = frame.dir === "c2s" ? size.client : size.server;
  const to = frame.dir === "c2s" ? size.server : size.client;
  const y1 = yOf(frame.take, apart);
  const queued = !frame.give;
  return {
    from,
    to: queued ? from + (to - from) * 0.66 : to,
    y1,
    y2: queued ? y1 : yOf(frame.give, apart),
    tone: toneOf(frame.row),
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
function Label({ frame, story, size, apart, seen }) {
  const way = wayOf(frame, size, apart);
  const right = way.to > way.from;
  const held = frame.held?.by === "reader" && !size.narrow && seen(story.lines + 1) === "now";
  return (
    <g class={seen(frame.take)}>
      <Arrow {...way} part="label" />
      {way.headless && (
        <Plate x={way.to + (right ? 8 : -8)} y={way.y1} text="queued" tone="fault" anchor={right ? "start" : "end"} />
      )}
      {held && (
        <text
          class="small fault"
          text-anchor={right ? "start" : "end"}
          x={way.to + (right ? 10 : -10)}
          y={way.y2 - 6}
        >
          held
        </text>
      )}
    </g>
  );
}

// Standing is a frame that never left its writer's hand.
function Standing({ frame, size, y, apart, seen }) {
  const way = frame.dir === "c2s" ? 1 : -1;
  const from = frame.dir === "c2s" ? size.client : size.server;
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
        <Plate x={end + way * 12} y={y} text={clip(named(frame), room)} tone="fault" anchor={anchor} />
        <text class="small dim" text-anchor={anchor} x={end + way * 12} y={y + 18}>
          {clip(frame.held.text || `in the hand of the ${writer(frame.dir)}'s writer`, room)}
        </text>
      </g>
    </>
  );
}

// Inner is the queue of notifications of an inbox model, a box for each of its rooms.
const BOXES = 6;
function Inner({ end, story, size, apart, lines, seen }) {
  const levels = story.levels;
  if (!levels.some((level) => level?.inner?.[end])) return null;
  const way = end === "client" ? -1 : 1;
  const x = size[end] + way * 20;
  const anchor = way < 0 ? "end" : "start";
  const shown = lines.filter((line) => levels[line]?.inner?.[end]);
  return (
    <g class="inner">
      {!size.narrow && (
        <text class="small dim" text-anchor={anchor} x={x} y={TOP + 4}>
          inner queue
        </text>
      )}
      {shown.map((line) => {
        const { size: filled = 0, room = 0, stuck } = levels[line].inner[end];
        const boxes = Math.min(BOXES, room);
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
            {room > BOXES && (
              <text class="small dim" text-anchor={anchor} x={x + way * (12 * boxes + 2)} y={y + 4}>
                {filled}/{room}
              </text>
            )}
            {stuck && (
              <text class="small fault" text-anchor={anchor} x={x + way * (12 * boxes + 4)} y={y + 4}>
                {size.narrow ? "✕" : room ? "full" : "no room"}
              </text>
            )}
          </g>
        );
      })}
    </g>
  );
}
