// Words that have an explanation: it is seen at a hover, a focus and a tap.
import { h } from "preact";
import { plain } from "./text.js";

export const Word = ({ word, means }) =>
  means ? (
    <span class="term" tabIndex={0} data-means={plain(means)} aria-description={plain(means)}>
      {plain(word)}
    </span>
  ) : (
    plain(word)
  );

// Explained is a text in which the first mention of each of Go's words has its explanation. render draws the
// parts between them.
export function Explained({ text, words, render = plain }) {
  const known = new Map((words || []).map(({ word, means }) => [word, means]));
  if (known.size === 0) return render(text);
  const longest = [...known.keys()].sort((a, b) => b.length - a.length);
  const names = longest.map((word) => word.replace(/[^\w ]/g, "\\$&")).join("|");
  const met = new Set();
  return String(text ?? "")
    .split(new RegExp(`\\b(${names})\\b`))
    .map((part, n) => {
      if (n % 2 === 0) return render(part);
      if (met.has(part)) return part;
      met.add(part);
      return <Word key={n} word={part} means={known.get(part)} />;
    });
}
