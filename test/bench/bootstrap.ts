/**
 * What a bootstrap server costs: `npm run bench -- bootstrap [laptops …]`, by default 10, 100 and 1000.
 *
 * The server is the real command in a process of its own. Laptops are libp2p nodes in a few other
 * processes, each connected, with a place at the server and its mailbox open, as a node at rest
 * is. Bytes are what the server's process read and wrote (Linux counts that), without the headers
 * of IP and TCP.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

const PROGRAM = join(import.meta.dirname, '../../src/cli/relay-node.js')
const LAPTOPS_PER_PROCESS = 250
const REST_MS = 60_000
/** Linux counts time of a process in these. */
const TICKS_PER_S = 100
const MIB = 1024 * 1024

export async function run(args: string[]): Promise<void> {
  const counts = args.length === 0 ? [10, 100, 1_000] : args.map(Number)
  console.log('| laptops | connected after | memory | at rest: in | out | CPU |')
  console.log('|---|---|---|---|---|---|')
  for (const count of counts) console.log(await measure(count))
}

async function measure(count: number): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'relay-bench-'))
  const server = await startServer(home)
  try {
    const begun = performance.now()
    const crowds: ChildProcess[] = []
    // One after the other: a handshake is as much work for a laptop as for the server, and here all share one machine.
    for (let rest = count; rest > 0; rest -= LAPTOPS_PER_PROCESS)
      crowds.push(await startCrowd(server.address, Math.min(LAPTOPS_PER_PROCESS, rest), crowds.length))
    const connectedS = (performance.now() - begun) / 1000
    await pause(REST_MS / 4) // Until what the beginning left behind has settled.
    const before = usage(server.pid)
    await pause(REST_MS)
    const after = usage(server.pid)
    const memory = memoryOf(server.pid)
    await Promise.all(crowds.map(end))
    const perMinute = (bytes: number): string => `${(bytes / 1024).toFixed(0)} KiB/min`
    return `| ${[
      count,
      `${connectedS.toFixed(1)} s`,
      `${(memory / MIB).toFixed(0)} MiB`,
      perMinute(after.read - before.read),
      perMinute(after.written - before.written),
      `${((after.cpuS - before.cpuS) / (REST_MS / 100_000)).toFixed(1)} %`,
    ].join(' | ')} |`
  } finally {
    await end(server.child)
    rmSync(home, { recursive: true })
  }
}

async function startServer(home: string): Promise<{ child: ChildProcess; pid: number; address: string }> {
  const child = spawn(
    process.execPath,
    [PROGRAM, 'bootstrap', '--json', '--listen', '127.0.0.1:0', '--stun-port', '0', '--per-source', '2000'],
    { env: { ...process.env, RELAY_NODE_HOME: home }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  for await (const line of createInterface({ input: child.stdout })) {
    const { pid, addresses } = JSON.parse(line) as { pid: number; addresses: [string] }
    return { child, pid, address: addresses[0] }
  }
  throw new Error('the server did not start')
}

/** Resolves once all its laptops have a place. */
async function startCrowd(address: string, count: number, index: number): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'crowd-child.ts'), [address, String(count), String(index)])
  const [said] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown]
  if (said !== 'ready') throw new Error('laptops did not connect')
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** proc_pid_io(5) and proc_pid_stat(5). */
function usage(pid: number): { read: number; written: number; cpuS: number } {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  const bytes = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1])
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    read: bytes('rchar'),
    written: bytes('wchar'),
    cpuS: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S,
  }
}

function memoryOf(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) * 1024
}
