// An edit whose new text has a dollar sign writes something else: "$$" becomes "$", and "$&" the
// old text. The tools say that they replace text exactly.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'dollars')));
const file = path.join(dir, 'build.sh');
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StdioClientTransport({
  command: process.execPath,
  args: ['node_modules/fast-filesystem-mcp/dist/index.js', dir],
  stderr: 'ignore',
}));
const want = 'echo "pid $$, $& and $`"\n';
const tools = {
  fast_edit_block: { path: file, old_text: 'TODO\n', new_text: want },
  fast_safe_edit: { path: file, old_text: 'TODO\n', new_text: want },
  fast_edit_multiple_blocks: { path: file, edits: [{ old_text: 'TODO\n', new_text: want }] },
};
let wrong = 0;
for (const [name, input] of Object.entries(tools)) {
  fs.writeFileSync(file, '#!/bin/sh\nTODO\n');
  const { content } = await client.callTool({ name, arguments: input });
  const got = fs.readFileSync(file, 'utf8').slice('#!/bin/sh\n'.length);
  console.log(`${name}: ${JSON.parse(content[0].text).message}`);
  console.log(`  to write  ${JSON.stringify(want)}\n  written   ${JSON.stringify(got)}`);
  if (got !== want) wrong++;
}
fs.rmSync(dir, { recursive: true });
process.exit(wrong > 0 ? 1 : 0);
