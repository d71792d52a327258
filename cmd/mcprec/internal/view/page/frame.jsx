// The frame of the page: the header, the footer, and faults.
import { h, Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import * as api from "./api.js";
import { count, duration, plain, plural } from "./text.js";

const TITLES = { sequence: "Sequence", replay: "Replay", beside: "Beside", compare: "Compare" };

export function Header({
  session,
  view,
  views,
  focus,
  change,
  themed,
  filter,
  findings,
  now,
  of,
  other,
  side,
  fold,
  help,
  search,
  deliveries,
  setDeliveries,
  tally,
}) {
  return (
    <header>
      <b class="brand">mcprec</b>
      {api.fromList && (
        <button id="back" onClick={toList} title="Back to the list">
          ‹ All sessions
        </button>
      )}
      {views.length > 0 && (
        <nav aria-label="Views">
          {views.map((name, n) => (
            <button
              key={name}
              aria-current={view === name ? "page" : undefined}
              title={`key ${n + 1}`}
              onClick={() => change({ view: name }, true)}
            >
              {TITLES[name]}
            </button>
          ))}
        </nav>
      )}
      {tally ? <span class="what">{tally}</span> : <Line session={session} findings={findings} now={now} />}
      {of !== undefined && view !== "compare" && (
        <button
          onClick={() => change({ of: of ? undefined : "b", at: undefined, range: undefined }, true)}
          title={`This is ${of ? "B" : "A"} of the two that are compared; show ${plain(other?.title)}`}
        >
          {of ? "B → A" : "A → B"}
        </button>
      )}
      <span class="grow" />
      {view === "sequence" && session.delivered > 0 && (
        <button
          class="toggle"
          aria-pressed={deliveries}
          onClick={() => setDeliveries(!deliveries)}
          title="Show as rows, not only as ticks, when each write that had to wait came back"
        >
          deliveries
        </button>
      )}
      {view === "sequence" && session.folds > 0 && (
        <button
          class="toggle"
          aria-pressed={Boolean(focus.all)}
          onClick={() => change({ all: focus.all ? undefined : "1" })}
          title="Show each event of HTTP and of the recording as a row (f)"
        >
          all events
        </button>
      )}
      {(view === "sequence" || tally) && (
        <Filter focus={focus} change={change} filter={filter} session={session} search={search} tally={tally} />
      )}
      {side !== undefined && (
        <button aria-pressed={side !== 0} onClick={fold} title="The side pane (s)">
          side
        </button>
      )}
      <button aria-label="Light or dark" title="Light or dark (t)" onClick={themed.toggle}>
        ◐
      </button>
      <button aria-label="Help" title="Keys, signs and words (?)" onClick={help}>
        ?
      </button>
    </header>
  );
}

// toList goes back to the list, where the reader left it.
function toList() {
  location.assign(location.pathname + (sessionStorage.getItem("list") || ""));
}

// Line says which session this is, and how it stands.
function Line({ session, findings, now }) {
  const command = (session.command || []).join(" ") || session.url;
  const state = session.state && session.state !== "closed" ? session.state : "";
  const parts = [plain(session.title), plain(command), plural(session.events, "event"), duration(now)];
  if (findings) parts.push(plural(findings, "finding"));
  if (!session.done && session.state !== "live")
    parts.push(`reading, ${Math.floor((100 * session.indexed) / Math.max(1, session.events))} %`);
  return (
    <>
      <span class="what" title={parts.filter(Boolean).join(" · ")}>
        {parts.filter(Boolean).join(" · ")}
      </span>
      {state && <strong class={"state " + state}>{state}</strong>}
      {session.error && <strong class="fault">{plain(session.error)}</strong>}
    </>
  );
}

function Filter({ focus, change, filter, session, search, tally }) {
  const [text, setText] = useState(focus.filter || "");
  useEffect(() => setText(focus.filter || ""), [focus.filter]);
  const press = (event) => {
    if (event.key !== "Enter") return;
    change({ filter: text.trim() });
    event.target.blur();
  };
  const type = (event) => {
    setText(event.target.value);
    if (event.target.value === "") change({ filter: "" });
  };
  const hint = api.carried ? "plain text" : tally ? "words of a session" : "tool:search status:error";
  return (
    <span class="filter">
      {filter?.fault && (
        <span class="warn" role="alert">
          {plain(filter.fault)}
        </span>
      )}
      {filter?.only && (
        <span class="dim tally">
          {count(filter.only.length)} of {count(session.events)}
        </span>
      )}
      <input
        id="filter"
        type="search"
        ref={search}
        value={text}
        placeholder={hint}
        aria-label={"Filter: " + hint}
        title={api.carried ? "A file searches the text of its rows" : "As --filter of the commands; Enter"}
        onInput={type}
        onKeyDown={press}
      />
    </span>
  );
}

// Footer steps through the view.
export function Footer({ cursor, move, set, play, place, pick, live }) {
  const { first, most, value, text } = cursor;
  const buttons = [
    ["«", "First (g)", () => move(-Infinity)],
    ["‹", "Back (k)", () => move(-1)],
    play.playing ? ["❚❚", "Pause (space)", play.toggle] : ["▶", "Play (space)", play.toggle],
    ["›", "On (j)", () => move(1)],
    ["»", "Last (G)", () => move(Infinity)],
  ];
  return (
    <footer>
      {buttons.map(([sign, name, press], n) => (
        <button key={n} aria-label={name.replace(/ .*/, "")} title={name} onClick={press}>
          {sign}
        </button>
      ))}
      <input
        type="range"
        min={first}
        max={Math.max(first, most)}
        value={value}
        aria-label="Place"
        aria-valuetext={text}
        onInput={(event) => set(Number(event.target.value))}
      />
      {live && cursor.noun === "event" && <Following follows={value === most} below={most - value} move={move} />}
      {cursor.noun === "event" ? (
        <Place value={value} most={most} pick={pick} place={place} />
      ) : (
        <span class="at">{text}</span>
      )}
    </footer>
  );
}

// Following says whether the page goes along with a session that grows.
const Following = ({ follows, below, move }) => (
  <button
    id="follows"
    aria-pressed={follows}
    onClick={() => move(follows ? -1 : Infinity)}
    title={follows ? "The page goes along with new events: k stops it" : "G goes along with new events"}
  >
    {follows ? "● following" : `○ not following, ${plural(below, "event")} below`}
  </button>
);

// Place is the number of the event, which the reader may change.
function Place({ value, most, pick, place }) {
  const [typed, setTyped] = useState(null);
  const press = (event) => {
    if (event.key !== "Enter") return;
    const seq = Math.floor(event.target.value);
    if (seq >= 1) pick(Math.min(seq, most));
    event.target.blur();
  };
  return (
    <label class="at">
      event{" "}
      <input
        id="place"
        ref={place}
        type="text"
        inputMode="numeric"
        size={Math.max(3, String(most).length)}
        value={typed ?? value}
        title="Go to an event (e): its number, then Enter"
        onInput={(event) => setTyped(event.target.value.replace(/\D/g, ""))}
        onFocus={(event) => event.target.select()}
        onBlur={() => setTyped(null)}
        onKeyDown={press}
      />{" "}
      of {count(most)}
    </label>
  );
}

// Fault says why there is nothing to see.
export const Fault = ({ text }) => (
  <p class="note warn" role="alert">
    {plain(text)}
  </p>
);
