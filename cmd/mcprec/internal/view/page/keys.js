// The keys: one table that makes the handler and the help.
import { useEffect, useRef } from "preact/hooks";

// Each line: the keys as the browser names them, how the help shows them, what they do, and
// the name of the action. An action gets the argument that stands last.
export const table = [
  [["j", "ArrowDown"], "j ↓", "next event or step", "move", 1],
  [["k", "ArrowUp"], "k ↑", "previous event or step", "move", -1],
  [["PageDown"], "PgDn", "a page on", "page", 1],
  [["PageUp"], "PgUp", "a page back", "page", -1],
  [["g", "Home"], "g Home", "first", "move", -Infinity],
  [["G", "End"], "G End", "last", "move", Infinity],
  [["a"], "a", "from a request to its answer, or back", "answer"],
  [["["], "[", "the request that this is about", "request"],
  [["n"], "n", "next finding, or difference", "finding", 1],
  [["N"], "N", "previous finding, or difference", "finding", -1],
  [["h"], "h", "the call that hangs; in a replay, the hang", "hang"],
  [["e"], "e", "go to an event by its number", "event"],
  [["f"], "f", "fold events of HTTP and of the recording, or show all", "all"],
  [[" "], "space", "play, pause", "play"],
  [["/"], "/", "filter, from everywhere", "filter"],
  [["1"], "1", "Sequence", "view", 0],
  [["2"], "2", "Replay", "view", 1],
  [["3"], "3", "Beside", "view", 2],
  [["4"], "4", "Compare", "view", 3],
  [["Enter"], "Enter", "open the session, in the list", "open"],
  [["s"], "s", "fold the side pane, or unfold it", "side"],
  [["t"], "t", "light or dark", "theme"],
  [["?"], "?", "this help", "help"],
  [["Escape"], "Esc", "close, or take the filter away", "escape"],
];

const byKey = new Map(table.flatMap((line) => line[0].map((key) => [key, line])));

// typing: the element takes the key itself.
function typing(element, key) {
  if (key === "Escape") return element.closest("dialog") !== null;
  if (element.matches("input[type=range]")) return false;
  if (element.matches("input, select, textarea") || element.closest("dialog")) return true;
  return (key === " " || key === "Enter") && element.matches("button, summary, a");
}

// useKeys calls actions[name](argument) for each key of the table.
export function useKeys(actions) {
  const latest = useRef();
  latest.current = actions;
  useEffect(() => {
    const press = (event) => {
      const line = byKey.get(event.key);
      if (!line || event.ctrlKey || event.metaKey || event.altKey || typing(event.target, event.key)) return;
      event.preventDefault();
      latest.current[line[3]]?.(line[4]);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
