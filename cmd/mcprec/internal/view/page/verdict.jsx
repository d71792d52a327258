// The verdict: one line under the header that says how the session stands, in the words of Go, and
// leads to the event that answers, to the ring, and to a text for an issue.
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as api from "./api.js";
import { Copy } from "./copy.jsx";
import { useAnswer } from "./data.js";
import { classes, plain } from "./text.js";
import { Word } from "./word.jsx";

// useFits returns the setups under which a replay of the session hangs, once it is read, and null until they are known.
// Those that explain what hung in it stand first.
export function useFits(s, session, stuck) {
  const ready = session.done || stuck;
  const answer = useAnswer(() => (ready ? api.fits(s) : undefined), [s, ready]);
  return ready && !answer ? null : answer?.fits || [];
}

// focusOf is the focus of a setup: at the end of its replay.
export const focusOf = ({ client, server, buffer }) => ({ client, server, buffer, view: "replay", step: undefined });

// ringOf is the setup whose ring explains what hung in the session.
export const ringOf = (fits) => fits.find((one) => one.fits);

// useOpening moves the focus to the event that answers, when the verdict comes and the reader has
// chosen no event. A session that goes on is shown at its end, unless it is stuck.
export function useOpening(verdict, focus, live, change) {
  const decided = useRef(focus.at !== undefined && !live);
  const named = useRef(new URLSearchParams(location.hash.slice(1)).has("at"));
  useEffect(() => {
    if (!verdict || verdict.tone === "reading" || decided.current) return;
    decided.current = true;
    if (named.current || !verdict.at) return;
    const open = { at: verdict.at };
    if (!live)
      change((before) => (before.at === undefined ? open : {})); // the reader may have been quicker
    else if (verdict.tone === "fail") change(open);
  }, [verdict]);
}

// useTitle names the tab: how the session stands, what that is about, mcprec.
export function useTitle(verdict, session) {
  useEffect(() => {
    const about = plain(verdict?.about || session.title);
    document.title = [verdict?.word.toLowerCase(), about, "mcprec"].filter(Boolean).join(" · ");
  }, [verdict, session.title]);
}

export function VerdictBar({ why, fits, pick, change, view }) {
  const verdict = why?.verdict;
  if (!verdict) return null;
  // Beside a replay, which has a verdict of its own, this one is about the recording.
  const beside = view !== "sequence";
  const ring = ringOf(fits);
  return (
    <section
      id="verdict"
      class={classes("bar", (!beside || verdict.tone !== "pass") && verdict.tone)}
      aria-label="How the session stands"
    >
      {beside && <span>The recording: </span>}
      <strong role="status">
        <Word word={verdict.word} means={verdict.means} />
      </strong>
      <span class="told" title={plain(verdict.text)}>
        {plain(verdict.text)}
      </span>
      {verdict.shows && verdict.at > 0 && (
        <button onClick={() => pick(verdict.at)} title={`Event #${verdict.at} (h)`}>
          Show {verdict.shows}
        </button>
      )}
      {ring && (
        <button
          onClick={() => change(focusOf(ring), true)}
          title={`The ring of those that wait for each other, under a model that explains it: ${ring.text}`}
        >
          Who waits for whom
        </button>
      )}
      {why.stuck && <Copy label="Copy for an issue" text={() => why.text.join("\n")} />}
    </section>
  );
}
