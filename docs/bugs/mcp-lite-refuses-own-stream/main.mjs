// The newest client gets revision 2025-03-26 from the server, and names it when it opens the
// stream of notifications, as it must: the server refuses that stream. Nothing is heard.
import http from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from 'mcp-lite';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const server = new McpServer({ name: 's', version: '1' });
server.tool('one', { description: 'the first', handler: () => ({ content: [] }) });
const handle = new StreamableHttpTransport({ sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 100 }) }).bind(server);
const web = http.createServer(async (req, res) => {
  let body = '';
  for await (const chunk of req) body += chunk;
  const response = await handle(new Request(`http://localhost${req.url}`, { method: req.method, headers: req.headers, body: body || undefined }));
  if (req.method === 'GET') console.log(`GET with ${req.headers['mcp-protocol-version']}: ${response.status} ${response.ok ? '' : await response.clone().text()}`);
  res.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
  if (response.body) Readable.fromWeb(response.body).pipe(res);
  else res.end();
});
await new Promise(resolve => web.listen(0, '127.0.0.1', resolve));

const client = new Client({ name: 'c', version: '1' });
let heard = 0;
client.setNotificationHandler(ToolListChangedNotificationSchema, () => { heard++; });
const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${web.address().port}/mcp`));
await client.connect(transport);
console.log(`the server chose ${transport.protocolVersion}`);
await setTimeout(500);
server.tool('two', { description: 'the second', handler: () => ({ content: [] }) });
await setTimeout(1000);
console.log(`the client heard ${heard} of 1 tools/list_changed`);
process.exit(heard === 1 ? 0 : 1);
