// Client option listChanged: of two lists that are fetched one behind the other, the older one
// may be handed over last.
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { Server as Server1 } from '@modelcontextprotocol/sdk/server/index.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport as InMemoryTransport1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { Client as Client2, InMemoryTransport as InMemoryTransport2 } from '@modelcontextprotocol/client';
import { Server as Server2 } from '@modelcontextprotocol/server';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function change(version, Client, Server, InMemoryTransport, listTools) {
  let tools = ['first'];
  let asked = 0;
  const server = new Server({ name: 'repro', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler(listTools, async () => {
    const answer = tools.map(name => ({ name, inputSchema: { type: 'object' } }));
    await sleep(++asked === 1 ? 1500 : 10); // one answer takes longer than another
    return { tools: answer };
  });
  let known;
  const onChanged = (error, list) => { known = list?.map(tool => tool.name); };
  const client = new Client({ name: 'c', version: '1' }, { listChanged: { tools: { onChanged } } });
  const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
  await server.connect(serverEnd);
  await client.connect(clientEnd);
  tools = ['second'];
  await server.sendToolListChanged();
  await sleep(600);
  tools = ['third'];
  await server.sendToolListChanged();
  await sleep(3000);
  console.log(`SDK ${version}: the server has ${tools}, and its client knows ${known}`);
  await client.close();
  return known?.[0] === 'third';
}

const good = [
  await change('1.32.2', Client1, Server1, InMemoryTransport1, ListToolsRequestSchema),
  await change('2.4.0', Client2, Server2, InMemoryTransport2, 'tools/list'),
];
process.exit(good.every(Boolean) ? 0 : 1);
