// Two edit_file calls at once, of different lines of one file: both answer with their diff, and
// one of them is not in the file.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const rounds = 50;
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'edits')));
const file = path.join(dir, 'a.txt');
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: ['node_modules/@agent-infra/mcp-server-filesystem/dist/index.cjs', '--allowed-directories', dir],
  stderr: 'ignore',
}));
const edit = async (oldText, newText) => {
  const result = await client.callTool({ name: 'edit_file', arguments: { path: file, edits: [{ oldText, newText }] } });
  return !result.isError && result.content[0].text.includes('+' + newText);
};

let lost = 0;
for (let i = 0; i < rounds; i++) {
  fs.writeFileSync(file, 'alpha\nbeta\n');
  const done = await Promise.all([edit('alpha', 'ALPHA'), edit('beta', 'BETA')]);
  if (done.every(Boolean) && fs.readFileSync(file, 'utf8') !== 'ALPHA\nBETA\n') lost++;
}
console.log(`in ${lost} of ${rounds} rounds both edits answered with their diff, and one is not in the file`);
fs.rmSync(dir, { recursive: true });
process.exit(lost > 0 ? 1 : 0);
