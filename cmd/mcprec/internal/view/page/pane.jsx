// The side pane folds and takes the width that the reader gives it.
import { h } from "preact";
import { useRef } from "preact/hooks";

const LEAST = 220; // width in pixels
const STEP = 40; // of a key

// On a small window the drawing has all of it at first, and on a narrow one the ring.
const small = matchMedia("(max-width: 860px) and (max-height: 560px)");
const narrow = matchMedia("(max-width: 480px)");

// sideOf returns the width of the side pane: 0 where it is folded, "" where the style sheet has it.
export function sideOf(focus, view) {
  if (focus.side !== undefined) return focus.side && Number(focus.side);
  return small.matches || (view === "replay" && narrow.matches) ? 0 : "";
}

// Grip is the edge of the side pane, which is dragged, or moved by the arrows.
export function Grip({ width, set }) {
  const grip = useRef();
  const most = () => Math.max(LEAST, innerWidth - 320);
  const clamp = (wanted) => Math.round(Math.max(LEAST, Math.min(most(), wanted)));
  const now = () => Math.round(grip.current.parentElement.querySelector("aside").getBoundingClientRect().width);
  const move = (event) => event.buttons && set(clamp(innerWidth - event.clientX));
  const press = (event) => {
    const by = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
    if (!by) return;
    event.stopPropagation();
    set(clamp(now() + by));
  };
  return (
    <div
      id="grip"
      ref={grip}
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the side pane"
      aria-valuemin={LEAST}
      aria-valuemax={most()}
      aria-valuenow={width || 400}
      tabIndex={0}
      title="Drag, or use the arrows; s folds the pane"
      onPointerDown={(event) => (event.preventDefault(), event.currentTarget.setPointerCapture(event.pointerId))}
      onPointerMove={move}
      onKeyDown={press}
    />
  );
}
