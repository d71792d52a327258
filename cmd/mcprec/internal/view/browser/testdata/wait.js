async (condition, milliseconds) => {
  let asked = new Map(); // selector → found
  const one = (selector) => {
    const found = document.querySelector(selector);
    asked.set(selector, (asked.get(selector) ?? 0) + (found ? 1 : 0));
    return found;
  };
  const all = (selector) => {
    const found = [...document.querySelectorAll(selector)];
    asked.set(selector, (asked.get(selector) ?? 0) + found.length);
    return found;
  };
  const end = performance.now() + milliseconds;
  for (;;) {
    asked = new Map();
    let thrown = "";
    try {
      if (condition(one, all)) return null;
    } catch (error) {
      thrown = " (" + error + ")";
    }
    if (performance.now() >= end) {
      const said = [...asked].map(([selector, n]) => n ? selector + ": " + n : selector + ": there is none").join("; ");
      const text = document.body ? document.body.innerText.slice(0, 300) : "";
      return said + thrown + "\n" + location.href + ": " + text;
    }
    await new Promise((changed) => {
      const observer = new MutationObserver(done);
      const timer = setTimeout(done, 50); // geometry, focus and the address change without a mutation
      function done() {
        observer.disconnect();
        clearTimeout(timer);
        changed();
      }
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    });
  }
}
