// The server of the README, and two clients that call a tool at the same moment: one gets the
// answer that was meant for the other, and the other gets none.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StreamableHTTPTransport } from '@hono/mcp';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { z } from 'zod';

const mcpServer = new McpServer({ name: 's', version: '1' });
mcpServer.registerTool('greet', { inputSchema: { name: z.string(), wait: z.number() } }, async ({ name, wait }) => {
  await new Promise(resolve => setTimeout(resolve, wait));
  return { content: [{ type: 'text', text: `hello ${name}` }] };
});
const transport = new StreamableHTTPTransport();
const app = new Hono();
app.all('/mcp', async c => {
  if (!mcpServer.isConnected()) await mcpServer.connect(transport);
  return transport.handleRequest(c);
});
const { port } = await new Promise(resolve => serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, resolve));

const connect = async () => {
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  return client;
};
const [alice, bob] = [await connect(), await connect()];
const greet = (client, name, wait) => client.callTool({ name: 'greet', arguments: { name, wait } }, undefined, { timeout: 5000 })
  .then(({ content }) => content[0].text, error => error.message);
const answers = await Promise.all([greet(alice, 'Alice', 300), greet(bob, 'Bob', 800)]);
console.log(`Alice got ${answers[0]}, Bob got ${answers[1]}`);
process.exit(answers[1].includes('Bob') ? 0 : 1);
