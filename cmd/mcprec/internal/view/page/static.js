// The data that a static file carries with it, behind the functions of api.js.
import { roomsOf } from "./focus.js";

function wrap(data) {
  return {
    overview: data.overview,
    waterfall: data.waterfall,
    findings: data.findings,
    why: data.why,
    fits: data.fits,
    options: data.options,
    compare: data.compare,
    session: (number) => (number ? data.other : data.session),
    rows: (from, n) => ({ first: from, rows: data.rows.rows.slice(from - 1, from - 1 + n), calls: data.rows.calls }),
    frame: (seq) => data.messages[seq] || { seq, size: 0, from: 0, shown: 0, text: "" },
    state: (at) => ({ seq: at, at: data.rows.rows[at - 1]?.at, facts: fold(data, at) }),
    run: (setup) => runOf(data.runs, setup),
    between: (from, to) => between(data.rows.rows, from, to),
    find: (text) => find(data.rows.rows, text),
  };
}

// fold returns the facts after an event, of the changes up to it.
function fold({ states }, at) {
  const facts = new Map();
  for (const change of states) {
    if (change.seq > at) break;
    change.gone?.forEach((key) => facts.delete(key));
    change.set?.forEach((fact) => facts.set(fact.key, fact));
  }
  return [...facts.values()].sort((a, b) => a.rank - b.rank || a.order - b.order);
}

// runOf returns the replay of a setup, of what Go packed: see replays_in_file.go. An SDK runs as its model does.
function runOf(runs, setup) {
  const client = runs.plain.client[setup.client] || setup.client;
  const server = runs.plain.server[setup.server] || setup.server;
  const [c2s, s2c] = roomsOf(setup.buffer);
  let at = 0;
  for (const [list, name] of [
    [runs.clients, client],
    [runs.servers, server],
    [runs.rooms, c2s],
    [runs.rooms, s2c],
  ]) {
    if (!list.includes(name)) return undefined;
    at = at * list.length + list.indexOf(name);
  }
  const run = { verdict: {}, messages: runs.messages };
  runs.list[runs.setups[at]].forEach((place, n) => {
    const [name, member] = runs.names[n].split(".");
    (member ? run[name] : run)[member || name] = runs.values[place];
  });
  return { ...run, steps: stepsOf(run.steps, client, server), told: run.told.map((place) => runs.texts[place]) };
}

const operations = ["offer", "take", "ack", "give"];

// stepsOf unpacks seven numbers a step: see packSteps.
function stepsOf(packed, client, server) {
  const box = (number, model) =>
    model.startsWith("notification-queue=")
      ? { size: number >> 1, room: Number(model.slice("notification-queue=".length)), stuck: number % 2 === 1 }
      : undefined;
  const steps = [];
  for (let at = 0; at < packed.length; at += 7) {
    const [kind, n, c2s, s2c, tick, inClient, inServer] = packed.slice(at, at + 7);
    const inner = { client: box(inClient, client), server: box(inServer, server) };
    const step = { op: operations[kind % 4], dir: kind < 4 ? "c2s" : "s2c", n, queue: { c2s, s2c }, tick };
    steps.push(inner.client || inner.server ? { ...step, inner } : step);
  }
  return steps;
}

// between returns the first and the last event of a range of time.
function between(rows, from, to) {
  const first = rows.find((row) => row.at >= from) || rows.at(-1);
  const last = rows.findLast((row) => row.at <= to) || rows[0];
  return { first: first.seq, last: Math.max(first.seq, last.seq) };
}

// find returns the Seqs of the rows that have every word: plain text, no filter language.
function find(rows, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (row) => {
    const whole = `#${row.seq} ${row.kind} ${row.dir} ${row.label}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  };
  return Uint32Array.from(rows.filter(fits), (row) => row.seq);
}

const element = document.getElementById("data");

// carried is null when the page comes from a server.
export const carried = element ? wrap(JSON.parse(element.textContent)) : null;
