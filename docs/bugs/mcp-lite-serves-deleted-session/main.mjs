// A session that was deleted, or that never was, is served: 200 where 404 tells a client to begin
// anew. So after a restart of the server a client stays in a session that nobody knows.
import { InMemoryClientRequestAdapter, InMemorySessionAdapter, McpServer, StreamableHttpTransport } from 'mcp-lite';

// start starts a server, which knows no session.
function start() {
  const server = new McpServer({ name: 's', version: '1' });
  server.tool('ask', { description: 'asks the user', handler: async (_, ctx) => {
    const answer = await ctx.elicit({ message: 'Sure?', schema: { type: 'object', properties: {} } });
    return { content: [{ type: 'text', text: answer.action }] };
  } });
  return new StreamableHttpTransport({
    sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 100 }),
    clientRequestAdapter: new InMemoryClientRequestAdapter(),
  }).bind(server);
}
let handle = start();
const send = (method, session, message) => handle(new Request('http://localhost/mcp', {
  method,
  headers: { 'content-type': 'application/json', accept: 'application/json', 'mcp-protocol-version': '2025-06-18', ...session && { 'mcp-session-id': session } },
  body: message && JSON.stringify({ jsonrpc: '2.0', ...message }),
}));
const say = async (when, response) => {
  console.log(`${when}: ${response.status} ${(await response.text()).slice(0, 130)}`);
  return response.status;
};
const initialize = { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: { elicitation: {} }, clientInfo: { name: 'c', version: '1' } } };
const session = (await send('POST', undefined, initialize)).headers.get('mcp-session-id');
await say('DELETE', await send('DELETE', session));
const status = await say('a request after it', await send('POST', session, { id: 2, method: 'tools/list' }));
const other = (await send('POST', undefined, initialize)).headers.get('mcp-session-id');
handle = start();
await say('a call after a restart', await send('POST', other, { id: 3, method: 'tools/call', params: { name: 'ask', arguments: {} } }));
process.exit(status === 404 ? 0 : 1);
