// The page as a whole: the list of the sessions, or one of them, and what stands over both.
import { h, Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import * as api from "./api.js";
import { useSession, useTheme } from "./data.js";
import { useFocus } from "./focus.js";
import { Fault, Header } from "./frame.jsx";
import { Help } from "./help.jsx";
import { useKeys } from "./keys.js";
import { useOptions } from "./replay.jsx";
import { Session, useReady } from "./session.jsx";
import { Sessions } from "./sessions.jsx";

// Page shows the list of sessions, or one session.
export function Page() {
  const [focus, change] = useFocus();
  const s = focus.of === "b" ? 1 : 0;
  const { session, blocks, fault } = useSession(s, focus, change);
  const themed = useTheme(focus, change);
  const options = useOptions();
  const [open, setOpen] = useState(false);
  const [away, setAway] = useState(""); // what is said of a server that does not answer
  useEffect(() => void api.onAway(setAway), []);
  const help = () => setOpen(true);
  if (fault) return <Fault text={fault} />;
  if (!session) return <p class="empty dim">…</p>;
  const View = session.mode === "list" ? List : Session;
  return (
    <>
      <View key={s} {...{ s, session, blocks, focus, change, themed, options, help }} />
      <Help open={open} close={() => setOpen(false)} options={options} />
      {away && (
        <p id="away" class="warn" role="alert">
          {away}
        </p>
      )}
    </>
  );
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
