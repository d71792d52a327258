// A long argument with letters of more than one byte arrives damaged: each piece of the body is
// made a string by itself, also where a letter is cut.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { MCPServer, MCPTool } from 'mcp-framework';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const own = createRequire(fs.realpathSync(new URL(import.meta.resolve('mcp-framework')))).resolve('zod');
const { z } = await import(own.replace(/cjs$/, 'js')); // tools need the very zod of the framework
const port = 19500 + process.pid % 1000;

let got;
class Note extends MCPTool {
  name = 'note';
  description = 'Keeps a note.';
  schema = z.object({ text: z.string().describe('what') });
  async execute({ text }) {
    got = text;
    return 'kept';
  }
}
const server = new MCPServer({ name: 's', version: '1', basePath: '/nowhere', transport: { type: 'http-stream', options: { port } } });
server.addTool(Note);
process.stderr.write = () => true; // its log
server.start();

const url = new URL(`http://127.0.0.1:${port}/mcp`);
while (!await fetch(url).catch(() => false)) await new Promise(resolve => setTimeout(resolve, 50));
const client = new Client({ name: 'c', version: '1' });
await client.connect(new StreamableHTTPClientTransport(url));
const text = 'é'.repeat(300_000);
await client.callTool({ name: 'note', arguments: { text } });
const broken = got.split('\ufffd').length - 1;
console.log(`of ${text.length} letters é ${got.split('é').length - 1} arrived, and ${broken} letters that were not sent`);
process.exit(broken > 0 ? 1 : 0);
