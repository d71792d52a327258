// A request with a revision that the server does not know gets status 404, which says that the
// session is over; the status for that is 400.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPTransport } from '@hono/mcp';
import { Hono } from 'hono';

const mcpServer = new McpServer({ name: 's', version: '1' });
const transport = new StreamableHTTPTransport({ sessionIdGenerator: () => crypto.randomUUID() });
await mcpServer.connect(transport);
const app = new Hono();
app.all('/mcp', c => transport.handleRequest(c));

const post = (message, headers) => app.request('/mcp', {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
  body: JSON.stringify({ jsonrpc: '2.0', ...message }),
});
const begun = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } });
const session = begun.headers.get('mcp-session-id');
const ask = async revision => {
  const response = await post({ id: 2, method: 'ping' }, { 'mcp-session-id': session, 'mcp-protocol-version': revision });
  console.log(`ping with ${revision}: ${response.status} ${response.status === 200 ? '' : await response.text()}`);
  return response.status;
};
await ask('2025-11-25');
const status = await ask('2026-07-28');
process.exit(status === 400 ? 0 : 1);
