// Two clients call a tool at the same moment, each in a session of its own: both get the answer
// that is ready first, so one of them gets what was meant for the other.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { MCPServer, MCPTool } from 'mcp-framework';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const own = createRequire(fs.realpathSync(new URL(import.meta.resolve('mcp-framework')))).resolve('zod');
const { z } = await import(own.replace(/cjs$/, 'js')); // tools need the very zod of the framework
const port = 18500 + process.pid % 1000;

class Greet extends MCPTool {
  name = 'greet';
  description = 'Greets somebody, after a while.';
  schema = z.object({ name: z.string().describe('whom'), wait: z.number().describe('milliseconds') });
  async execute({ name, wait }) {
    await new Promise(resolve => setTimeout(resolve, wait));
    return `hello ${name}`;
  }
}
const server = new MCPServer({ name: 's', version: '1', basePath: '/nowhere', transport: { type: 'http-stream', options: { port } } });
server.addTool(Greet);
process.stderr.write = () => true; // its log
server.start();

const url = new URL(`http://127.0.0.1:${port}/mcp`);
while (!await fetch(url).catch(() => false)) await new Promise(resolve => setTimeout(resolve, 50));
const connect = async () => {
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
};
const [alice, bob] = [await connect(), await connect()];
const greet = (client, name, wait) => client.callTool({ name: 'greet', arguments: { name, wait } }).then(({ content }) => content[0].text);
const answers = await Promise.all([greet(alice, 'Alice', 500), greet(bob, 'Bob', 100)]);
console.log(`Alice got ${answers[0]}, Bob got ${answers[1]}`);
process.exit(answers[0].includes('Bob') ? 1 : 0);
