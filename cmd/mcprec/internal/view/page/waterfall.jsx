// The waterfall: the calls of the session to the scale of time, so that a long wait is long. A range
// that is dragged on it is what the other panes show; a click goes to the event there.
import { h, Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { useAnswer } from "./data.js";
import { useSize } from "./sequence.jsx";
import { classes, clip, columnsIn, duration, plain } from "./text.js";

const LANE = 12; // height of a lane
const AXIS = 15; // height of the times
const COUNTS = 14; // height of the counts of messages
const NAMED = 90; // width in pixels of a bar with its name beside it
const DRAG = 4; // pixels that are no click

// useClock returns the present of a session that goes on, each second, and the time of the latest event
// of any other.
export function useClock(session) {
  const received = useRef({ now: 0, at: 0 });
  if (received.current.now !== session.now) received.current = { now: session.now, at: performance.now() };
  const [, tick] = useState(0);
  const live = session.state === "live" && !session.done;
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [live]);
  if (!live) return session.at;
  return Math.max(session.at, received.current.now + (performance.now() - received.current.at) * 1e6);
}

// ROUND are steps of time that read well, in seconds; below a second they are 1, 2 and 5 of a unit.
const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

// ticksOf returns round times up to an end, so many pixels apart at least.
function ticksOf(end, width) {
  const least = (end / Math.max(1, width)) * 90;
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  const fine = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= least);
  const step = fine < 1e9 ? fine : (ROUND.find((n) => n * 1e9 >= least) || Math.ceil(least / 86400e9) * 86400) * 1e9;
  const ticks = [];
  for (let at = 0; at <= end && ticks.length < 50; at += step) ticks.push(at);
  return ticks;
}

// clock shows a round time: 1.5 s, 20 s, 1:30, 2:00:00.
function clock(at) {
  if (at === 0) return "0";
  if (at < 1e9) return duration(at);
  if (at % 1e9 && at < 60e9) return `${Math.round(at / 1e8) / 10} s`;
  const whole = Math.round(at / 1e9);
  if (whole < 60) return whole + " s";
  const two = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

// Waterfall is the strip. stuck has the requests that hang, and found what is told of them; range is the chosen
// events: [first, last].
export function Waterfall({ s, session, blocks, now, row, stuck, found, live, range, setRange, pick }) {
  const box = useRef();
  const { width } = useSize(box);
  const grown = session.done ? "done" : live ? session.events : Math.floor(Math.log2(session.indexed + 1) * 8);
  const data = useAnswer(() => api.waterfall(s), [s, grown]);
  const [drag, setDrag] = useState(null); // of the pointer: from and to, in pixels
  const pressed = useRef(0); // the request of the bar under the pointer
  const end = Math.max(now, data?.end || 0);
  const xOf = (at) => (at / Math.max(1, end)) * width;
  const place = (event) => event.clientX - box.current.getBoundingClientRect().left;
  const down = (event) => {
    if (event.button) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    pressed.current = Number(event.target.closest("[data-request]")?.dataset.request);
    setDrag([place(event), place(event)]);
  };
  const move = (event) => drag && setDrag([drag[0], place(event)]);
  const up = async (event) => {
    if (!drag) return;
    setDrag(null);
    const [from, to] = [drag[0], place(event)]
      .map((x) => Math.round((Math.max(0, Math.min(width, x)) / width) * end))
      .sort((a, b) => a - b);
    const isRange = Math.abs(place(event) - drag[0]) > DRAG;
    if (!isRange && pressed.current) return pick(pressed.current);
    const { first, last } = await api.between(s, from, to);
    if (isRange) setRange([first, last]);
    else pick(first);
  };
  const at = (seq) => blocks.row(seq)?.at ?? 0;
  const lanes = 1 + Math.max(1, ...(data?.bars || []).map((bar) => bar.lane));
  const height = AXIS + lanes * LANE + COUNTS + 4;
  return (
    <section
      id="waterfall"
      aria-label="Calls to the scale of time"
      hidden={end === 0}
      style={{ height: `${height}px` }}
    >
      <div ref={box} onPointerDown={down} onPointerMove={move} onPointerUp={up}>
        {data?.bars && width > 0 && end > 0 && (
          <svg width={width} height={height} aria-hidden="true">
            <Axis end={end} width={width} height={height} xOf={xOf} />
            <Counts data={data} width={xOf(data.end)} height={height} />
            {data.bars.map((bar) => (
              <Bar key={bar.request} {...{ bar, xOf, end, stuck, live, blocks, width }} />
            ))}
            {found.map((one, n) => (
              <Silence key={n} {...{ one, data, xOf, width }} />
            ))}
            {range && <Chosen from={xOf(at(range[0]))} to={xOf(at(range[1]))} height={height} />}
            {drag && <Chosen from={Math.min(...drag)} to={Math.max(...drag)} height={height} />}
            {row && <line class="here" x1={xOf(row.at)} x2={xOf(row.at)} y1="0" y2={height} />}
          </svg>
        )}
      </div>
      {range && (
        <button onClick={() => setRange(null)} title="Show the whole session (Esc)">
          #{range[0]} to #{range[1]} ✕
        </button>
      )}
      {data?.left > 0 && <span class="left dim">{data.left} shorter calls are not drawn</span>}
    </section>
  );
}

function Axis({ end, width, height, xOf }) {
  return ticksOf(end, width).map((at) => (
    <g key={at}>
      <line class="tick" x1={xOf(at)} x2={xOf(at)} y1="0" y2={height} />
      <text class="small dim" x={xOf(at) + 3} y="11">
        {clock(at)}
      </text>
    </g>
  ));
}

// Counts are the messages in equal parts of the time: above the line those of the client, below it
// those of the server.
function Counts({ data, width, height }) {
  const most = Math.max(1, ...data.c2s, ...data.s2c);
  const step = width / data.c2s.length;
  const foot = height - COUNTS / 2 - 1;
  const tall = (n) => (n ? Math.max(2, (n / most) * (COUNTS / 2)) : 0);
  return data.c2s.map((sent, n) => (
    <Fragment key={n}>
      {sent > 0 && (
        <rect class="c2s" x={n * step} y={foot - tall(sent)} width={Math.max(1.5, step)} height={tall(sent)} />
      )}
      {data.s2c[n] > 0 && (
        <rect class="s2c" x={n * step} y={foot} width={Math.max(1.5, step)} height={tall(data.s2c[n])} />
      )}
      {data.fault[n] > 0 && <rect class="fault" x={n * step} y={foot - 1} width={Math.max(2, step)} height="2" />}
    </Fragment>
  ));
}

// toneOf is the colour of a bar: a call that is open waits, until it is stuck or its session is over.
export function barTone(call, stuck, live) {
  if (call.how === "answered") return call.dir;
  if (call.how === "open" && live && !stuck.has(call.request)) return "waits";
  return call.how === "cancelled" ? "beside" : "fault";
}

function Bar({ bar, xOf, end, stuck, live, blocks, width }) {
  const x = xOf(bar.at);
  const until = bar.end ? bar.until : end;
  const long = Math.max(2, xOf(until) - x);
  const y = AXIS + bar.lane * LANE;
  const tone = barTone(bar, stuck, live);
  const label = long >= NAMED ? plain(blocks.row(bar.request)?.label) : "";
  const text = label && clip(`${label} · ${duration(until - bar.at)}`, (long - 10) / 6.2);
  return (
    <g data-request={bar.request} class={classes("call", tone)}>
      <rect x={x} y={y} width={long} height={LANE - 1.5} rx="1.5" />
      {text && columnsIn(text) > 5 && (
        <text x={x + 4} y={y + LANE - 3.2}>
          {text}
        </text>
      )}
      <title>{`#${bar.request}${bar.end ? "" : ", no answer"}: ${duration(until - bar.at)}`}</title>
    </g>
  );
}

// Silence is a wait behind the answer of a call: a side that should have gone on did not.
function Silence({ one, data, xOf, width }) {
  const call = one.calls?.[0] ?? one.evidence[0]?.seq; // no call waits: the first event of the evidence is the request
  const bar = data.bars.find((bar) => bar.request === call);
  if (!bar || bar.how !== "answered") return null;
  const x = xOf(bar.until);
  const long = Math.min(width, xOf(bar.until + one.waited_ns)) - x;
  const y = AXIS + bar.lane * LANE;
  return (
    <g data-request={bar.request} class="silence">
      <rect x={x} y={y} width={Math.max(2, long)} height={LANE - 1.5} rx="1.5" />
      {long >= NAMED && (
        <text x={x + 4} y={y + LANE - 3.2}>
          {clip(`the ${one.culprit} is silent · ${duration(one.waited_ns)}`, (long - 10) / 6.2)}
        </text>
      )}
    </g>
  );
}

const Chosen = ({ from, to, height }) => (
  <rect class="chosen" x={from} y="0" width={Math.max(2, to - from)} height={height} />
);
