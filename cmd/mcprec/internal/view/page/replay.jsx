// The replay under a setup that the reader chooses: pickers, the drawing, and the verdict.
import { h, Fragment } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { useAnswer, usePrinted } from "./data.js";
import { roomNamed, roomsOf } from "./focus.js";
import { Fault } from "./frame.jsx";
import { Heads, Run, sizeOf } from "./run.jsx";
import { hangs, hangsOf, lastStep, LINE, storyOf, yOf } from "./story.js";
import { useSize } from "./sequence.jsx";
import { Jump, Linked } from "./side.jsx";
import { plain } from "./text.js";
import { focusOf } from "./verdict.jsx";
import { Explained } from "./word.jsx";

// useRun returns {story, fault} of a setup, once it is needed; the story before stays until the next one is here.
export function useRun(s, setup, needed) {
  const ask = () =>
    needed ? api.run(s, setup).then((run) => (run.error ? { fault: run.error } : { story: storyOf(run) })) : undefined;
  return useAnswer(ask, [s, needed, setup.client, setup.server, setup.buffer]) || {};
}

// useOptions returns the models, buffers and words of replays.
export function useOptions() {
  const options = useAnswer(api.options, []);
  return options?.fault ? null : options;
}

export function Verdict({ run, words }) {
  return (
    <strong
      class={"verdict " + ((run.tone || (hangsOf(run) ? "fail" : "pass")) === "pass" ? "pass" : "hang")}
      role="status"
      title={said(words, run.words)
        .map(({ word, means }) => `${word}: ${means}`)
        .join("\n")}
    >
      {run.words}
    </strong>
  );
}

// said returns the words of Go's list that a text has.
const said = (words, text) => (words || []).filter(({ word }) => new RegExp(`\\b${word}s?\\b`).test(text));

// Picker is a select with a label. groups lists names with their choices: {value, text, why}.
function Picker({ label, name, value, title, groups, pick }) {
  return (
    <label>
      {label}{" "}
      <select name={name} value={value} title={title} onChange={(event) => pick(event.target.value)}>
        {groups.map(([heading, choices]) => (
          <optgroup key={heading} label={heading}>
            {choices.map((choice) => (
              <option key={choice.value} value={choice.value} title={choice.why}>
                {choice.text}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

// Setup has the pickers of a replay: the models, then the SDKs whose models are known, of each
// end, and the rooms of the transport, in each direction. second is "2" for the one beside.
export function Setup({ setup, second = "", options, change }) {
  if (!options) return null;
  const rooms = roomsOf(setup.buffer);
  const pickRoom = (n, room) => {
    const [c2s, s2c] = rooms.with(n, room);
    change({ ["buffer" + second]: c2s === s2c ? c2s : `c2s=${c2s},s2c=${s2c}` });
  };
  const groupsOf = (end, chosen) => {
    const fits = options.models.filter((model) => !model.end || model.end === end);
    if (!fits.some((model) => model.value === chosen)) fits.unshift({ value: chosen, text: chosen });
    return [
      ["Models", fits.filter((model) => !isSDK(model))],
      ["SDKs", fits.filter(isSDK)],
    ];
  };
  const roomsWith = (chosen) =>
    [...new Set([...options.buffers, chosen])].map((room) => ({ value: room, text: roomNamed(room) }));
  return (
    <>
      {["client", "server"].map((end) => (
        <Picker
          key={end}
          label={end}
          name={end + second}
          value={setup[end]}
          title={meaningOf(options, setup[end])}
          groups={groupsOf(end, setup[end])}
          pick={(model) => change({ [end + second]: model })}
        />
      ))}
      {["to server", "to client"].map((way, n) => (
        <Picker
          key={way}
          label={n ? way : "buffer " + way}
          name={"buffer" + second + (n ? "-back" : "")}
          value={rooms[n]}
          title={`How many messages the transport holds ${way}; where it holds none, a write waits until it is read`}
          groups={[["The transport holds", roomsWith(rooms[n])]]}
          pick={(room) => pickRoom(n, room)}
        />
      ))}
    </>
  );
}

const isSDK = (model) => model.value.includes("@");

// meaningOf says how a side of a model works; a run knows it of its own models, also of those that are not listed.
const meaningOf = (options, model, known) => known || options?.models.find((one) => one.value === model)?.why;

const LOW = 420; // height of a stage that has no room for more than the ring

// Stage scrolls drawings of runs together. Only what is in sight is drawn. It keeps the step in
// sight; at the end of a hang, the ring.
export function Stage({ stories, setups, step, setStep, apart = 0, captions, pick }) {
  const box = useRef();
  const { width, height } = useSize(box);
  const [at, setAt] = useState(0);
  const printed = usePrinted();
  const each = Math.max(180, Math.floor(width / stories.length));
  const whole = Math.max(...stories.map((story) => sizeOf(story, each, apart).height));
  useLayoutEffect(() => {
    if (!height) return;
    const most = Math.max(...stories.map(lastStep));
    const y = yOf(Math.min(step, most), apart);
    const { scrollTop } = box.current;
    const room = height - box.current.querySelector(".top").offsetHeight;
    const ring = Math.max(...stories.map((story) => sizeOf(story, each, apart).end)); // where the ring begins
    const above = room < LOW ? ring : y - 4 * LINE; // of the ring's steps a few, where there is room
    if (step >= most && stories.some(hangs)) box.current.scrollTop = Math.min(whole - room, above);
    else if (y < scrollTop + LINE || y > scrollTop + room - 2 * LINE) box.current.scrollTop = y - room / 2;
  }, [step, stories[0], stories[1], apart, height > 0, each]);
  const jump = (event) => Number(event.target.closest("[data-jump]")?.dataset.jump);
  const click = (event) => {
    const line = event.target.closest("[data-step]")?.dataset.step;
    if (jump(event)) pick?.(jump(event));
    else if (line) setStep(Number(line));
  };
  const press = (event) => event.key === "Enter" && jump(event) && pick?.(jump(event));
  return (
    <div
      class="stage"
      ref={box}
      tabIndex={0}
      role="group"
      aria-label="Steps"
      onScroll={() => setAt(box.current.scrollTop)}
      onClick={click}
      onKeyDown={press}
    >
      {width > 0 && (
        <>
          <div class="top">
            {stories.map((story, n) => (
              <div class="run" key={n} style={{ width: `${each}px` }}>
                {captions && <div class="caption">{captions[n]}</div>}
                <Heads story={story} width={each} setup={setups[n]} apart={apart} />
              </div>
            ))}
          </div>
          <div class="runs">
            {stories.map((story, n) => (
              <div class="run" key={n} style={{ width: `${each}px` }}>
                <Run
                  story={story}
                  width={each}
                  height={whole}
                  from={printed ? 0 : at - 300}
                  to={printed ? whole : at + height + 300}
                  step={step}
                  apart={apart}
                  links={Boolean(pick)}
                />
              </div>
            ))}
          </div>
        </>
      )}
    </div>
  );
}

// Replay is the view of one run.
export function Replay({ run, setup, options, fits, change, step, setStep, pick }) {
  const { story, fault } = run;
  return (
    <>
      <div id="replay" class="view">
        <div class="setup">
          <Setup setup={setup} options={options} change={change} />
          {story && <Verdict run={story.run} words={options?.words} />}
          <button
            title="Replay the session under other models or buffers too, and see where the two part (3)"
            onClick={() => change({ view: "beside" })}
          >
            Put another beside it
          </button>
        </div>
        {!hangs({ run: story?.run || {} }) && <Fits fits={fits} change={change} />}
        {fault && <Fault text={fault} />}
        {story && !fault && (
          <p id="told" class={step > story.lines ? "hang" : ""}>
            <Explained
              text={toldOf(story, step)}
              words={options?.words}
              render={(part) => <Linked text={part} pick={pick} />}
            />
          </p>
        )}
        {story && !fault && <Stage stories={[story]} setups={[setup]} step={step} setStep={setStep} pick={pick} />}
      </div>
      <aside id="side" aria-label="The verdict" tabIndex={0}>
        {story && !fault && <Words run={story.run} setup={setup} options={options} pick={pick} />}
      </aside>
    </>
  );
}

// toldOf says what happens at a step, in the words of Go; at the end, the verdict.
function toldOf({ run, lines }, step) {
  if (step > lines || (step === lines && !hangsOf(run))) return run.says;
  return step === 0 ? "Nothing has been sent yet." : run.told[step - 1] || "";
}

const FEW = 4; // setups that are offered at once

// Fits offers the setups under which the session hangs.
function Fits({ fits, change }) {
  const [most, setMost] = useState(FEW);
  if (fits.length === 0) return null;
  return (
    <p class="tools fits">
      It hangs with:
      {fits.slice(0, most).map((one) => (
        <button key={one.client + one.server} title={one.why} onClick={() => change(focusOf(one), true)}>
          {one.text}
        </button>
      ))}
      {fits.length > most && <button onClick={() => setMost(fits.length)}>{fits.length - most} more</button>}
    </p>
  );
}

const List = ({ title, lines, words }) =>
  lines?.length > 0 && (
    <section>
      <h2>{title}</h2>
      <ul>
        {lines.map((line, n) => (
          <li key={n}>
            <Explained text={line} words={words} />
          </li>
        ))}
      </ul>
    </section>
  );

// Words is the verdict in the words of Go, with what they mean.
function Words({ run, setup, options, pick }) {
  const { verdict } = run;
  const parts = [run.words, verdict.explanation, verdict.waits, verdict.changes].map((part) => JSON.stringify(part));
  const words = said(options?.words, parts.join(" "));
  return (
    <>
      <h1>{run.words}</h1>
      <List title="What changes it" lines={verdict.changes} words={options?.words} />
      <section>
        <h2>How each side works in this replay</h2>
        <dl class="said">
          {["client", "server"].map((end) => (
            <Term key={end} word={`${end} ${setup[end]}`} means={meaningOf(options, setup[end], run.means?.[end])} />
          ))}
        </dl>
      </section>
      <Unanswered list={verdict.unanswered} pick={pick} />
      {verdict.waits.length > 0 && (
        <section>
          <h2>Who waits for whom</h2>
          {verdict.waits.map((wait, n) => (
            <Waits key={n} wait={wait} inCycle={verdict.cycle.includes(wait.who)} pick={pick} />
          ))}
        </section>
      )}
      {words.length > 0 && (
        <section>
          <h2>What the words mean</h2>
          <Terms words={words} />
        </section>
      )}
      <List title="Assumptions" lines={verdict.assumptions} />
      <List title="Warnings" lines={verdict.warnings} />
    </>
  );
}

const Term = ({ word, means }) => (
  <>
    <dt>{plain(word)}</dt>
    <dd>{plain(means)}</dd>
  </>
);

// Terms lists words with what they mean.
export const Terms = ({ words }) => (
  <dl class="said">
    {words.map(({ word, means }) => (
      <Term key={word} word={word} means={means} />
    ))}
  </dl>
);

function Waits({ wait, inCycle, pick }) {
  return (
    <p class={"finding " + (inCycle ? "error" : "note")}>
      <strong>{plain(wait.who)}</strong> waits for <strong>{plain(wait.waits_for)}</strong>
      {wait.holds && (
        <>
          <br />
          holds <Linked text={wait.holds} pick={pick} />
        </>
      )}
      <br />
      <span class="dim">
        <Linked text={wait.why} pick={pick} />
      </span>
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
            <Jump seq={one.seq} pick={pick} /> {plain(one.call)}, owed by the {one.owes}, waited {one.waited}
          </li>
        ))}
      </ul>
    </section>
  );

// useStory keeps a story while its run is the same object.
export const useStory = (run) => useMemo(() => run && storyOf(run), [run]);
