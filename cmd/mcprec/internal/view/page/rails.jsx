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

// Rails draws the calls that meet the window. yOf returns the y of a Seq: far above or below
// for those outside of it.
export function Rails({ calls, first, last, yOf, height, columns, kin, stuck, live }) {
  const rank = ranks(calls, first);
  const long = { c2s: 0, s2c: 0 };
  const drawn = [];
  for (const call of calls) {
    if (call.request > last || (call.end && call.end < first)) continue;
    if (!call.end && call.request < first) long[call.dir]++;
    else drawn.push(call);
  }
  return (
    <g class="rails">
      {drawn.map((call) => (
        <Rail
          key={call.request + call.dir + call.column}
          call={call}
          x={railOf(columns, call.dir, rank(call))}
          life={lifeOf(columns, call.dir)}
          yOf={yOf}
          height={height}
          on={kin.has(call.request)}
          waits={live && !stuck.has(call.request)}
        />
      ))}
      {["c2s", "s2c"].map(
        (dir) =>
          long[dir] > 0 && (
            <path key={dir} class="rail never far" d={`M${railOf(columns, dir, 0)} ${HEAD}V${height}`}>
              <title>{`${long[dir]} asked above and not answered`}</title>
            </path>
          ),
      )}
    </g>
  );
}

// Rail is one call. A call that waits, of a session that goes on, is no fault yet.
function Rail({ call, x, life, yOf, height, on, waits }) {
  const away = Math.sign(life - x) * 4;
  const top = Math.max(HEAD - 20, yOf(call.request));
  const foot = Math.min(height + 20, call.end ? yOf(call.end) : height + 20);
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
