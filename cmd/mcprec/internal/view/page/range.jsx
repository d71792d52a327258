// A range of events, to copy as the diagrams of the commands: text or mermaid.
import { h } from "preact";
import * as api from "./api.js";
import { Copy } from "./copy.jsx";

// Range has the pickers of the range and the buttons. Only events of the filter are copied.
export function Range({ s, range, setRange, filter = "" }) {
  const [from, to] = range;
  const bound = (n, name) => (
    <input
      type="number"
      name={name}
      min="1"
      value={range[n]}
      aria-label={name + " event"}
      onChange={(event) => setRange(range.with(n, Math.max(1, Math.floor(event.target.value))).sort((a, b) => a - b))}
    />
  );
  return (
    <section id="range" aria-label="Rows to copy">
      <h2>Copy rows</h2>
      <p class="tools" title="A click with Shift on a row sets the range">
        {bound(0, "from")} to {bound(1, "to")}
        {["text", "mermaid"].map((format) => (
          <Copy
            key={`${format} ${range} ${filter}`}
            label={"As " + format}
            text={() => api.diagram(s, { from, to, filter, format })}
          />
        ))}
      </p>
    </section>
  );
}
