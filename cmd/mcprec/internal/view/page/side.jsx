// The side pane of the sequence: why the session hangs, what the event is, its findings, its
// payload, and the state of the session after it.
import { h, Fragment } from "preact";
import { useState } from "preact/hooks";
import * as api from "./api.js";
import { useAnswer } from "./data.js";
import { PAUSE, Payload } from "./payload.jsx";
import { focusOf } from "./verdict.jsx";
import { classes, count, duration, plain, seconds } from "./text.js";

const FEW = 100; // findings in the list at first

// Jump is a button that moves the focus to an event.
export const Jump = ({ seq, pick }) => (
  <button class="jump" onClick={() => pick(seq)}>
    #{seq}
  </button>
);

export function Side({ s, session, at, row, call, pick, findings, why, ring, change, children }) {
  return (
    <aside id="side" aria-label="The event and the session" tabIndex={0}>
      {why && why.findings.length > 0 && (
        <Why why={why} pick={pick} ring={ring} change={change} />
      )}
      {row && <About row={row} call={call} pick={pick} />}
      <Findings findings={findings} at={at} pick={pick} said={why?.findings} />
      <Payload s={s} seq={at} size={row ? row.size : 0} />
      <State s={s} at={at} grown={at === session.events ? session.indexed : 0} pick={pick} />
      {children}
      {session.expect && (
        <details>
          <summary>Verdicts that its replays must have</summary>
          <ul>
            {session.expect.split(";").map((one, n) => (
              <li key={n}>{plain(one.trim())}</li>
            ))}
          </ul>
        </details>
      )}
    </aside>
  );
}

// Why is what Go says about a session that hangs, or did.
function Why({ why, pick, ring, change }) {
  const [most, setMost] = useState(3);
  return (
    <section id="why" aria-label="Why it hangs">
      <h2>{why.heading}</h2>
      {why.findings.slice(0, most).map((found, n) => (
        <div key={n} class={classes("finding", why.stuck ? "error" : "note")}>
          <p>
            <strong>{plain(found.text)}</strong>
          </p>
          {found.evidence.length > 0 && (
            <ul class="bare">
              {found.evidence.map((line, k) => (
                <li key={k}>
                  <Jump seq={line.seq} pick={pick} /> {plain(line.text)}
                </li>
              ))}
            </ul>
          )}
          <dl class="said">
            {[
              ["The log proves", found.proves],
              ["It suggests", found.suggests],
              ["It cannot tell", found.unknown],
              ["Next", found.next],
            ].map(
              ([title, text]) =>
                text && (
                  <Fragment key={title}>
                    <dt>{title}</dt>
                    <dd>{title === "Next" ? <Command text={text} /> : plain(text)}</dd>
                  </Fragment>
                ),
            )}
          </dl>
          {n === 0 && ring && (
            <p>
              <button onClick={() => change(focusOf(ring), true)}>Who waits for whom: {ring.text}</button>
            </p>
          )}
        </div>
      ))}
      {why.findings.length > most && (
        <button onClick={() => setMost(most * 5)}>{why.findings.length - most} more</button>
      )}
    </section>
  );
}

// Command is a command line. A line ends between two of its words, and not behind a hyphen of a flag.
function Command({ text }) {
  const words = plain(text).split(" ");
  return (
    <code>
      {words.map((word, k) => (
        <Fragment key={k}>
          {k > 0 && " "}
          {word.length < 24 ? <span class="whole">{word}</span> : word}
        </Fragment>
      ))}
    </code>
  );
}

function About({ row, call, pick }) {
  const asked = call && row.seq === call.request;
  const facts = [
    ["at", seconds(row.at) + " s"],
    ["way", { c2s: "client → server", s2c: "server → client" }[row.dir]],
    ["kind", row.kind + (row.messages > 1 ? `, ${row.messages} messages` : "") + (row.late ? ", late" : "")],
    ["HTTP exchange", row.stream || null],
    ["about", row.call > 0 && row.call !== row.seq && <Jump seq={row.call} pick={pick} />],
    asked && [call.how === "open" ? "answer" : call.how, call.end ? <Jump seq={call.end} pick={pick} /> : "none"],
  ];
  return (
    <section id="about" aria-label="The event">
      <h1>
        #{row.seq} {plain(row.label)}
      </h1>
      <dl class="facts">
        {facts.map(
          (fact) =>
            fact?.[1] && (
              <Fragment key={fact[0]}>
                <dt>{fact[0]}</dt>
                <dd>{fact[1]}</dd>
              </Fragment>
            ),
        )}
      </dl>
    </section>
  );
}

// Finding is a finding of check: the rule in words, which is not kept, then what broke it, unless that is said already.
function Finding({ found, pick, at, said }) {
  return (
    <li class={"finding " + found.severity}>
      <strong>
        {found.severity}, not kept: {plain(found.title)}
      </strong>{" "}
      <span class="dim">(rule {[found.rule, plain(found.section)].filter(Boolean).join(", ")})</span>
      <br />
      {said ? "see above" : plain(found.text)}{" "}
      {found.events
        .filter((seq) => seq !== at)
        .map((seq) => (
          <Jump key={seq} seq={seq} pick={pick} />
        ))}
    </li>
  );
}

// Findings are first those of the event, then all.
function Findings({ findings, at, pick, said = [] }) {
  const [most, setMost] = useState(FEW);
  const { findings: all, total } = findings;
  const here = all.filter((found) => found.events.includes(at));
  if (!total) return null;
  return (
    <section id="findings" aria-label="Findings">
      {here.length > 0 && (
        <>
          <h2>Findings here</h2>
          <ul class="bare">
            {here.map((found, n) => (
              <Finding key={n} {...{ found, pick, at }} said={said.some((one) => one.text === found.text)} />
            ))}
          </ul>
        </>
      )}
      <details>
        <summary>{total === 1 ? "The finding" : `All ${count(total)} findings`} of the session</summary>
        <ul class="bare">
          {all.slice(0, most).map((found, n) => (
            <Finding key={n} found={found} pick={pick} />
          ))}
        </ul>
        {all.length > most && <button onClick={() => setMost(most * 5)}>{all.length - most} more</button>}
        {all.length < total && (
          <p class="dim">The first {count(all.length)} are here; mcprec check lists the others.</p>
        )}
      </details>
    </section>
  );
}

// State is how the session stood after an event, in the words of Go.
function State({ s, at, grown, pick }) {
  const answer = useAnswer(() => api.state(s, at), [s, at, grown], PAUSE);
  const state = answer?.facts && answer;
  return (
    <section id="state" aria-label="State after the event" data-seq={state ? state.seq : undefined}>
      <h2>State after #{state ? state.seq : at}</h2>
      {state && (
        <dl class="facts">
          {state.facts.map((fact) => (
            <Fact key={fact.key} fact={fact} now={state.at} pick={pick} />
          ))}
        </dl>
      )}
    </section>
  );
}

// Fact is a line about the session. A call has been open until now.
const Fact = ({ fact, now, pick }) => (
  <>
    <dt>{fact.topic}</dt>
    <dd>
      <Linked text={fact.text} pick={pick} />
      {fact.asked >= 0 && `, open for ${duration(now - fact.asked)}`}
    </dd>
  </>
);

// Linked is a text in which the first mention of an event is a button that goes there.
export function Linked({ text, pick }) {
  const met = new Set();
  return plain(text)
    .split(/#(\d+)\b/)
    .map((part, n) => {
      if (n % 2 === 0) return part;
      if (met.has(part)) return "#" + part;
      met.add(part);
      return <Jump key={n} seq={Number(part)} pick={pick} />;
    });
}
