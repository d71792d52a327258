// The data of the page: from the server, or from the file when the page is one (see static.js).
import { carried } from "./static.js";

export { carried };

// In the mode list the address names the session; otherwise a request does, by its number.
const chosen = new URLSearchParams(location.search).get("session");
const second = new URLSearchParams(location.search).get("with");
const named = (session) => (chosen ? { id: session ? second : chosen } : session ? { s: session } : {});

// fromList: the page is of a session of the list; pair: of two that the reader chose there.
export const fromList = chosen !== null;
export const pair = second !== null;

const root = document.documentElement;
let underWay = 0;

// busy marks the document while a promise is under way.
function busy(promise) {
  underWay++;
  root.dataset.busy = String(underWay);
  const over = () => {
    underWay--;
    if (underWay) root.dataset.busy = String(underWay);
    else delete root.dataset.busy;
  };
  promise.then(over, over);
  return promise;
}

const GONE = "mcprec view does not answer any more";

// away is called with what the page says when the server does not answer, and with "" when it does again.
let away = () => {};
export const onAway = (call) => (away = call);

async function ask(path, params, options) {
  const answer = await fetch("api/" + path + "?" + new URLSearchParams(params), options).catch((fault) => {
    if (options?.signal?.aborted) throw fault;
    away(GONE + ": start it again, and open the address that it prints. What stands here stays.");
    throw new Error(GONE);
  });
  away("");
  if (answer.ok) return answer;
  const text = await answer.text();
  let fault = text;
  try {
    fault = JSON.parse(text).error || text;
  } catch {
    // The text itself is the fault.
  }
  throw new Error(fault || answer.statusText);
}

const json = (path, params, options) => busy(ask(path, params, options).then((answer) => answer.json()));
const local = (value) =>
  value === undefined ? Promise.reject(new Error("this file does not carry that")) : Promise.resolve(value);

export const session = (s) => (carried ? local(carried.session(s)) : json("session", named(s)));
export const rows = (s, from, n) => (carried ? local(carried.rows(from, n)) : json("rows", { ...named(s), from, n }));
export const overview = (s, n) => (carried ? local(carried.overview) : json("overview", { ...named(s), n }));
export const waterfall = (s) => (carried ? local(carried.waterfall) : json("waterfall", named(s)));
export const state = (s, at) => (carried ? local(carried.state(at)) : json("state", { ...named(s), at }));
export const findings = (s) => (carried ? local(carried.findings) : json("findings", named(s)));
export const why = (s) => (carried ? local(carried.why) : json("why", named(s)));
export const fits = (s) => (carried ? local({ fits: carried.fits }) : json("fits", named(s)));
export const options = () => (carried ? local(carried.options) : json("options", named(0)));
export const compare = () =>
  carried ? local(carried.compare || undefined) : json("diff", pair ? { a: chosen, b: second } : {});
export const sessions = (filter) => json("sessions", filter ? { filter } : {});

// between returns the first and the last event of a range of time, in nanoseconds.
export const between = (s, from, to) =>
  carried ? local(carried.between(from, to)) : json("between", { ...named(s), from, to });

// frame returns a page of an event's payload, from a byte on.
export const frame = (s, seq, from) =>
  carried ? local(carried.frame(seq)) : json("frame", { ...named(s), seq, from });

// run returns a closed replay under a setup: {client, server, buffer}.
export const run = (s, setup) => (carried ? local(carried.run(setup)) : json("run", { ...named(s), ...setup }));

// diagram returns a range of events as text of a format: {from, to, filter, format}.
export const diagram = async (s, params) => (await json("diagram", { ...named(s), ...params })).text;

// find returns the Seqs of the events that a filter selects, in order.
export function find(s, filter, signal) {
  if (carried) return local(carried.find(filter));
  const answer = ask("find", { ...named(s), filter }, { signal });
  return busy(answer.then((found) => found.arrayBuffer()).then((buffer) => new Uint32Array(buffer)));
}

// live calls on[event] with the data of each event that the server sends of a session. It returns
// a function that ends this.
export function live(s, on) {
  if (carried) return () => {};
  const source = new EventSource("api/live?" + new URLSearchParams(named(s)));
  for (const name of ["head", "index", "why"]) {
    source.addEventListener(name, (event) => on[name]?.(JSON.parse(event.data)));
  }
  source.addEventListener("end", () => {
    source.close();
    on.end?.();
  });
  return () => source.close();
}

// explore starts an exploration and resolves to its report; progress is called with {done, total}.
export function explore(setup, progress, signal) {
  const answer = ask("explore", named(0), {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(setup),
  });
  return busy(answer.then((stream) => lastEvent(stream.body, progress)));
}

// lastEvent reads a stream of server-sent events to its report.
async function lastEvent(body, progress) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the exploration ended without a report");
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const name = /^event: ?(.*)$/m.exec(event)?.[1];
      const data = JSON.parse(/^data: ?(.*)$/m.exec(event)?.[1] || "null");
      if (name === "progress") progress(data);
      if (name === "error") throw new Error(data.error || data);
      if (name === "report") return data;
    }
  }
}
