/**
 * A node in memory for tests of the front ends: one teammate, one thread from it, one thread to it. Enough rules
 * to answer like a node; whatever the teammate wrote is text that the test chooses.
 */
import { createHash } from 'node:crypto'
import { ApiError } from '../../src/node/api-error.ts'
import {
  type ArtifactListing,
  type Content,
  type NodeApi,
  type NodeEvent,
  type Party,
  type Status,
  type ThreadCommon,
  type ThreadView,
  untrusted,
} from '../../src/node/api.ts'
import { proposedAction, recordOf } from './peer-words.ts'
import { bootstrapCalls, createScript, type Script, teamCalls } from './script.ts'
import {
  entry,
  type Keyed,
  recordCalls,
  scriptedAnnotation,
  scriptedFound,
  scriptedRecord,
  TIME,
} from './scripted-record.ts'
import { removalCalls } from './scripted-removal.ts'

const BOB: Party = { handle: 'bob@acme', device: 'bob/bobs-mbp', trust: 'verified' }
const FRANK: Party = { handle: 'frank@acme', device: 'frank/frank-xps', trust: 'unverified' }
export const FRANKS_THREAD = 'th_from_frank'

export interface ScriptedNode extends Omit<Script, 'enter'> {
  api: NodeApi
  emit(event: NodeEvent): void
  /** Resolves once so many listen. */
  listening(count: number): Promise<void>
}

export interface ScriptOptions {
  /** Stands in every field that a teammate can write. */
  peerText?: string
  /** Entries by the teammate in its thread, beside the first one. */
  replies?: number
  /** Bytes of the teammate's artifact. */
  artifact?: Buffer
  /** What the node's own member is. */
  kind?: 'person' | 'service'
}

export function createScriptedNode(options: ScriptOptions = {}): ScriptedNode {
  const {
    peerText = 'The answer is now paginated.',
    replies = 0,
    artifact = Buffer.from(`-a\n+b\n${peerText}`),
    kind = 'person',
  } = options
  const threads = new Map<string, ThreadView>()
  const receipts = new Map<string, { payload: string; result: unknown }>()
  const listeners = new Set<(event: NodeEvent) => void>()
  const waitingForListeners: { count: number; resolve: () => void }[] = []
  const script = createScript()
  const { enter } = script

  const theirs = <T>(value: T): Content<T> => ({ untrusted: untrusted(value) })

  function listing(id: string, content: Content<Record<string, string>>, bytes: Buffer): ArtifactListing {
    return {
      artifact_id: id,
      type: 'file_diff',
      size: bytes.length,
      sha256: sha256(bytes),
      here: true,
      entry_id: 'e_1',
      content,
    }
  }

  function newThread(id: string, mine: boolean, extra: Partial<ThreadView>): ThreadView {
    const view: ThreadView = {
      thread_id: id,
      status: 'pending',
      final: false,
      waiting_for: [mine ? FRANK.device : BOB.device],
      delivery: { stored_here: true, delivered: [{ device: BOB.device, at: TIME }] },
      intent: 'inform',
      side: mine ? 'out' : 'in',
      from: mine ? BOB : FRANK,
      to: { handle: mine ? FRANK.handle : BOB.handle, trust: 'unverified' },
      created_at: TIME,
      revision_id: 'rev_1',
      forked: false,
      revisions: [],
      annotations: [],
      conflicting: false,
      repudiated: false,
      forks: [],
      unread_count: mine ? 0 : 1 + replies,
      entries: [],
      artifacts: [],
      state_digest: sha256(Buffer.from(id)),
      readers: [],
      participants: [],
      ...extra,
    }
    threads.set(id, view)
    return view
  }

  newThread(FRANKS_THREAD, false, {
    ...scriptedRecord(peerText, FRANK),
    intent: 'propose_action',
    action: { digest: 'ab'.repeat(32), verdict: 'none', mismatch: false },
    artifacts: [listing('art_1', theirs({ path: peerText, diff: peerText }), artifact)],
    entries: [
      {
        ...entry(
          1,
          FRANK,
          theirs({
            summary: peerText,
            question: peerText,
            proposed_action: proposedAction(peerText),
            record: recordOf(peerText),
          }),
        ),
        artifacts: [listing('art_1', theirs({ path: peerText, diff: peerText }), artifact)],
      },
      ...Array.from({ length: replies }, (_, index) =>
        entry(index + 2, FRANK, theirs({ body: peerText, payload: { [peerText]: [peerText] } })),
      ),
    ],
  })

  function thread(id: string): ThreadView {
    const found = threads.get(id)
    if (found === undefined)
      throw new ApiError('thread_not_found', 'no such thread here', { hint: 'Look into check_inbox.' })
    return found
  }

  function common(view: ThreadView): ThreadCommon {
    const { thread_id, status, final, waiting_for, delivery } = view
    return { thread_id, status, final, waiting_for, delivery }
  }

  function move(view: ThreadView, status: Status): ThreadView {
    const next = { ...view, status, final: true, waiting_for: [] }
    threads.set(view.thread_id, next)
    return next
  }

  function open(id: string): ThreadView {
    const view = thread(id)
    if (view.status === 'pending' || view.status === 'accepted') return view
    throw new ApiError('thread_terminal', `the thread is ${view.status}`, {
      details: { untrusted: untrusted({ reason: peerText }) },
    })
  }

  /** Once a key: the same payload gives the same result, another one is refused. */
  function once<T>(method: string, params: Keyed, run: () => T): T {
    const key = params.metadata?.client_idempotency_key
    if (key === undefined) return run()
    const payload = JSON.stringify({ ...params, metadata: undefined })
    const known = receipts.get(`${method} ${key}`)
    if (known === undefined) {
      const result = run()
      receipts.set(`${method} ${key}`, { payload, result })
      return result
    }
    if (known.payload !== payload) throw new ApiError('duplicate_idempotency_key', 'this key was used for another call')
    return known.result as T
  }

  const me = {
    peer_id: '12D3KooWBob',
    workspaces: ['acme'],
    handle: BOB.handle,
    member: 'bob',
    device: BOB.device,
    owner: true,
    node_state: 'ready' as const,
    reachable_peers: 1,
    role: 'member' as const,
    kind,
  }

  const api: NodeApi = {
    async whoami() {
      await enter('whoami', {})
      return me
    },
    async status() {
      await enter('status', {})
      return {
        ...me,
        pid: process.pid,
        version: '0.0.0',
        protocol: 1,
        started_at: TIME,
        addresses: [],
        store_format: 1,
        teammates: [],
        threads: threads.size,
        unread: 1,
        outbox: 0,
        refused: {},
        refused_entries: [],
        forks: [],
        roster: { position: 3, forked: false },
        bootstrap: [],
        waiting: [],
        carried: { entries: 0, bytes: 0 },
        mailbox: false,
        unconfirmed: [],
        keyless: [],
        recovering: { handoffs: 0, roster: false },
        quarantined: 0,
        clock_ms: 0,
      }
    },
    async listTeammates(params) {
      await enter('listTeammates', params)
      const device = {
        device: FRANK.device,
        peer_id: '12D3KooWFrank',
        reachable: true,
        path: 'direct',
        round_trip_ms: 3,
        last_seen: TIME,
        removed: false,
      }
      return {
        items: [
          {
            handle: FRANK.handle,
            kind: 'person',
            role: 'member',
            trust: FRANK.trust,
            me: false,
            devices: [device],
            reachable: true,
            last_seen: TIME,
            blocked: false,
          },
        ],
      }
    },
    async sendHandoff(params, caller) {
      await enter('sendHandoff', params, { caller })
      return once('sendHandoff', params, () => {
        if (params.recipient !== FRANK.handle)
          throw new ApiError('recipient_not_found', `nobody is called ${params.recipient}`)
        const id = `th_${threads.size}`
        const summary = params.message.parts.map((part) => part.text).join('\n\n')
        const view = newThread(id, true, { intent: params.intent, entries: [entry(1, BOB, { own: { summary } })] })
        return {
          ...common(view),
          message_id: 'msg_1',
          sequence_no: 1,
          revision_id: 'rev_1',
          artifact_ids: [],
          similar: [],
          warnings: [],
        }
      })
    },
    async sendMessage(params, caller) {
      await enter('sendMessage', params, { caller })
      return once('sendMessage', params, () => {
        const view = open(params.thread_id)
        const body = params.message.parts.map((part) => part.text).join('\n\n')
        const sequence = view.entries.length + 1
        view.entries.push(entry(sequence, BOB, { own: { body } }))
        return { ...common(view), message_id: `msg_${sequence}`, sequence_no: sequence, artifact_ids: [], warnings: [] }
      })
    },
    async getThread(params) {
      await enter('getThread', params)
      const view = thread(params.thread_id)
      const from = params.cursor === undefined ? 0 : Number(params.cursor)
      const entries = view.entries.slice(from, from + 50)
      const more = from + entries.length < view.entries.length
      return { ...view, entries, ...(more ? { next_cursor: String(from + entries.length) } : {}) }
    },
    async listThreads(params, signal) {
      await enter('listThreads', params, { signal })
      const { limit = 50, cursor = '0' } = params
      const wanted = [...threads.values()].filter((view) => params.status?.includes(view.status) ?? true)
      const page = wanted.slice(Number(cursor), Number(cursor) + limit)
      const end = Number(cursor) + page.length
      return {
        items: page.map((view) => ({
          thread_id: view.thread_id,
          intent: view.intent,
          side: view.side,
          sender: view.from,
          recipient: view.to.handle,
          status: view.status,
          final: view.final,
          unread_count: view.unread_count,
          created_at: TIME,
          updated_at: TIME,
          age_s: 60,
          preview: view.side === 'in' ? theirs(peerText.slice(0, 240).toWellFormed()) : { own: 'mine' },
          ...(params.query === undefined ? {} : { found: scriptedFound(peerText, FRANK) }),
        })),
        timed_out: params.wait_s !== undefined,
        ...(end < wanted.length ? { next_cursor: String(end) } : {}),
      }
    },
    async accept(params, caller) {
      await enter('accept', params, { caller })
      return once('accept', params, () => {
        const view = open(params.thread_id)
        if (view.side === 'out') throw new ApiError('not_authorized_transition', 'only the recipient accepts')
        if (view.status === 'accepted') throw new ApiError('state_changed', 'another session has accepted it')
        return { ...move(view, 'accepted'), checklist: ['Look at the diff before you apply it.'] }
      })
    },
    async complete(params, caller) {
      await enter('complete', params, { caller })
      return once('complete', params, () => ({ ...common(move(open(params.thread_id), 'completed')), warnings: [] }))
    },
    async cancel(params, caller) {
      await enter('cancel', params, { caller })
      return once('cancel', params, () => ({ ...common(move(open(params.thread_id), 'cancelled')), warnings: [] }))
    },
    ...recordCalls({
      enter,
      once,
      answers: (id) => common(open(id)),
      annotation: scriptedAnnotation(peerText, FRANK),
    }),
    async readArtifact(params, signal) {
      await enter('readArtifact', params, { signal })
      if (params.artifact_id !== 'art_1') throw new ApiError('artifact_not_found', 'no such artifact in this thread')
      const { offset = 0, max_bytes = 16 * 1024 } = params
      const slice = artifact.subarray(offset, offset + max_bytes)
      const isText = slice.equals(Buffer.from(slice.toString('utf8')))
      const end = offset + slice.length
      return {
        thread_id: params.thread_id,
        artifact_id: params.artifact_id,
        type: 'file_diff',
        from: FRANK,
        entry_id: 'e_1',
        offset,
        size: artifact.length,
        sha256: sha256(artifact),
        here: true,
        verified: true,
        truncated: end < artifact.length,
        ...(end < artifact.length ? { next_offset: end } : {}),
        encoding: isText ? 'utf8' : 'base64',
        content: theirs(slice.toString(isText ? 'utf8' : 'base64')),
      }
    },
    ...teamCalls(enter),
    ...bootstrapCalls(enter),
    ...removalCalls(enter, FRANK, peerText),
    onEvent(listener) {
      listeners.add(listener)
      for (const waiting of waitingForListeners) if (listeners.size >= waiting.count) waiting.resolve()
      return () => listeners.delete(listener)
    },
  }

  return {
    ...script,
    api,
    emit: (event) => listeners.forEach((listener) => listener(event)),
    listening: (count) =>
      new Promise((resolve) => (listeners.size >= count ? resolve() : waitingForListeners.push({ count, resolve }))),
  }
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
