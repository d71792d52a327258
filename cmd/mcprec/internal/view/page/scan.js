// JSON as it was written. JSON.parse moves members whose names look like numbers to the front,
// drops doubled members and rounds long numbers; this scanner keeps the order and the digits.

const DEEPEST = 500;
const scalar = /^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/;

// scan returns the tree of a text: {kind, raw} of a scalar, {kind, items: [[key, node]]} of an
// object or an array. It throws an Error that says where the text is no JSON.
export function scan(text) {
  const cursor = { text, at: 0 };
  const tree = value(cursor, 0);
  space(cursor);
  if (cursor.at < text.length) fail(cursor, "the end");
  return tree;
}

function fail(cursor, what) {
  throw new Error(`want ${what} at character ${cursor.at + 1}`);
}

function space(cursor) {
  while (cursor.at < cursor.text.length && " \t\r\n".includes(cursor.text[cursor.at])) cursor.at++;
}

function value(cursor, depth) {
  space(cursor);
  if (depth > DEEPEST) fail(cursor, `at most ${DEEPEST} levels`);
  switch (cursor.text[cursor.at]) {
    case '"':
      return { kind: "string", raw: string(cursor) };
    case "{":
      return branch(cursor, depth, "object", "}");
    case "[":
      return branch(cursor, depth, "array", "]");
  }
  const word = /[^\s,\]}]*/y;
  word.lastIndex = cursor.at;
  const raw = word.exec(cursor.text)[0];
  if (!scalar.test(raw)) fail(cursor, "a value");
  cursor.at += raw.length;
  return { kind: /^[tfn]/.test(raw) ? "word" : "number", raw };
}

function string(cursor) {
  const { text, at: from } = cursor;
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  if (at >= text.length) fail(cursor, "the end of the string");
  cursor.at = at + 1;
  return text.slice(from, at + 1);
}

function branch(cursor, depth, kind, end) {
  const items = [];
  cursor.at++;
  space(cursor);
  while (cursor.text[cursor.at] !== end) {
    const key = kind === "object" ? name(cursor) : items.length;
    items.push([key, value(cursor, depth + 1)]);
    space(cursor);
    if (cursor.text[cursor.at] === ",") {
      cursor.at++;
      space(cursor);
      if (cursor.text[cursor.at] === end) fail(cursor, "a value");
    } else if (cursor.text[cursor.at] !== end) {
      fail(cursor, "a comma or " + end);
    }
  }
  cursor.at++;
  return { kind, items };
}

function name(cursor) {
  if (cursor.text[cursor.at] !== '"') fail(cursor, "a name");
  const raw = string(cursor);
  space(cursor);
  if (cursor.text[cursor.at] !== ":") fail(cursor, "a colon");
  cursor.at++;
  return raw;
}
