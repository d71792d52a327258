// Two edit_block calls at once, of different lines of one file: both answer with the edited file,
// and one of the edits is not in it.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const rounds = 10;
const patience = { timeout: 300_000 }; // it starts slowly where it cannot ask for its settings
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'edits')));
const file = path.join(dir, 'a.txt');
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: ['node_modules/@wonderwhy-er/desktop-commander/dist/index.js'],
  env: { ...process.env, HOME: dir }, // its settings
  stderr: 'ignore',
}), patience);
const edit = async (old_string, new_string) => {
  const result = await client.callTool({ name: 'edit_block', arguments: { file_path: file, old_string, new_string } }, undefined, patience);
  return !result.isError && result.content[0].text.includes(new_string);
};

let lost = 0;
for (let i = 0; i < rounds; i++) {
  fs.writeFileSync(file, 'alpha\nbeta\n');
  const done = await Promise.all([edit('alpha', 'ALPHA'), edit('beta', 'BETA')]);
  if (done.every(Boolean) && fs.readFileSync(file, 'utf8') !== 'ALPHA\nBETA\n') lost++;
}
console.log(`in ${lost} of ${rounds} rounds both edits answered with the edited file, and one is not in it`);
process.exit(lost > 0 ? 1 : 0);
