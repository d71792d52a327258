// Two move_file calls at once, of two files to one new name: both succeed, and one of the
// files is gone. "If the destination exists, the operation will fail", says the tool.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const rounds = 50;
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'move')));
const server = new URL(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js')).pathname;
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [server, dir], stderr: 'ignore' }));
const { tools } = await client.listTools();
console.log(tools.find(tool => tool.name === 'move_file').description);

let lost = 0;
for (let i = 0; i < rounds; i++) {
  const [a, b, to] = ['a', 'b', 'to'].map(name => path.join(dir, name + i));
  fs.writeFileSync(a, 'a');
  fs.writeFileSync(b, 'b');
  const move = source => client.callTool({ name: 'move_file', arguments: { source, destination: to } });
  const results = await Promise.all([move(a), move(b)]);
  const left = [a, b, to].filter(file => fs.existsSync(file));
  if (results.every(result => !result.isError) && left.length === 1) lost++;
}
console.log(`in ${lost} of ${rounds} rounds both moves succeeded, and one of the two files is gone`);
fs.rmSync(dir, { recursive: true });
process.exit(lost > 0 ? 1 : 0);
