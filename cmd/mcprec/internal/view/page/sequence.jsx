// The sequence: the rows that fit into the pane, and no others. The place in the session is a
// number, not the scroll of a tall element: browsers end one at 16 million pixels.
import { h, Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { columnsOf, HEAD, LANE, LANES, lifeOf, ROW } from "./columns.js";
import { usePrinted } from "./data.js";
import { Overview } from "./overview.jsx";
import { Rails, Tie } from "./rails.jsx";
import { Row, spoken } from "./row.jsx";
import { placeOf } from "./rows.js";
import { clip } from "./text.js";

// useSize returns the width and height of an element.
export function useSize(ref) {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return size;
}

// Places are the rows that the pane goes through: all events, those of a range, or those of a filter,
// without the deliveries unless they are asked for. Events that say only that all is well fold: those
// behind the first of a line, and a few events of HTTP between messages. fold has the rule, or is null. A
// place is an index into them.
export function Places({ events, only, within, blocks, deliveries, fold, at }) {
  const [first, last] = within || [1, events];
  const from = only ? placeOf(only, first) : first - 1;
  const total = Math.max(0, (only ? placeOf(only, last + 1) : Math.min(last, events)) - from);
  const seqOf = (place) => (only ? only[from + place] : from + place + 1);
  const hidden = (place) => {
    const seq = seqOf(place);
    if (seq === at) return false;
    return (!deliveries && blocks.row(seq)?.kind === "delivered") || (fold !== null && !only && fold(seq, at));
  };
  // walk goes a number of shown rows on, or back, as far as there are any.
  const walk = (place, by) => {
    const step = Math.sign(by);
    let left = Math.abs(by);
    let here = place;
    for (let next = place + step; left > 0 && next >= 0 && next < total; next += step) {
      if (hidden(next)) continue;
      here = next;
      left--;
    }
    return here;
  };
  const find = (seq) => Math.max(0, Math.min(total - 1, (only ? placeOf(only, seq) : seq - 1) - from));
  return { total, seqOf, hidden, walk, find };
}

const FEW = 4; // events of HTTP that are a sign between two rows, and no line

// BLOCK is how many events fold at most: a line needs no look further.
const BLOCK = 256;

// Fold returns the rule of what folds. Events that marks have, of findings, stand on their own.
export function Fold(blocks, marks) {
  const quiet = (seq) => seq > 0 && !marks.has(seq) && blocks.row(seq)?.fold;
  return (seq, at) => {
    if (!quiet(seq)) return false;
    const first = seq - ((seq - 1) % BLOCK);
    if (seq > first && quiet(seq - 1) && seq - 1 !== at) return true; // behind the first, or with it
    const next = Array.from({ length: FEW }, (_, n) => quiet(seq + n + 1));
    return quiet(seq) === "http" && !next.every(Boolean);
  };
}

// useTop returns the place at the top, with its part of a row, and a function that scrolls by rows.
function useTop(places, fit, at) {
  const [top, setTop] = useState(0);
  const latest = useRef();
  latest.current = { places, fit };
  const clamp = (place) => {
    const last = latest.current.places.walk(latest.current.places.total - 1, -Math.max(0, Math.floor(fit) - 1));
    return Math.max(0, Math.min(place, last));
  };
  const scroll = (by) =>
    setTop((before) => {
      const whole = Math.floor(before);
      const wanted = before - whole + by;
      const rows = Math.floor(wanted);
      return clamp(latest.current.places.walk(whole, rows) + wanted - rows);
    });
  useLayoutEffect(() => {
    if (fit < 3 || places.total === 0) return;
    const here = places.find(at);
    const third = Math.floor(fit / 3);
    setTop((before) => {
      const foot = places.walk(Math.floor(before), Math.floor(fit) - 2);
      const near = places.walk(foot, 3); // a step further scrolls by a row; a jump shows what is around
      if (here > foot && here <= near) return clamp(places.walk(here, 3 - Math.floor(fit)));
      if (here > foot) return clamp(places.walk(here, -third));
      if (here >= before + 1) return clamp(before);
      if (places.walk(here, 3) >= before) return clamp(places.walk(here, -2));
      return clamp(places.walk(here, -third));
    });
  }, [at, places.total, places.seqOf(0), fit >= 3]);
  return [clamp(top), scroll, (place) => setTop(clamp(place))];
}

// windowOf collects the rows from a place on, until the pane is full.
function windowOf(places, blocks, top, height) {
  const rows = [];
  const ticks = [];
  const folded = []; // between two rows
  let place = Math.floor(top);
  let y = HEAD - (top - place) * ROW;
  for (; place < places.total && y < height; place++) {
    const seq = places.seqOf(place);
    const row = blocks.row(seq);
    if (places.hidden(place)) {
      if (row?.kind === "delivered") ticks.push({ seq, row, y });
      else if (row && rows.at(-1)?.row?.fold) rows.at(-1).group.push(row);
      else if (row) folded.push({ row, y });
      continue;
    }
    const before = seq > 1 ? blocks.row(seq - 1) : undefined;
    rows.push({ seq, row, y, gap: row && before ? row.at - before.at : 0, group: [] });
    y += ROW;
  }
  return { rows, ticks, folded };
}

// placer returns the y of any Seq: between its neighbours if it is not shown.
function placer(rows) {
  const seqs = rows.map((each) => each.seq);
  return (seq) => {
    const found = placeOf(seqs, seq);
    if (found === 0 && seqs[0] !== seq) return -1000;
    if (found === seqs.length) return 100_000;
    return rows[found].y + (seqs[found] === seq ? ROW / 2 : 0);
  };
}

const PAPER = 900; // width in pixels of a sequence on paper, which makes it smaller
const PRINTED = 1000; // rows on paper

export function Sequence({
  s,
  session,
  blocks,
  at,
  pick,
  range,
  setRange,
  kin,
  only,
  places,
  marks,
  stuck,
  live,
  byStream,
  theme,
  page,
}) {
  const pane = useRef();
  const size = useSize(pane);
  const printed = usePrinted();
  const width = printed ? PAPER : size.width;
  const height = printed ? HEAD + ROW * Math.min(places.total, PRINTED) : size.height;
  const fit = Math.max(1, (height - HEAD) / ROW);
  page.current = Math.max(1, Math.floor(fit) - 2);
  const [top, scroll, jump] = useTop(places, fit, at);
  usePointer(pane, scroll);
  const columns = columnsOf(width, session);
  const { rows, ticks, folded } = windowOf(places, blocks, printed ? 0 : top, height);
  const calls = callsOf(rows, blocks, only);
  const unanswered = new Set(calls.filter((call) => call.how === "open").map((call) => call.request));
  if (live) unanswered.forEach((request) => stuck.has(request) || unanswered.delete(request));
  const yOf = placer(rows);
  const first = rows[0]?.seq || 1;
  const last = rows.at(-1)?.seq || 1;
  const click = (event) => {
    const seq = Number(event.target.closest("[data-seq]")?.dataset.seq);
    if (!seq) return;
    if (event.shiftKey) setRange([Math.min(at, seq), Math.max(at, seq)]);
    else pick(seq);
  };
  return (
    <>
      <div
        id="sequence"
        class="sequence"
        ref={pane}
        tabIndex={0}
        role="listbox"
        aria-label="Events in their order"
        aria-activedescendant={rows.some((each) => each.seq === at) ? "row" + at : undefined}
      >
        <svg
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          aria-hidden="true"
          onMouseDown={(event) => event.shiftKey && event.preventDefault() /* it would select the text between */}
          onClick={click}
        >
          {rows.map((each) => (
            <Row
              key={each.seq}
              {...each}
              columns={columns}
              picked={each.seq === at}
              kin={kin.has(each.seq)}
              unanswered={unanswered.has(each.seq)}
              marked={range && each.seq >= range[0] && each.seq <= range[1]}
              mark={marks.get(each.seq)}
            />
          ))}
          <Lifelines columns={columns} height={Math.min(height, footOf(rows, places, height))} />
          {session.http && <Streams rows={rows} columns={columns} byStream={byStream} />}
          {foldsOf(folded).map((one) => (
            <Folded key={one.y} one={one} columns={columns} />
          ))}
          <Rails
            calls={calls}
            first={first}
            last={last}
            yOf={yOf}
            height={Math.min(height, footOf(rows, places, height))}
            columns={columns}
            kin={kin}
            stuck={stuck}
            live={live}
          />
          <Ties rows={rows} calls={calls} columns={columns} first={first} />
          {ticks.map((tick) => (
            <Delivered key={tick.seq} tick={tick} columns={columns} />
          ))}
          <Heads columns={columns} session={session} />
        </svg>
        {rows.map((each) => (
          <div
            key={each.seq}
            class="heard"
            id={"row" + each.seq}
            role="option"
            aria-selected={each.seq === at}
            aria-setsize={places.total}
            aria-posinset={places.find(each.seq) + 1}
          >
            {spoken(each.seq, each.row, marks.get(each.seq))}
          </div>
        ))}
        {places.total === 0 && <p class="empty">{only ? "No event fits the filter." : "No event yet."}</p>}
      </div>
      <Overview
        s={s}
        session={session}
        places={places}
        top={top}
        jump={jump}
        fit={fit}
        theme={theme}
        at={at}
        only={only}
        marks={marks}
      />
    </>
  );
}

// usePointer scrolls by the wheel and by touch.
function usePointer(pane, scroll) {
  const latest = useRef();
  latest.current = scroll;
  useEffect(() => {
    const element = pane.current;
    let held = null;
    const wheel = (event) => {
      event.preventDefault();
      latest.current(event.deltaMode ? event.deltaY : event.deltaY / ROW);
    };
    const down = (event) => (held = event.pointerType === "touch" ? event.clientY : null);
    const move = (event) => {
      if (held === null) return;
      latest.current((held - event.clientY) / ROW);
      held = event.clientY;
    };
    const up = () => (held = null);
    const handlers = { wheel, pointerdown: down, pointermove: move, pointerup: up, pointercancel: up };
    for (const name in handlers) element.addEventListener(name, handlers[name], { passive: false });
    return () => {
      for (const name in handlers) element.removeEventListener(name, handlers[name]);
    };
  }, []);
}

// callsOf lists the calls that rows are about or that pass them, each once. Under a filter, which
// brings rows together that stood far apart, only those that they are about.
function callsOf(rows, blocks, only) {
  const lists = new Set(rows.map(({ seq }) => blocks.calls(seq)));
  const about = only && new Set(rows.map(({ row }) => row?.call));
  const calls = new Map();
  for (const list of lists) {
    for (const call of list) {
      if (!about || about.has(call.request)) calls.set(`${call.request} ${call.dir} ${call.column}`, call);
    }
  }
  return [...calls.values()];
}

const Lifelines = ({ columns, height }) =>
  ["client", "server"].map((end) => (
    <line key={end} class="life" x1={columns[end]} x2={columns[end]} y1={HEAD} y2={height} />
  ));

// footOf is where the lines end: behind the last event there is nothing.
function footOf(rows, places, height) {
  const last = rows.at(-1);
  return last && places.find(last.seq) === places.total - 1 - last.group.length ? last.y + ROW : height;
}

// foldsOf collects the events that are folded between two rows.
function foldsOf(folded) {
  const byY = new Map();
  for (const { row, y } of folded) byY.set(y, [...(byY.get(y) || []), row]);
  return Array.from(byY, ([y, rows]) => ({ y, rows }));
}

// Folded is a sign between two rows that has the events of HTTP there.
const Folded = ({ one, columns }) => (
  <text class="folded" text-anchor="end" x={columns.client - 6} y={one.y + 3} data-seq={one.rows[0].seq}>
    {"+" + one.rows.length}
    <title>{one.rows.map((row) => `#${row.seq} ${row.label}`).join("\n")}</title>
  </text>
);

// Streams are the HTTP exchanges in sight: a lane each, with a dot for each of its events.
function Streams({ rows, columns, byStream }) {
  const streams = new Map();
  for (const { row, y } of rows) {
    if (!row?.stream) continue;
    const stream = streams.get(row.stream) || { number: row.stream, ys: [] };
    stream.ys.push(y + ROW / 2);
    streams.set(row.stream, stream);
  }
  const free = Array(LANES).fill(-Infinity);
  for (const stream of streams.values()) {
    const lane = free.findIndex((until) => until < stream.ys[0]);
    stream.lane = lane < 0 ? LANES - 1 : lane;
    free[stream.lane] = Math.max(free[stream.lane], stream.ys.at(-1));
  }
  return [...streams.values()].map(({ number, ys, lane }) => {
    const x = columns.lanes + lane * LANE + 3;
    return (
      <g
        key={number}
        class="stream"
        data-stream={number}
        onClick={(event) => (event.stopPropagation(), byStream(number))}
      >
        <path d={`M${x} ${ys[0]}V${ys.at(-1)}`} />
        {ys.map((y) => (
          <circle key={y} cx={x} cy={y} r="2.5" />
        ))}
        <text class="small stream" text-anchor="end" x={columns.stream} y={ys[0] + 4}>
          {number}
        </text>
        <title>HTTP exchange {number}: click to see it alone</title>
      </g>
    );
  });
}

// Ties are those of progress and the like in the window.
function Ties({ rows, calls, columns, first }) {
  const byRequest = new Map(calls.map((call) => [call.request, call]));
  const tied = rows.filter(({ row }) => row?.kind === "notification" && byRequest.has(row.call));
  return tied.map(({ seq, row, y }) => (
    <Tie
      key={seq}
      row={row}
      call={byRequest.get(row.call)}
      y={y + ROW / 2}
      columns={columns}
      calls={calls}
      first={first}
    />
  ));
}

// Delivered is a tick on the lifeline of the end that took a frame.
function Delivered({ tick, columns }) {
  const x = lifeOf(columns, tick.row.dir === "c2s" ? "s2c" : "c2s");
  return (
    <g class="delivered" data-seq={tick.seq}>
      <path d={`M${x - 6} ${tick.y - 3}h12`} />
      <rect x={x - 8} y={tick.y - 7} width="16" height="8" fill="transparent">
        <title>{`#${tick.seq} ${tick.row.label}`}</title>
      </rect>
    </g>
  );
}

function Heads({ columns, session }) {
  const known = session.introduction || {};
  const room = Math.max(10, (columns.server - columns.client) / 2 / 6.7);
  return (
    <g>
      <rect class="heads" x="0" y="0" width={columns.width} height={HEAD - 1} />
      <line class="edge" x1="0" x2={columns.width} y1={HEAD - 1} y2={HEAD - 1} />
      {[
        [columns.event, columns.narrow ? "#" : "event"],
        [columns.time, !columns.narrow && "seconds"],
        [columns.stream, session.http && (columns.narrow ? "↔" : "HTTP")],
      ].map(
        ([x, title]) =>
          title && (
            <text key={title} class="small dim" text-anchor="end" x={x} y="32">
              {title}
            </text>
          ),
      )}
      {[
        ["client", columns.client - HALF, "start"],
        ["server", columns.server + HALF, "end"],
      ].map(([end, x, anchor]) => (
        <g key={end} text-anchor={anchor}>
          <text class="end" x={x} y="17">
            {end}
          </text>
          <text class="small dim" x={x} y="32">
            {clip(known[end] || "", room)}
          </text>
        </g>
      ))}
    </g>
  );
}

const HALF = 20; // of the width of «client» and «server»
