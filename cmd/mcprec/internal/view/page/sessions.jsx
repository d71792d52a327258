// The list of the sessions in a store. A row opens its session.
import { h } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import * as api from "./api.js";
import { Spacer, useWindow } from "./compare.jsx";
import { useAnswer } from "./data.js";
import { write } from "./focus.js";
import { Fault } from "./frame.jsx";
import { count, duration, plain } from "./text.js";

// The columns: a name, and by what the rows are sorted. What a narrow window has no room for stands last.
const columns = [
  ["session", (one) => one.label || one.title],
  ["state", (one) => one.state],
  ["exit", (one) => one.exit],
  ["took", (one) => Number(one.took)],
  ["calls", (one) => one.calls],
  ["errors", (one) => one.errors],
  ["start", (one) => one.start],
  ["server", (one) => one.server],
  ["client", (one) => one.client],
];
const numeric = new Set(["took", "calls", "errors"]);

// sorted puts the stuck sessions first, those that go on before the others, unless a column is chosen: its name, with
// a minus for the other way round.
function sorted(list, by) {
  const column = columns.find(([name]) => name === by?.replace(/^-/, ""));
  const stuck = (one) => (one.hung ? (one.state === "live" ? 0 : 1) : 2);
  if (!column) return [...list].sort((a, b) => stuck(a) - stuck(b));
  const way = by.startsWith("-") ? -1 : 1;
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...list].sort((a, b) => way * order(column[1](a), column[1](b)));
}

export function Sessions({ focus, change, step, setListed }) {
  const { filter = "", sort } = focus;
  const [beat, setBeat] = useState(0);
  const answer = useAnswer(() => api.sessions(filter), [filter, beat]);
  const list = useMemo(() => sorted(answer?.sessions || [], sort), [answer, sort]);
  const [ticked, setTicked] = useState([]); // ids, at most two
  useEffect(() => {
    if (answer) setListed({ most: list.length, summary: answer.summary });
  }, [answer]);
  useEffect(() => sessionStorage.setItem("list", write(focus)), [focus]);
  const chosen = Math.max(1, Math.min(step, list.length)) - 1;
  const { box, first, last, look } = useWindow(list.length, chosen);
  const click = (event) => {
    const at = event.target.closest("tr[data-row]")?.dataset.row;
    if (at === undefined || event.target.closest("input")) return;
    change({ step: Number(at) + 1 });
    open(list[at].id);
  };
  const tick = (id) =>
    setTicked((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id]).slice(-2));
  const hung = filter.split(/\s+/).includes("hung");
  const words = filter.split(/\s+/).filter((word) => word && word !== "hung");
  const toggle = () => change({ filter: (hung ? words : ["hung", ...words]).join(" "), step: 1 });
  return (
    <div id="sessions" class="view">
      <h1 class="heard">Sessions</h1>
      <div class="setup">
        <button aria-pressed={hung} onClick={toggle} title="Only sessions in which something hangs or hung">
          hung
        </button>
        <button onClick={() => setBeat((n) => n + 1)}>Refresh</button>
        <button
          disabled={ticked.length !== 2}
          onClick={() => location.assign("?" + new URLSearchParams({ session: ticked[0], with: ticked[1] }))}
          title="Tick two sessions to compare them"
        >
          Compare {ticked.length} of 2
        </button>
      </div>
      {answer?.fault && <Fault text={answer.fault} />}
      {answer && !answer.fault && list.length === 0 && <p class="note">No session fits.</p>}
      <div class="table" ref={box} onScroll={look} tabIndex={0} role="group" aria-label="Sessions">
        <table onClick={click}>
          <thead>
            <tr>
              <th scope="col">
                <span class="heard">compare</span>
              </th>
              {columns.map(([name]) => (
                <Heading key={name} name={name} sort={sort} change={change} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer rows={first} />
            {list.slice(first, last).map((one, n) => (
              <Line
                key={one.id}
                one={one}
                at={first + n}
                picked={first + n === chosen}
                ticked={ticked.includes(one.id)}
                tick={tick}
              />
            ))}
            <Spacer rows={list.length - last} />
          </tbody>
        </table>
      </div>
    </div>
  );
}

// Heading sorts by its column, then the other way round, then as at first.
function Heading({ name, sort, change }) {
  const next = { [name]: "-" + name, ["-" + name]: undefined };
  const way = { [name]: "ascending", ["-" + name]: "descending" }[sort];
  return (
    <th scope="col" class={numeric.has(name) ? "seq" : ""} aria-sort={way || "none"}>
      <button class="plainly" onClick={() => change({ sort: sort in next ? next[sort] : name, step: 1 })} title="Sort">
        {name}
        {way ? (way === "ascending" ? " ↑" : " ↓") : ""}
      </button>
    </th>
  );
}

// open loads the page of a session.
export const open = (id) => location.assign("?" + new URLSearchParams({ session: id }));

const took = (time) => (typeof time === "number" ? duration(time) : plain(time));

function Line({ one, at, picked, ticked, tick }) {
  return (
    <tr data-row={at} data-session={one.id} class={picked ? "pick" : ""}>
      <td>
        <input
          type="checkbox"
          checked={ticked}
          aria-label={"Compare " + plain(one.title)}
          onChange={() => tick(one.id)}
        />
      </td>
      <td>
        <button class="plainly" aria-label={"Open " + plain(one.title)}>
          {plain(one.label || one.title)}
        </button>
      </td>
      <td class={one.hung ? "fault" : ""}>
        {plain(one.state)}
        {one.hung ? ", hung" : ""}
      </td>
      <td class={one.exit && one.exit !== "0" ? "fault" : ""}>{plain(one.exit)}</td>
      <td class="seq">{took(one.took)}</td>
      <td class="seq">{count(one.calls || 0)}</td>
      <td class={"seq" + (one.errors ? " fault" : "")}>{count(one.errors || 0)}</td>
      <td>
        {plain(one.start)
          .replace("T", " ")
          .replace(/\..*|Z$/, "")}
      </td>
      <td>{plain(one.server)}</td>
      <td>{plain(one.client)}</td>
    </tr>
  );
}
