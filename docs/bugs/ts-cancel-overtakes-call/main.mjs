// Streamable HTTP with an event store: a cancellation overtakes its call, which then runs to its
// end. Client and server are in one process, and fetch calls the server.
import { randomUUID } from 'node:crypto';
import * as server1 from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport as ServerTransport1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as ClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as server2 from '@modelcontextprotocol/server';
import * as client2 from '@modelcontextprotocol/client';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

const sdks = {
  '1.32.2': { McpServer: server1.McpServer, ServerTransport: ServerTransport1, Client: Client1, ClientTransport: ClientTransport1 },
  '2.4.0': { McpServer: server2.McpServer, ServerTransport: server2.WebStandardStreamableHTTPServerTransport, Client: client2.Client, ClientTransport: client2.StreamableHTTPClientTransport },
};

// Store is an event store as a database is: it takes its time for each event.
class Store {
  events = 0;
  constructor(latency) { this.latency = latency; }
  async storeEvent(stream) {
    if (this.latency > 0) await sleep(this.latency);
    return `${stream}_${this.events++}`;
  }
  async replayEventsAfter(last) { return last.split('_')[0]; }
}

// call has 20 calls cancelled after 100 ms each, and counts those that ran to their end.
async function call(version, latency) {
  const { McpServer, ServerTransport, Client, ClientTransport } = sdks[version];
  const server = new McpServer({ name: 'repro', version: '1' });
  let ran = 0;
  server.registerTool('work', {}, async context => {
    const signal = context.signal ?? context.mcpReq.signal; // of version 1 and 2
    await sleep(500);
    if (!signal.aborted) ran++;
    return { content: [] };
  });
  const transport = new ServerTransport({ sessionIdGenerator: randomUUID, eventStore: new Store(latency) });
  await server.connect(transport);
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(new ClientTransport(new URL('http://localhost/mcp'), { fetch: (url, init) => transport.handleRequest(new Request(url, init)) }));
  for (let i = 0; i < 20; i++) {
    const user = new AbortController();
    const options = { signal: user.signal };
    const params = { name: 'work', arguments: {} };
    const calling = version === '2.4.0' ? client.callTool(params, options) : client.callTool(params, undefined, options);
    calling.catch(() => {});
    await sleep(100);
    user.abort();
  }
  await sleep(2000);
  console.log(`SDK ${version}, the store takes ${latency} ms: ${ran} of 20 cancelled calls ran to their end`);
  return ran === 0;
}

const good = [];
for (const version of Object.keys(sdks)) {
  for (const latency of [0, 200]) good.push(await call(version, latency));
}
process.exit(good.every(Boolean) ? 0 : 1);
