// Loaded by Node before the program, in a play whose finding mcprec has seen before. It notes where each promise was made
// that is still pending, and for which request; and where each timer, child process, server and connection was made, which
// keep the program alive; and what was last written to standard output, and where. When SIGUSR2 comes it writes that to a
// file.
'use strict'
const { createHook, executionAsyncId } = require('node:async_hooks')
const fs = require('node:fs')
const { Duplex, Writable } = require('node:stream')
const { isMainThread } = require('node:worker_threads')
const folder = process.env.MCPREC_SOURCE_LINES
const keepers = { // what keeps a program alive, by Node's names
  PROCESSWRAP: 'a child process', Timeout: 'a timer', WORKER: 'a worker', TCPSERVERWRAP: 'a server', PIPESERVERWRAP: 'a server',
  TCPWRAP: 'a connection', UDPWRAP: 'a socket', FSEVENTWRAP: 'a watched file', STATWATCHER: 'a watched file'
}

if (folder && isMainThread) {
  const open = new Map() // pending promises by their async id: where they were made, and for which request
  const alive = new Map() // keepers by their async id: what they are, and where they were made
  const causes = new Map() // the request that an async id works for
  const asked = new Map() // requests of this process without an answer, by their ids
  const requests = new Map() // those that it was sent, by their ids
  let reading = { id: -1, request: undefined } // the message that the present callback has parsed last

  const causeOf = id => id === reading.id ? reading.request : causes.get(id)
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, 30)
  createHook({
    init(id, type, trigger, resource) {
      const running = executionAsyncId()
      const request = causeOf(running) ?? causes.get(trigger)
      if (request) causes.set(id, request)
      if (type === 'PROMISE') open.set(id, { request, waits: trigger !== running, stack: new Error().stack })
      else if (keepers[type]) alive.set(id, { what: keepers[type], resource, stack: new Error().stack })
    },
    before(id) { open.delete(id) }, // what awaits goes on
    promiseResolve(id) { open.delete(id) },
    destroy(id) { // a pending promise that nothing can settle any more is collected, and is what holds its request
      causes.delete(id)
      alive.delete(id)
      const promise = open.get(id)
      if (promise) promise.lost = true
    },
  }).enable()

  const isCall = m => m && typeof m === 'object' && typeof m.method === 'string' && m.id !== undefined && m.id !== null
  const parse = JSON.parse
  JSON.parse = function (text, reviver) {
    const message = parse(text, reviver)
    if (isCall(message)) {
      reading = { id: executionAsyncId(), request: { id: message.id, method: message.method } }
      requests.set(message.id, reading.request)
    } else if (message && typeof message === 'object' && message.id !== undefined && message.method === undefined) asked.delete(message.id)
    return message
  }
  const stringify = JSON.stringify
  JSON.stringify = function (message, ...rest) {
    if (isCall(message)) asked.set(message.id, { id: message.id, method: message.method, by: causeOf(executionAsyncId()) })
    else if (message && typeof message === 'object' && message.id !== undefined && message.method === undefined) {
      const request = requests.get(message.id)
      if (request) request.answered = true
    }
    return stringify(message, ...rest)
  }

  const written = [] // to standard output: the latest, and where that was
  const note = chunk => {
    written.push({ text: String(chunk).slice(0, 4096), stack: new Error().stack })
    if (written.length > 200) written.shift()
  }
  for (const { prototype } of [Duplex, Writable]) {
    const write = prototype.write
    prototype.write = function (chunk, ...rest) {
      if (this.fd === 1 && this._isStdio) note(chunk)
      return write.call(this, chunk, ...rest)
    }
  }
  for (const name of ['write', 'writeSync']) {
    const write = fs[name]
    fs[name] = function (fd, chunk, ...rest) {
      if (fd === 1) note(chunk)
      return write.call(this, fd, chunk, ...rest)
    }
    Object.defineProperties(fs[name], Object.getOwnPropertyDescriptors(write)) // util.promisify looks there
  }

  const { renameSync, writeFileSync } = fs
  const answer = () => {
    const pending = [...open.values()]
    const isHeld = request => pending.some(p => p.request === request && !p.lost)
    const told = pending.filter(p => !p.lost || p.request && !p.request.answered && !isHeld(p.request))
    const kept = [...alive.values()].filter(k => k.resource.hasRef?.()).map(({ what, stack }) => ({ what, stack }))
    const text = stringify({ program: process.argv[1], open: told, asked: [...asked.values()], kept, written })
    writeFileSync(`${folder}/${process.pid}.part`, text)
    renameSync(`${folder}/${process.pid}.part`, `${folder}/${process.pid}.json`)
  }
  process.on('SIGUSR2', answer)
}
