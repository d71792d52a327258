// Two edits of one file at once, in different lines: both succeed, and one of them is not in the
// file. The same with each of the three tools that edit.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const rounds = 20;
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'edits')));
const file = path.join(dir, 'a.txt');
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: ['node_modules/fast-filesystem-mcp/dist/index.js', dir],
  stderr: 'ignore',
}));

const tools = {
  fast_edit_block: (old_text, new_text) => ({ path: file, old_text, new_text }),
  fast_safe_edit: (old_text, new_text) => ({ path: file, old_text, new_text }),
  fast_edit_multiple_blocks: (old_text, new_text) => ({ path: file, edits: [{ old_text, new_text }] }),
};
let all = 0;
for (const [name, input] of Object.entries(tools)) {
  const edit = async (from, to) => {
    const { isError, content } = await client.callTool({ name, arguments: input(from, to) });
    return !isError && /success/.test(content[0].text);
  };
  fs.writeFileSync(file, 'alpha\nbeta\n');
  await edit('alpha', 'ALPHA');
  await edit('beta', 'BETA');
  if (fs.readFileSync(file, 'utf8') !== 'ALPHA\nBETA\n') throw new Error(`${name} is wrong one after the other, too`);
  let lost = 0;
  for (let i = 0; i < rounds; i++) {
    fs.writeFileSync(file, 'alpha\nbeta\n');
    const done = await Promise.all([edit('alpha', 'ALPHA'), edit('beta', 'BETA')]);
    if (done.every(Boolean) && fs.readFileSync(file, 'utf8') !== 'ALPHA\nBETA\n') lost++;
  }
  console.log(`${name}: in ${lost} of ${rounds} rounds both edits succeeded, and one is not in the file`);
  all += lost;
}
fs.rmSync(dir, { recursive: true });
process.exit(all > 0 ? 1 : 0);
