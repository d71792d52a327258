// Recorded MCP sessions in a test: drive plays the recorded client to a server under test, serve
// the recorded server to a client under test. Copy this file into your project.
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'

const program = process.env.MCPREC ?? 'mcprec'

// judge maps an exit code: 1 is a finding, which fails the test with the report; any other but 0
// is a fault of the setup, such as a fixture or a server that is not there.
function judge(status, report, errors) {
  if (status === 1) throw new Error(`the session is not as recorded:\n${report || errors}`)
  if (status !== 0) throw new Error(`mcprec: exit code ${status}: ${errors}`)
}

// drive plays the client of a fixture to the server, a list of words, and compares its answers.
export function drive(fixture, server, flags = []) {
  const run = spawnSync(program, ['drive', ...flags, fixture, '--', ...server], { encoding: 'utf8' })
  if (run.error) throw run.error
  judge(run.status, run.stdout, run.stderr)
}

// serve plays the server of a fixture over HTTP. The client under test connects to url; close ends
// it, and throws if the client did not do as the recorded one did.
export async function serve(fixture, flags = []) {
  const child = spawn(program, ['serve', '--fail', '--listen', '127.0.0.1:0', ...flags, fixture])
  let errors = ''
  child.stderr.on('data', (text) => (errors += text))
  const ended = new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
  const url = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    ended.then((status) => judge(status || 'none', '', errors)),
  ])
  return {
    url: new URL(url),
    async close() {
      child.kill('SIGINT')
      judge(await ended, '', errors)
    },
  }
}
