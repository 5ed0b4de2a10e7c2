/** Sessions of front ends at work on two nodes at once, and a list of all that was acknowledged to them. */
import { randomUUID } from 'node:crypto'
import type { ArtifactInput } from '../../src/node/api.ts'
import { ApiError, NodeNotRunning, type RpcClient } from '../../src/rpc/client.ts'
import type { NodeProcess } from './crash-node.ts'

/** What a node has said yes to. */
export interface Acknowledged {
  readonly by: NodeProcess
  readonly kind: 'create' | 'message' | 'accept' | 'complete' | 'cancel'
  readonly thread: string
  /** Of a message. */
  readonly message?: string
  /** Chunks of content that went with it. */
  readonly chunks?: number
}

/** A write whose answer never came. */
interface Unanswered {
  readonly by: NodeProcess
  readonly text: string
  /** Whom a handoff is for; absent in a message. */
  readonly to?: NodeProcess
  send(client: RpcClient): Promise<{ thread_id: string; message_id: string }>
}

interface Handoff {
  readonly id: string
  readonly from: NodeProcess
  readonly to: NodeProcess
  /** As the load believes: it may be behind. */
  stage: 'pending' | 'accepted' | 'over'
}

export interface Ledger {
  readonly all: Acknowledged[]
  /** Threads that something was said in since this was emptied. */
  readonly touched: Set<string>
  readonly unanswered: Unanswered[]
  readonly handoffs: Handoff[]
  /** Refusals by name. */
  readonly refused: Map<string, number>
  /** Called with every yes. */
  onYes: () => void
}

export function emptyLedger(): Ledger {
  return { all: [], touched: new Set(), unanswered: [], handoffs: [], refused: new Map(), onYes: () => undefined }
}

/** Fewer than one sender may have open at one recipient. */
const OPEN_COUNT_MAX = 30
/** Fewer than one session may write in a minute. */
const SESSION_WRITES_COUNT_MAX = 50

/** Refusals that are part of the day: the other side, or another session, was faster. */
const EXPECTED = new Set(['state_changed', 'thread_terminal', 'thread_not_found', 'rate_limited', 'invalid_transition'])

export type Pick = (count: number) => number

/** One front end at `at` works until `isOver` says so or the node is gone. Rejects with what no front end should see. */
export async function work(
  ledger: Ledger,
  place: { at: NodeProcess; other: NodeProcess },
  pick: Pick,
  isOver: () => boolean,
): Promise<void> {
  const { at } = place
  let client = at.session()
  try {
    for (let writes = 1; !isOver(); writes++) {
      if (writes % SESSION_WRITES_COUNT_MAX === 0) {
        client.close()
        client = at.session()
      }
      try {
        await step(ledger, place, client, pick)
      } catch (error) {
        if (error instanceof NodeNotRunning) return
        if (!(error instanceof ApiError) || !EXPECTED.has(error.symbol)) throw error
        ledger.refused.set(error.symbol, (ledger.refused.get(error.symbol) ?? 0) + 1)
      }
    }
  } finally {
    client.close()
  }
}

async function step(
  ledger: Ledger,
  { at, other }: { at: NodeProcess; other: NodeProcess },
  client: RpcClient,
  pick: Pick,
): Promise<void> {
  const open = ledger.handoffs.filter(({ stage }) => stage !== 'over')
  const chosen = open[pick(Math.max(1, open.length))]
  const mine = open.filter(({ from }) => from === at).length
  if (chosen === undefined || (mine < OPEN_COUNT_MAX && pick(6) === 0)) return handOff(ledger, { at, other }, client)
  try {
    await speak(ledger, { at, chosen, crowded: mine >= OPEN_COUNT_MAX }, client, pick)
  } catch (error) {
    // Another session was faster, or an earlier answer never came.
    if (error instanceof ApiError && error.symbol === 'thread_terminal') chosen.stage = 'over'
    else if (error instanceof ApiError && error.symbol === 'state_changed') chosen.stage = 'accepted'
    throw error
  }
}

async function speak(
  ledger: Ledger,
  { at, chosen, crowded }: { at: NodeProcess; chosen: Handoff; crowded: boolean },
  client: RpcClient,
  pick: Pick,
): Promise<void> {
  const { id, stage } = chosen
  if (chosen.to === at && stage === 'pending' && pick(2) === 0) {
    await client.call('tasks/update', { thread_id: id, status: 'accepted' })
    chosen.stage = 'accepted'
    return yes(ledger, { by: at, kind: 'accept', thread: id })
  }
  if (chosen.to === at && stage === 'accepted' && pick(6) === 0) {
    await client.call('tasks/update', { thread_id: id, status: 'completed', result_summary: 'done' })
    chosen.stage = 'over'
    return yes(ledger, { by: at, kind: 'complete', thread: id })
  }
  if (chosen.from === at && stage === 'pending' && pick(crowded ? 2 : 8) === 0) {
    await client.call('tasks/cancel', { thread_id: id })
    chosen.stage = 'over'
    return yes(ledger, { by: at, kind: 'cancel', thread: id })
  }
  const text = randomUUID()
  const metadata = { client_idempotency_key: randomUUID() }
  const message = { role: 'user', parts: [{ type: 'text' as const, text }] }
  const isLarge = pick(8) === 0
  const artifacts = isLarge ? [largeFile(text)] : []
  const send = (node: RpcClient) => node.call('message/send', { thread_id: id, message, artifacts, metadata })
  const answer = await answered(ledger, { by: at, text, send }, client)
  const chunks = isLarge ? { chunks: LARGE_CHUNKS_COUNT } : {}
  yes(ledger, { by: at, kind: 'message', thread: id, message: answer.message_id, ...chunks })
}

const LARGE_CHUNKS_COUNT = 2

/** More than a body holds, and unlike any other. */
function largeFile(text: string): ArtifactInput {
  const line = `${text}\n`
  return {
    type: 'file',
    name: text,
    media_type: 'text/plain',
    text: line.repeat(Math.ceil((300 * 1024) / line.length)),
  }
}

async function handOff(
  ledger: Ledger,
  { at, other }: { at: NodeProcess; other: NodeProcess },
  client: RpcClient,
): Promise<void> {
  const text = randomUUID()
  const metadata = { client_idempotency_key: randomUUID() }
  const message = { role: 'user', parts: [{ type: 'text' as const, text }] }
  const send = (node: RpcClient) =>
    node.call('message/send', { recipient: `${other.name}@acme`, intent: 'inform', message, metadata })
  const answer = await answered(ledger, { by: at, text, to: other, send }, client)
  began(ledger, answer.thread_id, at, other)
}

function began(ledger: Ledger, thread: string, from: NodeProcess, to: NodeProcess): void {
  ledger.handoffs.push({ id: thread, from, to, stage: 'pending' })
  yes(ledger, { by: from, kind: 'create', thread })
}

async function answered(ledger: Ledger, write: Unanswered, client: RpcClient) {
  try {
    return await write.send(client)
  } catch (error) {
    if (error instanceof NodeNotRunning && error.mayBeDone) ledger.unanswered.push(write)
    throw error
  }
}

function yes(ledger: Ledger, acknowledged: Acknowledged): void {
  ledger.all.push(acknowledged)
  ledger.touched.add(acknowledged.thread)
  ledger.onYes()
}

/**
 * Asks again, with the same keys, for what was not answered. Gives the texts that were sent twice
 * so far, with their threads: each has to be there once.
 */
export async function askAgain(ledger: Ledger): Promise<{ thread: string; text: string }[]> {
  const asked: { thread: string; text: string }[] = []
  for (const write of ledger.unanswered.splice(0)) {
    const client = write.by.session()
    try {
      const answer = await write.send(client)
      asked.push({ thread: answer.thread_id, text: write.text })
      if (write.to === undefined) ledger.touched.add(answer.thread_id)
      else began(ledger, answer.thread_id, write.by, write.to)
    } catch (error) {
      if (!(error instanceof ApiError) || !EXPECTED.has(error.symbol)) throw error
    } finally {
      client.close()
    }
  }
  return asked
}
