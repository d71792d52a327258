// A server whose call "work" returns when the call "finish" comes.
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

let finish
const finished = new Promise((resolve) => { finish = resolve })
const server = new Server({ name: 'cancel', version: '1' }, { capabilities: { tools: {} } })
server.setRequestHandler('tools/call', async ({ params }) => {
  if (params.name === 'finish') finish()
  else await finished
  return { content: [{ type: 'text', text: params.name }] }
})
await server.connect(new StdioServerTransport())
