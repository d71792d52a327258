// The columns of the sequence, in pixels from the left.

export const ROW = 24; // height of a row
export const HEAD = 42; // height of the heads of the columns
export const RAIL = 11; // width of a rail

const DIGIT = 6.7; // width of a digit of the 11 px monospaced font
const NARROW = 380; // below this there are no times
const SIZED = 720; // from this on there are sizes
export const LANES = 4; // of HTTP exchanges
export const LANE = 7; // width of one

// columnsOf lays the columns out for a pane of a width.
export function columnsOf(width, session) {
  const narrow = width < NARROW;
  const most = width < 640 ? 3 : width < 1000 ? 6 : 10;
  const digits = String(session.events).length;
  const whole = String(Math.floor(session.at / 1e9)).length;
  const event = 16 + Math.max(digits, narrow ? 2 : 5) * DIGIT + 4;
  const time = narrow ? event : event + Math.max(7, whole + 7) * DIGIT + 10;
  const gap = time + 8;
  const gapEnd = narrow ? time : gap + 42;
  const size = gapEnd + (width >= SIZED ? 64 : 0);
  const lanes = size + 8;
  const stream = session.http ? lanes + LANES * LANE + 26 : size;
  const left = Math.min(session.rails.client, most);
  const right = Math.min(session.rails.server, most);
  const client = stream + 18 + left * RAIL;
  const server = Math.max(client + 80, width - Math.max(34, 20 + right * RAIL));
  return { width, narrow, event, time, gap, size, lanes, stream, client, server, left, right };
}

// lifeOf is the x of the lifeline that frames of a direction leave.
export const lifeOf = (columns, dir) => (dir === "c2s" ? columns.client : columns.server);

// railOf is the x of a rail: the calls of the client stand left of its lifeline, those of the
// server right of its own.
export function railOf(columns, dir, column) {
  if (dir === "c2s") return columns.client - 12 - Math.min(column, columns.left - 1) * RAIL;
  return columns.server + 12 + Math.min(column, columns.right - 1) * RAIL;
}
