// The overview: the whole session in one strip, which is the scroll bar too.
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as api from "./api.js";
import { useAnswer } from "./data.js";

const BUCKETS = 800;
const LONG = 1e9; // a gap in ns that is marked
const MARGIN = 2;
const GRAVITY = ["note", "warning", "error"];

// useOverview asks again while the session is read, and when it grew by a part.
function useOverview(s, session) {
  const grown = session.done ? "done" : Math.floor(Math.log2(session.indexed + 1) * 8);
  const data = useAnswer(() => api.overview(s, BUCKETS), [s, grown]);
  return data?.buckets ? data : null;
}

// colours reads the theme's.
function colours(canvas) {
  const style = getComputedStyle(canvas);
  const names = ["c2s", "s2c", "fault", "warn", "dim", "text"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name)]));
}

function fill(context, colour, x, y, width, height) {
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
}

// gravest returns the severity of the gravest finding in each bucket, as far as the findings are here.
function gravest(data, marks) {
  const found = new Map();
  for (const [seq, list] of marks) {
    const bucket = Math.ceil((seq * data.buckets) / data.events) - 1;
    for (const { severity } of list) {
      if (GRAVITY.indexOf(severity) > GRAVITY.indexOf(found.get(bucket))) found.set(bucket, severity);
    }
  }
  return found;
}

// drawBuckets draws, from the left: long gaps, the client's frames, the server's, faults, and
// findings.
function drawBuckets(context, data, colour, height, events, marks) {
  const found = gravest(data, marks);
  const most = Math.max(1, ...data.c2s, ...data.s2c);
  const rows = ((height - 2 * MARGIN) * data.events) / Math.max(1, events);
  const step = rows / data.buckets;
  const thick = Math.max(1, step);
  for (let n = 0; n < data.buckets; n++) {
    const y = MARGIN + n * step;
    if (data.gap[n] >= LONG) fill(context, colour.warn, 2, y, 4, thick);
    context.globalAlpha = 0.75;
    const left = (data.c2s[n] / most) * 17;
    fill(context, colour.c2s, 26 - left, y, left, thick);
    fill(context, colour.s2c, 28, y, (data.s2c[n] / most) * 17, thick);
    context.globalAlpha = 1;
    if (data.fault[n]) fill(context, colour.fault, 47, y, 3, Math.max(2, thick));
    const flag = { error: colour.fault, note: colour.dim }[found.get(n)] || colour.warn;
    if (data.finding[n]) fill(context, flag, 52, y - 1, 4, Math.max(4, thick));
  }
}

// drawWindow frames the part that the pane shows.
function drawWindow(context, colour, width, height, share) {
  const room = height - 2 * MARGIN;
  const y = MARGIN + share.top * room;
  const tall = Math.max(6, Math.min(share.fit * room, height - y - 1));
  context.globalAlpha = 0.08;
  fill(context, colour.text, 0, y, width, tall);
  context.globalAlpha = 0.9;
  context.strokeStyle = colour.text;
  context.lineWidth = 1.2;
  context.strokeRect(0.6, y, width - 1.2, tall);
  context.globalAlpha = 1;
}

function draw(canvas, data, events, share, marks) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  const colour = colours(canvas);
  context.scale(ratio, ratio);
  if (data) drawBuckets(context, data, colour, height, events, marks);
  drawWindow(context, colour, width, height, share);
}

export function Overview({ s, session, places, top, jump, fit, only, marks }) {
  const canvas = useRef();
  const data = useOverview(s, session);
  // The strip is of all events, also where the pane goes through those of a filter.
  const events = Math.max(1, session.events);
  const placed = places.total ? places.seqOf(Math.floor(top)) - 1 + (top % 1) : 0;
  const last = places.total ? places.seqOf(Math.min(places.total - 1, Math.floor(top + fit))) : 1;
  const share = { top: placed / events, fit: (only ? last - placed : Math.min(fit, events)) / events };
  useEffect(() => {
    const frame = requestAnimationFrame(() => canvas.current && draw(canvas.current, data, events, share, marks));
    return () => cancelAnimationFrame(frame);
  });
  const go = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const seq = Math.round(((event.clientY - box.top) / box.height) * events - (only ? 0 : fit / 2));
    jump(places.find(Math.max(1, seq)));
  };
  const press = (event) => {
    canvas.current.setPointerCapture(event.pointerId);
    go(event);
  };
  return (
    <canvas
      id="overview"
      ref={canvas}
      tabIndex={0}
      role="scrollbar"
      aria-label="Place in the session"
      aria-orientation="vertical"
      aria-controls="sequence"
      aria-valuemin={1}
      aria-valuemax={events}
      aria-valuenow={Math.min(events, Math.round(placed) + 1)}
      onPointerDown={press}
      onPointerMove={(event) => event.buttons && go(event)}
    />
  );
}
