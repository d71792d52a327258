// The page as a whole: the header, the view that the focus names, its side pane, and the stepper.
import { h, Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { Beside } from "./beside.jsx";
import { Compare, useCompare } from "./compare.jsx";
import { setupOf, useFocus } from "./focus.js";
import { Fault, Footer, Header } from "./frame.jsx";
import { Help } from "./help.jsx";
import { useKeys } from "./keys.js";
import { Replay, useOptions, useRun } from "./replay.jsx";
import { Grip, sideOf } from "./pane.jsx";
import { Range } from "./range.jsx";
import { placeOf } from "./rows.js";
import { Fold, Places, Sequence } from "./sequence.jsx";
import { Sessions } from "./sessions.jsx";
import { Side } from "./side.jsx";
import { lastStep } from "./story.js";
import { count, plural } from "./text.js";
import { useClock, Waterfall } from "./waterfall.jsx";
import { focusOf, ringOf, useFits, useOpening, useTitle, VerdictBar } from "./verdict.jsx";
import { useFilter, useFindings, useOther, usePlay, useSession, useTheme } from "./data.js";

const VIEWS = ["sequence", "replay", "beside", "compare"];
const INITIAL = { session: "sequence", compare: "compare", explore: "beside" };

// Page shows the list of sessions, or one session.
export function Page() {
  const [focus, change] = useFocus();
  const s = focus.of === "b" ? 1 : 0;
  const { session, blocks, fault } = useSession(s, focus, change);
  const themed = useTheme(focus, change);
  const options = useOptions();
  const [open, setOpen] = useState(false);
  const help = () => setOpen(true);
  if (fault) return <Fault text={fault} />;
  if (!session) return <p class="empty dim">…</p>;
  const View = session.mode === "list" ? List : Session;
  return (
    <>
      <View key={s} {...{ s, session, blocks, focus, change, themed, options, help }} />
      <Help open={open} close={() => setOpen(false)} options={options} />
    </>
  );
}

// useReady marks the document when the first view stands.
function useReady(ready) {
  useEffect(() => {
    if (!ready || document.documentElement.dataset.ready) return;
    requestAnimationFrame(() => {
      document.documentElement.dataset.ready = "1";
      performance.mark("ready");
    });
  }, [ready]);
}

function List({ session, focus, change, themed, help }) {
  const [listed, setListed] = useState(null); // {most, summary}
  const { most = 0, summary } = listed || {};
  const search = useRef();
  const step = Math.max(1, Math.min(focus.step || 1, most));
  const move = (by) => change({ step: Math.max(1, Math.min(most, step + by)) });
  useReady(listed !== null);
  useKeys({
    move,
    page: (by) => move(by * 20),
    theme: themed.toggle,
    help,
    filter: () => search.current.focus(),
    escape: () => change({ filter: "" }),
    open: () => document.querySelector("#sessions tr.pick button")?.click(),
  });
  return (
    <div class="app one">
      <Header
        session={session}
        views={[]}
        focus={focus}
        change={change}
        themed={themed}
        help={help}
        search={search}
        tally={summary || "…"}
      />
      <main>
        <Sessions focus={focus} change={change} step={step} setListed={setListed} />
      </main>
    </div>
  );
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

function Session({ s, session, blocks, focus, change, themed, options, help }) {
  const two = session.sessions === 2 || api.pair;
  const views = VIEWS.filter((name) => name !== "compare" || two);
  const view = views.includes(focus.view) ? focus.view : api.pair ? "compare" : INITIAL[session.mode] || "sequence";
  const [deliveries, setDeliveries] = useState(false);
  const [length, setLength] = useState({ last: 0, lines: 0 }); // of the runs in Beside
  const search = useRef();
  const page = useRef(10);
  const place = useRef();
  const [searching, setSearching] = useState(0); // how often the reader asked for the filter
  useEffect(() => void (searching && search.current?.focus()), [searching, focus.view]);

  const events = session.events;
  const filter = useFilter(s, focus.filter, session);
  const { findings, why, marks } = useFindings(s, session);
  const verdict = why?.verdict;
  const live = session.state === "live" && !session.done;
  const at = Math.max(1, Math.min(events || 1, focus.at || 1));
  const fits = useFits(s, session, why?.stuck);
  useOpening(verdict, focus, live, change);
  useTitle(verdict, session);
  const setups = [setupOf(focus, ""), setupOf(focus, "2")];
  const replaying = view === "replay" || view === "beside";
  const runs = [useRun(s, setups[0], replaying), useRun(s, setups[1], view === "beside")];
  const compared = useCompare(views.includes("compare") && view === "compare");
  const other = useOther(s, two);

  const story = runs[0].story;
  const rows = compared?.rows.length || 0;
  const most = {
    replay: { last: story ? lastStep(story) : 0, lines: story?.lines || 0 },
    beside: length,
    compare: { last: rows, lines: rows },
  }[view];
  const side = sideOf(focus);
  const cursor = cursorOf(view, at, view === "compare" ? focus.row || 1 : focus.step, events, most || {});
  const setStep = (step) =>
    change(view === "compare" ? { row: step } : { step: step >= cursor.most ? undefined : step });
  const [range, setRange] = useState(null); // of events to copy, that the reader chose
  const go = (seq, jump) => {
    setRange(null);
    change({ at: seq, ...(view !== "sequence" && { view: "sequence" }) }, jump || view !== "sequence");
  };
  const pick = (seq) => go(seq, true);
  const show = (name) => change({ view: name }, true);

  useFirstFound(filter.only, focus.filter, at, change);
  const row = events ? blocks.row(at) : undefined;
  const call = row?.call ? blocks.calls(at).find((one) => one.request === row.call) : undefined;
  const within = rangeOf(focus.range, events);
  const evidence = useMemo(() => withEvidence(marks, why), [marks, why]);
  const fold = focus.all ? null : Fold(blocks, evidence);
  const places = Places({ events, only: filter.only, within, blocks, deliveries, fold, at });
  const now = useClock(session);
  const stuck = useMemo(() => new Set(why?.stuck ? why.findings.flatMap((found) => found.calls) : []), [why]);
  const setWithin = (next) => {
    const inside = next && at >= next[0] && at <= next[1];
    change({ range: next ? next.join("-") : undefined, ...(next && !inside && { at: next[0] }) }, true);
  };
  const kin = useMemo(() => new Set([row?.call, call?.end].filter(Boolean)), [row?.call, call?.end]);
  const told = story || runs[0].fault;
  useReady(
    {
      sequence: row !== undefined || (session.done && events === 0),
      replay: told,
      beside: told || session.mode === "explore",
      compare: compared,
    }[view],
  );

  const move = (by) => {
    if (view !== "sequence") return setStep(Math.max(cursor.first, Math.min(cursor.most, cursor.value + by)));
    go(nextEvent(at, by, places));
  };
  const actions = {
    move,
    page: (by) => move(by * (view === "sequence" ? page.current : 15)),
    answer: () => call && pick(at === call.request ? call.end || at : call.request),
    request: () => row?.call && pick(row.call),
    finding: (by) => {
      if (view === "compare") return setStep(nextDifference(compared?.rows || [], cursor.value, by));
      const seqs = [...marks.keys()].sort((a, b) => a - b);
      const found = by > 0 ? seqs.find((seq) => seq > at) : seqs.findLast((seq) => seq < at);
      if (found) pick(found);
    },
    hang: () => {
      const ring = ringOf(fits);
      if (replaying) change({ step: undefined });
      else if (verdict?.shows && verdict.at) pick(verdict.at);
      else if (ring) change(focusOf(ring), true);
      else show("replay");
    },
    filter: () => {
      if (view !== "sequence") show("sequence");
      setSearching((n) => n + 1);
    },
    event: () => place.current?.focus(),
    side: () => change({ side: side === 0 ? "400" : "0" }),
    all: () => change({ all: focus.all ? undefined : "1" }),
    view: (n) => views[n] && show(views[n]),
    theme: themed.toggle,
    help,
    escape: () => {
      setRange(null);
      if (document.activeElement === search.current) search.current.blur();
      else if (within) setWithin(null);
      else change({ filter: "" });
    },
  };
  const play = usePlay(() => move(1), cursor.value >= cursor.most);
  useKeys({ ...actions, play: play.toggle });

  const stepping = { step: cursor.value, setStep };
  return (
    <div class={"app" + (view === "beside" ? " one" : "")} data-view={view}>
      <Header
        session={session}
        view={view}
        views={views}
        focus={focus}
        change={change}
        themed={themed}
        filter={filter}
        findings={findings.total}
        now={now}
        help={help}
        of={two && !api.carried ? s : undefined}
        other={other}
        side={view === "beside" ? undefined : side}
        fold={() => actions.side()}
        search={search}
        deliveries={deliveries}
        setDeliveries={setDeliveries}
      />
      <VerdictBar why={why} fits={fits} pick={pick} change={change} view={view} />
      {view === "sequence" && (
        <Waterfall
          s={s}
          session={session}
          blocks={blocks}
          now={now}
          row={row}
          stuck={stuck}
          found={why?.stuck ? why.findings : []}
          live={live}
          range={within}
          setRange={setWithin}
          pick={pick}
        />
      )}
      <main class={side === 0 ? "folded" : ""} style={side > 0 ? { "--side": `${side}px` } : {}}>
        {view === "sequence" && (
          <Sequence
            s={s}
            session={session}
            blocks={blocks}
            at={at}
            pick={pick}
            range={range}
            setRange={setRange}
            kin={kin}
            only={filter.only}
            places={places}
            marks={marks}
            stuck={stuck}
            live={live}
            byStream={(n) => change({ filter: `stream:${n}` })}
            theme={themed.theme}
            page={page}
          />
        )}
        {view === "replay" && (
          <Replay
            run={runs[0]}
            setup={setups[0]}
            options={options}
            fits={fits}
            change={change}
            pick={pick}
            {...stepping}
          />
        )}
        {view === "beside" && (
          <Beside
            runs={runs}
            setups={setups}
            options={options}
            change={change}
            session={session}
            setLength={setLength}
            {...stepping}
          />
        )}
        {view === "compare" && (
          <Compare
            answer={compared}
            session={s ? other : session}
            other={s ? session : other}
            go={(of, seq) => change({ of: of === "b" ? "b" : undefined, at: seq, view: "sequence" }, true)}
            {...stepping}
          />
        )}
        {view === "sequence" && (
          <Side
            s={s}
            session={session}
            at={at}
            row={row}
            call={call}
            pick={pick}
            findings={findings}
            why={why}
            ring={ringOf(fits)}
            change={change}
          >
            {!api.carried && (
              <Range
                s={s}
                range={range || (call ? [call.request, call.end || at] : [at, at])}
                setRange={setRange}
                filter={focus.filter}
              />
            )}
          </Side>
        )}
        {view !== "beside" && side !== 0 && <Grip width={side} set={(wide) => change({ side: String(wide) })} />}
      </main>
      <Footer
        cursor={cursor}
        move={move}
        set={view === "sequence" ? go : setStep}
        play={play}
        place={place}
        pick={pick}
        live={live}
      />
      <div class="heard" role="status">
        {cursor.text}
      </div>
    </div>
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
