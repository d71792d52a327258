// A button that copies a text.
import { h } from "preact";
import { useState } from "preact/hooks";

// Copy asks text for the text, which may come later.
export function Copy({ label, text }) {
  const [said, say] = useState(label);
  const copy = async () => {
    try {
      if (!navigator.clipboard) throw new Error("The browser refused");
      await navigator.clipboard.writeText(await text());
      say("Copied");
    } catch (fault) {
      say(fault.message);
    }
  };
  return (
    <button onClick={copy} aria-live="polite">
      {said}
    </button>
  );
}
