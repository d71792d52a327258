// The rails: each call from its request to its answer, beside the lifeline of its caller.
import { h } from "preact";
import { HEAD, lifeOf, railOf, ROW } from "./columns.js";

// ranks maps the columns that Go gave to those that are drawn: calls that were asked above the
// window and never answered share one rail, and leave their columns to others.
function ranks(calls, first) {
  const lost = { c2s: new Set(), s2c: new Set() };
  for (const call of calls) if (!call.end && call.request < first) lost[call.dir].add(call.column);
  return (call) => {
    let rank = call.column;
    for (const column of lost[call.dir]) if (column < call.column) rank--;
    return rank + (lost[call.dir].size > 0 ? 1 : 0);
  };
}

// lay gives the calls of one end their columns. Where there are more calls than columns, those without an
// answer have columns of their own, then as many others as there is room for; the rest is one bundle.
function lay(calls, most, rank, yOf) {
  const placed = new Map(calls.map((call) => [call, rank(call)]));
  if (calls.every((call) => placed.get(call) < most)) return { placed, bundle: [] };
  placed.clear();
  const far = calls.length && Math.min(...calls.map((call) => rank(call) - call.column)) > 0 ? 1 : 0;
  const free = Array(Math.max(1, most - 1 - far)).fill(-Infinity);
  const bundle = [];
  const open = (call) => (call.end ? 1 : 0);
  for (const call of [...calls].sort((a, b) => open(a) - open(b) || a.request - b.request)) {
    const column = free.findIndex((until) => until < yOf(call.request));
    if (column < 0 && call.end) bundle.push(call);
    else placed.set(call, far + (column < 0 ? free.length - 1 : column));
    if (column >= 0) free[column] = call.end ? yOf(call.end) : Infinity;
  }
  return { placed, bundle };
}

// Rails draws the calls that meet the window. yOf returns the y of a Seq: far above or below
// for those outside of it.
export function Rails({ calls, first, last, yOf, height, columns, kin, stuck, live }) {
  const rank = ranks(calls, first);
  const long = { c2s: 0, s2c: 0 };
  const drawn = { c2s: [], s2c: [] };
  for (const call of calls) {
    if (call.request > last || (call.end && call.end < first) || !drawn[call.dir]) continue;
    if (!call.end && call.request < first) long[call.dir]++;
    else drawn[call.dir].push(call);
  }
  return (
    <g class="rails">
      {["c2s", "s2c"].map((dir) => {
        const most = Math.max(1, dir === "c2s" ? columns.left : columns.right);
        const { placed, bundle } = lay(drawn[dir], most, rank, yOf);
        return (
          <g key={dir}>
            {bundle.length > 0 && <Bundle {...{ bundle, yOf, height }} x={railOf(columns, dir, most - 1)} />}
            {[...placed].map(([call, column]) => (
              <Rail
                key={call.request + call.dir + call.column}
                call={call}
                x={railOf(columns, dir, column)}
                life={lifeOf(columns, dir)}
                yOf={yOf}
                height={height}
                on={kin.has(call.request)}
                waits={live && !stuck.has(call.request)}
              />
            ))}
            {long[dir] > 0 && (
              <path class="rail never far" d={`M${railOf(columns, dir, 0)} ${HEAD}V${height}`}>
                <title>{`${long[dir]} asked above and not answered`}</title>
              </path>
            )}
          </g>
        );
      })}
    </g>
  );
}

// Bundle is one bar for the calls that have no column.
function Bundle({ bundle, x, yOf, height }) {
  const top = Math.max(HEAD, Math.min(...bundle.map((call) => yOf(call.request))));
  const foot = Math.min(height, Math.max(...bundle.map((call) => yOf(call.end))));
  const text = bundle.length + " calls";
  return (
    <g class="bundle">
      <rect x={x - 4} y={top} width="8" height={Math.max(2, foot - top)} rx="4" />
      <text class="small" text-anchor="middle" transform={`translate(${x + 4} ${(top + foot) / 2}) rotate(-90)`} y="-1">
        {foot - top > text.length * 7 ? text : ""}
      </text>
      <title>{`${text} that have an answer, between #${bundle[0].request} and #${bundle.at(-1).end}`}</title>
    </g>
  );
}

// Rail is one call. A call that waits, of a session that goes on, is no fault yet.
function Rail({ call, x, life, yOf, height, on, waits }) {
  const away = Math.sign(life - x) * 4;
  const top = Math.max(HEAD - 20, yOf(call.request));
  const foot = Math.min(height + 20, call.end ? yOf(call.end) : height);
  const ties = `M${life - away} ${top}H${x}`;
  const tone = call.how === "answered" ? call.dir : "fault";
  const says = `call #${call.request}, ` + (call.end ? `${call.how} at #${call.end}` : "not answered");
  return (
    <g class={on ? "on" : ""}>
      {!call.end && <path class={"rail " + (waits ? "waits" : "fault")} d={`${ties}V${top + ROW / 2}`} />}
      <path
        class={"rail " + (call.end ? `${tone} ${call.how}` : waits ? "never waits" : "never")}
        d={call.end ? `${ties}V${foot}H${life - away}` : `M${x} ${top + ROW / 2}V${foot}`}
      >
        <title>{says}</title>
      </path>
    </g>
  );
}

// Tie leads from a progress notification to the rail of its call.
export function Tie({ row, call, y, columns, calls, first }) {
  const x = railOf(columns, call.dir, ranks(calls, first)(call));
  const life = lifeOf(columns, call.dir);
  const late = row.late || call.late?.includes(row.seq);
  return (
    <path class={`tie ${late ? "late" : call.dir}`} d={`M${life} ${y}H${x}`}>
      <title>{`about call #${call.request}` + (late ? ", after its end" : "")}</title>
    </path>
  );
}
