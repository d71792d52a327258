// The help: the keys, the signs of the drawings, and the words of models and verdicts.
import { h, Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Arrow, Cross } from "./arrow.jsx";
import { table } from "./keys.js";
import { Terms } from "./replay.jsx";

const arrow = (kind, tone, more) => {
  const [from, to] = tone === "s2c" ? [58, 2] : [2, 58];
  return <Arrow from={from} to={to} y1={10} tone={tone} kind={kind} text="" {...more} />;
};

// Signs of the sequence, then of replays.
const signs = [
  [arrow("request", "c2s"), "request; blue comes from the client"],
  [arrow("response", "s2c"), "answer; violet comes from the server"],
  [arrow("notification", "s2c"), "notification"],
  [arrow("response", "fault"), "error or broken rule"],
  [<path class="rail c2s" d="M36 3H24V17H36" />, "call, from its request to its answer"],
  [<path class="rail never" d="M30 1V20" />, "call without an answer"],
  [<path class="rail never waits" d="M30 1V20" />, "call that waits, in a session that goes on"],
  [
    <g class="bundle">
      <rect x="26" y="1" width="8" height="18" rx="4" />
    </g>,
    "many calls at once, each with an answer",
  ],
  [
    <text class="folded" x="22" y="14">
      +2
    </text>,
    "events of HTTP that say only that all is well: f shows them",
  ],
  [<path class="tie c2s" d="M10 10H50" />, "leads to the call that a progress is about"],
  [<path class="mark" d="M26 5h5l4 5l-4 5h-5z" />, "finding of mcprec check"],
  [<rect class="gap" x="14" y="8" width="32" height="3" />, "time since the event before, from 10 µs to 1 s"],
  [arrow("request", "c2s", { y1: 3, y2: 17 }), "message that stood in the transport, until it was read"],
  [<rect class="blocked" x="28" y="1" width="5" height="18" />, "writer that waits"],
  [
    <>
      <line class="stands" x1="30" x2="58" y1="10" y2="10" />
      <Cross x={24} y={10} />
    </>,
    "message that its writer is blocked writing: the transport has no room",
  ],
  [<circle class="held" cx="30" cy="10" r="5" />, "message that a reader holds, and does not read on"],
  [
    <g class="inner">
      <rect class="full" x="18" y="5" width="10" height="10" rx="2" />
      <rect x="32" y="5" width="10" height="10" rx="2" />
    </g>,
    "notification queue: a full and a free place",
  ],
  [
    <text class="small dim" x="12" y="14">
      →2 ←1
    </text>,
    "messages in the transport, to the server and to the client",
  ],
];

// Help is the dialog. options are null where there are no drawings.
export function Help({ open, close, options }) {
  const dialog = useRef();
  useEffect(() => {
    if (open) dialog.current.showModal();
    else dialog.current.close();
  }, [open]);
  return (
    <dialog id="keys" ref={dialog} onClose={close} aria-label="Help">
      <form method="dialog">
        <button>Close</button>
      </form>
      <div class="columns">
        <section>
          <h2>Keys</h2>
          <table>
            <tbody>
              {table.map(([, shown, does]) => (
                <tr key={shown}>
                  <th scope="row">
                    {shown.split(" ").map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </th>
                  <td>{does}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
        {options && (
          <>
            <section>
              <h2>Signs</h2>
              <table>
                <tbody>
                  {signs.map(([drawing, means]) => (
                    <tr key={means}>
                      <td>
                        <svg width="60" height="20" aria-hidden="true">
                          {drawing}
                        </svg>
                      </td>
                      <td>{means}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
            <section>
              <h2>Models of an end</h2>
              <Terms
                words={options.models
                  .filter((model) => !/@|:[12]$/.test(model.value))
                  .map(({ value, why }) => ({ word: value, means: why }))}
              />
            </section>
            <section>
              <h2>Words</h2>
              <Terms words={options.words} />
            </section>
          </>
        )}
      </div>
    </dialog>
  );
}
