// Two split_tasks calls at once, in the mode "append": both answer with their task, and one of
// the two tasks is gone.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const rounds = 20;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'shrimp'));
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: ['node_modules/mcp-shrimp-task-manager/dist/index.js'],
  env: { ...process.env, DATA_DIR: dir },
  stderr: 'ignore',
}));
const add = async name => {
  const tasksRaw = JSON.stringify([{ name, description: 'a task with a long description', implementationGuide: 'none' }]);
  const result = await client.callTool({ name: 'split_tasks', arguments: { updateMode: 'append', tasksRaw } });
  return !result.isError && result.content[0].text.includes(name);
};

let lost = 0;
for (let i = 0; i < rounds; i++) {
  fs.writeFileSync(path.join(dir, 'tasks.json'), '{"tasks":[]}');
  const added = await Promise.all([add('Task-A'), add('Task-B')]);
  const { tasks } = JSON.parse(fs.readFileSync(path.join(dir, 'tasks.json'), 'utf8'));
  if (added.every(Boolean) && tasks.length === 1) lost++;
}
console.log(`in ${lost} of ${rounds} rounds both calls succeeded, and one of the two tasks is not in tasks.json`);
fs.rmSync(dir, { recursive: true });
process.exit(lost > 0 ? 1 : 0);
