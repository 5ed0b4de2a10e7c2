/** What agents and people ask of a node, and how they go on when they get no answer. */
import { currentRoster, type Header, type Hex, textId } from '../../protocol/index.ts'
import type { Caller, NewHandoffParams, NewMessageParams, ShareParams } from '../../src/node/api.ts'
import { ApiError, type ApiSymbol } from '../../src/node/api-error.ts'
import type { Node } from '../../src/node/node.ts'
import type { ThreadRow } from '../../src/node/rows.ts'
import type { Laptop } from './laptop.ts'
import type { Random } from './random.ts'
import type { Holder, Scene } from './scene.ts'
import { LIAR } from './world.ts'

export interface Client {
  /** Asks for something that fits, or does not. The answer comes when it comes. */
  ask(): void
  /** Asks again for what was never answered, with the same key. */
  askAgain(): void
  /** Lets third members read an open thread, or all of them, or tries it with somebody who cannot be made a reader. */
  share(what: 'one' | 'all'): void
  /** Calls that the node which is running was asked, and has not answered. */
  readonly open: readonly string[]
}

interface Call {
  readonly what: string
  readonly kind: Header['kind']
  readonly key: string
  make(node: Node): Promise<object>
  /** First answer that was given. */
  answer: Answer | undefined
  /** How often an old disk had been put back when it was given. */
  restored: number
  /** The thread that it is about. */
  thread: Hex | undefined
}

interface Answer {
  thread_id?: string
  message_id?: string
}

/** What a node may answer in these stories; anything else is a fault. */
const EXPECTED: ReadonlySet<ApiSymbol> = new Set([
  'rate_limited',
  'thread_not_found',
  'thread_terminal',
  'invalid_transition',
  'not_authorized_transition',
  'state_changed',
  'approval_required',
  'verification_failed',
  'invalid_params',
])

/** What else where people are removed. */
const EXPECTED_OF_REMOVALS: ReadonlySet<ApiSymbol> = new Set(['unauthenticated', 'recipient_not_found'])

const FITTING_READER_CHANCE = 0.85

export interface ClientParts {
  readonly laptop: Laptop
  readonly scene: Scene
  readonly random: Random
  /** Handles of those who can be handed something. */
  readonly others: readonly string[]
  readonly removals: boolean
  /** The digest of a thread that a node shows. */
  shown(holder: Holder, thread: Hex, digest: string): void
}

export function createClient({ laptop, scene, random, others, removals, shown }: ClientParts): Client {
  const { holder, name } = laptop
  /** Calls without an answer, with the node that was asked last. */
  const unanswered = new Map<Call, Node>()
  let asked = 0
  /** Whatever has to do with sharing is chosen here, so that other choices do not depend on it. */
  const sharing = random.fork('shares')

  const isExpected = (error: unknown, thread?: Hex): error is ApiError =>
    error instanceof ApiError &&
    (EXPECTED.has(error.symbol) ||
      (removals && EXPECTED_OF_REMOVALS.has(error.symbol)) ||
      (error.symbol === 'forbidden' && holder.rows.get(thread ?? '')?.side === 'reader'))
  const nextKey = (): string => `${name} ${asked++}`
  const caller = (dice = random): Caller => ({ session: `${name} ${dice.below(3)}` })

  function send(call: Call): void {
    const { node } = laptop
    if (!node) return
    unanswered.set(call, node)
    call.make(node).then(
      (result: Answer) => onAnswer(call, result),
      (error: unknown) => onError(call, error),
    )
  }

  function onAnswer(call: Call, result: Answer): void {
    unanswered.delete(call)
    scene.note(`${name} ${call.what}: ${result.thread_id} ${result.message_id}`)
    const { answer } = call
    if (answer && call.restored === holder.restored && answer.message_id !== result.message_id)
      scene.violated('once', `${name} got two answers for one key: ${answer.message_id}, ${result.message_id}`)
    call.answer = result
    call.restored = holder.restored
    const thread = result.thread_id === undefined ? undefined : scene.idOf(result.thread_id)
    const entry = result.message_id === undefined ? undefined : scene.idOf(result.message_id)
    if (thread === undefined || (result.message_id !== undefined && entry === undefined))
      scene.violated('kept', `${name} was told of a thread or message that is on no disk`)
    else scene.tell((checker) => checker.acknowledged?.({ holder, kind: call.kind, thread, entry }))
  }

  function onError(call: Call, error: unknown): void {
    unanswered.delete(call)
    if (isExpected(error, call.thread)) return scene.note(`${name} ${call.what}: ${error.symbol}`)
    scene.violated('answers', `${name} ${call.what}: ${error instanceof Error ? error.stack : String(error)}`)
  }

  function newHandoff(key: string): Call {
    const action = { description: `do ${key}`, target_files: [], rationale: 'because' }
    const isAction = random.chance(0.3)
    const text = `${key} ${'x'.repeat(random.chance(0.1) ? 20_000 : random.below(200))}`
    const params: NewHandoffParams = {
      recipient: `${random.pick(others)}@acme`,
      intent: isAction ? 'propose_action' : 'inform',
      message: { parts: [{ type: 'text', text }] },
      ...(isAction ? { proposed_action: action } : {}),
      metadata: { client_idempotency_key: key },
    }
    const from = caller()
    return callFor('send', 'create', key, (node) => node.sendHandoff(params, from))
  }

  function callFor(what: string, kind: Call['kind'], key: string, make: Call['make']): Call {
    return { what, kind, key, make, answer: undefined, restored: 0, thread: undefined }
  }

  function openThreads(): Hex[] {
    return ownThreads().filter((thread) => isOpen(holder.rows.get(thread)))
  }

  function ownThreads(): Hex[] {
    return [...holder.rows].filter(([, { side }]) => side !== null).map(([thread]) => thread)
  }

  function share(thread: Hex): void {
    const row = holder.rows.get(thread)
    if (!row) return
    const members = currentRoster(holder.log)?.members
    const unfit = new Set([row.sender, row.recipient].map((member) => members?.get(member)?.name)).add(LIAR)
    const fitting = others.filter((other) => !unfit.has(other))
    const reader = sharing.pick(sharing.chance(FITTING_READER_CHANCE) ? fitting : others)
    if (reader === undefined) return
    const key = nextKey()
    const params: ShareParams = {
      thread_id: textId('thread', thread),
      reader: `${reader}@acme`,
      metadata: { client_idempotency_key: key },
    }
    const from = caller(sharing)
    const call = { ...callFor(`share with ${reader}`, 'share', key, (node) => node.share(params, from)), thread }
    send(call)
    if (sharing.chance(0.15)) send(call)
  }

  function callIn(thread: Hex, key: string): Call {
    const row = holder.rows.get(thread)
    const metadata = { client_idempotency_key: key }
    const common = { thread_id: textId('thread', thread), metadata }
    const from = caller()
    const what = random.chance(0.3)
      ? 'message'
      : random.chance(0.6)
        ? fitting(row)
        : random.pick(['accept', 'cancel', 'complete', 'approve', 'reject', 'message'] as const)
    switch (what) {
      case 'accept':
        return callFor(what, what, key, (node) => node.accept(common, from).then(withoutEntries))
      case 'cancel':
        return callFor(what, what, key, (node) => node.cancel({ ...common, reason: key }, from))
      case 'complete': {
        const outcome = random.pick(['done', 'partial', 'declined'] as const)
        return callFor(what, what, key, (node) =>
          node.complete({ ...common, result_summary: key, ...(outcome ? { outcome } : {}) }, from),
        )
      }
      case 'approve':
      case 'reject': {
        const header = scene.entries.get(thread)?.header
        const digest = (header?.kind === 'create' ? header.ctl.action : undefined) ?? 'none'
        return callFor(what, 'approve', key, (node) => node[what]({ ...common, digest, reason: key }, from))
      }
      default: {
        const params: NewMessageParams = { ...common, message: { parts: [{ type: 'text', text: key }] } }
        return callFor('message', 'message', key, (node) => node.sendMessage(params, from))
      }
    }
  }

  /** What moves the thread on. */
  function fitting(row: ThreadRow | undefined) {
    if (row?.status === 'pending') return row.side === 'in' ? 'accept' : random.chance(0.3) ? 'cancel' : 'message'
    if (row?.intent === 'propose_action') return random.pick(['approve', 'approve', 'reject', 'complete'] as const)
    return random.chance(0.5) ? 'complete' : 'message'
  }

  async function read(thread: Hex): Promise<void> {
    const { node } = laptop
    if (!node) return
    try {
      const view = await node.getThread({ thread_id: textId('thread', thread), mark_read: random.chance(0.5) })
      if (laptop.node === node) shown(holder, thread, view.state_digest)
    } catch (error) {
      if (!isExpected(error)) scene.violated('answers', `${name} cannot read: ${String(error)}`)
    }
  }

  return {
    ask() {
      const [threads, open] = [ownThreads(), openThreads()]
      const thread = random.pick(random.chance(0.8) && open.length > 0 ? open : threads)
      if (thread !== undefined && random.chance(0.15)) return void read(thread)
      const call =
        thread === undefined || random.chance(0.2) ? newHandoff(nextKey()) : { ...callIn(thread, nextKey()), thread }
      send(call)
      // Whoever is impatient asks twice.
      if (random.chance(0.15)) send(call)
    },
    share(what) {
      const open = openThreads()
      for (const thread of what === 'all' ? open : [sharing.pick(open) ?? []].flat()) share(thread)
    },
    askAgain() {
      for (const call of unanswered.keys()) if (random.chance(0.7)) send(call)
    },
    get open() {
      return [...unanswered].flatMap(([call, node]) => (node === laptop.node ? [call.what] : []))
    },
  }
}

export function isOpen(row: ThreadRow | undefined): boolean {
  return row?.status === 'pending' || row?.status === 'accepted'
}

/** An accepted thread is answered in full; what stands for it here is its name. */
function withoutEntries({ thread_id }: { thread_id: string }): Answer {
  return { thread_id }
}
