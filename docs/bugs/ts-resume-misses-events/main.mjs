// Streamable HTTP with an event store: what a server sends while a client's resumption is
// being served is stored, and not written to the stream that is resumed.
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

// Store keeps events as a database does that answers a query in some time: with what it
// had when the query came.
class Store {
  events = [];
  asked = new (class { promise = new Promise(resolve => { this.resolve = resolve; }); })();
  constructor(latency) { this.latency = latency; }
  async storeEvent(stream, message) {
    const id = String(this.events.push({ stream, message }));
    return id;
  }
  async getStreamIdForEventId(id) { return this.events[id - 1]?.stream; }
  async replayEventsAfter(last, { send }) {
    const { stream } = this.events[last - 1];
    const found = this.events.map((e, i) => [String(i + 1), e]).filter(([id, e]) => e.stream === stream && Number(id) > Number(last));
    this.asked.resolve();
    await sleep(this.latency);
    for (const [id, e] of found) if (Object.keys(e.message).length) await send(id, e.message);
    return stream;
  }
}

async function call(latency) {
  const store = new Store(latency);
  const server = new McpServer({ name: 'repro', version: '1' });
  server.registerTool('work', {}, async extra => {
    extra.closeSSEStream(); // revision 2025-11-25: the client comes back when it is told to
    await store.asked.promise; // it is back, and asks for what it has missed: nothing yet
    if (latency === 0) await sleep(100);
    return { content: [{ type: 'text', text: 'done' }] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, eventStore: store, retryInterval: 100 });
  await server.connect(transport);
  const web = http.createServer((req, res) => transport.handleRequest(req, res));
  await new Promise(resolve => web.listen(0, '127.0.0.1', resolve));
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${web.address().port}/`)));
  let said;
  try {
    const result = await client.callTool({ name: 'work', arguments: {} }, undefined, { timeout: 5000 });
    said = result.content[0].text;
  } catch (error) {
    said = `FAILS: ${error.message}`;
  }
  console.log(`the store answers in ${latency} ms: the call ${said}`);
  web.closeAllConnections();
  web.close();
  return said === 'done';
}

const good = [await call(0), await call(100)];
process.exit(good.every(Boolean) ? 0 : 1);
