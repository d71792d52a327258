// Two runs on one axis of steps, up to where they part and beyond: two replays, or the failing
// order of an exploration and its nearest passing one.
import { h, Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { roomNamed, roomsOf } from "./focus.js";
import { Fault } from "./frame.jsx";
import { Setup, Stage, useStory, Verdict } from "./replay.jsx";
import { lastStep, partOf } from "./story.js";
import { count, plain } from "./text.js";

const named = ({ client, server, buffer: rooms }) => {
  const [to, back] = roomsOf(rooms).map(roomNamed);
  const buffer = to === back ? to : `${to} to the server, ${back} to the client`;
  return `client ${client}, server ${server}, buffer ${buffer}`;
};

export function Beside({ runs, setups, options, change, step, setStep, session, exploring, setLength }) {
  const [explored, setExplored] = useState(null);
  const failing = useStory(explored?.failing);
  const passing = useStory(explored?.passing);
  const shown = (explored ? [failing, passing] : runs.map((run) => run.story)).filter(Boolean);
  const apart = useMemo(
    () => (shown.length === 2 ? partOf(shown[0], shown[1], explored?.apart) : 0),
    [shown[0], shown[1]],
  );
  const last = Math.max(0, ...shown.map(lastStep));
  const lines = Math.max(0, ...shown.map((story) => story.lines));
  useEffect(() => setLength({ last, lines }), [last, lines]);
  const titles = explored ? ["The failing order", "The nearest order that passes"] : setups.map(named);
  const faults = explored ? [] : runs.map((run) => run.fault).filter(Boolean);
  return (
    <div id="beside" class="view">
      <h1 class="heard">Two runs on one axis of steps</h1>
      {!explored && (
        <div class="setup">
          <Setup setup={setups[0]} options={options} change={change} />
        </div>
      )}
      <div class="setup">
        {!explored && <Setup setup={setups[1]} second="2" options={options} change={change} />}
        {!api.carried && (
          <Exploration {...{ session, exploring, change, explored, setExplored }} setup={setups[0]} />
        )}
      </div>
      {faults.map((fault) => (
        <Fault key={fault} text={fault} />
      ))}
      {explored && <Report explored={explored} />}
      {shown.length > 0 && faults.length === 0 && (
        <Stage
          stories={shown}
          step={step}
          setStep={setStep}
          apart={apart}
          setups={explored ? [{}, {}] : setups}
          captions={shown.map((story, n) => (
            <>
              <b>{titles[n]}</b> <Verdict run={story.run} words={options?.words} />
            </>
          ))}
        />
      )}
      {shown.length === 2 && apart === 0 && <p class="dim note">The two runs are the same.</p>}
    </div>
  );
}

const NONE = "no order fails";

// Exploration asks the server for other orders of the session. It starts by itself where the
// page was opened for it, and where the address has it.
function Exploration({ session, exploring, change, setup, explored, setExplored }) {
  const [state, setState] = useState("");
  const ending = useRef(null);
  const start = () => {
    ending.current = new AbortController();
    setState("exploring…");
    change({ explore: "1" });
    const wanted = {
      client: setup.client,
      server: setup.server,
      buffer: setup.buffer,
      token: session.token || "",
    };
    const progress = ({ done, total }) => setState(`${count(done)} of ${count(total)} orders`);
    api.explore(wanted, progress, ending.current.signal).then(
      (answer) => {
        setState(answer.failing ? "" : NONE);
        setExplored(answer.failing ? drawn(answer) : null);
      },
      (fault) => setState(fault.name === "AbortError" ? "" : fault.message),
    );
  };
  useEffect(() => {
    if (exploring) start();
    return () => ending.current?.abort();
  }, []);
  const running = / orders$|…$/.test(state);
  return (
    <>
      {running ? (
        <button onClick={() => ending.current.abort()}>Stop</button>
      ) : explored ? (
        <button onClick={() => (setExplored(null), change({ explore: undefined }))}>Back to replays</button>
      ) : (
        <button
          title="Play other orders of delivery, and show the first that fails beside the nearest that passes"
          onClick={start}
        >
          Explore other orders
        </button>
      )}
      {state && (
        <span class={state === NONE ? "verdict pass" : "dim"} role="status">
          {plain(state)}
        </span>
      )}
    </>
  );
}

// drawn gives the two orders of an exploration the form of runs.
function drawn({ report, failing, passing, apart }) {
  const hang = report.verdict !== "pass";
  const run = (order, words, failed) => order && { ...order, verdict: undefined, words, hang: failed };
  return {
    report,
    apart,
    failing: run(failing, (report.verdict + (report.category ? ": " + report.category : "")).toUpperCase(), hang),
    passing: run(passing, "PASS", false),
  };
}

function Report({ explored: { report } }) {
  const counted = /#\d/.test([report.chain, report.choices].flat().join());
  return (
    <details class="report" open>
      <summary>{plain(report.explanation)}</summary>
      {counted && (
        <p class="dim">tools/list#2 is the second tools/list in this order, and no event of the recording.</p>
      )}
      {[report.chain, report.choices].map(
        (lines, n) =>
          lines?.length > 0 && (
            <ul key={n}>
              {lines.map((line) => (
                <li key={line}>{plain(line)}</li>
              ))}
            </ul>
          ),
      )}
      {report.token && (
        <p class="dim">
          token <code>{plain(report.token)}</code>
        </p>
      )}
    </details>
  );
}
