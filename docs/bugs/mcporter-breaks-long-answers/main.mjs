// A long answer of a server that is kept alive arrives damaged where it is not ASCII: each piece
// from the daemon is made a string by itself, also where a letter is cut. Wants node 24, as mcporter does.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const letters = 300_000;
if (process.argv[2] === 'server') {
  const server = new McpServer({ name: 's', version: '1' });
  server.registerTool('prices', { description: 'a long text' }, () => ({ content: [{ type: 'text', text: '€'.repeat(letters) }] }));
  await server.connect(new StdioServerTransport());
} else {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'porter'));
  const config = path.join(dir, 'mcporter.json');
  const call = lifecycle => {
    fs.writeFileSync(config, JSON.stringify({ mcpServers: { s: { command: process.execPath, args: [process.argv[1], 'server'], ...lifecycle && { lifecycle } } } }));
    const mcporter = (...args) => execFileSync(process.execPath, ['node_modules/mcporter/dist/cli.js', '--config', config, ...args],
      { env: { ...process.env, HOME: dir }, maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'ignore'] }).toString();
    const text = mcporter('call', 's.prices');
    if (lifecycle) mcporter('daemon', 'stop');
    const broken = text.split('\ufffd').length - 1;
    console.log(`${lifecycle ?? 'without a daemon'}: of ${letters} letters € ${text.split('€').length - 1} are printed, and ${broken} letters that were not sent`);
    return broken;
  };
  call();
  process.exit(call('keep-alive') > 0 ? 1 : 0);
}
