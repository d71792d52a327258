// An agent answers session/prompt right behind its last two updates, and all three are read together. The client's handler
// awaits once. What the client has when the prompt returns is printed.
import { client, ndJsonStream } from '@agentclientprotocol/sdk'

const toClient = new TransformStream()
const writer = toClient.writable.getWriter()
const say = (...messages) => writer.write(new TextEncoder().encode(messages.map(m => JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n').join('')))
const chunk = text => ({ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } })
const agent = new WritableStream({
  write(bytes) {
    for (const line of new TextDecoder().decode(bytes).split('\n').filter(Boolean)) {
      const { id, method } = JSON.parse(line)
      if (method === 'initialize') say({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } })
      if (method === 'session/new') say({ id, result: { sessionId: 's' } })
      if (method === 'session/prompt') say(chunk('one '), chunk('two '), chunk('three'), { id, result: { stopReason: 'end_turn' } })
    }
  },
})

let text = ''
const editor = client({ name: 'editor' }).onNotification('session/update', async ({ params: { update } }) => {
  await new Promise(done => setImmediate(done))
  text += update.content.text
})
await editor.connectWith(ndJsonStream(agent, toClient.readable), async context => {
  await context.request('initialize', { protocolVersion: 1, clientCapabilities: {} })
  const { sessionId } = await context.request('session/new', { cwd: '/', mcpServers: [] })
  await context.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'hi' }] })
  console.log(`when the prompt has its answer: ${JSON.stringify(text)}`)
  await new Promise(done => setTimeout(done, 100))
  console.log(`100 ms later:                   ${JSON.stringify(text)}`)
})
process.exit(0)
