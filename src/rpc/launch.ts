/** From 'maybe no node' to 'a node that understands us': asks who answers, starts one if nobody does, replaces one that is too old. */
import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod'
import { ApiError } from '../node/api-error.ts'
import type { Clock } from '../system.ts'
import { createRpcClient, NodeNotRunning, type RpcClient } from './client.ts'
import { type Hello, INTERFACE_VERSIONS, type VersionRange } from './schema.ts'

/** A node that is younger than this is not replaced: two installations must not fight over one profile. */
const REPLACE_AGE_S_MIN = 60
const START_TIMEOUT_MS = 60_000
/** After this long another start is tried: the one that was found running may have been about to end. */
const ANSWER_TIMEOUT_MS = 3000
const STOP_TIMEOUT_MS = 20_000
const LOOK_AGAIN_MS = 50

export interface LaunchOptions {
  socketPath: string
  /** UUID of the front end's session. */
  session: string
  clock: Clock
  /** Starts a node that outlives this process, and comes back when it listens or when another one is about to. */
  start: () => Promise<void>
  /** Interface versions of this front end; other than this program's own only in tests. */
  versions?: VersionRange
}

const helloShape: z.ZodType<Hello> = z.object({
  name: z.literal('relay-node'),
  version: z.string(),
  pid: z.int(),
  interface: z.object({ min: z.int(), max: z.int() }),
  uptime_s: z.number(),
})

/**
 * Who answers at the socket now, after starting or replacing a node where needed.
 *
 * @throws ApiError unauthenticated: a node that does not answer, or is of another age than this front end; and whatever `start` throws
 */
export async function connectOrStart(options: LaunchOptions): Promise<Hello> {
  const { socketPath, session, clock, versions = INTERFACE_VERSIONS } = options
  const client = createRpcClient({ socketPath, session })
  try {
    const found = await whoAnswers(client)
    if (found !== undefined) {
      if (understands(found, versions)) return found
      if (!isReplaceable(found, versions)) throw misfit(found, versions)
      await stopNode(client, found, clock)
    }
    const started = await startUntilAnswered(client, options)
    if (!understands(started, versions)) throw misfit(started, versions)
    return started
  } finally {
    client.close()
  }
}

async function startUntilAnswered(client: RpcClient, { clock, start }: LaunchOptions): Promise<Hello> {
  const end = clock.now() + START_TIMEOUT_MS
  for (;;) {
    await start()
    const started = await eventually(() => whoAnswers(client), { clock, timeoutMs: ANSWER_TIMEOUT_MS })
    if (started !== undefined) return started
    if (clock.now() >= end) {
      throw new ApiError('unauthenticated', 'The node was started and does not answer.', {
        hint: 'Look into `relay-node logs`, or run `relay-node doctor`.',
      })
    }
  }
}

/** @returns undefined if nobody listens */
export async function whoAnswers(client: RpcClient): Promise<Hello | undefined> {
  try {
    const hello = helloShape.safeParse(await client.call('relay/hello', {}))
    if (hello.success) return hello.data
  } catch (error) {
    if (error instanceof NodeNotRunning) return undefined
    throw error
  }
  throw new ApiError('unauthenticated', 'Something else than a relay node listens on the socket.', {
    hint: 'Run: relay-node doctor',
  })
}

function understands(node: Hello, versions: VersionRange): boolean {
  return node.interface.max >= versions.min && node.interface.min <= versions.max
}

/** An older front end never replaces a newer node, and nobody replaces one that has hardly begun. */
function isReplaceable(node: Hello, versions: VersionRange): boolean {
  return node.interface.max < versions.min && node.uptime_s >= REPLACE_AGE_S_MIN
}

function misfit(node: Hello, versions: VersionRange): ApiError {
  if (node.interface.min > versions.max) {
    return new ApiError('unauthenticated', `The running node (${node.version}) is newer than this program.`, {
      hint: 'Start this program anew from the installation that the node runs from, or update it.',
      details: { node_version: node.version },
    })
  }
  const wait = Math.max(1, REPLACE_AGE_S_MIN - node.uptime_s)
  return new ApiError(
    'unauthenticated',
    `The running node (${node.version}) is older than this program and was started just now.`,
    {
      hint: `Call again in ${wait} s: it is replaced then. Or run: relay-node stop`,
      details: { node_version: node.version, retry_after: wait },
    },
  )
}

/** Lets the old node finish what it is at; its socket goes last. */
async function stopNode(client: RpcClient, node: Hello, clock: Clock): Promise<void> {
  try {
    await client.call('relay/stop', { pid: node.pid })
  } catch (error) {
    // Another front end may have had the same thought a moment earlier: gone already, or replaced already.
    const replaced = error instanceof ApiError && error.symbol === 'state_changed'
    if (!replaced && !(error instanceof NodeNotRunning)) throw error
  }
  const silent = async () => ((await whoAnswers(client))?.pid === node.pid ? undefined : true)
  const ended = await eventually(silent, { clock, timeoutMs: STOP_TIMEOUT_MS })
  if (ended === undefined) {
    throw new ApiError('unauthenticated', `The older node (pid ${node.pid}) does not end.`, {
      hint: 'Run: relay-node stop',
    })
  }
}

/** Looks until there is something to see, or time is up. */
async function eventually<T>(
  look: () => Promise<T | undefined>,
  limits: { clock: Clock; timeoutMs: number },
): Promise<T | undefined> {
  const { clock, timeoutMs } = limits
  const end = clock.now() + timeoutMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined || clock.now() >= end) return seen
    // Not the clock's timer: that one would let a process end that has nothing else to do.
    await pause(LOOK_AGAIN_MS)
  }
}
