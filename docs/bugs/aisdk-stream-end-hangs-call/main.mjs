// @ai-sdk/mcp over Streamable HTTP: when the stream of a call ends before the answer, the call is
// neither answered nor rejected. The server is the TypeScript SDK's, with an event store.
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMCPClient } from '@ai-sdk/mcp';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

// Store keeps every event for a client that comes back.
class Store {
  events = [];
  async storeEvent(stream, message) { return String(this.events.push({ stream, message })); }
  async getStreamIdForEventId(id) { return this.events[id - 1]?.stream; }
  async replayEventsAfter(last, { send }) {
    const { stream } = this.events[last - 1];
    for (let i = Number(last); i < this.events.length; i++) {
      const event = this.events[i];
      if (event.stream === stream && event.message.jsonrpc) await send(String(i + 1), event.message);
    }
    return stream;
  }
}

async function call(what, end) {
  let connection;
  const server = new McpServer({ name: 'repro', version: '1' });
  server.registerTool('work', {}, async extra => {
    await sleep(200);
    end(extra, connection);
    await sleep(200);
    return { content: [{ type: 'text', text: 'done' }] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, eventStore: new Store(), retryInterval: 100 });
  await server.connect(transport);
  let resumed = 0;
  const web = http.createServer((req, res) => {
    if (req.method === 'POST') connection = req.socket;
    if (req.headers['last-event-id']) resumed++;
    transport.handleRequest(req, res);
  });
  await new Promise(resolve => web.listen(0, '127.0.0.1', resolve));
  const client = await createMCPClient({ transport: { type: 'http', url: `http://127.0.0.1:${web.address().port}/mcp` }, onUncaughtError() {} });
  const { work } = await client.tools();
  const said = await Promise.race([
    work.execute({}, { toolCallId: '1', messages: [] }).then(() => 'is answered', error => `fails: ${error.message}`),
    sleep(10000).then(() => 'IS PENDING after 10 s'),
  ]);
  console.log(`${what}: the call ${said}; the client came back ${resumed} times`);
  web.closeAllConnections();
  web.close();
  return said !== 'IS PENDING after 10 s';
}

const good = [
  await call('the stream stays open', () => {}),
  await call('the server closes the stream, to be polled', extra => extra.closeSSEStream()),
  await call('the connection breaks', (_, connection) => connection.destroy()),
];
process.exit(good.every(Boolean) ? 0 : 1);
