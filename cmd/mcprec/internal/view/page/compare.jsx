// Two sessions as diff pairs their events: aligned rows, and what differs in the side pane.
import { h, Fragment } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { useAnswer } from "./data.js";
import { Fault } from "./frame.jsx";
import { classes, plain } from "./text.js";

const ROW = 26; // height of a row, as in the style sheet
const SPARE = 20; // rows that are drawn above and below those in sight

// useCompare returns {rows, same, fault}: the rows of all sections, each with its section.
export function useCompare(wanted) {
  const answer = useAnswer(() => (wanted ? api.compare() : undefined), [wanted]);
  return useMemo(
    () =>
      answer && {
        ...answer,
        rows: (answer.sections || []).flatMap(({ section, rows }) => rows.map((row) => ({ ...row, section }))),
      },
    [answer],
  );
}

// useWindow returns which rows of a table are in sight, and keeps a row there.
export function useWindow(total, focus) {
  const box = useRef();
  const [range, setRange] = useState([0, 100]);
  const look = () => {
    const { scrollTop, clientHeight } = box.current;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - SPARE);
    setRange([first, Math.min(total, first + Math.ceil(clientHeight / ROW) + 2 * SPARE)]);
  };
  useLayoutEffect(() => {
    if (!box.current) return;
    const { scrollTop, clientHeight } = box.current;
    const y = focus * ROW;
    if (y < scrollTop || y + 3 * ROW > scrollTop + clientHeight) box.current.scrollTop = y - clientHeight / 2;
    look();
  }, [total, focus]);
  return { box, first: range[0], last: Math.min(total, range[1]), look };
}

// Spacer stands for rows that are not in sight.
export const Spacer = ({ rows }) =>
  rows > 0 && (
    <tr aria-hidden="true">
      <td class="spacer" height={rows * ROW} colSpan={9} />
    </tr>
  );

export function Compare({ answer, step, setStep, session, other, go }) {
  const rows = answer ? answer.rows : [];
  const chosen = Math.max(1, Math.min(step, rows.length)) - 1;
  const { box, first, last, look } = useWindow(rows.length, chosen);
  const click = (event) => {
    const at = event.target.closest("tr[data-row]")?.dataset.row;
    if (at) setStep(Number(at) + 1);
  };
  return (
    <>
      <div id="compare" class="view">
        {answer?.fault && <Fault text={answer.fault} />}
        {answer && !answer.fault && (
          <p class="note" id="summary">
            {answer.summary} <span class="dim">· n and N go through what differs</span>
          </p>
        )}
        {answer?.same && (
          <p class="note">
            <strong class="verdict pass">The sessions are the same</strong>
          </p>
        )}
        <div class="table" ref={box} onScroll={look} tabIndex={0} role="group" aria-label="Pairs of events">
          <table class="pairs" onClick={click} aria-rowcount={rows.length + 1}>
            <thead>
              <tr>
                <th scope="col" class="seq">
                  #
                </th>
                <th scope="col">A: {plain(session?.title)}</th>
                <th scope="col" class="kind">
                  kind
                </th>
                <th scope="col" class="seq">
                  #
                </th>
                <th scope="col">B: {plain(other?.title)}</th>
              </tr>
            </thead>
            <tbody>
              <Spacer rows={first} />
              {rows.slice(first, last).map((row, n) => (
                <Pair
                  key={first + n}
                  row={row}
                  at={first + n}
                  picked={first + n === chosen}
                  before={rows[first + n - 1]}
                />
              ))}
              <Spacer rows={rows.length - last} />
            </tbody>
          </table>
        </div>
      </div>
      <aside id="side" aria-label="What differs" tabIndex={0}>
        {rows[chosen] && <Differences row={rows[chosen]} go={go} />}
      </aside>
    </>
  );
}

function Pair({ row, at, picked, before }) {
  const gap = <td class="hatched" aria-label="nothing" />;
  const free = !row.a && !row.b; // about the sessions, not about an event
  return (
    <tr
      data-kind={row.kind}
      data-row={at}
      class={classes(picked && "pick", before?.section !== row.section && "section")}
      aria-rowindex={at + 2}
      aria-current={picked ? "true" : undefined}
    >
      <td class="seq">{row.a || ""}</td>
      {row.a || free ? <td>{plain(row.labelA || (free && row.what) || row.text)}</td> : gap}
      <td class="kind">{row.kind}</td>
      <td class="seq">{row.b || ""}</td>
      {row.b || free ? <td>{plain(row.labelB || row.text)}</td> : gap}
    </tr>
  );
}

function Differences({ row, go }) {
  return (
    <>
      <h1>
        {row.a ? `#${row.a}` : "–"} / {row.b ? `#${row.b}` : "–"} {plain(row.what || row.labelA || row.labelB)}
      </h1>
      <p>
        <span class="dim">{plain(row.section)}</span> · {row.kind}
      </p>
      <p class="tools">
        {row.a > 0 && <button onClick={() => go("a", row.a)}>Show #{row.a} of A</button>}
        {row.b > 0 && !api.carried && <button onClick={() => go("b", row.b)}>Show #{row.b} of B</button>}
      </p>
      {row.text && <p>{plain(row.text)}</p>}
      {row.differences?.map((one, n) => (
        <div class="finding note" key={n}>
          <code>{plain(one.path)}</code>
          <dl class="facts">
            <dt>A</dt>
            <dd>{shown(one.a)}</dd>
            <dt>B</dt>
            <dd>{shown(one.b)}</dd>
          </dl>
        </div>
      ))}
    </>
  );
}

const shown = (value) =>
  value === undefined || value === null || value === "" ? (
    <span class="dim">nothing</span>
  ) : (
    plain(typeof value === "string" ? value : JSON.stringify(value))
  );
