// Two edit_file calls at once, of two lines of one file: both answer with the change that
// they have made, and the file has one of the two.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const rounds = 50;
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'edit')));
const file = path.join(dir, 'a.txt');
const server = new URL(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js')).pathname;
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [server, dir], stderr: 'ignore' }));

let lost = 0;
for (let i = 0; i < rounds; i++) {
  fs.writeFileSync(file, 'alpha\nbeta\n');
  const edit = (oldText, newText) => client.callTool({ name: 'edit_file', arguments: { path: file, edits: [{ oldText, newText }] } });
  const results = await Promise.all([edit('alpha', 'ALPHA'), edit('beta', 'BETA')]);
  if (results.every(result => !result.isError) && fs.readFileSync(file, 'utf8') !== 'ALPHA\nBETA\n') lost++;
}
console.log(`in ${lost} of ${rounds} rounds both edits were reported as done, and one is not in the file`);
fs.rmSync(dir, { recursive: true });
process.exit(lost > 0 ? 1 : 0);
