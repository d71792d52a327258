// The payload of an event: as a tree, as text, as bytes, and to copy.
import { h, Fragment } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import * as api from "./api.js";
import { Copy } from "./copy.jsx";
import { useAnswer } from "./data.js";
import { scan } from "./scan.js";
import { bytes, plain, plainLines } from "./text.js";

// The most that is drawn at once.
const CHARACTERS = 2000; // of a string in the tree
const MEMBERS = 100; // of a branch
const TEXT = 200_000; // characters
const HEX = 4096; // bytes

// PAUSE is how long in ms the page waits before it asks: a held key passes many events.
export const PAUSE = 40;

export function Payload({ s, seq, size }) {
  const [from, setFrom] = useState(0);
  const answer = useAnswer(
    () => api.frame(s, seq, from).then((frame) => ({ of: seq + " " + from, ...frame })),
    [s, seq, from, size],
    PAUSE,
  );
  const frame = answer?.fault || answer?.of === seq + " " + from ? answer : null;
  useEffect(() => setFrom(0), [s, seq]);
  return (
    <section id="payload" aria-label="Payload" data-seq={frame ? seq : undefined}>
      <h2>Payload</h2>
      {frame === null && <p class="dim">…</p>}
      {frame?.fault && <p class="warn">{plain(frame.fault)}</p>}
      {frame && !frame.fault && <Frame frame={frame} key={seq + " " + from} />}
      {frame && frame.shown < frame.size && <Pager frame={frame} setFrom={setFrom} />}
    </section>
  );
}

// Pager goes through a payload that is too large for one page.
function Pager({ frame, setFrom }) {
  const next = frame.from + frame.shown;
  return (
    <p class="tools">
      <button disabled={frame.from === 0} onClick={() => setFrom(Math.max(0, frame.from - (1 << 20)))}>
        Page before
      </button>
      <button disabled={next >= frame.size} onClick={() => setFrom(next)}>
        Next page
      </button>
      <span class="dim">
        bytes {frame.from} to {next} of {frame.size}
      </span>
    </p>
  );
}

function Frame({ frame }) {
  const whole = frame.from === 0 && frame.shown === frame.size;
  const [tree, fault] = useMemo(() => {
    if (!whole || frame.text === undefined || frame.text === "") return [null, ""];
    try {
      return [scan(frame.text), ""];
    } catch (error) {
      return [null, error.message];
    }
  }, [frame]);
  const [form, setForm] = useState(tree ? "Tree" : frame.text === undefined ? "Bytes" : "Text");
  if (!frame.size) return <p class="dim">None.</p>;
  const forms = [tree && "Tree", frame.text !== undefined && "Text", "Bytes"].filter(Boolean);
  return (
    <>
      <p class="tools">
        {forms.map((name) => (
          <button key={name} aria-pressed={form === name} onClick={() => setForm(name)}>
            {name}
          </button>
        ))}
        {frame.text !== undefined && <Copy label="Copy" text={() => frame.text} />}
        <span class="dim">
          {bytes(frame.size)}
          {frame.redacted ? ", masked" : ""}
          {frame.cut ? ", cut by the recorder" : ""}
        </span>
      </p>
      {fault && <p class="warn">Not JSON: {fault}</p>}
      {form === "Tree" && (
        <div class="tree">
          <Node node={tree} depth={0} path="" />
        </div>
      )}
      {form === "Text" && (
        <pre tabIndex={0} aria-label="Text">
          {plainLines(frame.text.slice(0, TEXT))}
        </pre>
      )}
      {form === "Bytes" && <Hex frame={frame} />}
    </>
  );
}

// Hex shows bytes by number, 16 a line, with their place.
function Hex({ frame }) {
  const [most, setMost] = useState(HEX);
  const data = useMemo(() => {
    if (frame.text !== undefined) return new TextEncoder().encode(frame.text);
    return Uint8Array.from(atob(frame.base64), (letter) => letter.charCodeAt(0));
  }, [frame]);
  const lines = [];
  for (let at = 0; at < Math.min(most, data.length); at += 16) {
    const part = data.subarray(at, Math.min(at + 16, data.length));
    const numbers = Array.from(part, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const letters = Array.from(part, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${(frame.from + at).toString(16).padStart(6, "0")}  ${numbers.padEnd(47)}  ${letters}`);
  }
  return (
    <>
      <pre class="hex" tabIndex={0} aria-label="Bytes">
        {lines.join("\n")}
      </pre>
      {data.length > most && <button onClick={() => setMost(most * 4)}>{data.length - most} more bytes</button>}
    </>
  );
}

// unquoted is a JSON string as a reader sees it.
function unquoted(raw) {
  try {
    return plain(JSON.parse(raw));
  } catch {
    return plain(raw.slice(1, -1));
  }
}

function Name({ name, doubled }) {
  if (name === undefined) return null;
  return (
    <>
      <span class="name">{typeof name === "number" ? name : unquoted(name)}</span>
      {doubled && <span class="warn doubled">doubled</span>}
      <span class="dim">: </span>
    </>
  );
}

function Node({ name, node, depth, path, doubled }) {
  const branch = node.items;
  const [open, setOpen] = useState(depth < 3 || (branch && branch.length < 4 && depth < 6));
  const [most, setMost] = useState(MEMBERS);
  const label = <Name name={name} doubled={doubled} />;
  if (!branch)
    return (
      <div class="leaf" title={path}>
        {label}
        <Scalar node={node} />
      </div>
    );
  const size = node.kind === "object" ? `{${branch.length}}` : `[${branch.length}]`;
  const seen = new Map();
  if (node.kind === "object") for (const [key] of branch) seen.set(key, (seen.get(key) || 0) + 1);
  const step = (key) => path + "/" + (typeof key === "number" ? key : unquoted(key));
  return (
    <div>
      <button class="twist" aria-expanded={open} onClick={() => setOpen(!open)} title={path || "/"}>
        <span aria-hidden="true">{open ? "▾ " : "▸ "}</span>
        {label}
        <span class="dim">{size}</span>
      </button>
      {open && branch.length > 0 && (
        <div class="branch">
          {branch.slice(0, most).map(([key, member], n) => (
            <Node key={n} name={key} node={member} depth={depth + 1} path={step(key)} doubled={seen.get(key) > 1} />
          ))}
          {branch.length > most && <button onClick={() => setMost(most * 10)}>{branch.length - most} more</button>}
        </div>
      )}
    </div>
  );
}

function Scalar({ node }) {
  if (node.kind !== "string") return <span class={node.kind}>{node.raw}</span>;
  const long = node.raw.length > CHARACTERS;
  const text = unquoted(long ? node.raw.slice(0, CHARACTERS).replace(/\\[^"]{0,5}$/, "") + '"' : node.raw);
  return (
    <span class="string">
      “{text}
      {long && <span class="dim">… {node.raw.length} characters</span>}”
    </span>
  );
}
