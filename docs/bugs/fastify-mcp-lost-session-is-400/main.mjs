// A request of a session that is over gets status 400; only 404 tells a client to begin a new
// one. So no client comes back after a restart of the server.
import Fastify from 'fastify';
import { Sessions, streamableHttp } from 'fastify-mcp';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';

const app = Fastify();
app.register(streamableHttp, { stateful: true, mcpEndpoint: '/mcp', sessions: new Sessions(), createServer: () => new McpServer({ name: 's', version: '1' }).server });
const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/mcp`;

const send = (method, session, message) => fetch(url, {
  method,
  headers: { ...message && { 'content-type': 'application/json' }, accept: 'application/json, text/event-stream', ...session && { 'mcp-session-id': session } },
  body: message && JSON.stringify({ jsonrpc: '2.0', ...message }),
});
const say = async (when, response) => {
  console.log(`${when}: ${response.status} ${(await response.text()).trim().split('data: ').pop()}`);
  return response.status;
};
const begun = await send('POST', undefined, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } });
await begun.text();
const session = begun.headers.get('mcp-session-id');
await say('a ping', await send('POST', session, { id: 2, method: 'ping' }));
await say('DELETE', await send('DELETE', session));
const status = await say('a ping after it', await send('POST', session, { id: 3, method: 'ping' }));
process.exit(status === 404 ? 0 : 1);
