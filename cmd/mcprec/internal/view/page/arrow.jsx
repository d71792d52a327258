// What the drawings share: arrows of frames, texts on a ground of their own, marks.
import { h, Fragment } from "preact";
import { clip, columnsIn, isolate } from "./text.js";

// LETTER is the width of a letter of the 12 px monospaced font.
export const LETTER = 7.23;

const GAP = 9; // between the two parts of a plate

// Plate is a text with its own ground, so that no line strikes it out. x is its middle, or the
// end that anchor names.
export function Plate({ x, y, text, more = "", tone = "", anchor = "middle" }) {
  if (!text) return null;
  const width = columnsIn(text + more) * LETTER + (more ? 8 + GAP : 8);
  const left = anchor === "start" ? x - 4 : anchor === "end" ? x - width + 4 : x - width / 2;
  return (
    <>
      <rect class="plate" x={left} y={y - 8} width={width} height="16" />
      <text class={tone} text-anchor={anchor} x={x} y={y + 4}>
        {isolate(text)}
        {more && (
          <tspan class="more" dx={GAP}>
            {isolate(more)}
          </tspan>
        )}
      </text>
    </>
  );
}

// Arrow is a frame on its way. A request has a full head, an answer an open one, and a
// notification a dashed line, so that colour says nothing alone. A slanted arrow carries its
// label near its tail. part is "line" or "label" to draw one alone: labels stand above all lines.
export function Arrow({ from, to, y1, y2 = y1, tone, kind, text, more = "", headless, part }) {
  const way = Math.sign(to - from);
  const end = to - way * 3;
  const angle = (Math.atan2(y2 - y1, end - from) * 180) / Math.PI;
  const slanted = y1 !== y2;
  const share = slanted ? 0.3 : 0.5;
  const room = (Math.abs(to - from) * (slanted ? 0.55 : 1)) / LETTER;
  const said = short(text, room - 4);
  const left = room - 6 - columnsIn(said);
  const label = (
    <Plate
      x={from + (to - from) * share}
      y={y1 + (y2 - y1) * share}
      text={said}
      more={more && left > 6 ? clip(more, left - 1) : ""}
      tone={tone}
    />
  );
  if (part === "label") return label;
  return (
    <>
      <line class={`arrow ${tone} ${kind}`} x1={from + way * 3} y1={y1} x2={headless ? to : end - way * 4} y2={y2} />
      {!headless && (
        <path
          class={`tip ${tone} ${kind}`}
          d="M0 0L-9 -4.5V4.5Z"
          transform={`translate(${end} ${y2}) rotate(${angle})`}
        />
      )}
      {part !== "line" && label}
    </>
  );
}

// short shortens a label, first by the word that its dashed line says too.
export const short = (text, most) => clip(columnsIn(text) > most ? text.replace("notifications/", "") : text, most);

// Cross marks the end of a frame that goes no further.
export const Cross = ({ x, y }) => <path class="cross" d={`M${x - 5} ${y - 5}l10 10m0 -10l-10 10`} />;

// toneOf is the class of colours of a row or a frame.
export const toneOf = (row) => (row.tone === "fault" ? "fault" : row.dir || "beside");
