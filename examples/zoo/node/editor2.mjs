// As editor.mjs, with the SDK's newer interface, and a handler that awaits once, as one does that draws or writes a file.
import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { client, ndJsonStream } from 'acp-newest'

const agent = spawn(process.argv[2], process.argv.slice(3), { stdio: ['pipe', 'pipe', 'inherit'] })
let text = ''
const editor = client({ name: 'editor' }).onNotification('session/update', async ({ params: { update } }) => {
  await new Promise(done => setImmediate(done))
  if (update.sessionUpdate === 'agent_message_chunk') text += update.content.text
})
await editor.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async agentSide => {
  await agentSide.request('initialize', { protocolVersion: 1, clientCapabilities: { fs: {} } })
  const { sessionId } = await agentSide.request('session/new', { cwd: '/', mcpServers: [] })
  await new Promise(done => setTimeout(done, 150)) // a person types
  const { stopReason } = await agentSide.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'hi' }] })
  console.log(`${stopReason}: ${JSON.stringify(text)}`)
})
agent.stdin.end()
agent.on('exit', () => process.exit(0))
