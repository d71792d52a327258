// One AbortSignal for the calls of a task: when it is aborted, the client cancels every call that
// was answered long ago. Version 2 does not.
import * as sdk1 from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { InMemoryTransport as InMemoryTransport1 } from '@modelcontextprotocol/sdk/inMemory.js';
import * as sdk2 from '@modelcontextprotocol/client';
import { McpServer as McpServer2 } from '@modelcontextprotocol/server';
import { setMaxListeners } from 'node:events';

async function run(version, Client, McpServer, InMemoryTransport) {
  const server = new McpServer({ name: 'repro', version: '1' });
  server.registerTool('work', {}, async () => ({ content: [] }));
  const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
  await server.connect(serverEnd);
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(clientEnd);
  let cancelled = 0;
  const hear = serverEnd.onmessage;
  serverEnd.onmessage = (message, extra) => {
    if (message.method === 'notifications/cancelled') cancelled++;
    hear(message, extra);
  };
  const task = new AbortController();
  setMaxListeners(0, task.signal); // node warns of the listeners that are left
  for (let i = 0; i < 1000; i++) {
    const options = { signal: task.signal };
    const params = { name: 'work', arguments: {} };
    await (version === '2.4.0' ? client.callTool(params, options) : client.callTool(params, undefined, options));
  }
  task.abort();
  await new Promise(resolve => setTimeout(resolve, 200));
  console.log(`SDK ${version}: 1000 calls were answered; then the task was aborted, and ${cancelled} notifications/cancelled went out`);
  await client.close();
  return cancelled === 0;
}

const good = [
  await run('1.32.2', sdk1.Client, McpServer1, InMemoryTransport1),
  await run('2.4.0', sdk2.Client, McpServer2, sdk2.InMemoryTransport),
];
process.exit(good.every(Boolean) ? 0 : 1);
