// createMcpHandler: close() ends the subscriptions that are open, and misses one that is on its
// way in, which then stays open for good.
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

const handler = createMcpHandler(async () => {
  await sleep(20); // such as a look into a database: who is this?
  return new McpServer({ name: 'repro', version: '1' }, { capabilities: { tools: { listChanged: true } } });
});

function listen(id) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return handler.fetch(new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { _meta, notifications: { toolsListChanged: true } } }),
  }));
}

const early = await listen(1);
const late = listen(2); // its handler asks the factory
await handler.close();
let good = true;
for (const [name, response] of [['the open subscription', early], ['the one on its way', await late]]) {
  const ended = await Promise.race([response.text().then(() => true), sleep(3000).then(() => false)]);
  console.log(`3 s after close(), ${name} ${ended ? 'has ended' : 'IS OPEN'}`);
  good &&= ended;
}
process.exit(good ? 0 : 1);
