// Two request_planning calls at once: both are planned, both as req-1, and one of them is gone.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const rounds = 50;
const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'tasks')), 'tasks.json');
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: ['node_modules/@kazuph/mcp-taskmanager/dist/index.js'],
  env: { ...process.env, TASK_MANAGER_FILE_PATH: file },
  stderr: 'ignore',
}));
const plan = async name => {
  const { content } = await client.callTool({
    name: 'request_planning',
    arguments: { originalRequest: name, tasks: [{ title: name, description: name }] },
  });
  return JSON.parse(content[0].text);
};

let lost = 0;
let sameId = 0;
for (let i = 0; i < rounds; i++) {
  fs.writeFileSync(file, '{"requests":[]}');
  const [a, b] = await Promise.all([plan('A'), plan('B')]);
  const kept = JSON.parse(fs.readFileSync(file, 'utf8')).requests;
  if (a.status === 'planned' && b.status === 'planned' && kept.length === 1) lost++;
  if (a.requestId === b.requestId) sameId++;
}
console.log(`in ${lost} of ${rounds} rounds both requests were "planned", and one of them is not in the file; in ${sameId} both had one id`);
process.exit(lost > 0 ? 1 : 0);
