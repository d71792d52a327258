// The frame of the page: the header and the footer.
import { h, Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import * as api from "./api.js";
import { classes, count, duration, plain, plural } from "./text.js";

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
  help,
  search,
  deliveries,
  setDeliveries,
  tally,
}) {
  return (
    <header>
      <b class="brand">mcprec</b>
      {views.length > 0 && (
        <nav aria-label="Views">
          {views.map((name, n) => (
            <button
              key={name}
              aria-current={view === name ? "page" : undefined}
              title={`key ${n + 1}`}
              onClick={() => change({ view: name, step: undefined })}
            >
              {TITLES[name]}
            </button>
          ))}
        </nav>
      )}
      {tally ? <span class="what">{tally}</span> : <Line session={session} findings={findings} />}
      <span class="grow" />
      {view === "sequence" && setDeliveries && (
        <button
          class="toggle"
          aria-pressed={deliveries}
          onClick={() => setDeliveries(!deliveries)}
          title="show as rows when each write came back"
        >
          deliveries
        </button>
      )}
      {(view === "sequence" || tally) && (
        <Filter focus={focus} change={change} filter={filter} session={session} search={search} tally={tally} />
      )}
      <button aria-label="Light or dark" title="light or dark (t)" onClick={themed.toggle}>
        ◐
      </button>
      <button aria-label="Keys" title="keys (?)" onClick={help}>
        ?
      </button>
    </header>
  );
}

// Line says which session this is, and how it stands.
function Line({ session, findings }) {
  const command = (session.command || []).join(" ") || session.url;
  const state = session.state && session.state !== "closed" ? session.state : "";
  const parts = [plain(session.title), plain(command), plural(session.events, "event"), duration(session.at)];
  if (findings) parts.push(plural(findings, "finding"));
  if (!session.done && session.state !== "live")
    parts.push(`reading, ${Math.floor((100 * session.indexed) / Math.max(1, session.events))} %`);
  return (
    <>
      <span class="what" title={parts.filter(Boolean).join(" · ")}>
        {parts.filter(Boolean).join(" · ")}
      </span>
      {state && <strong class={"state " + state}>{state}</strong>}
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
        title={
          api.carried
            ? "A file has no filter language: this searches the text of the rows"
            : "as --filter of the commands; Enter"
        }
        onInput={type}
        onKeyDown={press}
      />
    </span>
  );
}

export function Footer({ cursor, move, set, play }) {
  const buttons = [
    ["|◂", "First", () => move(-Infinity)],
    ["◂", "Back", () => move(-1)],
    [play.playing ? "■" : "▸▸", play.playing ? "Stop" : "Play", play.toggle],
    ["▸", "On", () => move(1)],
    ["▸|", "Last", () => move(Infinity)],
  ];
  const { noun, first, most, value } = cursor;
  return (
    <footer>
      {buttons.map(([sign, name, press]) => (
        <button key={name} aria-label={name} title={name} onClick={press}>
          {sign}
        </button>
      ))}
      <input
        type="range"
        min={first}
        max={Math.max(first, most)}
        value={value}
        aria-label={`${noun} of ${most}`}
        onInput={(event) => set(Number(event.target.value))}
      />
      <span class="at">{`${noun} ${count(value)} of ${count(most)}`}</span>
      <span class={classes("hint", "dim")}>
        <kbd>j</kbd> <kbd>k</kbd> step{" "}
        {noun === "event" && (
          <>
            <kbd>a</kbd> answer <kbd>n</kbd> finding{" "}
          </>
        )}
        <kbd>h</kbd> hang <kbd>?</kbd> keys
      </span>
    </footer>
  );
}
