// A tool asks the user. Until the user answers, no request of the client is answered, not even a
// ping; a client that makes a call in order to answer hangs for good.
import { McpServer } from 'tmcp';
import { JsonSchemaAdapter } from 'tmcp/adapter';
import { StdioTransport } from '@tmcp/transport-stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';

if (process.argv[2] === 'server') {
  class Plain extends JsonSchemaAdapter {
    async toJsonSchema(schema) { return schema; }
  }
  const server = new McpServer({ name: 's', version: '1', description: 'd' }, { adapter: new Plain(), capabilities: { tools: {} } });
  server.tool({ name: 'write', description: 'lets the model of the client write' }, async () => {
    const { content } = await server.message({ messages: [{ role: 'user', content: { type: 'text', text: 'What time is it?' } }], maxTokens: 10 });
    return { content: [{ type: 'text', text: content.text }] };
  });
  server.tool({ name: 'time', description: 'what the model calls' }, async () => ({ content: [{ type: 'text', text: 'noon' }] }));
  new StdioTransport(server).listen();
} else {
  const client = new Client({ name: 'c', version: '1' }, { capabilities: { sampling: {} } });
  const inTime = { timeout: 5000 };
  const said = (what, promise) => promise.then(
    result => { console.log(`${what} is answered`); return result; },
    error => { console.log(`${what}: ${error.message}`); return { content: [{ text: 'no time' }] }; });
  client.setRequestHandler(CreateMessageRequestSchema, async () => {
    await said('a ping meanwhile', client.ping(inTime));
    const { content } = await said('the call that the model makes', client.callTool({ name: 'time', arguments: {} }, undefined, inTime));
    return { model: 'm', role: 'assistant', content: { type: 'text', text: content[0].text } };
  });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [process.argv[1], 'server'] }));
  await said('a call before', client.callTool({ name: 'time', arguments: {} }, undefined, inTime));
  const { content } = await said('the call of the tool that asks', client.callTool({ name: 'write', arguments: {} }, undefined, { timeout: 30_000 }));
  console.log(`the model wrote: ${content[0].text}`);
  process.exit(content[0].text === 'noon' ? 0 : 1);
}
