// The list of the sessions in a store. A row opens its session.
import { h } from "preact";
import { useEffect } from "preact/hooks";
import * as api from "./api.js";
import { Spacer, useWindow } from "./compare.jsx";
import { useAnswer } from "./data.js";
import { Fault } from "./frame.jsx";
import { count, duration, plain } from "./text.js";

export function Sessions({ filter, step, setStep, setMost }) {
  const answer = useAnswer(() => api.sessions(filter), [filter]);
  const list = answer?.sessions || [];
  useEffect(() => {
    if (answer) setMost(list.length);
  }, [answer]);
  const chosen = Math.max(1, Math.min(step, list.length)) - 1;
  const { box, first, last, look } = useWindow(list.length, chosen);
  const click = (event) => {
    const at = event.target.closest("tr[data-row]")?.dataset.row;
    if (at === undefined) return;
    setStep(Number(at) + 1);
    open(list[at].id);
  };
  return (
    <div id="sessions" class="view">
      <h1 class="heard">Sessions</h1>
      {answer?.fault && <Fault text={answer.fault} />}
      <div class="table" ref={box} onScroll={look} tabIndex={0} role="group" aria-label="Sessions">
        <table onClick={click}>
          <thead>
            <tr>
              {["session", "server", "client", "start", "took", "calls", "errors", "state"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer rows={first} />
            {list.slice(first, last).map((one, n) => (
              <Line key={one.id} one={one} at={first + n} picked={first + n === chosen} />
            ))}
            <Spacer rows={list.length - last} />
          </tbody>
        </table>
      </div>
    </div>
  );
}

// open loads the page of a session.
export const open = (id) => location.assign("?" + new URLSearchParams({ session: id }));

const took = (time) => (typeof time === "number" ? duration(time) : plain(time));

function Line({ one, at, picked }) {
  return (
    <tr data-row={at} data-session={one.id} class={picked ? "pick" : ""}>
      <td>
        <button class="plainly" aria-label={"Open " + plain(one.title)}>
          {plain(one.label || one.title)}
        </button>
      </td>
      <td>{plain(one.server)}</td>
      <td>{plain(one.client)}</td>
      <td>
        {plain(one.start)
          .replace("T", " ")
          .replace(/\..*|Z$/, "")}
      </td>
      <td class="seq">{took(one.took)}</td>
      <td class="seq">{count(one.calls || 0)}</td>
      <td class={"seq" + (one.errors ? " fault" : "")}>{count(one.errors || 0)}</td>
      <td class={one.hung ? "fault" : ""}>
        {plain(one.state)}
        {one.hung ? ", hung" : ""}
      </td>
    </tr>
  );
}
