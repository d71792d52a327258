// fastmcp over Streamable HTTP: a session waits a second for what its first request brings, before
// it looks at the request. A tool that is added in this second is not in the session.
import { createServer } from 'node:net';
import { FastMCP } from 'fastmcp';
import { z } from 'zod';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function freePort() {
  const probe = createServer();
  await new Promise(resolve => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise(resolve => probe.close(resolve));
  return port;
}

const quiet = { debug() {}, error() {}, info() {}, log() {}, warn() {} };
let arrived;
const arrival = new Promise(resolve => { arrived = resolve; });
const authenticate = async () => { // is the first that is asked about a new session
  arrived();
  return {};
};
const server = new FastMCP({ name: 'repro', version: '1.0.0', logger: quiet, authenticate });
const add = name => server.addTool({ name, description: name, parameters: z.object({}), execute: async () => 'done' });
add('first');
const port = await freePort();
const say = console.log;
console.log = () => {}; // mcp-proxy logs each stream
await server.start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } });

async function connect() {
  const client = new Client({ name: 'c', version: '1' }, { capabilities: { roots: { listChanged: true } } });
  const start = Date.now();
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
  return { client, took: Date.now() - start };
}

async function look({ client, took }) {
  const { tools } = await client.listTools();
  return `connect took ${took < 1000 ? 'less' : 'more'} than a second, and the tools are ${tools.map(tool => tool.name).join(', ')}`;
}

const connecting = connect();
await arrival;
await sleep(300);
add('second');
const one = await connecting;
await sleep(1000);
const said = await look(one);
say(`a client that connects while a tool is added: ${said}`);
say(`a client that connects afterwards: ${await look(await connect())}`);
say(`capabilities that the server knows: ${server.sessions.map(session => JSON.stringify(session.clientCapabilities)).join(', ')}`);
process.exit(said.endsWith('first, second') ? 0 : 1);
