// The replay under a setup that the reader chooses: pickers, the drawing, and the verdict.
import { h, Fragment } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { roomsOf } from "./focus.js";
import { Run, sizeOf } from "./run.jsx";
import { hangs, lastStep, LINE, storyOf, TOP, yOf } from "./story.js";
import { useSize } from "./sequence.jsx";
import { plain } from "./text.js";

// useRun returns {story, fault} of a setup, once it is needed; the story before stays until the next one is here.
export function useRun(setup, needed) {
  const [answer, setAnswer] = useState({});
  useEffect(() => {
    if (!needed) return;
    let wanted = true;
    const keep = (value) => wanted && setAnswer(value);
    api.run(setup).then(
      (run) => keep(run.error ? { fault: run.error } : { story: storyOf(run) }),
      (fault) => keep({ fault: fault.message }),
    );
    return () => (wanted = false);
  }, [needed, setup.client, setup.server, setup.capacity]);
  return answer;
}

// useOptions returns the models and capacities to choose from.
export function useOptions() {
  const [options, setOptions] = useState(null);
  useEffect(() => {
    api.options().then(setOptions, () => {});
  }, []);
  return options;
}

export function Verdict({ run }) {
  const failed = run.verdict ? run.verdict.verdict === "hang" : run.hang;
  return (
    <strong class={"verdict " + (failed ? "hang" : "pass")} role="status">
      {run.words}
    </strong>
  );
}

// ModelPicker offers the models, then the SDKs whose models are known, of one end.
function ModelPicker({ end, name, value, options, change }) {
  const fits = options.models.filter((model) => !model.end || model.end === end);
  const models = fits.filter((model) => !model.value.includes("@"));
  const sdks = fits.filter((model) => model.value.includes("@"));
  const known = fits.some((model) => model.value === value);
  return (
    <label>
      {end}{" "}
      <select
        name={name}
        value={value}
        onChange={(event) => change({ [name]: event.target.value })}
        title={fits.find((model) => model.value === value)?.why}
      >
        {!known && <option value={value}>{value}</option>}
        <optgroup label="Models">
          {models.map((model) => (
            <option key={model.value} value={model.value} title={model.why}>
              {model.text}
            </option>
          ))}
        </optgroup>
        {sdks.length > 0 && (
          <optgroup label="SDKs">
            {sdks.map((model) => (
              <option key={model.value} value={model.value} title={model.why}>
                {model.text}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </label>
  );
}

// Capacities offers the rooms of the transport, one for each direction.
function Capacities({ name, value, options, change }) {
  const rooms = roomsOf(value);
  const pick = (n, room) => {
    const [c2s, s2c] = rooms.with(n, room);
    change({ [name]: c2s === s2c ? c2s : `c2s=${c2s},s2c=${s2c}` });
  };
  return ["capacity to server", "to client"].map((label, n) => (
    <label key={n}>
      {label}{" "}
      <select
        name={n ? name + "-back" : name}
        value={rooms[n]}
        title={"How many frames the transport holds on their way to the " + ["server", "client"][n]}
        onChange={(event) => pick(n, event.target.value)}
      >
        {[...new Set([...options.capacities, rooms[n]])].map((room) => (
          <option key={room} value={room}>
            {room}
          </option>
        ))}
      </select>
    </label>
  ));
}

// Setup has the pickers of a replay. second is "2" for the one beside.
export function Setup({ setup, second = "", options, change }) {
  if (!options) return null;
  return (
    <>
      <ModelPicker end="client" name={"client" + second} value={setup.client} options={options} change={change} />
      <ModelPicker end="server" name={"server" + second} value={setup.server} options={options} change={change} />
      <Capacities name={"capacity" + second} value={setup.capacity} options={options} change={change} />
    </>
  );
}

// Stage scrolls drawings of runs together. Only what is in sight is drawn. It keeps the step in
// sight; at the end of a hang, the ring.
export function Stage({ stories, setups, step, setStep, apart = 0, captions }) {
  const box = useRef();
  const { width, height } = useSize(box);
  const [at, setAt] = useState(0);
  const each = Math.max(stories.length > 1 ? 320 : 280, Math.floor(width / stories.length));
  const whole = Math.max(...stories.map((story) => sizeOf(story, each, apart).height));
  useLayoutEffect(() => {
    if (!height) return;
    const most = Math.max(...stories.map(lastStep));
    const y = yOf(Math.min(step, most), apart);
    const { scrollTop } = box.current;
    if (step >= most && stories.some(hangs))
      box.current.scrollTop = Math.max(0, Math.min(whole - height, y - TOP * 2));
    else if (y - LINE < scrollTop + TOP || y + LINE > scrollTop + height - 30) box.current.scrollTop = y - height / 2;
  }, [step, stories[0], stories[1], apart, height > 0, each]);
  const click = (event) => {
    const line = event.target.closest("[data-step]")?.dataset.step;
    if (line) setStep(Number(line));
  };
  return (
    <div
      class="stage"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Steps"
      onScroll={() => setAt(box.current.scrollTop)}
      onClick={click}
    >
      {width > 0 &&
        stories.map((story, n) => (
          <div class="run" key={n} style={{ width: `${each}px` }}>
            {captions && <div class="caption">{captions[n]}</div>}
            <Run
              story={story}
              width={each}
              height={whole}
              from={at - 300}
              to={at + height + 300}
              head={at}
              step={step}
              apart={apart}
              setups={setups[n]}
            />
          </div>
        ))}
    </div>
  );
}

// Replay is the view of one run.
export function Replay({ run, setup, options, change, step, setStep, pick }) {
  const { story, fault } = run;
  return (
    <>
      <div id="replay" class="view">
        <div class="setup">
          <Setup setup={setup} options={options} change={change} />
          {story && <Verdict run={story.run} />}
          <button onClick={() => change({ view: "beside" })}>Put another beside it</button>
        </div>
        {fault && (
          <p class="warn" role="alert">
            {plain(fault)}
          </p>
        )}
        {story && !fault && <Stage stories={[story]} setups={[setup]} step={step} setStep={setStep} />}
      </div>
      <aside id="side" aria-label="The verdict" tabIndex={0}>
        {story && !fault && <Words run={story.run} pick={pick} />}
      </aside>
    </>
  );
}

const List = ({ title, lines }) =>
  lines?.length > 0 && (
    <section>
      <h2>{title}</h2>
      <ul>
        {lines.map((line, n) => (
          <li key={n}>{plain(line)}</li>
        ))}
      </ul>
    </section>
  );

// Words is the verdict in the words of Go.
export function Words({ run, pick }) {
  const { verdict } = run;
  return (
    <>
      <h1>{run.words}</h1>
      {verdict.summary && !run.words.toLowerCase().startsWith(verdict.summary.toLowerCase()) && (
        <p>
          <strong>{plain(verdict.summary)}</strong>
        </p>
      )}
      <p>{plain(verdict.explanation) || "Both ends come to the end of the session."}</p>
      {verdict.waits.length > 0 && (
        <section>
          <h2>Who waits for whom</h2>
          {verdict.waits.map((wait, n) => (
            <Waits key={n} wait={wait} inCycle={verdict.cycle.includes(wait.who)} pick={pick} />
          ))}
        </section>
      )}
      <List title="What changes it" lines={verdict.changes} />
      <Unanswered list={verdict.unanswered} pick={pick} />
      <List title="Assumptions" lines={verdict.assumptions} />
      <List title="Warnings" lines={verdict.warnings} />
    </>
  );
}

function Waits({ wait, inCycle, pick }) {
  return (
    <p class={"finding " + (inCycle ? "error" : "note")}>
      <strong>{plain(wait.who)}</strong> waits for <strong>{plain(wait.waits_for)}</strong>
      {wait.holds && (
        <>
          <br />
          holds {plain(wait.holds)}
        </>
      )}
      <br />
      <span class="dim">{plain(wait.why)}</span>{" "}
      {wait.seq > 0 && (
        <button class="jump" onClick={() => pick(wait.seq)}>
          #{wait.seq}
        </button>
      )}
    </p>
  );
}

const Unanswered = ({ list, pick }) =>
  list?.length > 0 && (
    <section>
      <h2>Not answered in the recording</h2>
      <ul class="bare">
        {list.map((one) => (
          <li key={one.seq}>
            <button class="jump" onClick={() => pick(one.seq)}>
              #{one.seq}
            </button>{" "}
            {plain(one.call)}, owed by the {one.owes}, waited {one.waited}
          </li>
        ))}
      </ul>
    </section>
  );

// useStory keeps a story while its run is the same object.
export const useStory = (run) => useMemo(() => run && storyOf(run), [run]);
