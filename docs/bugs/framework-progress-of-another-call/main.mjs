// Two calls of one tool at once, both with progress, over stdio: the progress of the first is
// sent as that of the second, and this.abortSignal in the first is that of the second.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { MCPServer, MCPTool } from 'mcp-framework';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const own = createRequire(fs.realpathSync(new URL(import.meta.resolve('mcp-framework')))).resolve('zod');
const { z } = await import(own.replace(/cjs$/, 'js')); // tools need the very zod of the framework
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

class Work extends MCPTool {
  name = 'work';
  description = 'Works, and reports how far it is.';
  schema = z.object({ steps: z.number().describe('how many'), pause: z.number().describe('milliseconds') });
  async execute({ steps, pause }) {
    const mine = this.abortSignal;
    for (let i = 1; i <= steps; i++) {
      await sleep(pause);
      await this.reportProgress(i, steps);
    }
    return this.abortSignal === mine ? 'its own' : 'not its own';
  }
}
if (process.argv[2] === 'server') {
  const server = new MCPServer({ name: 's', version: '1', basePath: '/nowhere' });
  server.addTool(Work);
  await server.start();
} else {
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [process.argv[1], 'server'], stderr: 'ignore' }));
  const call = async (name, steps, pause) => {
    const seen = [];
    const { content } = await client.callTool({ name: 'work', arguments: { steps, pause } }, undefined,
      { onprogress: ({ progress, total }) => seen.push(`${progress} of ${total}`) });
    console.log(`${name}: progress ${seen.join(', ') || 'none'}; its abort signal is ${content[0].text}`);
    return seen;
  };
  await call('alone', 3, 100);
  const [first] = await Promise.all([call('first, of 3 steps', 3, 100), call('second, of 2 steps', 2, 130)]);
  process.exit(first.length > 0 ? 0 : 1);
}
