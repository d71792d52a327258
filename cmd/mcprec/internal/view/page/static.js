// The data that a static file carries with it, behind the functions of api.js.

const topics = [
  "revision",
  "client",
  "server",
  "log level",
  "call",
  "subscription",
  "task",
  "queue",
  "stream",
  "line",
  "frames",
  "failures",
  "lost",
  "ended",
];

function wrap(data) {
  return {
    overview: data.overview,
    findings: data.findings,
    why: data.why,
    options: data.options,
    compare: data.compare,
    session: (number) => (number ? data.other : data.session),
    rows: (from, n) => ({ first: from, rows: data.rows.rows.slice(from - 1, from - 1 + n), calls: data.rows.calls }),
    frame: (seq) => data.frames[seq] || { seq, size: 0, from: 0, shown: 0, text: "" },
    state: (at) => ({ seq: at, facts: fold(data.states, at) }),
    run: (setup) => runOf(data, setup),
    find: (text) => find(data.rows.rows, text),
  };
}

// fold returns the facts after an event, of the changes up to it.
function fold(changes, at) {
  const facts = new Map();
  for (const change of changes) {
    if (change.seq > at) break;
    for (const key of change.gone || []) facts.delete(key);
    for (const fact of change.set || []) facts.set(fact.key, fact);
  }
  const rank = (fact) => topics.findIndex((topic) => fact.text.startsWith(topic));
  return [...facts.values()].sort((a, b) => rank(a) - rank(b));
}

// runOf returns the replay of a setup. Setups with the same run share it.
function runOf(data, { client, server, capacity }) {
  const run = data.runList[data.runs[`${client} ${server} ${capacity}`]];
  return run && { ...run, frames: data.runFrames };
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
