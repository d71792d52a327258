// How the page shows texts, times and sizes.

// Characters that turn the direction of a line, have no width, end a line, or drive a terminal.
const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

// Of these, a text of several lines keeps its line ends and tabs.
const layout = /[\n\t]/;

const byNumber = (found) => "\\u{" + found.codePointAt(0).toString(16).padStart(4, "0") + "}";

// plain shows such characters by number. Every text of a peer goes through it.
export const plain = (text) => isolate(String(text ?? "").replace(control, byNumber));

// plainLines is plain for a text of several lines.
export const plainLines = (text) =>
  String(text ?? "").replace(control, (found) => (layout.test(found) ? found : byNumber(found)));

// Scripts that are written from right to left.
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?: +[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)*/g;

// isolate keeps such a part of a text whole, so that the words around it stay where they are.
export const isolate = (text) => text.replace(rightToLeft, "\u2068$&\u2069");

const ascii = /^[\x20-\x7e]*$/;
const wide = new RegExp(
  "[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f" +
    "\\uff00-\\uff60\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]",
  "u",
);
const segmenter = new Intl.Segmenter();

// lettersOf returns the letters of a text as a reader counts them, each with its columns: a wide one has two.
const lettersOf = (text) => Array.from(segmenter.segment(text), ({ segment }) => [segment, wide.test(segment) ? 2 : 1]);

// columnsIn is the width of a text in columns of a monospaced font.
export function columnsIn(text) {
  if (ascii.test(text)) return text.length;
  return lettersOf(text).reduce((sum, [, columns]) => sum + columns, 0);
}

// clip shortens a text to a number of columns.
export function clip(text, most) {
  const room = Math.floor(most);
  if (columnsIn(text) <= room) return text;
  if (room < 2) return "";
  if (ascii.test(text)) return text.slice(0, room - 1) + "…";
  let left = room - 1;
  let kept = "";
  for (const [letter, columns] of lettersOf(text)) {
    if (columns > left) break;
    kept += letter;
    left -= columns;
  }
  return kept + "…";
}

// duration shows nanoseconds in the unit that suits them.
export function duration(nanoseconds) {
  const size = Math.abs(nanoseconds);
  if (size >= 3600e9) return (nanoseconds / 3600e9).toFixed(1) + " h";
  if (size >= 60e9) return (nanoseconds / 60e9).toFixed(1) + " min";
  if (size >= 1e9) return (nanoseconds / 1e9).toFixed(2) + " s";
  if (size >= 1e6) return (nanoseconds / 1e6).toFixed(size >= 1e8 ? 0 : 1) + " ms";
  if (size >= 1e3) return Math.round(nanoseconds / 1e3) + " µs";
  return nanoseconds + " ns";
}

// seconds shows nanoseconds as seconds, to the microsecond.
export const seconds = (nanoseconds) => (nanoseconds / 1e9).toFixed(6);

export const count = (number) => Number(number).toLocaleString("en");

// plural is a count with its noun.
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export function bytes(size) {
  if (size >= 1 << 20) return (size / (1 << 20)).toFixed(1) + " MiB";
  if (size >= 1 << 10) return (size / (1 << 10)).toFixed(1) + " KiB";
  return size + " B";
}

// classes joins the names of classes that apply.
export const classes = (...names) => names.filter(Boolean).join(" ");
