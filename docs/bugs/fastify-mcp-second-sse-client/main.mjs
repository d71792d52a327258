// The SSE plugin takes one server for all: while one client is connected, the next gets status 500.
import Fastify from 'fastify';
import { fastifyMCPSSE } from 'fastify-mcp';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';

const app = Fastify();
app.register(fastifyMCPSSE, { server: new McpServer({ name: 's', version: '1' }).server });
const url = new URL(`${await app.listen({ port: 0, host: '127.0.0.1' })}/sse`);
const connect = name => {
  const client = new Client({ name, version: '1' });
  return client.connect(new SSEClientTransport(url)).then(() => 'connected', error => error.message);
};
console.log(`the first client: ${await connect('first')}`);
const second = await connect('second');
console.log(`the second client: ${second}`);
process.exit(second === 'connected' ? 0 : 1);
