// A client of the Agent Client Protocol, as editors are: it takes updates of sessions that it knows. It asks one thing, and
// prints what it was told. Its arguments are its agent.
import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { ClientSideConnection, ndJsonStream } from '@agentclientprotocol/sdk'

const agent = spawn(process.argv[2], process.argv.slice(3), { stdio: ['pipe', 'pipe', 'inherit'] })
let known = null, text = '', commands = 0
const connection = new ClientSideConnection(() => ({
  async requestPermission() { return { outcome: { outcome: 'cancelled' } } },
  async sessionUpdate({ sessionId, update }) {
    if (sessionId !== known) return
    if (update.sessionUpdate === 'available_commands_update') commands = update.availableCommands.length
    if (update.sessionUpdate === 'agent_message_chunk') text += update.content.text
  },
}), ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)))
await connection.initialize({ protocolVersion: 1, clientCapabilities: { fs: {} } })
known = (await connection.newSession({ cwd: '/', mcpServers: [] })).sessionId
await new Promise(done => setTimeout(done, 150)) // a person types
const { stopReason } = await connection.prompt({ sessionId: known, prompt: [{ type: 'text', text: 'hi' }] })
console.log(`${stopReason}: ${JSON.stringify(text)}, ${commands} commands`)
agent.stdin.end()
agent.on('exit', () => process.exit(0))
