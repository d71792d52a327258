// The one focus of the page, in the hash of the address: the view, the event or the step, the
// setups of the replays, the filter and the theme. Every pane follows it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

// PAUSE is the least time in ms between two writes of the address: browsers refuse too many.
const PAUSE = 150;

// read returns the focus {view, at, client, server, buffer, client2, server2, buffer2, explore, step,
// row, filter, theme, …}: all are texts, but for the numbers at, step and row.
function read() {
  const focus = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  for (const name of ["at", "step", "row"]) if (focus[name]) focus[name] = Math.max(0, Math.floor(focus[name]) || 0);
  return focus;
}

// write returns the hash of a focus.
export const write = (focus) =>
  "#" + new URLSearchParams(Object.entries(focus).filter(([, value]) => value || value === 0));

// useFocus returns the focus, and a function that changes members of it. A jump is a place of its
// own in the history: back comes to the place before. The members may be a function of the focus.
export function useFocus() {
  const [focus, setFocus] = useState(read);
  const known = useRef(location.hash);
  const jumped = useRef(false);
  const change = useMemo(
    () => (members, jump) => {
      jumped.current ||= Boolean(jump);
      setFocus((before) => ({ ...before, ...(typeof members === "function" ? members(before) : members) }));
    },
    [],
  );
  useEffect(() => {
    const follow = () => {
      if (location.hash === known.current) return; // the page's own
      known.current = location.hash;
      setFocus(read());
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  // A layout effect: it runs before the next key comes, which may be another jump.
  useLayoutEffect(() => {
    const save = (put) => {
      // An address that has changed by itself wins: its event is on the way.
      const text = write(focus);
      if (location.hash !== known.current || text === (known.current || "#")) return;
      history[put](null, "", text);
      known.current = location.hash; // not the text: of "#" alone it is empty
    };
    if (jumped.current) {
      jumped.current = false;
      return save("pushState");
    }
    const timer = setTimeout(save, PAUSE, "replaceState");
    return () => {
      clearTimeout(timer);
      if (jumped.current) save("replaceState"); // back comes to where the reader has left
    };
  }, [focus]);
  return [focus, change];
}

// setupOf returns the setup of the first or the second replay in the focus.
export const setupOf = (focus, second) => ({
  client: focus["client" + second] || focus.client || "independent",
  server: focus["server" + second] || focus.server || "independent",
  buffer: focus["buffer" + second] || focus.buffer || "0",
});

// roomNamed says a room of the transport in words.
export const roomNamed = (room) =>
  ({ 0: "0 (none)", 1: "1 message" })[room] || (room > 1 ? `${room} messages` : room);

// roomsOf reads a buffer: one for both directions, or c2s=N,s2c=N.
export function roomsOf(buffer) {
  const parts = /^c2s=(.*),s2c=(.*)$/.exec(buffer);
  return parts ? [parts[1], parts[2]] : [buffer, buffer];
}
