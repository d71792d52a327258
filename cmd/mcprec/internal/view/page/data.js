// The data of a session as hooks: the session as it grows, the filter, findings, the theme.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { Blocks } from "./rows.js";

// useAnswer returns what ask's promise comes to, or null: asked again when one of on changes, after a
// pause in ms. The answer before stays until then. A failure is an answer {fault}. Where ask
// returns nothing, nothing is asked.
export function useAnswer(ask, on, pause) {
  const [answer, setAnswer] = useState(null);
  useEffect(() => {
    let wanted = true;
    const keep = (value) => wanted && setAnswer(value);
    const begin = () => ask()?.then(keep, (failure) => keep({ fault: failure.message }));
    const timer = pause && setTimeout(begin, pause);
    if (!pause) begin();
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, on);
  return answer;
}

// useSession returns a session, which grows while it is live, and its rows. The focus moves with
// the end while it stands there.
export function useSession(s, focus, change) {
  const [session, setSession] = useState(null);
  const [fault, setFault] = useState("");
  const [, redraw] = useState(0);
  const blocks = useMemo(() => Blocks(s, () => redraw((n) => n + 1)), [s]);
  const latest = useRef();
  latest.current = { session, at: focus.at };
  useEffect(() => {
    const take = (next) => {
      const { session: before, at } = latest.current;
      const atEnd = before
        ? before.state === "live" && at === before.events
        : at === undefined && next.state === "live";
      setSession(next);
      blocks.grew(next);
      if (atEnd && next.events > 0 && at !== next.events) change({ at: next.events });
    };
    let stop = () => {};
    api.session(s).then(
      (first) => {
        take(first);
        if (first.mode !== "list") stop = api.live(s, { head: take, end: () => api.session(s).then(take, () => {}) });
      },
      (error) => setFault(error.message),
    );
    return () => stop();
  }, [s]);
  return { session, blocks, fault };
}

// useFilter returns the Seqs that the filter selects: {only, fault}; only is null without one.
export function useFilter(s, text, session) {
  const [found, setFound] = useState({ only: null, fault: "" });
  const grown = session.done ? 0 : session.events;
  useEffect(() => {
    if (!text) return setFound({ only: null, fault: "" });
    const ending = new AbortController();
    api.find(s, text, ending.signal).then(
      (only) => !ending.signal.aborted && setFound({ only, fault: "" }),
      (error) => !ending.signal.aborted && setFound({ only: null, fault: error.message }),
    );
    return () => ending.abort();
  }, [s, text, grown]);
  return found;
}

// MOST is how many findings the server names.
const MOST = 1000;

// useFindings returns the findings of the session, why it hangs, and the findings by event.
export function useFindings(s, session) {
  const grown = session.done ? "done" : Math.min(MOST, session.findings);
  const found = useAnswer(() => api.findings(s), [s, grown]);
  const findings = found && !found.fault ? found : { findings: [], total: 0 };
  const [beat, setBeat] = useState(0);
  const live = session.state === "live" && !session.done;
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => setBeat((n) => n + 1), 2000);
    return () => clearInterval(timer);
  }, [live]);
  const why = useAnswer(() => api.why(s), [s, live, session.done, beat]);
  const marks = useMemo(() => {
    const byEvent = new Map();
    for (const found of findings.findings) {
      const seq = found.events[0];
      byEvent.set(seq, [...(byEvent.get(seq) || []), found]);
    }
    return byEvent;
  }, [found]);
  return { findings, why: why?.findings && why, judged: why !== null && why.verdict?.tone !== "reading", marks };
}

// useOther returns the other session of two: of the second the first.
export const useOther = (s, two) => useAnswer(() => (two ? api.session(1 - s) : undefined), [s, two]);

// useTheme keeps the theme of the document: that of the focus, else that of the system.
export function useTheme(focus, change) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = focus.theme === "dark" || focus.theme === "light" ? focus.theme : dark ? "dark" : "light";
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return { theme, toggle: () => change({ theme: theme === "dark" ? "light" : "dark" }) };
}

const BEAT = 400; // ms between two steps that play

// usePlay steps on by itself until the end.
export function usePlay(step, ended) {
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    if (ended) return setPlaying(false);
    const timer = setTimeout(step, BEAT);
    return () => clearTimeout(timer);
  });
  return { playing, toggle: () => setPlaying((before) => !before && !ended) };
}

// usePrinted says whether the page is being printed, when nothing scrolls.
export function usePrinted() {
  const [printed, setPrinted] = useState(false);
  useEffect(() => {
    const begin = () => setPrinted(true);
    const end = () => setPrinted(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return printed;
}
