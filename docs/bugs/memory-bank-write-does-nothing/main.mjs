// memory_bank_write to a file that is there: "written successfully", and nothing is written. Two
// agents that begin the same file at once, or one that forgot it, lose what they wrote.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'bank'));
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: ['node_modules/@allpepper/memory-bank-mcp/dist/main/index.js'],
  env: { ...process.env, MEMORY_BANK_ROOT: dir },
  stderr: 'ignore',
}));
const call = async (name, input) => {
  const { content } = await client.callTool({ name, arguments: { projectName: 'p', fileName: 'plan.md', ...input } });
  console.log(`${name} ${input.content ?? ''}: ${content[0].text}`);
  return content[0].text;
};
await call('memory_bank_write', { content: 'one' });
await call('memory_bank_write', { content: 'two' });
const kept = await call('memory_bank_read', {});
fs.rmSync(dir, { recursive: true });
process.exit(kept.includes('two') ? 0 : 1);
