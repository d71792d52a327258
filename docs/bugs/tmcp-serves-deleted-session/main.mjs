// A session that was deleted, or that never was, is served: 200 where 404 tells a client to begin
// anew. What the server knew of the client, such as that it can be asked, is gone.
import { McpServer } from 'tmcp';
import { JsonSchemaAdapter } from 'tmcp/adapter';
import { HttpTransport } from '@tmcp/transport-http';

class Plain extends JsonSchemaAdapter {
  async toJsonSchema(schema) { return schema; }
}
const server = new McpServer({ name: 's', version: '1', description: 'd' }, { adapter: new Plain(), capabilities: { tools: {} } });
server.tool({ name: 'can', description: 'says whether the client can be asked' }, async () => (
  { content: [{ type: 'text', text: server.currentClientCapabilities()?.elicitation ? 'it can be asked' : 'it cannot be asked' }] }));
const transport = new HttpTransport(server, { path: '/mcp', allowedOrigins: true });
const send = (method, session, message) => transport.respond(new Request('http://localhost/mcp', {
  method,
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...session && { 'mcp-session-id': session } },
  body: message && JSON.stringify({ jsonrpc: '2.0', ...message }),
}));
const say = async (when, response) => {
  console.log(`${when}: ${response.status} ${(await response.text()).trim().split('data: ').pop()}`);
  return response.status;
};
const call = { id: 2, method: 'tools/call', params: { name: 'can', arguments: {} } };
const begun = await send('POST', undefined, { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: { elicitation: {} }, clientInfo: { name: 'c', version: '1' } } });
await begun.text();
const session = begun.headers.get('mcp-session-id');
await say('a call', await send('POST', session, call));
await say('DELETE', await send('DELETE', session));
const status = await say('a call after it', await send('POST', session, call));
await say('a call in a session that never was', await send('POST', 'nobody', call));
process.exit(status === 404 ? 0 : 1);
