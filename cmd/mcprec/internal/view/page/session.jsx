// A session: the view that the focus names, its side pane, the stepper, and what the keys do.
import { h, Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { Beside } from "./beside.jsx";
import { Compare, useCompare } from "./compare.jsx";
import { useFilter, useFindings, useOther, usePlay } from "./data.js";
import { setupOf } from "./focus.js";
import { Footer, Header } from "./frame.jsx";
import { useKeys } from "./keys.js";
import { Grip, sideOf } from "./pane.jsx";
import { Range } from "./range.jsx";
import { Replay, useRun } from "./replay.jsx";
import { placeOf } from "./rows.js";
import { Fold, Places, Sequence } from "./sequence.jsx";
import { Side } from "./side.jsx";
import { lastStep } from "./story.js";
import { count, plain, plural } from "./text.js";
import { focusOf, ringOf, useFits, useOpening, useTitle, VerdictBar } from "./verdict.jsx";
import { useClock, Waterfall } from "./waterfall.jsx";

const VIEWS = ["sequence", "replay", "beside", "compare"];
const INITIAL = { session: "sequence", compare: "compare", explore: "beside" };

// useReady marks the document when the first view stands.
export function useReady(ready) {
  useEffect(() => {
    if (!ready || document.documentElement.dataset.ready) return;
    requestAnimationFrame(() => {
      document.documentElement.dataset.ready = "1";
      performance.mark("ready");
    });
  }, [ready]);
}

// cursorOf is where the stepper stands, and what it says: at an event of the sequence, else at a
// step. After the steps of a hang comes the hang.
function cursorOf(view, at, step, events, { last, lines }) {
  const said = (noun, value, most) => `${noun} ${count(value)} of ${count(most)}`;
  if (view === "sequence") return { first: 1, most: events, value: at, text: said("event", at, events), noun: "event" };
  const first = view === "compare" ? 1 : 0;
  const value = Math.max(first, Math.min(step ?? last, last));
  const noun = view === "compare" ? "row" : "step";
  const text = value > lines && value > first ? `the hang, after ${plural(lines, "step")}` : said(noun, value, lines);
  return { first, most: last, value, text };
}

// useKnown gathers what is known of a session and of the view that the focus names. deliveries says whether they are
// rows.
function useKnown({ s, session, blocks, focus, change, deliveries }) {
  const two = session.sessions === 2 || api.pair;
  const views = VIEWS.filter((name) => name !== "compare" || two);
  const view = views.includes(focus.view) ? focus.view : api.pair ? "compare" : INITIAL[session.mode] || "sequence";
  const events = session.events;
  const at = Math.max(1, Math.min(events || 1, focus.at || 1));
  const filter = useFilter(s, focus.filter, session);
  const { findings, why, judged, marks } = useFindings(s, session);
  const setupsThatHang = useFits(s, session, why?.stuck);
  const fits = setupsThatHang || [];
  const replaying = view === "replay" || view === "beside";
  const setups = [setupOf(focus, ""), setupOf(focus, "2")];
  const runs = [useRun(s, setups[0], replaying), useRun(s, setups[1], view === "beside")];
  const compared = useCompare(view === "compare");
  const other = useOther(s, two);
  const now = useClock(session);
  const live = session.state === "live" && !session.done;
  useOpening(why?.verdict, focus, live, change);
  useTitle(why?.verdict, session);
  useFirstFound(filter.only, focus.filter, at, change);
  const row = events ? blocks.row(at) : undefined;
  const call = row?.call ? blocks.calls(at).find((one) => one.request === row.call) : undefined;
  const within = rangeOf(focus.range, events);
  const evidence = useMemo(() => withEvidence(marks, why), [marks, why]);
  const fold = focus.all ? null : Fold(blocks, evidence);
  const places = Places({ events, only: filter.only, within, blocks, deliveries, fold, at });
  const stuck = useMemo(() => new Set(why?.stuck ? why.findings.flatMap((found) => found.calls) : []), [why]);
  const kin = useMemo(() => new Set([row?.call, call?.end].filter(Boolean)), [row?.call, call?.end]);
  return {
    ...{ s, session, blocks, two, views, view, events, at, filter, findings, why, marks, fits, replaying, setups },
    ...{ runs, compared, other, now, live, row, call, within, places, stuck, kin },
    ring: ringOf(fits),
    judged: judged && setupsThatHang !== null,
    side: sideOf(focus, view),
  };
}

// actionsOf returns what the keys do, by the names of their table. cursor is where the stepper stands; go, pick, show,
// setStep, setWithin and change move it; seek asks for the hang once it is known; refs are elements that take the
// keyboard.
function actionsOf(known, moves) {
  const { view, views, at, call, row, marks, compared, why, judged, ring, replaying, within, side, places } = known;
  const { focus, cursor, go, pick, show, seek, setStep, setWithin, setRange, setSearching, change, refs } = moves;
  const move = (by) => {
    if (view !== "sequence") return setStep(Math.max(cursor.first, Math.min(cursor.most, cursor.value + by)));
    go(nextEvent(at, by, places));
  };
  return {
    move,
    page: (by) => move(by * (view === "sequence" ? refs.page.current : 15)),
    answer: () => call && pick(at === call.request ? call.end || at : call.request),
    request: () => row?.call && pick(row.call),
    finding: (by) => {
      if (view === "compare") return setStep(nextDifference(compared?.rows || [], cursor.value, by));
      const seqs = [...marks.keys()].sort((a, b) => a - b);
      const found = by > 0 ? seqs.find((seq) => seq > at) : seqs.findLast((seq) => seq < at);
      if (found) pick(found);
    },
    hang: () => {
      if (replaying) change({ step: undefined });
      else if (!judged) seek(focus);
      else if (why?.verdict.shows && why.verdict.at) pick(why.verdict.at);
      else if (ring) change(focusOf(ring), true);
      else show("replay");
    },
    filter: () => {
      if (view !== "sequence") show("sequence");
      setSearching((n) => n + 1);
    },
    event: () => refs.place.current?.focus(),
    side: () => change({ side: side === 0 ? "400" : "0" }),
    all: () => change({ all: focus.all ? undefined : "1" }),
    view: (n) => views[n] && show(views[n]),
    escape: () => {
      setRange(null);
      if (document.activeElement === refs.search.current) refs.search.current.blur();
      else if (within) setWithin(null);
      else change({ filter: "" });
    },
  };
}

export function Session({ s, session, blocks, focus, change, themed, options, help }) {
  const [deliveries, setDeliveries] = useState(false);
  const [length, setLength] = useState({ last: 0, lines: 0 }); // of the runs in Beside
  const [range, setRange] = useState(null); // of events to copy, that the reader chose
  const [searching, setSearching] = useState(0); // how often the reader asked for the filter
  const [sought, seek] = useState(null); // the focus in which the reader asked for a hang that was not known yet
  const refs = { search: useRef(), page: useRef(10), place: useRef() };
  useEffect(() => void (searching && refs.search.current?.focus()), [searching, focus.view]);
  const known = useKnown({ s, session, blocks, focus, change, deliveries });
  const { two, views, view, events, at, filter, findings, why, fits, runs, compared, other, now, live, side } = known;

  const story = runs[0].story;
  const rows = compared?.rows.length || 0;
  const most = {
    replay: { last: story ? lastStep(story) : 0, lines: story?.lines || 0 },
    beside: length,
    compare: { last: rows, lines: rows },
  }[view];
  const cursor = cursorOf(view, at, view === "compare" ? focus.row || 1 : focus.step, events, most || {});
  const setStep = (step) =>
    change(view === "compare" ? { row: step } : { step: step >= cursor.most ? undefined : step });
  const go = (seq, jump) => {
    setRange(null);
    change({ at: seq, ...(view !== "sequence" && { view: "sequence" }) }, jump || view !== "sequence");
  };
  const pick = (seq) => go(seq, true);
  const show = (name) => change({ view: name }, true);
  const setWithin = (next) => {
    const inside = next && at >= next[0] && at <= next[1];
    change({ range: next ? next.join("-") : undefined, ...(next && !inside && { at: next[0] }) }, true);
  };
  const told = story || runs[0].fault;
  useReady(
    {
      sequence: known.row !== undefined || (session.done && events === 0),
      replay: told,
      beside: told || session.mode === "explore",
      compare: compared,
    }[view],
  );
  const moves = { focus, cursor, go, pick, show, seek, setStep, setWithin, setRange, setSearching, change, refs };
  const actions = actionsOf(known, moves);
  useEffect(() => {
    if (!sought || !known.judged) return;
    seek(null);
    if (sought === focus) actions.hang(); // else the reader has gone on
  }, [sought, known.judged]);
  const play = usePlay(() => actions.move(1), cursor.value >= cursor.most);
  useKeys({ ...actions, theme: themed.toggle, help, play: play.toggle });
  return (
    <div class={"app" + (view === "beside" ? " one" : "")} data-view={view}>
      <Header
        {...{ session, view, views, focus, change, themed, filter, now, help, other, deliveries, setDeliveries }}
        findings={findings.total}
        of={two && !api.carried ? s : undefined}
        side={view === "beside" ? undefined : side}
        fold={actions.side}
        search={refs.search}
      />
      <VerdictBar {...{ why, fits, pick, change, view }} />
      {view === "sequence" && (
        <Waterfall
          {...known}
          found={why?.stuck ? why.findings : []}
          range={known.within}
          setRange={setWithin}
          pick={pick}
        />
      )}
      <main class={side === 0 ? "folded" : ""} style={side > 0 ? { "--side": `${side}px` } : {}}>
        {/* The heading of the side pane is folded with it. */}
        {side === 0 && view !== "beside" && <h1 class="heard">{plain(session.title)}</h1>}
        <View {...{ known, moves, options, themed, range, setLength }} />
        {view !== "beside" && side !== 0 && <Grip width={side} set={(wide) => change({ side: String(wide) })} />}
      </main>
      <Footer
        {...{ cursor, play, pick, live }}
        move={actions.move}
        set={view === "sequence" ? go : setStep}
        place={refs.place}
      />
      <div class="heard" role="status">
        {cursor.text}
      </div>
    </div>
  );
}

// View is what the focus names, with its side pane.
function View({ known, moves, options, themed, range, setLength }) {
  const { s, session, at, call, view, runs, setups, compared, other, filter } = known;
  const { focus, change, cursor, pick, setStep, setRange, refs } = moves;
  const stepping = { step: cursor.value, setStep };
  switch (view) {
    case "replay":
      return <Replay {...{ options, change, pick, fits: known.fits, ...stepping }} run={runs[0]} setup={setups[0]} />;
    case "beside":
      return (
        <Beside
          {...{ runs, setups, options, change, session, setLength, ...stepping }}
          exploring={session.mode === "explore" || Boolean(focus.explore)}
        />
      );
    case "compare":
      return (
        <Compare
          answer={compared}
          session={s ? other : session}
          other={s ? session : other}
          go={(of, seq) => change({ of: of === "b" ? "b" : undefined, at: seq, view: "sequence" }, true)}
          {...stepping}
        />
      );
  }
  return (
    <>
      <Sequence
        {...known}
        {...{ pick, range, setRange }}
        only={filter.only}
        byStream={(n) => change({ filter: `stream:${n}` })}
        theme={themed.theme}
        page={refs.page}
      />
      <Side {...known} pick={pick} change={change}>
        {!api.carried && (
          <Range
            s={s}
            range={range || (call ? [call.request, call.end || at] : [at, at])}
            setRange={setRange}
            filter={focus.filter}
          />
        )}
      </Side>
    </>
  );
}

// nextDifference is the number of the next row, or of the one before, that is not the same in both.
function nextDifference(rows, at, by) {
  const differs = (row) => row.kind !== "same";
  const found =
    by > 0 ? rows.findIndex((row, n) => n + 1 > at && differs(row)) : rows.slice(0, at - 1).findLastIndex(differs);
  return found < 0 ? at : found + 1;
}

// rangeOf reads a range of events: FIRST-LAST.
function rangeOf(text, events) {
  const [first, last] = (text || "").split("-").map(Number);
  return first >= 1 && last >= first && first <= events ? [first, Math.min(last, events)] : null;
}

// withEvidence adds to the events with findings those that say why the session hangs.
function withEvidence(marks, why) {
  const all = new Set(marks.keys());
  if (why?.stuck) for (const found of why.findings) for (const one of found.evidence) all.add(one.seq);
  return all;
}

// useFirstFound moves the focus to the next event that a new filter selects.
function useFirstFound(only, text, at, change) {
  const moved = useRef("");
  useEffect(() => {
    if (!only?.length || moved.current === text) return;
    moved.current = text;
    const next = only[Math.min(only.length - 1, placeOf(only, at))];
    if (next !== at) change({ at: next });
  }, [only]);
}

// nextEvent goes a number of shown events on from a Seq, as far as there are any.
function nextEvent(at, by, places) {
  if (places.total === 0) return at;
  if (!Number.isFinite(by)) return places.seqOf(by < 0 ? 0 : places.total - 1);
  const place = places.find(at);
  const between = places.seqOf(place) !== at && by > 0 ? 1 : 0; // two of the filter
  return places.seqOf(places.walk(place, by - between));
}
