// One row of the sequence.
import { h, Fragment } from "preact";
import { Arrow, LETTER, Plate, toneOf } from "./arrow.jsx";
import { lifeOf, ROW } from "./columns.js";
import { bytes, classes, clip, columnsIn, duration, plain, plural, seconds } from "./text.js";

const frames = new Set(["request", "response", "notification", "batch", "stray output", "invalid"]);

// isFrame tells frames from the events that stand between the lifelines.
export const isFrame = (row) => frames.has(row.kind);

// LONG is a gap in ns that is worth words.
const LONG = 1e9;

export function Row({ seq, row, y, gap, columns, picked, kin, unanswered, marked, mark, group }) {
  const middle = y + ROW / 2;
  return (
    <g class={classes("row", picked && "pick", kin && "kin", marked && "marked", row && row.kind)} data-seq={seq}>
      <rect class="ground" x="0" y={y} width={columns.width} height={ROW} />
      {mark && <Mark mark={mark} y={middle} />}
      <text class="small dim" text-anchor="end" x={columns.event} y={y + 16}>
        {seq}
      </text>
      {row && !columns.narrow && <Time row={row} y={y} gap={gap} columns={columns} />}
      {row && row.size > 0 && isFrame(row) && columns.size > columns.time + 64 && (
        <text class="small dim" text-anchor="end" x={columns.size} y={y + 16}>
          {bytes(row.size)}
        </text>
      )}
      {!row && (
        <text class="dim" x={columns.client + 20} y={y + 16}>
          …
        </text>
      )}
      {row &&
        (isFrame(row) ? (
          <Frame row={row} y={middle} columns={columns} unanswered={unanswered} />
        ) : (
          <Aside row={row} y={middle} columns={columns} text={group.length > 0 ? groupText(row, group) : row.label} />
        ))}
    </g>
  );
}

// told says a finding in a line: the rule in words, then what broke it.
const told = (found) => `${found.severity}, not kept: ${found.title} (rule ${found.rule}): ${found.text}`;

// Mark is the flag of a finding.
function Mark({ mark, y }) {
  return (
    <path class={"mark " + mark[0].severity} d={`M3 ${y - 5}h5l4 5l-4 5h-5z`}>
      <title>{mark.map(told).join("\n")}</title>
    </path>
  );
}

// Time is when the event was, and a bar for the gap before it, by its logarithm: 10 µs to 1 s
// fill it.
function Time({ row, y, gap, columns }) {
  const width = gap > 1e4 ? Math.min(40, 8 * Math.log10(gap / 1e4)) : 0;
  const long = gap >= LONG;
  return (
    <>
      <text class="small dim" text-anchor="end" x={columns.time} y={y + 16}>
        {seconds(row.at)}
      </text>
      {width > 0 && (
        <rect class={classes("gap", long && "long")} x={columns.gap} y={y - 1.5} width={width} height="3" rx="1.5">
          <title>{duration(gap)} after the event before</title>
        </rect>
      )}
      {long && (
        <text class="small warn" x={columns.gap} y={y + 16}>
          {duration(gap)}
        </text>
      )}
    </>
  );
}

// Frame is a message. The request of a call that has no answer is red.
function Frame({ row, y, columns, unanswered }) {
  const ends = [columns.client, columns.server];
  if (row.dir === "s2c") ends.reverse();
  return (
    <Arrow
      from={ends[0]}
      to={ends[1]}
      y1={y}
      tone={unanswered ? "fault" : toneOf(row)}
      kind={row.kind}
      text={row.label}
      more={row.text}
    />
  );
}

// groupText names events that stand as one line.
function groupText(row, group) {
  const all = [row, ...group];
  const of = all.every((one) => one.fold === "http") ? " of HTTP" : "";
  return `${plural(all.length, "event")}${of}: ${all.map((one) => one.label).join(" · ")}`;
}

// Aside is an event that is no frame: what an end did, wrote beside the protocol, or lost.
function Aside({ row, y, columns, text: whole }) {
  const room = (columns.server - columns.client - 30) / LETTER;
  const tone = row.tone === "fault" ? "fault" : "dim";
  const text = clip(whole, room);
  const width = columnsIn(text) * LETTER + 16;
  const middle = (columns.client + columns.server) / 2;
  return (
    <>
      {row.kind === "stalled" && row.dir && <Stalled x={lifeOf(columns, row.dir)} y={y} />}
      <rect class={"aside " + tone} x={middle - width / 2} y={y - 9} width={width} height="18" rx="9">
        <title>{plain(whole)}</title>
      </rect>
      <Plate x={middle} y={y} text={text} tone={tone} />
    </>
  );
}

// Stalled is a write that does not come back: a bar where its writer stands.
const Stalled = ({ x, y }) => <rect class="blocked" x={x - 3} y={y - ROW / 2} width="6" height={ROW} />;

// spoken is a row for those who hear it.
export function spoken(seq, row, mark) {
  if (!row) return `event ${seq}, not read yet`;
  const way = { c2s: "client to server", s2c: "server to client" }[row.dir];
  const found = mark && mark.map(told).join("; ");
  return [`event ${seq}`, seconds(row.at) + " seconds", way, row.kind, row.label, row.text, found]
    .filter(Boolean)
    .join(", ");
}
