// A cache of rows, in blocks. Drawing asks for a row; a block that is not here arrives later.
import * as api from "./api.js";

const SIZE = 256; // rows in a block
const MOST = 64; // blocks of a session

// Blocks returns the cache of a session: number s. arrived is called when a block is there.
export function Blocks(s, arrived) {
  const blocks = new Map(); // first Seq → {rows, calls, stale, asked, folded}
  let indexed = 0; // events that the server has folded: before, rows do not know their calls

  // at returns the block of a Seq, and asks for it where it is missing or stale.
  function at(seq) {
    const first = seq - ((seq - 1) % SIZE);
    let block = blocks.get(first);
    if (block) {
      blocks.delete(first); // the latest used stands last
    } else {
      block = { first, rows: [], calls: [], stale: true, asked: false };
    }
    blocks.set(first, block);
    if (block.stale && !block.asked) load(block);
    return block;
  }

  function load(block) {
    block.asked = true;
    block.folded = indexed;
    block.stale = false;
    const done = (answer) => {
      block.asked = false;
      if (answer) {
        block.rows = answer.rows;
        block.calls = answer.calls;
      }
      while (blocks.size > MOST) blocks.delete(blocks.keys().next().value);
      arrived();
    };
    api.rows(s, block.first, SIZE).then(done, () => {
      blocks.delete(block.first);
      setTimeout(arrived, 1000); // the server may be back by then
    });
  }

  return {
    row: (seq) => (seq < 1 ? undefined : at(seq).rows[(seq - 1) % SIZE]),
    calls: (seq) => at(seq).calls,
    // grew marks the blocks that the growth of a session, or of its index, may have changed.
    grew(session) {
      indexed = session.indexed;
      for (const block of blocks.values()) {
        const open = block.calls.some((call) => !call.end);
        const last = block.first + SIZE - 1;
        const later = block.folded < last && indexed >= Math.min(last, session.events);
        if (block.rows.length < SIZE || open || later) block.stale = true;
      }
      arrived();
    },
  };
}

// placeOf returns the index of the first of sorted Seqs that is not below seq.
export function placeOf(seqs, seq) {
  let low = 0;
  let high = seqs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seqs[middle] < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
